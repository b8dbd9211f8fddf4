local shell_api = require("spec.support.shell_api")

local api

setup(function()
  api = shell_api.start()
end)

teardown(function()
  api:stop()
end)

local function printed(arguments)
  local result = api:run("call " .. arguments)
  assert.equal("", result.err)
  assert.equal(0, result.code)
  return result.out
end

describe("--all", function()
  local item = '{"extra":true,"id":%d,"name":"n%d"}'

  local function items(first, last)
    local list = {}
    for i = first, last do
      list[#list + 1] = item:format(i, i)
    end
    return list
  end

  it("prints the items of all pages, or the first of them", function()
    assert.equal("[" .. table.concat(items(1, 6), ",") .. "]\n", printed("items --all"))
    assert.equal("[" .. table.concat(items(1, 3), ",") .. "]\n", printed("items --max-items 3"))
    assert.equal(table.concat(items(1, 6), "\n") .. "\n", printed("items --all -f ndjson"))
    local wrapped = api:run("call items --all wrapped=1 --select items -f ndjson")
    assert.equal(table.concat(items(1, 6), "\n") .. "\n", wrapped.out)
  end)

  it("prints what came before a page that cannot be had, and fails", function()
    local message = 'operations: HTTP_500: 500 Internal Server Error: out of order\n  {"message":"out of order"}\n'
    for format, text in pairs({
      json = "[" .. table.concat(items(1, 4), ",") .. "]\n", ndjson = table.concat(items(1, 4), "\n") .. "\n",
    }) do
      local result = api:run("call items --all broken=1 -f " .. format)
      assert.equal(text, result.out)
      assert.equal(11, result.code)
      assert.equal(message, result.err)
    end
    local result = api:run("call items --all page=3 broken=1")
    assert.same({ "", 11 }, { result.out, result.code })
    result = api:run("call items --all broken=1 -o x")
    assert.same({ "", "", 11 }, { result.out, result.files, result.code })
  end)
end)

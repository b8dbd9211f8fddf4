local outcome = require("operations.cli.outcome")
local output = require("operations.cli.output")
local shell_api = require("spec.support.shell_api")

local api = shell_api.during(setup, teardown)

local function printed(arguments)
  local result = api:run("call " .. arguments)
  assert.equal("", result.err)
  assert.equal(0, result.code)
  return result.out
end

describe("the pages of a call", function()
  -- A call whose answer has these pages, and what it prints, each item on a line.
  local function call_of(list, options)
    local printed_items, at = {}, 0
    local every = { close = function() end }
    function every.next()
      at = at + 1
      return list[at] and { data = list[at], meta = { page = at } } or nil
    end
    local answer = { options = options, format = "ndjson", select = function(_, whole) return whole end }
    function answer.item(_, item)
      printed_items[#printed_items + 1] = item
    end
    return { registry = { pages = function() return every end }, answer = answer }, printed_items
  end

  it("are counted while they are fetched", function()
    local progress, told = output.progress, {}
    output.progress = function(text)
      told[#told + 1] = text
    end
    local ok, code = pcall(outcome.pages, call_of({ { 1, 2 }, { 3 }, { 4 } }, {}), math.huge)
    output.progress = progress
    assert.same({ true, 0 }, { ok, code })
    assert.same({ "page 1, 0 items", "page 2, 2 items", "page 3, 3 items" }, told)
  end)

  it("end with the failure of the reader, and where nothing can be selected", function()
    local call = call_of({}, {})
    local every, closed = call.registry.pages(), 0
    every.next = function() error("cancelled", 0) end
    every.close = function() closed = closed + 1 end
    assert.same({ false, "cancelled" }, { pcall(outcome.pages, call, 1) })
    assert.equal(1, closed)
    call = call_of({ { 1 } }, {})
    call.answer.select = function() return nil, "--select: no" end
    local usage = output.usage
    output.usage = function(_, message) return message end
    local ok, code = pcall(outcome.pages, call, 1)
    output.usage = usage
    assert.same({ true, "--select: no" }, { ok, code })
  end)

  it("are printed to the one before the error, but not to a file", function()
    local failed = outcome.failed
    outcome.failed = function(_, err)
      return err.code
    end
    for place, expected in pairs({ [false] = { { 1 } }, [true] = {} }) do
      local call, printed_lists = call_of({ { 1 } }, {}), {}
      local every, answer = call.registry.pages(), call.answer
      local first = every.next
      every.next = function()
        local envelope = first()
        return envelope, not envelope and { code = "HTTP_500" } or nil
      end
      answer.format, answer.place = "json", place or nil
      answer.print = function(_, list)
        printed_lists[#printed_lists + 1] = list
      end
      assert.equal("HTTP_500", outcome.pages(call, 9))
      assert.same(expected, printed_lists)
    end
    outcome.failed = failed
  end)

  it("fail as a call does where there are no pages", function()
    local call, failed = { registry = { pages = function() return nil, "refused" end }, answer = {} }, outcome.failed
    outcome.failed = function(asked, err)
      return { asked, err }
    end
    local result = outcome.pages(call, 1)
    outcome.failed = failed
    assert.same({ call, "refused" }, result)
  end)

  it("are envelopes with --envelope", function()
    local call, items = call_of({ { 1 }, { 2 } }, { envelope = true })
    assert.equal(0, outcome.pages(call, 2))
    assert.same({ { data = { 1 }, meta = { page = 1 } }, { data = { 2 }, meta = { page = 2 } } }, items)
  end)
end)

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

  it("prints the pages before one that cannot be fetched, and fails", function()
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

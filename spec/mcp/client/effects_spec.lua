local effects = require("operations.mcp.client.effects")
local json = require("operations.base.json")
local trust = require("operations.people.trust")

describe("what the servers of a file would do", function()
  local path

  before_each(function()
    path = os.tmpname()
  end)

  after_each(function()
    os.remove(path)
  end)

  local function lines_of(text, directory)
    local file = assert(io.open(path, "w"))
    file:write(type(text) == "table" and json.encode(text) or text)
    file:close()
    local subject = trust.subject(path)
    local ok, message = effects.add(subject, path, directory or "/")
    return ok and subject.lines or message, subject
  end

  it("is told for every form of the file, in the order of arguments", function()
    local args = {}
    for i = 1, 12 do
      args[i] = i
    end
    local told = { "a runs: run 1 2 3 4 5 6 7 8 9 10 11 12, in the directory /x" }
    for _, form in ipairs({ "mcpServers", "servers", "context_servers" }) do
      assert.same(told, lines_of({ [form] = { a = { command = "run", args = args, cwd = "/x" } } }))
    end
    assert.same(told, lines_of({ servers = { { name = "a", command = "run", args = args, cwd = "/x" } } }))
    assert.same({ "b calls: https://b.test" },
      lines_of('{ "servers": { "b": { "httpUrl": "https://b.test", }, } } // b'))
    assert.same({}, lines_of({ servers = { c = 7, d = {} } }))
  end)

  it("has the commands of ${cmd:} wherever they are, and runs none", function()
    local marker = path .. ".ran"
    assert.same({ "a runs: '${cmd:touch " .. marker .. "}', with the variables X (${cmd: echo ${HOME} })",
      "a runs: sh -c 'touch " .. marker .. "'", "a runs: sh -c 'echo ${HOME} '" },
      lines_of({ servers = { a = { command = "${cmd:touch " .. marker .. "}",
        env = { X = "${cmd: echo ${HOME} }" } } } }))
    assert.is_nil(io.open(marker))
  end)

  it("has the files that words name once what stands for a place is filled in", function()
    local directory, name = path:match("^(.*)/([^/]*)$")
    local other = os.tmpname()
    for _, entry in ipairs({ { command = "${workspaceFolder}/" .. name }, { command = "x", args = { "./" .. name } },
      { command = "x", cwd = "${userHome:-" .. directory .. "}/../" .. directory, args = { "--a=" .. name } },
      { command = name, env = { PATH = ".:/usr/bin" } }, { command = "x", envFile = name } }) do
      local file = assert(io.open(other, "w"))
      file:write(json.encode({ servers = { a = entry } }))
      file:close()
      local subject = trust.subject(other)
      assert(effects.add(subject, other, directory))
      assert.is_string(subject.files[path] or nil, json.encode(entry))
    end
    os.remove(other)
  end)

  it("is an error for a file that lists none", function()
    assert.equal("an object of servers expected", (lines_of('{ "servers": 7 }')))
    assert.matches("JSON", (lines_of("{")))
  end)
end)

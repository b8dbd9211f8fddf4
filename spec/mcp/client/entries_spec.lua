local entries = require("operations.mcp.client.entries")
local json = require("operations.base.json")
local operations = require("operations")

local function read(text)
  local path = os.tmpname()
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
  local value, err = entries.read(path)
  os.remove(path)
  return value, err
end

-- The configuration of one entry, and what was reported of it.
local function config(value, options, common)
  local told = {}
  local list = assert(entries.list({ mcpServers = { ["a/b"] = value } }, print))
  entries.check(list[1], function(_, message)
    told[#told + 1] = message
  end)
  return entries.config(list[1], common or {}, options or {}), told
end

local nothing = function() end

describe("a file of MCP servers", function()
  it("may have comments and trailing commas", function()
    local text = [[{
      // a comment with "quotes", and a comma,
      "mcpServers": { /* here, } too
        */ "a": { "url": "http://x/*no*/ //no", "args": ["\\", "\"//", ",]", 1,], },
      }, // the end
    }]]
    assert.same({ mcpServers = { a = { url = "http://x/*no*/ //no", args = { "\\", '"//', ",]", 1 } } } }, read(text))
    assert.same({ a = { "\\", "b" } }, read('{"a": ["\\\\", "b",] } // "'))
    assert.same({ a = {} }, read('\239\187\191{"a": [/**/]}'))
  end)

  it("is JSON but for these, and errors have their place", function()
    for text, message in pairs({
      ['{ "a": 1,, }'] = "", ["{ , }"] = "", ['{ "a": [,] }'] = "", ['{ "a": 1 /* '] = "", ['{ "a'] = "",
      ["// none"] = "", ["7"] = "a JSON object expected", ['// one\n/* two\n */ { "a": 1,\n  nil }'] = "line 4",
    }) do
      local value, err = read(text)
      assert.is_nil(value)
      assert.equal("VALIDATION_ERROR", err.code)
      assert.matches(message, err.message, 1, true)
    end
  end)

  it("may be missing, which is told with its path", function()
    local value, err = entries.read("/no/such/file")
    assert.is_nil(value)
    assert.same({ "EXECUTION_ERROR", { kind = "file", location = "/no/such/file" } }, { err.code, err.details })
    assert.matches("/no/such/file", err.message, 1, true)
  end)

  it("is read in a time that grows with its length", function()
    local text = '{ "a": [' .. ('"//,]", /* x */ 1,\n'):rep(50000) .. "] }"
    assert.equal(100000, #read(text).a)
  end)
end)

describe("a list of MCP servers", function()
  local function names(source, report)
    local list = assert(entries.list(source, report or nothing))
    for i, entry in ipairs(list) do
      list[i] = entry.name .. " " .. entry.path .. " " .. entry.namespace
    end
    return list
  end

  it("is where each program keeps it, in the order of the names", function()
    local two = { b = {}, a = {} }
    assert.same({ "a /mcpServers/a a", "b /mcpServers/b b" }, names({ mcpServers = two, inputs = {} }))
    assert.same({ "a /servers/a a", "b /servers/b b" }, names({ servers = two }))
    assert.same({ "a /context_servers/a a", "b /context_servers/b b" }, names({ context_servers = two }))
    assert.same({ "a /mcp/servers/a a", "b /mcp/servers/b b" }, names({ mcp = { servers = two } }))
    assert.same({ "a /a a", "b /b b" }, names({ a = {}, b = {}, ["$schema"] = "x" }))
  end)

  it("may be an array, whose order counts", function()
    assert.same({ "z /servers/0 z", "a /servers/1 a" }, names({ servers = { { name = "z" }, { name = "a" } } }))
    local list, problem = entries.list({ servers = { { name = "z" }, { command = "x" } } }, nothing)
    assert.is_nil(list)
    assert.equal("/servers/1: an object with a name expected", problem)
  end)

  it("makes names distinct that would become equal", function()
    local told = {}
    assert.same({ "a b /servers/a b a_b", "a_b /servers/a_b a_b_2" },
      names({ servers = { ["a b"] = {}, a_b = {} } }, function(entry, message)
        told[#told + 1] = entry.name .. ": " .. message
      end))
    assert.same({ 'a_b: the name "a_b" is taken; its operations are called a_b_2.*' }, told)
    told = {}
    assert.same({ "a /servers/0 a", "a_2 /servers/1 a_2", "a_3 /servers/2 a_3" },
      names({ servers = { { name = "a" }, { name = "a" }, { name = "a" } } }, function(entry, message)
        told[#told + 1] = entry.path .. ": " .. message
      end))
    assert.equal('/servers/2: the name "a" is taken; its operations are called a_3.*', told[2])
  end)

  it("has each value of such a member, of which one may be wrong", function()
    assert.same({ "a /mcpServers/a a", "b /mcpServers/b b" }, names({ mcpServers = { a = 7, b = false } }))
    local list, problem = entries.list({ mcpServers = 7 }, nothing)
    assert.is_nil(list)
    assert.equal("an object of servers expected", problem)
  end)
end)

describe("an entry of an MCP server", function()
  it("is read with the keys of many programs", function()
    for _, key in ipairs({ "url", "serverUrl", "httpUrl" }) do
      assert.equal("http://x", (config({ [key] = "http://x" })).url)
    end
    for _, key in ipairs({ "include", "includeTools", "enabledTools", "enabled_tools", "tools" }) do
      assert.same({ "t" }, (config({ [key] = { "t" } })).include)
      assert.is_nil((config({ [key] = { "*" } })).include)
    end
    for _, key in ipairs({ "exclude", "excludeTools" }) do
      assert.same({ "t" }, (config({ [key] = { "t" } })).exclude)
    end
    for _, key in ipairs({ "disabledTools", "disabled_tools" }) do
      assert.same({ "t" }, (config({ [key] = { "t" } })).disabled_tools)
    end
    assert.equal("events", (config({ url = "http://x", type = "sse" })).verdict)
    assert.is_nil((config({ url = "http://x", type = "http" })).verdict)
  end)

  it("says more than what counts for all", function()
    local own = config({ command = "x", timeout = json.null }, nil, { timeout = 5, cwd = "/" })
    assert.same({ "a/b", "x", 5, "/" }, { own.namespace, own.command, own.timeout, own.cwd })
  end)

  it("has arguments and variables that are texts", function()
    local own = config({ args = { 5, true, "x" }, env = { A = 1, B = false } })
    assert.same({ { "5", "true", "x" }, { A = "1", B = "false" } }, { own.args, own.env })
  end)

  it("takes variables from a file, and its own over these", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write("# a comment\nA=1\n B = \"two words\" \nC='x'\nnonsense\n")
    file:close()
    local folder, name = path:match("^(.*)/(.-)$")
    local own, told = config({ command = "x", env = { A = "mine" }, envFile = "${workspaceFolder}/" .. name },
      { workspace = folder })
    os.remove(path)
    assert.same({ A = "mine", B = "two words", C = "x" }, own.env)
    assert.same({}, told)
    local ok, err = pcall(config, { command = "x", envFile = "/no/such/file" })
    assert.is_false(ok)
    assert.matches("/mcpServers/a~1b/envFile: /no/such/file", err.message, 1, true)
  end)

  it("may be written as other clients write it", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write("export A=1 # one\nB='two # 2' # comment\nC=\"x\"\n#D=4\n  export E = five\nF=\n")
    file:close()
    local home = os.getenv("HOME")
    for _, case in ipairs({
      { { command = { "npx", "-y", "x" }, environment = { N = 1 } }, { command = "npx", args = { "-y", "x" },
        env = { N = "1" } } },
      { { command = { path = "srv", args = { "a" }, env = { K = "v" } } }, { command = "srv", args = { "a" },
        env = { K = "v" } } },
      { { command = "x", env = { HOME = json.null, PATH = "" } }, { command = "x", env = { HOME = home,
        PATH = os.getenv("PATH") } } },
      { { command = "x", url = "", type = "stdio" }, { command = "x" } },
      { { command = "", url = "http://a.test" }, { url = "http://a.test" } },
      { { command = "x", tools = operations.object() }, { command = "x" } },
      { { command = "x", envFile = path }, { command = "x", env = { A = "1", B = "two # 2", C = "x", E = "five",
        F = "" } } },
      { { command = "x", env_allow = { "PATH" }, restart = false }, { command = "x", env_allow = { "PATH" },
        restart = false } },
    }) do
      local own, told = config(case[1])
      own.namespace = nil
      assert.same(case[2], own)
      assert.same({}, told)
    end
    local own, told = config({ command = "x", timeout = 60 })
    assert.equal(60000, own.timeout)
    assert.same({ "/mcpServers/a~1b/timeout: 60 is taken as seconds; from 1000 on it is milliseconds" }, told)
    assert.equal(1000, config({ command = "x", timeout = 1000 }).timeout)
    os.remove(path)
  end)

  it("is found where opencode has it, and has a name in any case", function()
    local told = {}
    local list = entries.list({ mcp = { files = { type = "local", command = { "x" } } }, theme = "dark" }, print)
    assert.equal("files", list[1].name)
    list = entries.list({ mcpServers = { [""] = { command = "x" } } }, function(_, text)
      told[#told + 1] = text
    end)
    assert.equal("server", list[1].namespace)
    assert.same({ "the name is empty; its operations are called server.*" }, told)
  end)

  it("has its unknown keys reported with their path, in order", function()
    local _, told = config({ command = "x", kommand = "y", arg = {}, description = "d", type = "carrier pigeon" })
    assert.same({
      "/mcpServers/a~1b/arg: unknown key", "/mcpServers/a~1b/kommand: unknown key",
      "/mcpServers/a~1b/type: expected stdio, http or sse, got carrier pigeon",
    }, told)
  end)

  it("has a type by any of its names", function()
    for _, kind in ipairs({ "stdio", "local", "custom", "http", "streamable-http", "streamableHttp", "streamable_http",
      "remote", "sse" }) do
      for _, key in ipairs({ "type", "transport" }) do
        local made, told = config({ url = "http://x", [key] = kind })
        assert.same({ {}, kind == "sse" and "events" or nil }, { told, made.verdict })
      end
    end
  end)

  it("is disabled in either way", function()
    for _, value in ipairs({ { disabled = true }, { enabled = false } }) do
      assert.is_true(entries.is_disabled({ value = value }))
    end
    for _, value in ipairs({ {}, { disabled = false }, { enabled = true }, "x" }) do
      assert.is_false(entries.is_disabled({ value = value }))
    end
  end)
end)

local command = require("spec.support.command")
local json = require("operations.base.json")
local server = require("spec.support.server")

describe("a program that loads a remembered source", function()
  local home, api

  setup(function()
    api = server.start()
  end)

  teardown(function()
    api:stop()
  end)

  local function write(name, text)
    local file = assert(io.open(home .. "/" .. name, "w"))
    file:write(text)
    file:close()
  end

  before_each(function()
    home = os.tmpname()
    os.remove(home)
    assert(os.execute("mkdir -p " .. home .. "/project"))
    write("api.json", ([[{ "openapi": "3.1.0", "info": { "title": "a", "version": "1" }, "servers": [ { "url": "%s" } ],
      "paths": { "/echo": { "get": { "operationId": "echo", "responses": { "200": { "description": "",
        "content": { "application/json": {} } } } } } } }]]):format(api.url))
    write("own.lua", [[return { namespace = "own", name = "greet", type = "query",
      handler = function(input) return "Hello, " .. input.name end }]])
  end)

  after_each(function()
    os.execute("rm -rf " .. home)
  end)

  -- Runs a script with a home of its own, then a program.
  local function run(script, program)
    write("program.lua", "local operations = require('operations')\n" .. program)
    return command.run(("HOME=%s; export HOME; unset XDG_CONFIG_HOME XDG_CACHE_HOME XDG_STATE_HOME; %s\n"
      .. "lua $HOME/program.lua"):format(home, script))
  end

  it("calls its operations with the options, the profile and the secrets that were remembered", function()
    local result = run([[TOKEN=one OTHER=two; export TOKEN OTHER
      operations add api $HOME/api.json --bearer env:TOKEN --header 'X-Team: a' 2>/dev/null
      operations add api --profile work --bearer env:OTHER 2>/dev/null]], [[
      for _, profile in ipairs({ "none", "work" }) do
        local source = assert(operations.sources.load("api", { profile = profile ~= "none" and profile or nil }))
        local headers = assert(source.registry:execute("api.echo", {})).data.headers
        print(source.name, source.kind, headers.authorization, headers["x-team"])
        source:close()
      end]])
    assert.same({ "api\topenapi\tBearer one\ta\napi\topenapi\tBearer two\ta\n", "" }, { result.out, result.err })
  end)

  it("gets the operations in a registry of its own choice", function()
    local result = run("operations add own $HOME/own.lua 2>/dev/null", [[
      local registry = operations.registry()
      registry:register({ namespace = "a", name = "b", type = "query", handler = function() end })
      local source = assert(operations.sources.load("own", { registry = registry }))
      print(source.registry == registry, #registry:specs(), registry:execute("own.greet", { name = "Ada" }).data)]])
    assert.same({ "true\t2\tHello, Ada\n", "" }, { result.out, result.err })
  end)

  it("ends the servers that it started", function()
    write("mcp.json", json.encode({ mcpServers = { s = { command = command.interpreter(),
      args = { command.directory() .. "/spec/support/mcp/server.lua", "legacy" }, env = command.environment() } } }))
    local result = run("operations add s --mcp-config $HOME/mcp.json 2>/dev/null", [[
      operations.run(function()
        local source = assert(operations.sources.load("s"))
        print(source.kind, source.registry:execute("s.echo", { message = "a" }).meta.source)
        source:close()
        print((source.registry:execute("s.echo", { message = "a" })))
      end)]])
    assert.same({ "mcp-config\tmcp\nnil\n", "" }, { result.out, result.err })
  end)

  it("gets an error for an unknown name, a missing secret and a broken file", function()
    write("broken.lua", "return 7")
    local result = run([[operations add own $HOME/own.lua; operations add broken $HOME/own.lua
      TOKEN=one operations add api $HOME/api.json --bearer env:NO_TOKEN_HERE
      mv $HOME/broken.lua $HOME/own.lua]], [[
      local function log(level, message)
        print(level, (message:gsub("^/.*/", "")))
      end
      for _, name in ipairs({ "onw", "api", "own" }) do
        print(operations.sources.load(name, { log = log }))
      end
      print(operations.sources.load("own", { log = log, profile = "work" }))]])
    assert.equal("nil\tEXECUTION_ERROR: the source onw: no source \"onw\" (did you mean own?); "
      .. "operations sources lists them\n"
      .. "nil\tEXECUTION_ERROR: the source api: --bearer: the environment has no NO_TOKEN_HERE\n"
      .. "error\town.lua: expected a definition, got number\n"
      .. "nil\tEXECUTION_ERROR: the source own: its files have problems\n"
      .. "nil\tEXECUTION_ERROR: the source own: --profile: no source has a profile \"work\"\n", result.out)
  end)

  it("uses what a project's file names once a person trusts it, asked by the program or before", function()
    write("project/.operations.json", '{ "sources": { "near": { "lua": "../own.lua" } } }')
    local result = run("cd $HOME/project; PWD=$HOME/project", [[
      local function load(ask)
        local source, err = operations.sources.load("near", { log = function() end, ask = ask })
        print(source and source.registry:execute("own.greet", { name = "Ada" }).data
          or err.message:match("which is not trusted"))
      end
      load()
      load(function(text)
        print(text:match("runs the Lua file") ~= nil)
        return false
      end)
      load(function() return true end)
      load()]])
    assert.same({ "which is not trusted\ntrue\nwhich is not trusted\nHello, Ada\nHello, Ada\n", "" },
      { result.out, result.err })
  end)

  it("is told where an option is wrong", function()
    local result = run("", [[
      print((select(2, pcall(operations.sources.load, 7)):gsub("^.-bad", "bad")))
      print((select(2, pcall(operations.sources.load, "a", { profil = "b" })):gsub("^.-bad", "bad")))]])
    assert.equal("bad argument #1 to 'load' (string expected, got number)\n"
      .. "bad option 'profil' to 'load' (unknown; did you mean profile?)\n", result.out)
  end)
end)

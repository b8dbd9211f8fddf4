local command = require("spec.support.command")
local cache = require("operations.sources.cache")
local loader = require("operations.sources.loader")

-- What the log writes of the four levels, the last with a traceback.
local function logged(arguments)
  local program = os.tmpname()
  local file = assert(io.open(program, "w"))
  file:write(([[
local log = require("operations.cli.sources").logger(%s)
for _, level in ipairs({ "debug", "info", "warn", "error" }) do
  log(level, level == "error" and "it failed\nstack traceback:\n\there" or "words of " .. level)
end
]]):format(arguments))
  file:close()
  local result = command.run("lua " .. program)
  os.remove(program)
  return result.err
end

describe("the log of the command line", function()
  it("has warnings and errors, without the failures of handlers, which are reported anyway", function()
    assert.equal("operations: warn: words of warn\n", logged(""))
    assert.equal("operations: warn: words of warn\n", logged("false, true"))
  end)

  it("has the first line of each failure where the caller is elsewhere", function()
    assert.equal("operations: warn: words of warn\noperations: error: it failed\n", logged("false, false"))
  end)

  it("has everything with --verbose", function()
    assert.equal("operations: debug: words of debug\noperations: info: words of info\n"
      .. "operations: warn: words of warn\noperations: error: it failed\nstack traceback:\n\there\n", logged("true"))
  end)
end)

describe("the sources that may have an operation", function()
  it("are all, where there is no more than one MCP server", function()
    for _, list in ipairs({ {}, { { kind = "lua" }, { kind = "mcp" }, { kind = "openapi" } } }) do
      assert.equal(list, loader.narrow(list, "a.b"))
    end
    local many = { { kind = "mcp" }, { kind = "mcp" } }
    assert.equal(many, loader.narrow(many, nil))
  end)

  it("are known from the cached operations where one remembered file of MCP servers is the only source", function()
    local path, entries = os.tmpname(), cache.entries
    local file = assert(io.open(path, "w"))
    file:write('{ "mcpServers": { "files": { "command": "x" }, "web": { "command": "y" } } }')
    file:close()
    cache.entries = function(of)
      return of.place == path and { { id = "files.read" }, { id = "web.search" }, { id = "web.look" },
        { id = "files.look" } }
    end
    finally(function()
      cache.entries = entries
      os.remove(path)
    end)
    local function wanted(id, name, ...)
      return loader.narrow({ { kind = "mcp-config", place = path, name = name, config = {} }, ... }, id)[1].wanted
    end
    assert.same({ "files", "web" }, { wanted("read", "s"), wanted("web.other", "s") })
    assert.is_nil(wanted("look", "s"))
    assert.is_nil(wanted("read", nil))
    assert.is_nil(wanted("read", "s", { kind = "lua" }))
    cache.entries = function() end
    assert.is_nil(wanted("read", "s"))
  end)
end)

describe("a hub as a source", function()
  local output = require("operations.cli.output")
  local operations = require("operations")

  -- The options of the connection to a hub, for a source with these credentials.
  local function connected(auth)
    local websocket, given = operations.transports.websocket, nil
    operations.transports.websocket = function(url, options)
      given = { url, options }
      return nil, "no hub"
    end
    local config = { auth = auth, headers = {}, document_headers = {}, oauth = {} }
    local ok, list, err = pcall(loader.load, { kind = "websocket", place = "ws://hub", config = config }, {})
    operations.transports.websocket = websocket
    assert.same({ true, nil, "no hub" }, { ok, list, err })
    return given
  end

  it("is left at the end of the program", function()
    local redis, import, call_map = operations.transports.redis, operations.import, operations.call_map
    local closed = 0
    operations.transports.redis = function() return {} end
    operations.call_map = function() return { close = function() closed = closed + 1 end } end
    operations.import = function() return {} end
    local ok, list = pcall(loader.load, { kind = "redis", place = "redis://hub", config = { headers = {},
      document_headers = {}, oauth = {} } }, { face = { at_end = output.at_end } }, { route = function() end })
    operations.transports.redis, operations.import, operations.call_map = redis, import, call_map
    assert.same({ true, {} }, { ok, list })
    assert.equal(0, closed)
    output.close()
    assert.equal(1, closed)
  end)

  it("gets the bearer token, and no other credentials", function()
    assert.same({ "ws://hub", { token = "t" } }, connected({ type = "bearer", token = "t" }))
    for _, auth in ipairs({ false, { type = "apiKey", token = "t" } }) do
      assert.same({ "ws://hub", {} }, connected(auth or nil))
    end
  end)
end)

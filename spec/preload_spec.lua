local command = require("spec.support.command")
local inside = require("spec.support.inside")
local operations = require("operations")
local sources = require("spec.support.sources")
local test_server = require("spec.support.server")

-- Prints the modules that a program has loaded, one a line.
local list = [[ for name in pairs(package.loaded) do print(name) end ]]

describe("operations.preload", function()
  -- Parts of the command line's sources are for programs that load a remembered source: others never need them.
  local function is_source(name)
    return name:find("^operations%.sources%.") ~= nil
  end

  it("loads every module that a loaded one names", function()
    local result = command.run("lua -e 'require(\"operations\").preload()" .. list .. "'")
    assert.equal("", result.err)
    local loaded, missing = {}, {}
    for name in result.out:gmatch("[^\n]+") do
      loaded[name] = true
    end
    assert.is_true(loaded["operations.transfer"])
    for _, path in ipairs(sources.list("lua/operations", ".lua")) do
      if loaded[sources.module(path)] then
        for name in sources.read(path):gmatch('"(operations%.[%l%d_.]*[%l%d])"') do
          if sources.exists(name) and not loaded[name] and not is_source(sources.module(path)) then
            missing[#missing + 1] = path .. ": " .. name
          end
        end
      end
    end
    assert.same({}, missing)
  end)

  it("does not need the libraries that a program can do without", function()
    local result = command.run([[lua -e '
      for _, name in ipairs({ "transfer", "tls", "crypto", "redis", "websocket" }) do
        package.preload["operations." .. name] = function() error("no such library") end
      end
      local operations = require("operations")
      operations.preload()
      print(pcall(function() return operations.transports.redis end))
      print(pcall(operations.http.request, { url = "http://127.0.0.1:1" }))']])
    assert.equal("", result.err)
    assert.matches("^false\t[^\n]*transports%.redis needs hiredis.*\nfalse\t[^\n]*need libcurl[^\n]*no such library",
      result.out)
  end)

  describe("in nginx's init_by_lua", function()
    local missing = inside.missing("nginx")
    if missing then
      pending(missing)
      return
    end

    it("leaves no module for the requests of a worker to load", function()
      local app = test_server.start({ app = true, init = [[
        require("operations").preload()
        require("spec.support.http_api")
        local loaded = {}
        for name in pairs(package.loaded) do loaded[name] = true end
        package.loaded["spec.loaded"] = loaded]] })
      local function get(path, body)
        local headers = { ["content-type"] = "application/json", accept = "application/json, text/event-stream" }
        return assert(operations.http.request({ method = body and "POST" or "GET", url = app.url .. path, body = body,
          headers = body and headers or nil, timeout = 20000 }))
      end
      assert.equal("200\n", get("/proxy?url=" .. app.url .. "/small").body)
      assert.equal(404, get("/api/nothing/here").status)
      assert.matches('"paths"', get("/api/openapi.json").body, 1, true)
      assert.equal(200, get("/mcp", '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":'
        .. '"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}').status)
      assert.equal(200, get("/limited").status)
      assert.equal("", get("/loaded").body)
      app:stop()
    end)
  end)
end)

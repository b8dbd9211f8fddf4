-- Two workers of one server, in one process.
local eventually = require("spec.support.eventually")
local operations = require("operations")
local workers = require("operations.mcp.server.workers")

describe("a worker of an MCP server", function()
  local registry, one, other, answer

  before_each(function()
    registry = operations.registry()
    local function worker()
      return workers.new(operations.to_mcp(registry, { state_secret = ("x"):rep(32) }), function(request)
        return answer(request)
      end)
    end
    one, other = worker(), worker()
  end)

  after_each(function()
    one.server:close()
    other.server:close()
  end)

  -- Hands a request of a session of `one` to it.
  local function forward(request)
    request.headers["mcp-session-id"] = one:id()
    request.method, request.body = request.method or "POST", request.body or "{}"
    return assert(other:forward(request))
  end

  it("hands on no headers that are of one connection only", function()
    local of_connection = { connection = "x-a", ["keep-alive"] = "timeout=7", host = "mcp.example", te = "trailers",
      upgrade = "h2c", expect = "something", trailer = "x-a", ["transfer-encoding"] = "chunked" }
    local came
    function answer(request)
      came = request.headers
      return { status = 200, headers = { ["x-b"] = "2", trailer = "x-a", upgrade = "h2c" }, body = "yes" }
    end
    local headers = { ["x-a"] = "1" }
    for name, value in pairs(of_connection) do
      headers[name] = value
    end
    local handed = operations.run(forward, { headers = headers })
    for name, value in pairs(of_connection) do
      assert.not_equal(value, came[name], name)
    end
    assert.equal("1", came["x-a"])
    assert.same({ 200, "2" }, { handed.status, handed.headers["x-b"] })
    assert.same({}, { handed.headers.trailer, handed.headers.upgrade, handed.headers["content-length"] })
  end)

  it("hands on requests and answers as they are", function()
    local seen = {}
    function answer(request)
      local text = type(request.body) == "string" and request.body or request.body() or ""
      seen[#seen + 1] = request.method .. " " .. text .. " " .. request.peer.address
      local pieces = { "slow", "one, " }
      return { status = 307, headers = { location = "/mcp" }, body = function()
        operations.sleep(0.02)
        return table.remove(pieces)
      end }
    end
    operations.run(function()
      local pieces = { "b", "a" }
      for _, request in ipairs({ { method = "GET", peer = { address = "10.1.2.3" } }, { body = function()
        return table.remove(pieces)
      end }, { body = "c" } }) do
        request.headers = {}
        local handed = forward(request)
        assert.equal(307, handed.status)
        assert.equal("one, slow", handed.body() .. handed.body())
      end
    end)
    assert.same({ "GET  10.1.2.3", "POST ab ", "POST c " }, seen)
  end)

  it("hands on no request of its own sessions, nor to a worker that has ended", function()
    local id = one:id()
    assert.is_nil(one:forward({ headers = { ["mcp-session-id"] = id }, method = "POST", body = "{}" }))
    one.server:close()
    assert.is_nil(other:forward({ headers = { ["mcp-session-id"] = id }, method = "POST", body = "{}" }))
  end)

  it("tells that a session's worker does not answer", function()
    local logged = {}
    other.server.options.log = function(level, text)
      logged[#logged + 1] = level .. " " .. text
    end
    other.server.options.timeout = 1
    function answer()
      operations.sleep(60)
    end
    local handed = operations.run(forward, { headers = {} })
    assert.same({ 502, "" }, { handed.status, handed.body })
    assert.matches("^error a session's worker did not answer: TIMEOUT", logged[1])
  end)

  it("tells the other worker that the client has left", function()
    local leave, has_left
    function answer(request)
      request.left(function()
        has_left = true
      end)
      local pieces = { "begun" }
      return { status = 200, headers = {}, body = function()
        if not pieces[1] then
          operations.sleep(60)
        end
        return table.remove(pieces)
      end }
    end
    operations.run(function()
      local handed = forward({ headers = {}, left = function(fn)
        leave = fn
      end })
      assert.equal("begun", handed.body())
      leave()
      eventually(function()
        return has_left
      end)
    end)
  end)
end)

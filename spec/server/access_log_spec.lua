local http_request = require("spec.support.http_request")
local operations = require("operations")

local function silent() end

describe("the access log of a server", function()
  local entries, server

  before_each(function()
    entries = {}
    local registry = operations.registry({ log = silent })
    assert(registry:register_all({
      { namespace = "task", name = "get", type = "query", handler = function() return "x" end },
      { namespace = "task", name = "watch", type = "subscription", handler = function(_, context)
        context.emit(1)
        context.emit(2)
      end },
    }))
    server = assert(operations.to_http(registry, { log = silent, access_log = function(entry)
      entries[#entries + 1] = entry
    end, anonymous = true, authorize = function(request)
      return request.token and { id = request.token, scopes = {} } or nil
    end }))
  end)

  it("has one entry for each request, without its query", function()
    http_request.send(server, "GET", "/task/get?", { authorization = "Bearer ada", ["x-request-id"] = "r1" })
    http_request.send(server, "GET", "/nothing?token=secret")
    assert.equal(2, #entries)
    local first = entries[1]
    assert.same({ "r1", "GET", "/task/get", "task.get", "ada", 200, 3 }, { first.requestId, first.method, first.path,
      first.operation, first.identity, first.status, first.bytes })
    assert.is_true(first.time > 1e12 and first.ms >= 0)
    assert.same({ "/nothing", 404, "OPERATION_NOT_FOUND" }, { entries[2].path, entries[2].status, entries[2].code })
  end)

  it("costs no answer when it fails", function()
    local told = {}
    local registry = operations.registry({ log = silent })
    assert(registry:register({ namespace = "task", name = "get", type = "query", handler = function() return "x" end }))
    local failing = assert(operations.to_http(registry, {
      access_log = function() error("the disk is full") end,
      log = function(_, message) told[#told + 1] = message end,
    }))
    assert.equal(200, http_request.send(failing, "GET", "/task/get").status)
    assert.matches("access_log failed: .*the disk is full", told[1])
  end)

  it("tells of a stream when it has ended, or its reader left", function()
    local response = server:handle({ method = "GET", target = "/task/watch", headers = {} })
    local bytes = 0
    assert.equal(0, #entries)
    for piece in response.body do
      bytes = bytes + #piece
    end
    assert.same({ 1, bytes }, { #entries, entries[1].bytes })
    local left = {}
    response = server:handle({ method = "GET", target = "/task/watch", headers = {}, left = function(fn)
      left[#left + 1] = fn
    end })
    response.body()
    for _, fn in ipairs(left) do
      fn()
    end
    assert.equal(2, #entries)
    assert.is_nil(response.body())
    assert.equal(2, #entries)
  end)
end)

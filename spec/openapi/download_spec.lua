-- Answers of any size, from a real server.
local errors = require("operations.base.error")
local eventually = require("spec.support.eventually")
local operations = require("operations")
local server = require("spec.support.server")
local support = require("spec.support.openapi")
local usage = require("spec.support.usage")

local MIB = 1024 * 1024

describe("context.sink of an imported operation", function()
  local api = server.around(setup, teardown)

  local function registry_of(path, content_type, config, parameters)
    return (support.registry(support.one({
      parameters = parameters or { { name = "size", ["in"] = "query", schema = { type = "integer" } } },
      responses = { ["200"] = { content = { [content_type] = {} } } },
    }, { path = path }), api.url, config))
  end

  local function execute(registry, input, sink)
    return operations.run(function()
      return registry:execute("api.op", input, { sink = sink })
    end)
  end

  it("takes a body that is no JSON in pieces, and the envelope is left without data", function()
    local registry, pieces = registry_of("/bytes", "application/octet-stream"), {}
    local envelope = assert(execute(registry, { size = 3 * MIB }, function(bytes)
      pieces[#pieces + 1] = bytes
    end))
    assert.is_nil(envelope.data)
    assert.equal("application/octet-stream", envelope.meta.contentType)
    assert.equal(200, envelope.meta.statusCode)
    assert.is_true(#pieces > 1)
    assert.equal(("0123456789abcdef"):rep(3 * MIB / 16), table.concat(pieces))
  end)

  it("comes with progress in bytes, and the whole where the server says it", function()
    local registry, told = registry_of("/bytes", "application/octet-stream"), {}
    local sent = 0
    assert(operations.run(function()
      return registry:execute("api.op", { size = 3 * MIB }, { on_progress = function(...)
        told[#told + 1] = { ... }
      end, sink = function(bytes)
        sent = sent + #bytes
      end })
    end))
    assert.same({ sent, 3 * MIB }, told[#told])
    assert.is_true(#told > 1 and told[1][1] < told[2][1])
  end)

  it("has no limit of size, and holds the server back while it waits", function()
    local registry = registry_of("/bytes/endless", "application/octet-stream", { max_body = 1000, timeout = 5000 },
      { { name = "note", ["in"] = "query" } })
    local taken = 0
    local _, err = execute(registry, { note = "held" }, function(bytes)
      taken = taken + #bytes
      if taken > 20 * MIB then
        -- waits: the server would send on meanwhile, if it were not held back
        operations.sleep(0.3)
        error(operations.error("ABORTED", "enough"), 0)
      end
    end)
    assert.equal("enough", err.message)
    eventually(function() -- the connection is closed with the handler
      return operations.http.request({ url = api.url .. "/note/held.end" }).body == "aborted"
    end)
    local sent = tonumber(operations.http.request({ url = api.url .. "/note/held" }).body)
    assert.is_true(sent - taken < 16 * MIB, ("%d bytes were sent, %d taken"):format(sent, taken))
  end)

  it("leaves JSON and failures as they are, within the limit of bodies", function()
    local function sink()
      error("it went to the sink")
    end
    local json = support.api(support.one({ responses = { ["200"] = { content = { ["text/plain"] = {} } } } }), nil,
      { status = 200, headers = { ["content-type"] = "application/json" }, chunks = { '{"a"', ":1}" } })
    assert.same({ a = 1 }, json.definitions[1].handler({}, { sink = sink }).data)

    local missing = registry_of("/status/404", "application/octet-stream")
    local _, err = execute(missing, {}, sink)
    assert.equal("HTTP_404", err.code)

    local small = registry_of("/echo", "application/octet-stream", { max_body = 10 })
    _, err = execute(small, {}, sink) -- a JSON text of more than 10 bytes
    assert.equal("size", err.details.kind)
    assert.matches("max_body", err.message)
  end)

  it("has text as UTF-8", function()
    local latin = support.api(support.one({ responses = { ["200"] = { content = { ["text/plain"] = {} } } } }), nil,
      { status = 200, headers = { ["content-type"] = "text/plain; charset=iso-8859-1" }, chunks = { "caf", "\233" } })
    local pieces = {}
    assert(latin.definitions[1].handler({}, { sink = function(bytes) pieces[#pieces + 1] = bytes end }))
    assert.same({ "caf", "\195\169" }, pieces)
  end)

  it("fails where the body is cut short, after the received part", function()
    local cut = support.api(support.one({ responses = { ["200"] = { content = { ["text/plain"] = {} } } } }), nil,
      { status = 200, headers = {}, chunks = { "some", errors.new("EXECUTION_ERROR", "cut", { kind = "truncated" }) } })
    local pieces = {}
    local envelope, err = cut.definitions[1].handler({}, { sink = function(bytes) pieces[#pieces + 1] = bytes end })
    assert.is_nil(envelope)
    assert.equal("truncated", err.details.kind)
    assert.same({ "some" }, pieces)
    assert.equal(1, cut.closed)
  end)

  it("relays a GiB through to_http in flat memory", function()
    local registry = registry_of("/bytes", "application/octet-stream",
      { accessControl = { requiredScopes = operations.array({}) } })
    local http = assert(operations.to_http(registry, { authorize = function()
      return { id = "a", scopes = {} }
    end }))
    local received, most = 0, 0
    operations.run(function()
      local answer = http:handle({ method = "GET", target = "/api/op?size=" .. 1024 * MIB, headers = {} })
      assert.equal(200, answer.status)
      assert.equal("application/octet-stream", answer.headers["content-type"])
      local before
      for piece in answer.body do
        received = received + #piece
        before = before or received > 32 * MIB and usage.resident() * 1024 or nil
        most = before and math.max(most, usage.resident() * 1024 - before) or 0
      end
    end)
    assert.equal(1024 * MIB, received)
    if not os.getenv("ASAN_OPTIONS") then -- the sanitizer keeps what was freed
      assert.is_true(most < 32 * MIB, ("memory grew by %d bytes"):format(most))
    end
  end)
end)

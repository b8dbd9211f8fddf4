local operations = require("operations")

local trace = operations.middleware.trace

return function(kit)
  local it, assert = kit.it, kit.assert

  local TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"

  local function traced(definition, options)
    local spans = {}
    local call, registry = kit.operation({ trace(function(span)
      spans[#spans + 1] = span
    end, options) }, definition)
    return call, spans, registry
  end

  local function echo(_, context)
    return context.traceparent
  end

  it("begins a trace, and tells of the call", function()
    local start = kit.clock.now
    local call, spans = traced(function(_, context)
      operations.sleep(0.5)
      return context.traceparent
    end)
    local text = call()
    local id, span = text:match("^00%-(%x+)%-(%x+)%-01$")
    assert.same({ 32, 16 }, { #id, #span })
    assert.same({ { name = "spec.call", traceId = id, spanId = span, start = start, finish = start + 500,
      attributes = { ["operation.id"] = "spec.call", ["operation.type"] = "query" } } }, spans)
    call()
    assert.not_equal(id, spans[2].traceId)
    assert.not_equal(span, spans[2].spanId)
  end)

  it("continues the trace of the caller", function()
    local call, spans = traced(echo)
    local text = call({}, { traceparent = ("00-%s-%s-01"):format(TRACE, PARENT),
      metadata = { http = { tracestate = "a=1" } } })
    assert.same({ TRACE, PARENT, "a=1" }, { spans[1].traceId, spans[1].parentSpanId, spans[1].tracestate })
    assert.equal(("00-%s-%s-01"):format(TRACE, spans[1].spanId), text)
  end)

  it("tells nothing of traces that are not sampled, and carries them on", function()
    local call, spans = traced(echo)
    local text = call({}, { traceparent = ("00-%s-%s-00"):format(TRACE, PARENT) })
    assert.matches("^00%-" .. TRACE .. "%-%x+%-00$", text)
    assert.is_nil(text:find(PARENT, 1, true))
    call = traced(echo, { sample = 0 })
    assert.matches("%-00$", (call()))
    assert.equal(0, #spans)
    call, spans = traced(echo, { sample = 0 })
    call({}, { traceparent = ("00-%s-%s-03"):format(TRACE, PARENT) })
    assert.equal(1, #spans)
  end)

  it("samples the share of traces that is asked for, none where that is 0", function()
    local random = math.random
    local function is_sampled(share, drawn)
      math.random = function() return drawn end -- luacheck: ignore 122
      local call = traced(echo, { sample = share })
      local ok, text = pcall(call)
      math.random = random -- luacheck: ignore 122
      assert.is_true(ok, text)
      return text:sub(-2) == "01"
    end
    assert.same({ true, false }, { is_sampled(0.5, 0.49), is_sampled(0.5, 0.5) })
    assert.is_false(is_sampled(0, 0))
  end)

  it("starts a new trace where the trace context is invalid (W3C Trace Context, 3.2)", function()
    local call, spans = traced(echo)
    for _, text in ipairs({ "", "x", "ff-" .. TRACE .. "-" .. PARENT .. "-01", "00-" .. TRACE .. "-" .. PARENT,
      "00-" .. TRACE:upper() .. "-" .. PARENT .. "-01", "00-" .. ("0"):rep(32) .. "-" .. PARENT .. "-01",
      "00-" .. TRACE .. "-" .. ("0"):rep(16) .. "-01", "00-" .. TRACE .. "-" .. PARENT .. "-01-x",
      "00-" .. TRACE .. "0-" .. PARENT .. "-01", "01-" .. TRACE .. "-" .. PARENT .. "-01x" }) do
      call({}, { traceparent = text })
      assert.is_nil(spans[#spans].parentSpanId, text)
      assert.not_equal(TRACE, spans[#spans].traceId)
    end
    call({}, { traceparent = "01-" .. TRACE .. "-" .. PARENT .. "-01-later" })
    assert.equal(PARENT, spans[#spans].parentSpanId)
  end)

  it("makes children of nested calls", function()
    local call, spans, registry = traced(function(_, context) context.env.spec.inner({}) end)
    assert(registry:register({ namespace = "spec", name = "inner", handler = echo }))
    call()
    local inner, outer = spans[1], spans[2]
    assert.same({ "spec.inner", "spec.call" }, { inner.name, outer.name })
    assert.same({ outer.traceId, outer.spanId }, { inner.traceId, inner.parentSpanId })
  end)

  it("says how a call failed", function()
    local call, spans = traced(kit.answers(kit.failure("GONE")).handler)
    call()
    assert.same({ "GONE", "GONE" }, { spans[1].error.code, spans[1].attributes["error.type"] })
  end)

  it("names spans of imported operations as OpenTelemetry does", function()
    local call, spans = traced({ handler = echo, _meta = { source = "mcp", tool = "find-it" } })
    call()
    assert.same({ "tools/call find-it", "tools/call", "find-it" }, { spans[1].name,
      spans[1].attributes["mcp.method.name"], spans[1].attributes["gen_ai.tool.name"] })
    call, spans = traced({ handler = echo, _meta = { source = "openapi", method = "GET", path = "/a/{id}" } })
    call()
    assert.same({ "GET", "/a/{id}" }, { spans[1].attributes["http.request.method"],
      spans[1].attributes["url.template"] })
  end)

  it("tells of a subscription when it ends", function()
    local _, spans, registry = traced({ type = "subscription", handler = function(_, context) context.emit(1) end })
    local stream = assert(registry:subscribe("spec.call"))
    stream:next()
    assert.equal(0, #spans)
    stream:close()
    assert.same({ 1, "ABORTED" }, { #spans, spans[1].error.code })
  end)

  it("costs no call when the function fails", function()
    local call = kit.operation({ trace(function() error("oops", 0) end) }, kit.answers(1).handler)
    assert.equal(1, (call()))
    assert.same({ "error: spec.call: middleware: oops" }, kit.log)
    assert.has_error(function() trace() end, "bad argument #1 to 'trace' (function expected, got nil)")
    assert.has_error(function() trace(print, { sample = 2 }) end,
      "bad option 'sample' to 'trace' (0 to 1 expected, got 2)")
  end)
end

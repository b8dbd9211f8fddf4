--- Spans of the middleware `trace` for an OpenTelemetry collector at $OTLP_URL: OTLP over HTTP, as JSON.
local operations = require("operations")

local otlp = {}
local waiting, most = {}, 2000

local function pairs_of(map)
  local list = operations.array()
  for key, text in pairs(map) do
    list[#list + 1] = { key = key, value = { stringValue = tostring(text) } }
  end
  return list
end

--- Takes a span; more than can be sent are dropped.
function otlp.note(span)
  if #waiting < most then
    waiting[#waiting + 1] = { traceId = span.traceId, spanId = span.spanId, parentSpanId = span.parentSpanId,
      name = span.name, kind = 1, attributes = pairs_of(span.attributes), traceState = span.tracestate,
      startTimeUnixNano = ("%d000000"):format(span.start), endTimeUnixNano = ("%d000000"):format(span.finish),
      status = span.error and { code = 2, message = span.error.message } or operations.object() }
  end
end

--- Sends those that wait. To be called now and then, where it may wait.
function otlp.send()
  local url, spans = os.getenv("OTLP_URL"), waiting
  waiting = {}
  if url and spans[1] then
    operations.http.request({ method = "POST", url = url .. "/v1/traces", timeout = 10000,
      headers = { ["Content-Type"] = "application/json" }, body = operations.json.encode({ resourceSpans = { {
        resource = { attributes = pairs_of({ ["service.name"] = "gateway" }) },
        scopeSpans = { { scope = { name = "operations" }, spans = spans } } } } }) })
  end
end

return otlp

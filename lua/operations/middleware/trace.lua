--- Reports spans of calls to a function, and propagates W3C Trace Context.
local argument = require("operations.base.argument")
local core = require("operations.core")
local layer = require("operations.middleware.layer")
local number_text = require("operations.base.number_text")
local scheduler = require("operations.task.scheduler")

local trace = {}

---@class operations.Span
---@field name string
---@field traceId string  32 hexadecimal digits
---@field spanId string  16 hexadecimal digits
---@field parentSpanId? string
---@field tracestate? string  as received
---@field start number  ms since the epoch
---@field finish number  ms since the epoch
---@field attributes table<string, string>
---@field error? operations.Error

---@class operations.TraceOptions
---@field sample? number  share of the traces that begin here and are reported, 0 to 1, default 1; others are reported
---  by their flags

local kinds = { sample = "number" }

-- The parts of a traceparent (version 00, or the same parts of a later one); nil when it is invalid.
local function parse(text)
  if type(text) ~= "string" or text:find("%u") then
    return nil
  end
  local version, id, parent, flags, rest = text:match("^(%x%x)%-(%x+)%-(%x+)%-(%x%x)(.*)$")
  if not version or version == "ff" or #id ~= 32 or #parent ~= 16 or not id:find("[^0]") or not parent:find("[^0]")
    or rest ~= "" and (version == "00" or rest:sub(1, 1) ~= "-") then
    return nil
  end
  return id, parent, tonumber(flags, 16) % 2 == 1
end

local function member(value, name)
  return type(value) == "table" and value[name] or nil
end

-- The name of an operation's spans, and what imported operations add to their attributes, by the semantic conventions
-- of OpenTelemetry.
local function describe(spec)
  local meta, attributes, name = spec._meta, {}, layer.id(spec)
  if member(meta, "source") == "openapi" then
    attributes["http.request.method"], attributes["url.template"] = meta.method, meta.path
  elseif member(meta, "source") == "graphql" then
    attributes["graphql.operation.type"], attributes["graphql.operation.name"] = spec.type, meta.operationName
  elseif member(meta, "source") == "mcp" and type(meta.tool) == "string" then
    attributes["mcp.method.name"], attributes["gen_ai.tool.name"] = "tools/call", meta.tool
    name = "tools/call " .. meta.tool
  end
  return name, attributes
end

-- A span without its attributes.
local function span_of(name, context)
  local id, parent, sampled = parse(context.traceparent)
  local span = { name = name, traceId = id or core.random_digits(16), spanId = core.random_digits(8),
    start = scheduler.now(), finish = 0, attributes = false, error = nil }
  if id then
    span.parentSpanId, span.tracestate = parent, member(member(context.metadata, "http"), "tracestate")
  end
  return span, sampled
end

--- Calls `fn(span)` when a call has ended. Inside, `context.traceparent` names the span: calls of other operations,
--- requests of OpenAPI documents, MCP tools and calls over transports carry it.
---@param fn fun(span: operations.Span)  must not wait; collects spans to send many at a time
---@param options? operations.TraceOptions
---@return operations.Middleware
function trace.new(fn, options)
  argument.expect(fn, "function", 1, "trace")
  argument.optional(options, "table", 2, "trace")
  argument.options(options or {}, kinds, "trace")
  local share = options and options.sample or 1
  if not (share >= 0 and share <= 1) then
    error(("bad option 'sample' to 'trace' (0 to 1 expected, got %s)"):format(number_text.of(share)), 2)
  end
  return layer.new(function(inner, spec)
    local id, kind, name, further = layer.id(spec), spec.type, describe(spec)
    local followed = layer.followed(inner, function(err, context, span)
      local attributes = { ["operation.id"] = id, ["operation.type"] = kind, ["error.type"] = err and err.code or nil }
      for key, value in next, further do
        attributes[key] = value
      end
      span.finish, span.error, span.attributes = scheduler.now(), err, attributes
      layer.tell(context, id, fn, span)
    end)
    return function(input, context)
      local span, sampled = span_of(name, context)
      if sampled == nil then
        sampled = share == 1 or math.random() < share
      end
      context.traceparent = "00-" .. span.traceId .. "-" .. span.spanId .. (sampled and "-01" or "-00")
      if not sampled then
        return inner(input, context)
      end
      return followed(input, context, span)
    end
  end)
end

return trace

--- Reports spans of calls to a function, and propagates W3C Trace Context.
local argument = require("operations.base.argument")
local core = require("operations.core")
local hold = require("operations.task.hold")
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

local function random(digits)
  local id = core.random_id():gsub("-", "")
  return id:sub(-digits)
end

local function member(value, name)
  return type(value) == "table" and value[name] or nil
end

-- The attributes of all spans of an operation, by the semantic conventions of OpenTelemetry.
local function describe(spec)
  local id, meta = layer.id(spec), spec._meta
  local attributes, name = { ["operation.id"] = id, ["operation.type"] = spec.type }, id
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

local function span_of(name, fixed, context)
  local id, parent, sampled = parse(context.traceparent)
  local attributes = {}
  for key, value in pairs(fixed) do
    attributes[key] = value
  end
  return { name = name, traceId = id or random(32), spanId = random(16), parentSpanId = parent,
    tracestate = id and member(member(context.metadata, "http"), "tracestate") or nil,
    start = scheduler.host().now(), attributes = attributes }, sampled
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
    local name, fixed = describe(spec)
    local function over(err, context, span)
      span.finish, span.error = scheduler.host().now(), err
      span.attributes["error.type"] = err and err.code
      layer.tell(context, layer.id(spec), fn, span)
    end
    return function(input, context)
      local span, sampled = span_of(name, fixed, context)
      if sampled == nil then
        sampled = share == 1 or math.random() < share
      end
      context.traceparent = ("00-%s-%s-%s"):format(span.traceId, span.spanId, sampled and "01" or "00")
      if not sampled then
        return inner(input, context)
      end
      return layer.follow(hold.new(over, context, span), inner, input, context)
    end
  end)
end

return trace

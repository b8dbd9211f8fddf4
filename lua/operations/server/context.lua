--- Makes the context of a call from an HTTP request.
local core = require("operations.core")
local limits = require("operations.base.limits")

local random_id = core.random_id
local context = {}

local unset = nil -- keeps room in a constructor; LuaJIT keeps none where `nil` is written
--- The token of "Authorization: Bearer" (RFC 6750, 2.1).
---@param headers table<string, string>
---@return string?
function context.bearer(headers)
  local given = headers.authorization
  return given and given:match("^[Bb][Ee][Aa][Rr][Ee][Rr] +([^ ]+)$")
end

--- The request id that the caller gave, if it is safe for logs and headers, else a new one.
---@param headers table<string, string>
---@return string
function context.request_id(headers)
  local given = headers["x-request-id"]
  return given and #given <= 128 and given:find("^[%w._-]+$") and given or random_id()
end

--- The trace context (W3C Trace Context), when it is well-formed.
---@param headers table<string, string>
---@return string?
function context.traceparent(headers)
  local text = headers.traceparent
  if not text then
    return nil
  end
  local version, trace, span = text:match("^(%x%x)%-(%x+)%-(%x+)%-%x%x$")
  if version and version ~= "ff" and #trace == 32 and #span == 16 and trace:find("[^0]") and span:find("[^0]")
    and not text:find("%u") then
    return text
  end
end

--- The timeout of a call.
---@param headers table<string, string>
---@param options operations.HttpOptions
---@return integer ms
function context.timeout(headers, options)
  local asked = headers["request-timeout-ms"]
  local ms = asked and asked:find("^%d+$") and #asked <= 10 and tonumber(asked)
  if not ms then
    return options.timeout or limits.call_timeout
  end
  return math.min(math.max(ms, 1), options.max_timeout or limits.server_max_timeout)
end

local function some_headers(headers, names)
  local some = {}
  for _, name in ipairs(names or {}) do
    some[name:lower()] = headers[name:lower()]
  end
  return some
end

--- The context of the operation's call.
---@param call operations.ServerCall
---@param request operations.ServerRequest
---@param options operations.HttpOptions
---@return table
function context.of(call, request, options)
  local headers = request.headers
  local made = { requestId = call.id, identity = call.identity, timeout = unset, metadata = unset,
    traceparent = headers.traceparent and context.traceparent(headers), lastEventId = unset }
  if call.route.kind ~= "subscription" then
    made.timeout = context.timeout(headers, options)
  end
  if call.route.takes_context then
    made.metadata = { http = {
      method = request.method, path = call.path, address = request.peer and request.peer.address,
      scheme = request.scheme or (request.peer and request.peer.tls and "https" or "http"), host = headers.host,
      tracestate = made.traceparent and headers.tracestate,
      headers = some_headers(headers, options.metadata_headers),
    } }
  end
  return made
end


return context

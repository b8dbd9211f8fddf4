--- The answer to a call that succeeded: status and header fields by the envelope's meta, the body of its data.
local errors = require("operations.base.error")
local header_field = require("operations.net.http.header_field")
local json = require("operations.base.json")
local number_text = require("operations.base.number_text")

local encode = json.encode
local unset = nil -- keeps room in a constructor; LuaJIT keeps none where `nil` is written
local success = {}

-- The header fields of a relayed answer that are passed on. The others concern the other server's connection, cookies,
-- caches and origin.
local relayed = { "content-language", "etag", "last-modified", "link", "location", "retry-after" }

-- Header fields that the connection sets, not a handler.
local of_connection = { connection = true, ["content-length"] = true, ["keep-alive"] = true,
  ["transfer-encoding"] = true, upgrade = true, trailer = true, te = true, date = true, ["proxy-authenticate"] = true,
  ["proxy-connection"] = true }

local function set_field(headers, name, value)
  name = name:lower()
  if not of_connection[name] and header_field.is_token(name) and not tostring(value):find(header_field.control) then
    headers[name] = number_text.of(value)
  end
end

-- A handler's own http_envelope.
local function take_own(headers, meta)
  for name, value in pairs(type(meta.headers) == "table" and meta.headers or {}) do
    if name == "setCookie" and type(value) == "table" then
      headers["set-cookie"] = value
    elseif type(value) == "string" or type(value) == "number" then
      set_field(headers, name, value)
    end
  end
end

local function take_relayed(headers, meta)
  local given = type(meta.headers) == "table" and meta.headers or {}
  for _, name in ipairs(relayed) do
    if type(given[name]) == "string" then
      set_field(headers, name, given[name])
    end
  end
end

-- A status that an answer with data may have.
local function status_of(meta)
  local status = meta.statusCode
  if status and status >= 200 and status <= 299 and status % 1 == 0 and status ~= 205 and status ~= 206 then
    return math.floor(status)
  end
end

-- An MCP tool reports a failure as a result.
local function tool_error(meta)
  local first = type(meta.content) == "table" and meta.content[1]
  local message = type(first) == "table" and type(first.text) == "string" and first.text or "the tool failed"
  return errors.new("TOOL_ERROR", message, { content = meta.content })
end

-- Takes status and header fields from the meta of an envelope.
local function take_meta(headers, meta, route)
  if meta.source ~= "http" then
    return nil
  elseif route.imported then
    take_relayed(headers, meta)
  else
    take_own(headers, meta)
  end
  return status_of(meta)
end

--- The body is the bare data, so the operation's outputSchema is also that of the body.
---@param envelope operations.Envelope
---@param route operations.Route
---@param cache_control? string  default "no-store"
---@return operations.ServerResponse?
---@return operations.Error? err  TOOL_ERROR, or EXECUTION_ERROR for data that JSON cannot say
function success.answer(envelope, route, cache_control)
  local data, meta, status = envelope.data, envelope.meta, nil
  local headers = { ["cache-control"] = cache_control or "no-store", ["content-type"] = unset, ["x-request-id"] = unset,
    ["x-content-type-options"] = unset } -- room for all
  if meta.source ~= "local" then
    if meta.source == "mcp" and meta.isError then
      return nil, tool_error(meta)
    end
    status = take_meta(headers, meta, route)
  end
  status = status or route.status or data == nil and 204 or 200
  if status == 204 or data == nil then
    return { status = status, headers = headers, body = "" }
  elseif route.output_media and type(data) == "string" then
    headers["content-type"] = headers["content-type"] or route.output_media
    return { status = status, headers = headers, body = data }
  end
  local body, err = encode(data)
  if not body then
    return nil, errors.new("EXECUTION_ERROR", ("%s: the result is not JSON: %s"):format(route.id, err.message))
  end
  headers["content-type"] = headers["content-type"] or "application/json"
  return { status = status, headers = headers, body = body }
end

return success

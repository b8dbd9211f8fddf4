--- How long an answer may be cached: by the answer (RFC 9111, as a cache of one identity; `ttlMs` of MCP), else by the
--- operation's spec, else by the program's option.
local header_field = require("operations.net.http.header_field")

local freshness = {}

-- The directives of Cache-Control, by name; those without a value are true.
local function directives(text)
  local found = {}
  for name, value in text:lower():gmatch("([%w-]+)%s*=?%s*\"?([^,\"]*)") do
    found[name] = value ~= "" and value or true
  end
  return found
end

--- The seconds of a field or directive (RFC 9111, 1.2.2): digits only, at most 2^31.
---@param value any
---@return integer?  nil when it is not a number of seconds
function freshness.seconds(value)
  local digits = type(value) == "string" and value:match("^%s*(%d+)%s*$")
  return digits and (#digits > 10 and 2 ^ 31 or math.min(tonumber(digits), 2 ^ 31)) or nil
end

-- Does the answer depend on everything? `*` may stand in a list (RFC 9110, 12.5.5).
local function varies_always(headers)
  return type(headers.vary) == "string" and ("," .. headers.vary .. ","):find(",%s*%*%s*,") ~= nil
end

-- ms until Expires, counted from Date.
local function until_expiry(headers, now)
  if type(headers.expires) ~= "string" then
    return nil
  end
  local expires = header_field.date(headers.expires)
  local date = type(headers.date) == "string" and header_field.date(headers.date) or now
  return expires and expires - date or 0
end

local function of_http(headers, now)
  local control = directives(type(headers["cache-control"]) == "string" and headers["cache-control"] or "")
  if control["no-store"] or varies_always(headers) then
    return nil, true
  elseif control["no-cache"] then
    return 0
  end
  local age = (freshness.seconds(headers.age) or 0) * 1000
  local max_age = freshness.seconds(control["max-age"])
  if control["max-age"] then
    return (max_age or 0) * 1000 - age
  end
  local left = until_expiry(headers, now)
  return left and left - age
end

local function ms(value)
  return type(value) == "number" and value >= 0 and value < math.huge and value or nil
end

local function member(value, name)
  return type(value) == "table" and value[name] or nil
end

--- How long an answer stays fresh.
---@param meta table?  of its envelope
---@param spec operations.Spec
---@param ttl number  default in ms
---@param now number  ms since the epoch
---@return number? ms  0 or less: it must be revalidated; nil: it must not be stored
---@return string? etag  for revalidation
function freshness.of(meta, spec, ttl, now)
  local source = member(meta, "source")
  local headers = source == "http" and type(meta.headers) == "table" and meta.headers or {}
  if source == "mcp" and meta.isError or source == "http" and meta.statusCode ~= 200 and meta.statusCode ~= 304 then
    return nil
  end
  local own, forbidden = of_http(headers, now)
  if forbidden then
    return nil
  end
  own = own or ms(member(member(meta, "_meta"), "ttlMs"))
  local etag = type(headers.etag) == "string" and headers.etag or nil
  return own or ms(member(spec._meta, "ttlMs")) or ttl, etag
end

return freshness

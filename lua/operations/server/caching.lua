--- The cache headers of answers, and conditional requests (RFC 9110, 13; RFC 9111). Caches keep
--- nothing unless an operation says `_meta.http.cache`.
local core = require("operations.core")
local header_field = require("operations.net.http.header_field")
local hexadecimal = require("operations.base.hexadecimal")
local limits = require("operations.base.limits")

local caching = {}

--- From `_meta.http.cache`: true, or `{ maxAge = ms }`.
---@class operations.CachePolicy
---@field given true|{ maxAge: number }
---@field directive string  "no-cache": ask each time whether it has changed; "max-age=60"

--- Checks `_meta.http.cache`. Returns the error, or nil.
---@param spec operations.Spec
---@param given any
---@return table? flaw
function caching.flaw(spec, given)
  local age = type(given) == "table" and given.maxAge
  local is_age = type(age) == "number" and age >= 0 and age < math.huge
  if not given or given == true or is_age and next(given, next(given)) == nil then
    return nil
  end
  return { path = "/_meta/http/cache", keyword = "type", message = ("%s.%s: _meta.http.cache: true or { maxAge = ms } "
    .. "expected"):format(spec.namespace, spec.name) }
end

---@param given any  without a flaw
---@return operations.CachePolicy?
function caching.policy(given)
  if not given then
    return nil
  end
  local directive = given == true and "no-cache" or ("max-age=%d"):format(math.floor(given.maxAge / 1000))
  return { given = given, directive = directive }
end

local function is_read(request)
  return request.method == "GET" or request.method == "HEAD"
end

--- The value of Cache-Control for a successful answer. With authenticated callers only their own caches may keep it.
---@param call operations.ServerCall
---@param policy operations.CachePolicy
---@return string?  nil: "no-store"
function caching.control(call, policy)
  return is_read(call.request) and (call.server.options.authorize and "private, " or "") .. policy.directive or nil
end

-- May caches keep an answer? An answer with cookies is for one caller: its handler must allow it itself.
local function is_kept(call, headers)
  if headers["set-cookie"] and headers["cache-control"] == caching.control(call, call.route.cache) then
    headers["cache-control"] = "no-store"
  end
  return headers["cache-control"] ~= "no-store"
end

--- The entity tag of a body (RFC 9110, 8.8.3): a strong one, so that a client need not fetch the same body again.
---@param bytes string
---@return string tag  with its quotes
function caching.tag_of(bytes)
  return '"' .. hexadecimal.of(core.sha256(bytes):sub(1, 16)) .. '"'
end

--- Does a field If-None-Match match the tag? Tags are compared weakly; "*" matches any (RFC 9110, 13.1.2).
---@param field? string
---@param tag string
---@return boolean
function caching.has_tag(field, tag)
  if not field or header_field.trim(field) == "*" then
    return field ~= nil
  end
  local at = 1
  while at do
    local from, strength = field:match("^[ \t,]*()(W?/?)", at)
    local given, behind = field:match('^("[^"]*")()', from + #strength)
    if given == tag and strength ~= "W" and strength ~= "/" then
      return true
    end
    at = behind
  end
  return false
end

--- Adds the entity tag to a cacheable answer. The answer becomes 304 if the caller already has it, by this tag or by
--- the handler's own.
---@param call operations.ServerCall
---@param response operations.ServerResponse
---@return operations.ServerResponse
function caching.validated(call, response)
  local request, headers, body = call.request, response.headers, response.body
  if type(body) ~= "string" or not is_read(request) then
    return response
  end
  local kept = call.route.cache and is_kept(call, headers)
  if kept and call.server.options.authorize then
    headers.vary = (headers.vary and headers.vary .. ", " or "") .. "Authorization, Cookie"
  end
  if response.status ~= 200 then
    return response
  elseif kept and not headers.etag and #body < limits.entity_tag then
    headers.etag = caching.tag_of(body)
  end
  if headers.etag and caching.has_tag(request.headers["if-none-match"], (headers.etag:gsub("^W/", ""))) then
    headers["content-type"] = nil
    return { status = 304, headers = headers, body = "" }
  end
  return response
end

return caching

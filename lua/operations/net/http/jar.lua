--- A cookie jar (RFC 6265): stores the cookies of answers, and provides those of the next request. Without a list of
--- public suffixes, a jar belongs to one service and one identity: do not share it.
local core = require("operations.core")
local header_field = require("operations.net.http.header_field")
local url = require("operations.base.url")

local jar = {}

local trim = header_field.trim

-- RFC 6265, 6.1: what a client stores at least is what this one stores at most; the oldest cookie is dropped.
local MAX_COOKIES = 3000 -- of a jar
local MAX_OF_SITE = 50
local MAX_COOKIE = 4096 -- bytes of a name and its value; also of the attributes

---@class operations.CookieJar
local Jar = {}
Jar.__index = Jar

--- Makes an empty jar, for `jar` of a request's options.
---@return operations.CookieJar
function jar.new()
  return setmetatable({ _cookies = {} }, Jar)
end

-- 5.1.3; a domain with one label would match all hosts below it.
local function domain_matches(host, domain)
  return host == domain
    or (host:sub(-#domain - 1) == "." .. domain and domain:find(".", 1, true) ~= nil
      and not host:find("^%[") and not host:find("^[%d.]+$")) -- not an address
end

-- 5.1.4
local function path_matches(path, of_cookie)
  local ends = of_cookie:sub(-1) == "/" and #of_cookie or #of_cookie + 1
  return path == of_cookie or (path:sub(1, #of_cookie) == of_cookie and path:sub(ends, ends) == "/")
end

local function path_of(parsed)
  return parsed.path == "" and "/" or parsed.path
end

-- 5.2: the last attribute with a name counts.
local function read_attributes(text)
  local attributes = {}
  for part in text:gmatch(";([^;]*)") do
    local name, value = part:match("^([^=]*)=?(.*)$")
    attributes[trim(name):lower()] = trim(value)
  end
  return attributes
end

-- 5.2.2 takes precedence over 5.2.1; nil: until the program ends.
local function expiry(attributes, now)
  local age = attributes["max-age"]
  if age and age:find("^%-?%d+$") then
    return now + tonumber(age) * 1000
  end
  return attributes.expires and header_field.cookie_date(attributes.expires)
end

-- A domain and all below it, whose cookies may go to one host: the last two labels, or an address.
local function site_of(domain)
  return domain:find("^[%d.]+$") and domain or domain:match("([^.]+%.[^.]+)$") or domain
end

local function read_cookie(line, parsed, now)
  local pair, rest = line:match("^([^;]*)(.*)$")
  local name, value = pair:match("^([^=]+)=(.*)$")
  if not name or trim(name) == "" or #pair > MAX_COOKIE or #rest > MAX_COOKIE or line:find(header_field.control) then
    return nil
  end
  local attributes = read_attributes(rest)
  local domain = (attributes.domain or ""):gsub("^%.", ""):lower()
  local path = attributes.path
  if not path or path:sub(1, 1) ~= "/" then
    path = path_of(parsed):match("^(/.*)/") or "/" -- 5.1.4, the default
  end
  local host_only = domain == ""
  domain = host_only and parsed.host or domain
  return {
    name = trim(name), value = trim(value), path = path, domain = domain, site = site_of(domain), host_only = host_only,
    secure = attributes.secure ~= nil, expires = expiry(attributes, now),
  }
end

-- RFC 6265bis, 5.7: prefixes of names that promise attributes, in any case.
local function keeps_promise(cookie, parsed)
  local secure, name = cookie.secure and parsed.scheme == "https", cookie.name:lower()
  if name:find("^__secure%-") then
    return secure
  elseif name:find("^__host%-") then
    return secure and cookie.host_only and cookie.path == "/"
  end
  return parsed.scheme == "https" or not cookie.secure
end

-- RFC 6265bis, 5.7: would an insecure cookie be sent instead of, or before, a secure one?
local function hides_secure(cookies, cookie, parsed)
  for _, other in ipairs(parsed.scheme ~= "https" and cookies or {}) do
    if other.secure and other.name == cookie.name and path_matches(cookie.path, other.path)
      and (domain_matches(other.domain, cookie.domain) or domain_matches(cookie.domain, other.domain)) then
      return true
    end
  end
  return false
end

--- Stores the cookies that an answer sets.
---@param from string  the request's URL
---@param lines string[]?  `setCookie` of the answer
function Jar:store(from, lines)
  local parsed = url.parse(from)
  for _, line in ipairs(parsed and lines or {}) do
    local cookie = read_cookie(line, parsed, core.now())
    if cookie and domain_matches(parsed.host, cookie.domain) and keeps_promise(cookie, parsed)
      and not hides_secure(self._cookies, cookie, parsed) then
      self:_put(cookie)
    end
  end
end

-- Drops the oldest cookie of a site that has too many, or of all.
local function drop_oldest(cookies, site)
  local oldest, count = nil, 0
  for i, other in ipairs(cookies) do
    if other.site == site then
      oldest, count = oldest or i, count + 1
    end
  end
  if count > MAX_OF_SITE then
    table.remove(cookies, oldest)
  elseif #cookies > MAX_COOKIES then
    table.remove(cookies, 1)
  end
end

function Jar:_put(cookie)
  local cookies = self._cookies
  local place = #cookies + 1
  for i, other in ipairs(cookies) do
    if other.name == cookie.name and other.domain == cookie.domain and other.path == cookie.path then
      place = i
    end
  end
  if cookie.expires and cookie.expires <= core.now() then
    if cookies[place] then
      table.remove(cookies, place)
    end
    return
  end
  cookies[place] = cookie
  drop_oldest(cookies, cookie.site)
end

local function applies(cookie, parsed, now)
  local at_host
  if cookie.host_only then
    at_host = parsed.host == cookie.domain
  else
    at_host = domain_matches(parsed.host, cookie.domain)
  end
  return at_host
    and path_matches(path_of(parsed), cookie.path)
    and (not cookie.secure or parsed.scheme == "https")
    and (not cookie.expires or cookie.expires > now)
end

--- The Cookie header for a URL, longer paths first (5.4).
---@param to string
---@return string?  nil without cookies
function Jar:header(to)
  local parsed, found = url.parse(to), {}
  for i, cookie in ipairs(parsed and self._cookies or {}) do
    if applies(cookie, parsed, core.now()) then
      found[#found + 1] = { text = cookie.name .. "=" .. cookie.value, length = #cookie.path, order = i }
    end
  end
  table.sort(found, function(a, b)
    if a.length ~= b.length then
      return a.length > b.length
    end
    return a.order < b.order
  end)
  for i, cookie in ipairs(found) do
    found[i] = cookie.text
  end
  return found[1] and table.concat(found, "; ")
end

--- Removes all cookies.
function Jar:clear()
  self._cookies = {}
end

return jar

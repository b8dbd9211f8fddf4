--- URLs as clients need them: parsing, resolving references (RFC 3986, 5.2), comparing origins.
local members = require("operations.base.members")

local url = {}

local ports = { http = "80", https = "443" }

---@class operations.Url
---@field scheme string  lower case
---@field userinfo? string
---@field host string  lower case; an IPv6 address with its brackets
---@field port? string
---@field path string  as written, "" when absent
---@field query? string  without "?"
---@field fragment? string  without "#"

--- Parses an absolute URL. Decodes nothing.
---@param text string
---@return operations.Url?  nil when it is not an absolute URL with an authority
function url.parse(text)
  local scheme, authority, rest = text:match("^(%a[%w+.-]*)://([^/?#]*)(.*)$")
  if not scheme then
    return nil
  end
  local userinfo, host = authority:match("^(.*)@([^@]*)$")
  host = host or authority
  local name, port = host:match("^(.-):(%d*)$")
  if not name or (name:sub(1, 1) == "[" and name:sub(-1) ~= "]") then
    name, port = host, nil
  end
  local before, fragment = rest:match("^([^#]*)#?(.*)$")
  local path, query = before:match("^([^?]*)%??(.*)$")
  return {
    scheme = scheme:lower(),
    userinfo = userinfo,
    host = name:lower(),
    port = port ~= "" and port or nil,
    path = path,
    query = before:find("?", 1, true) and query or nil,
    fragment = rest:find("#", 1, true) and fragment or nil,
  }
end

-- Removes dot segments (RFC 3986, 5.2.4) from a path that begins with "/".
local function remove_dot_segments(path)
  local output, dots = {}
  for segment in (path:sub(2) .. "/"):gmatch("([^/]*)/") do
    dots = segment == "." or segment == ".."
    if segment == ".." then
      output[#output] = nil
    elseif not dots then
      output[#output + 1] = segment
    end
  end
  if dots then
    output[#output + 1] = ""
  end
  return "/" .. table.concat(output, "/")
end

--- Resolves a reference against an absolute base URL.
---@param base string
---@param reference string
---@return string?  nil when `base` is not absolute
function url.resolve(base, reference)
  if reference:match("^%a[%w+.-]*:") then
    return reference
  end
  local b = url.parse(base)
  if not b then
    return nil
  end
  local authority = base:match("^%a[%w+.-]*://([^/?#]*)")
  local first = reference:sub(1, 1)
  if reference:sub(1, 2) == "//" then
    return b.scheme .. ":" .. reference
  elseif first == "" or first == "#" or first == "?" then
    local query = first ~= "?" and b.query and "?" .. b.query or ""
    return ("%s://%s%s%s%s"):format(b.scheme, authority, b.path, query, reference)
  end
  local path, rest = reference:match("^([^?#]*)(.*)$")
  if first ~= "/" then
    path = (b.path:match("^(.*/)") or "/") .. path
  end
  return ("%s://%s%s%s"):format(b.scheme, authority, remove_dot_segments(path), rest)
end

local function escape(byte)
  return ("%%%02X"):format(byte:byte())
end

--- Percent-encodes everything but unreserved characters (RFC 3986, 2.3).
---@param text string
---@return string
function url.encode(text)
  return (text:gsub("[^A-Za-z0-9%-._~]", escape))
end

--- A URL in ASCII: its host as DNS has it, other characters percent-encoded.
---@param text string
---@return string?  nil when its host is not UTF-8
function url.ascii(text)
  if not text:find("[\128-\255]") then
    return text
  end
  local scheme, authority, rest = text:match("^(%a[%w+.-]*://)([^/?#]*)(.*)$")
  if not scheme then
    return (text:gsub("[\128-\255]", escape))
  end
  local userinfo, host = authority:match("^(.*@)([^@]*)$")
  host = require("operations.base.idn").ascii(host or authority)
  return host and scheme .. (userinfo or ""):gsub("[\128-\255]", escape) .. host .. rest:gsub("[\128-\255]", escape)
end

--- Decodes percent-encoding.
---@param text string
---@return string
function url.decode(text)
  return (text:gsub("%%(%x%x)", function(digits)
    return string.char(tonumber(digits, 16))
  end))
end

--- Does the host name this machine: localhost, 127.0.0.0/8, [::1]?
---@param host string  as `parse` gives it
---@return boolean
function url.is_loopback(host)
  return host == "localhost" or host == "[::1]" or host:find("^127%.%d+%.%d+%.%d+$") ~= nil
end

--- The reason why an address must not be opened or shown for a login, or get a credential, or nil: it is absolute, and
--- https or on this machine, without a user name that looks like a host.
---@param text any
---@return string? problem
function url.untrusted(text)
  local parsed = type(text) == "string" and not text:find("[%c \128-\255]") and url.parse(text)
  if not parsed or parsed.host == "" then
    return "it is not an absolute URL"
  elseif parsed.userinfo then
    return "it contains a user name or password"
  elseif parsed.scheme ~= "https" and not (parsed.scheme == "http" and url.is_loopback(parsed.host)) then
    return "it is neither https nor on this machine"
  end
end

--- Scheme, host and port, with the default port written out.
---@param parsed operations.Url
---@return string
function url.origin(parsed)
  return ("%s://%s:%s"):format(parsed.scheme, parsed.host, parsed.port or ports[parsed.scheme] or "")
end

--- Have two absolute URLs the same origin?
---@param a string
---@param b string
---@return boolean?
function url.same_origin(a, b)
  local from, to = url.parse(a), url.parse(b)
  return from and to and url.origin(from) == url.origin(to)
end

--- Is a text an origin of web pages, as browsers write it in `Origin`? "null" is not: any page in a sandbox or file has
--- it.
---@param text any
---@return boolean
function url.is_origin(text)
  return type(text) == "string" and text:find("^%l[%l%d+.-]*://[^/?#@%s%u]+$") ~= nil
end

--- The URL without the query parameters of these names.
---@param text string
---@param names string[]  not encoded
---@return string
function url.without_query(text, names)
  local before, query, after = text:match("^([^?#]*)%?([^#]*)(.*)$")
  if not before then
    return text
  end
  local drop, kept = members.set(names), {}
  for pair in query:gmatch("[^&]+") do
    kept[#kept + 1] = not drop[url.decode(pair:match("^[^=]*"))] and pair or nil
  end
  return before .. (kept[1] and "?" .. table.concat(kept, "&") or "") .. after
end

--- The URL without userinfo, query and fragment, which may contain secrets, for messages.
---@param text string
---@return string
function url.redact(text)
  return (text:gsub("[?#].*$", ""):gsub("^(%a[%w+.-]*://)[^/]*@", "%1"))
end

--- A text that should have been a URL, without anything that may be a secret, for messages.
---@param text string
---@return string
function url.redact_any(text)
  local scheme, rest = text:match("^(%a[%w+.-]*://)(.*)$")
  return (scheme or "") .. url.redact((rest or text):match("([^@]*)$"))
end

return url

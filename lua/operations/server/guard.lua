--- The checks that every request must pass: a web page of another origin must not reach this server through its
--- visitor's browser, neither under a name that was made to lead here (DNS rebinding) nor as a foreign origin.
local members = require("operations.base.members")

local guard = {}

-- A numeric address cannot be rebound.
local function is_literal(name)
  return name:find("^%[[%x:.]+%]$") ~= nil or name:find("^%d+%.%d+%.%d+%.%d+$") ~= nil
end

-- The name in a Host field, without its port.
local function name_of(host)
  return (host:gsub(":%d*$", ""):lower())
end

-- Scheme and default port tell origins of one host apart only where the scheme is known: a proxy may have ended TLS.
local function authority_of(origin)
  local authority = origin:match("^https?://([^/]+)$")
  return authority and authority:gsub(":443$", ""):gsub(":80$", ""):lower()
end

local function same_host(origin, host, scheme)
  local authority = authority_of(origin)
  if scheme and origin:match("^(%l+):") ~= scheme then
    return false
  end
  return authority ~= nil and host ~= nil and authority == host:gsub(":443$", ""):gsub(":80$", ""):lower()
end

local function is_unix(request)
  return request.peer ~= nil and request.peer.address == "unix:"
end

local function host_flaw(request, options)
  local host = request.headers.host
  if host == nil or is_unix(request) then
    return nil
  end
  local name = name_of(host)
  if name ~= "localhost" and not is_literal(name) and not members.contains(options.hosts, name)
    and not members.contains(options.hosts, host:lower()) then
    return ("this server is not known as '%s'; the option `hosts` lists its names"):format(name)
  end
end

local function is_local_page(origin, request, options)
  return options.local_pages and request.is_local and name_of(authority_of(origin) or "") == "localhost"
end

-- Does a visitor follow a link here? That only shows something: the page that has the link cannot read it.
local function is_visit(request)
  local method = request.method
  return request.headers["sec-fetch-mode"] == "navigate" and (method == "GET" or method == "HEAD")
end

--- Is an origin among those that may use the server? "*" is each of them, but for "null": anybody can have that.
---@param origins? string[]
---@param origin string
---@return boolean
function guard.lists(origins, origin)
  return members.contains(origins, origin) or origin ~= "null" and members.contains(origins, "*")
end

--- Decides whether a request may be looked at.
---@param request operations.ServerRequest
---@param options { hosts: string[]?, origins: string[]?, local_pages: boolean?, known_host: string? }  `local_pages`:
---  those of this machine, on any port, may use listeners that only it reaches; `known_host` is set here
---@param public? boolean  it is for a file that is for everybody: links of other pages may lead to it
---@return string? flaw  nil: it may
function guard.check(request, options, public)
  local headers = request.headers
  if headers.host == options.known_host and not headers.origin and not headers["sec-fetch-site"] then
    return nil -- as the request before
  end
  local origin, site = headers.origin, headers["sec-fetch-site"]
  if origin and (guard.lists(options.origins, origin) or is_local_page(origin, request, options)) then
    return host_flaw(request, options)
  elseif origin and not same_host(origin, headers.host, request.scheme) then
    return ("pages of %s may not use this server; the option `origins` lists those that may"):format(origin)
  elseif site and site ~= "same-origin" and site ~= "none" and not (public and is_visit(request)) then
    return ("requests of a page elsewhere (Sec-Fetch-Site: %s) are refused; the option `origins` lists those that " ..
      "may send them"):format(site)
  end
  local flaw = host_flaw(request, options)
  if not flaw and not is_unix(request) then
    options.known_host = headers.host
  end
  return flaw
end

return guard

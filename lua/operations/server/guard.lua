--- The checks that every request must pass. They keep web pages of other origins from using this server through the
--- browser of a visitor, by a foreign host name that resolves to this address (DNS rebinding) or by a cross-origin
--- request.
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

-- Default ports are dropped. Schemes are compared only if the scheme is known: a proxy may have ended TLS.
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

-- Does a visitor follow a link? The page with the link cannot read the answer.
local function is_visit(request)
  local method = request.method
  return request.headers["sec-fetch-mode"] == "navigate" and (method == "GET" or method == "HEAD")
end

--- May this origin use the server? "*" stands for all origins except "null", which any page can have.
---@param origins? string[]
---@param origin string
---@return boolean
function guard.lists(origins, origin)
  return members.contains(origins, origin) or origin ~= "null" and members.contains(origins, "*")
end

--- Decides whether a request is admitted.
---@param request operations.ServerRequest
---@param options { hosts: string[]?, origins: string[]?, local_pages: boolean?, known_host: string? }  `local_pages`:
---  those of this machine, on any port, may use listeners that only it reaches; `known_host` is set here
---@param public? boolean  it is for a file that is for everybody: links of other pages may lead to it
---@return string? flaw  nil: it may
function guard.check(request, options, public)
  local headers = request.headers
  if headers.host == options.known_host and not headers.origin and not headers["sec-fetch-site"] then
    return nil -- admitted before
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

--- Cross-origin requests (CORS, the Fetch standard): pages of the origins in the option `origins` may call the server
--- and read its answers. The guard has already refused all other pages.
local argument = require("operations.base.argument")
local guard = require("operations.server.guard")
local limits = require("operations.base.limits")
local url = require("operations.base.url")

local cors = {}

---@class operations.CorsOptions
---@field credentials? boolean  pages may have their cookies sent; not with the origin "*"
---@field headers? string[]  that pages may send, besides those that the server knows: "X-Api-Key"
---@field expose? string[]  headers of answers that pages may read, besides those that the server sends
---@field max_age? integer  ms that browsers keep the answer to a preflight, default 600,000

local kinds = { credentials = "boolean", headers = "table", expose = "table", max_age = "number" }

-- The header fields that every request may have. Fields of proxies, which say who the client is, are not among them.
local known = "Accept, Authorization, Content-Type, Idempotency-Key, If-None-Match, Last-Event-ID, MCP-Method, "
  .. "MCP-Name, MCP-Protocol-Version, MCP-Session-Id, Request-Timeout-Ms, Traceparent, Tracestate, X-Request-Id"
local sent = "ETag, Idempotent-Replayed, Location, MCP-Session-Id, RateLimit, RateLimit-Policy, Retry-After, "
  .. "WWW-Authenticate, X-Request-Id"
local METHODS = "DELETE, GET, HEAD, PATCH, POST, PUT, QUERY"

---@class operations.Cors
---@field _origins string[]
---@field _any boolean
---@field _credentials? "true"
---@field _headers string
---@field _expose string
---@field _max_age string  seconds
local Cors = {}
Cors.__index = Cors

-- Adds a field to Vary.
local function vary(headers, names)
  headers.vary = headers.vary and headers.vary .. ", " .. names or names
end

-- May a page of another origin read the answer?
local function allows(self, origin)
  return origin ~= nil and guard.lists(self._origins, origin)
end

--- Answers a preflight request. It has no credentials, so the answer is the same for every path. Returns nil for other
--- requests. The guard has admitted it.
---@param request operations.ServerRequest
---@return operations.ServerResponse?
function Cors:preflight(request)
  local asked = request.headers
  if request.method ~= "OPTIONS" or not asked["access-control-request-method"] or not allows(self, asked.origin) then
    return nil
  end
  local headers = { ["access-control-allow-methods"] = METHODS, ["access-control-allow-headers"] = self._headers,
    ["access-control-max-age"] = self._max_age }
  vary(headers, "Access-Control-Request-Method, Access-Control-Request-Headers")
  return { status = 204, headers = headers, body = "" }
end

--- Lets the page that sent a request read its answer.
---@param request operations.ServerRequest
---@param response operations.ServerResponse
function Cors:share(request, response)
  local headers, origin = response.headers, request.headers.origin
  if not self._any then
    vary(headers, "Origin") -- a cache must not give it to a page of another origin
  end
  if self._any or allows(self, origin) then -- with "*" always, because caches give the answer to everyone
    headers["access-control-allow-origin"] = self._any and "*" or origin
    headers["access-control-allow-credentials"] = self._credentials
    headers["access-control-expose-headers"] = self._expose
  end
end

local function joined(list, more, name, option, level)
  for i, each in ipairs(more or {}) do
    if type(each) ~= "string" or not each:find("^[%w-]+$") then
      error(("bad option 'cors.%s' to '%s' (the name of a header expected at [%d], got %s)"):format(option, name, i,
        tostring(each)), level + 1)
    end
    list = list .. ", " .. each
  end
  return list
end

local function check_origins(origins, name, level)
  for _, origin in ipairs(origins or {}) do
    if origin ~= "*" and not url.is_origin(origin) then
      error(("bad option 'origins' to '%s' (an origin such as \"https://app.example\" expected, got %q)"):format(name,
        tostring(origin)), level + 1)
    end
  end
end

--- Reads the options `origins` and `cors`; misuse raises.
---@param options { origins: string[]?, cors: operations.CorsOptions? }
---@param name string  of the function that has them
---@param level integer  as of `error`
---@return operations.Cors?  nil: no origin is listed
function cors.new(options, name, level)
  local given, any = options.cors or {}, guard.lists(options.origins, "*")
  argument.options(given, kinds, name, level + 1)
  check_origins(options.origins, name, level)
  if any and given.credentials then
    error(("bad option 'cors.credentials' to '%s' (true is not for the origin \"*\": list those that are meant)")
      :format(name), level)
  elseif not options.origins or not options.origins[1] then
    return nil
  end
  return setmetatable({ _origins = options.origins, _any = any, _credentials = given.credentials and "true" or nil,
    _headers = joined(known, given.headers, name, "headers", level),
    _expose = joined(sent, given.expose, name, "expose", level),
    _max_age = ("%d"):format(math.floor((given.max_age or limits.preflight) / 1000)) }, Cors)
end

return cors

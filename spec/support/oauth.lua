--- The authorization server of the test server (spec/support/server/oauth.lua), from a spec's side.
local http = require("operations.net.http")
local json = require("operations.base.json")
local test_server = require("spec.support.server")
local url = require("operations.base.url")

local oauth = {}

---@class spec.OAuth
---@field server spec.Server
---@field base string  URL
---@field issuer string  with a path
---@field mcp string  URL of what it protects
local OAuth = {}
OAuth.__index = OAuth

local function post(self, path, config)
  assert(http.request({ url = self.base .. path, method = "POST", body = assert(json.encode(config)) }))
end

--- Gives the server a configuration and forgets what it did.
function OAuth:setup(config)
  post(self, "/oauth/setup", config)
end

--- Gives the server another configuration.
function OAuth:configure(config)
  post(self, "/oauth/configure", config)
end

--- The requests that arrived, of one path or of all.
function OAuth:requests(path)
  local list = {}
  for _, request in ipairs(json.decode(assert(http.request({ url = self.base .. "/oauth/log" })).body)) do
    if path == nil or request.path == path then
      list[#list + 1] = request
    end
  end
  return list
end

--- The last request of a path.
function OAuth:last(path)
  local requests = self:requests(path)
  return requests[#requests]
end

--- The paths of the requests that arrived.
function OAuth:paths()
  local paths = {}
  for i, request in ipairs(self:requests()) do
    paths[i] = request.path
  end
  return paths
end

--- A configuration under which all goes well. Its parts may be changed before it is given to `setup`.
function OAuth:good()
  local resource = { resource = self.mcp, authorization_servers = { self.issuer } }
  local server = {
    issuer = self.issuer,
    authorization_endpoint = self.issuer .. "/authorize",
    token_endpoint = self.issuer .. "/token",
    registration_endpoint = self.issuer .. "/register",
    code_challenge_methods_supported = { "S256" },
    token_endpoint_auth_methods_supported = { "none" },
    authorization_response_iss_parameter_supported = true,
  }
  return {
    issuer = self.issuer,
    mcp = { challenge = "" },
    documents = {
      ["oauth-protected-resource/oauth/mcp"] = resource, ["oauth-authorization-server/oauth"] = server,
    },
  }, resource, server
end

--- A user whose browser says yes: `open(url)` for an authorizer; `opened` are the URLs.
function OAuth.browser()
  local browser = { opened = {} }
  function browser.open(address)
    browser.opened[#browser.opened + 1] = address
    local response = assert(http.request({ url = address, redirects = 0 }))
    assert(response.status == 302, response.body)
    return response.headers.location
  end
  return browser
end

--- Calls what is protected, as a client does: gets a token where one is asked for.
---@param auth operations.oauth.Authorizer
---@param need? string  scopes that it will ask for
---@return string? scope  of the token that was good enough
---@return any err
function OAuth:call(auth, need)
  for _ = 1, 3 do
    local sent, err = auth:headers(self.mcp)
    if not sent then
      return nil, err
    end
    local response = assert(http.request({
      url = self.mcp .. (need and "?need=" .. url.encode(need) or ""), method = "POST", headers = sent,
    }))
    if response.status == 200 then
      return json.decode(response.body).scope
    end
    local again
    again, err = auth:challenged(response, sent)
    if not again then
      return nil, err
    end
  end
  return nil, "refused three times"
end

function OAuth:stop()
  self.server:stop()
end

---@return spec.OAuth
function oauth.start()
  local server = test_server.start()
  return setmetatable({
    server = server, base = server.url, issuer = server.url .. "/oauth", mcp = server.url .. "/oauth/mcp",
  }, OAuth)
end

return oauth

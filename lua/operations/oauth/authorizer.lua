--- The client's side of MCP authorization (revision 2026-07-28; earlier ones as far as they agree): adds tokens to
--- requests to one server, and gets them when the server requires them.
local challenge = require("operations.oauth.challenge")
local clients = require("operations.oauth.client")
local core = require("operations.core")
local endpoint = require("operations.oauth.endpoint")
local limits = require("operations.base.limits")
local login = require("operations.oauth.login")
local oauth_options = require("operations.oauth.options")
local single_flight = require("operations.task.single_flight")
local stores = require("operations.oauth.store")
local token = require("operations.oauth.token")
local url = require("operations.base.url")

local authorizer = {}

---@class operations.oauth.Authorizer
---@field _server? string  URL
---@field _record? operations.oauth.Record
---@field _born { how: "login"|"refresh", at: integer }  how and when this program got the token
---@field _step_ups table<string, integer>
local Authorizer = {}
Authorizer.__index = Authorizer
Authorizer.__name = "operations.oauth.authorizer"

local function key_of(self)
  return "server " .. self._server
end

local function keep(self, record, how)
  self._record, self._born = record, { how = how, at = core.now() }
  self._options.store.save(key_of(self), record)
end

local function drop_token(self)
  self._record.token = nil
  self._options.store.save(key_of(self), self._record)
end

-- The record of the server in the store; nil if it is not one that `keep` stored.
local function load(self)
  local record = self._options.store.load(key_of(self))
  if type(record) ~= "table" or type(record.issuer) ~= "string" then
    return nil
  end
  local kept = record.token
  return (kept == nil or type(kept) == "table" and type(kept.access_token) == "string") and record or nil
end

local function held(self)
  return self._record and self._record.token
end

-- Did the program get the token just now, in this way?
local function is_young(self, how)
  return self._born.how == how and core.now() - self._born.at < limits.oauth_young
end

local function headers_of(self)
  local current = held(self)
  return { Authorization = current and "Bearer " .. current.access_token or nil }
end

-- Another program may have renewed the token: a refresh token often works only once.
local function reload(self)
  local record = load(self)
  if record and record.token then
    self._record = record
  end
end

-- Does the server reject the refresh token, as opposed to another failure?
local function is_refusal(err)
  local details = type(err.details) == "table" and err.details or {}
  local status = details.statusCode or 400
  return details.error ~= nil and status < 500 and status ~= 429
end

-- The token, renewed by its refresh token; no token and no error: the user must log in. Another program that has no
-- lock may have used the refresh token meanwhile: then the store has another one.
local function renewed(self, again)
  local used = held(self).refresh_token
  if not used then
    return drop_token(self)
  end
  local fresh, err = login.refresh(self._options, self._record)
  if fresh then
    self._record.token = fresh
    keep(self, self._record, "refresh")
    return fresh
  elseif not is_refusal(err) then
    return nil, err
  end
  reload(self)
  if again or held(self).refresh_token == used then
    return drop_token(self)
  end
  return token.is_fresh(held(self)) and held(self) or renewed(self, true)
end

-- Renews the token without the user, unless another program has done so.
local function refresh_alone(self)
  local before = held(self).access_token
  reload(self)
  local now = held(self)
  if now.access_token ~= before and token.is_fresh(now) then
    return now
  end
  return renewed(self)
end

local function refresh(self)
  return stores.alone(self._options.store, key_of(self), refresh_alone, self)
end

-- Prepares a login with the first issuer that can be used; returns the function that completes it.
local function log_in(self, found)
  local finish, err
  for i, issuer in ipairs(found.issuers) do
    local problem
    finish, problem = login.prepare(self._options, issuer, found.resource, found.scope, self._record)
    if finish or problem.code == "ABORTED" then
      break
    end
    err = i == 1 and problem or err
  end
  return finish and function()
    local record
    record, err = finish()
    if not record then
      return nil, err
    end
    keep(self, record, "login")
    return true
  end, err
end

-- Handles 401: the token is missing or no longer valid. Returns true, or how to log in.
local function renew(self, asked)
  local found, err = login.find(self._options, self._server, self._record, asked)
  if not found then
    return nil, err
  end
  local current = found.same and held(self)
  if current and current.refresh_token and not is_young(self, "refresh") and not is_young(self, "login") then
    local fresh
    fresh, err = refresh(self)
    if fresh or err then
      return fresh and true, err
    end
  end
  if current and is_young(self, "login") then
    return nil, endpoint.failure(("%s refuses the token that %s has just given out"):format(
      url.redact(self._server), url.redact(found.issuer)), { error = asked.error, statusCode = 401 })
  end
  self._step_ups = {}
  return log_in(self, found)
end

local function insufficient(self, asked)
  local wants = asked.scope and ": it asks for " .. endpoint.quote(asked.scope) or ""
  return endpoint.failure(("%s: insufficient scope%s"):format(url.redact(self._server), wants), {
    error = "insufficient_scope", scope = asked.scope, statusCode = 403,
  })
end

-- Handles 403: the token is valid but insufficient. Returns how to log in.
local function step_up(self, asked)
  local granted = held(self) and held(self).scope
  if not asked.scope or challenge.covers(granted, asked.scope) then
    return nil, insufficient(self, asked)
  end
  local found, err = login.find(self._options, self._server, self._record, asked)
  if not found then
    return nil, err
  end
  local count = (self._step_ups[found.scope] or 0) + 1
  if count > limits.oauth_step_ups then
    return nil, insufficient(self, asked)
  end
  self._step_ups[found.scope] = count
  return log_in(self, found)
end

-- An object serves one server: that of its first URL. Is this URL at that server?
local function bind(self, address)
  if not self._server then
    self._server = address:gsub("#.*$", "")
    self._options.remote = not url.is_loopback((url.parse(address) or { host = "" }).host)
    self._record = load(self)
  end
  return url.same_origin(self._server, address)
end

--- The headers of a request, with its token if there is one. Renews a token that expires soon.
---@param address string  URL of the request; the first is the server's; others with its origin get the token too
---@return table<string, string>?
---@return operations.Error? err
function Authorizer:headers(address)
  if not bind(self, address) then
    return {}
  end
  local current = held(self)
  if not current or token.is_fresh(current) then
    return headers_of(self)
  end
  if not current.refresh_token then
    drop_token(self)
    return {}
  end
  local _, err = self._flight:run(function()
    return refresh(self)
  end)
  if err and core.now() >= current.expires_at then
    return nil, err
  end
  return headers_of(self)
end

local function call(fn)
  return fn()
end

--- Does what a response with status 401 or 403 requires: the user logs in, or the token is renewed or gets more scopes.
--- Callers repeat a request at most three times.
---@param response { status: integer, headers: table, url: string?, aside: (fun(fn: function): any)? }  aside: calls
---  the function that waits for a user, without the limits of the request
---@param sent? table  the headers of the request: when several requests are refused at once, one renews the token
---@return boolean? retry  true: the request may be sent again; false: the response does not concern authorization
---@return operations.Error? err  `details.kind` is "oauth" or one of the HTTP client's; `details.error` as in OAuth, or
---  "login_required" where a user must log in and cannot
function Authorizer:challenged(response, sent)
  local asked = challenge.bearer(response.headers)
  local is_scope = response.status == 403 and asked.error == "insufficient_scope"
  local is_ours = self._server and (not response.url or bind(self, response.url))
  if not is_ours or (response.status ~= 401 and not is_scope) then
    return false
  elseif sent and sent.Authorization ~= headers_of(self).Authorization then
    return true
  end
  local result, err, before = self._flight:run(function()
    local outcome, failure = (is_scope and step_up or renew)(self, asked)
    return outcome, failure, held(self)
  end)
  if type(result) ~= "function" then
    return result, err
  end
  -- A user may take longer than the caller's request has; another caller may have got the token meanwhile.
  return (self._options.grant ~= "client_credentials" and response.aside or call)(function()
    return self._flight:run(function()
      if held(self) ~= before then
        return true
      end
      return result()
    end)
  end)
end

--- Deletes the token, and the registration of this program with the issuer of the token.
---@param address? string  URL of the server; default: that of the requests so far
---@return boolean token  was there one?
---@return boolean registration  was there one?
function Authorizer:log_out(address)
  local record = (not address or bind(self, address)) and self._record
  if not record then
    return false, false
  end
  local had_token = record.token ~= nil
  record.token = nil
  self._options.store.save(key_of(self), nil)
  return had_token, clients.forget(self._options, record.issuer)
end

--- Makes an authorizer for one server. Wrong options raise; nothing is sent before a server requires a token.
---@param given operations.oauth.AuthorizerOptions
---@return operations.oauth.Authorizer
function authorizer.new(given)
  local options, problem = oauth_options.authorizer(given)
  if problem then
    error("authorizer: " .. problem, 2)
  end
  return setmetatable({
    _options = options, _step_ups = {}, _born = { at = 0 }, _flight = single_flight.new(),
  }, Authorizer)
end

return authorizer

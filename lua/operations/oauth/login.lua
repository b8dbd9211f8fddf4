--- How a token is got from an authorization server: with the user at a browser, as the program itself, or by what is
--- left of the time before.
local authorization = require("operations.oauth.authorization")
local endpoint = require("operations.oauth.endpoint")
local grant = require("operations.oauth.grant")
local members = require("operations.base.members")
local metadata = require("operations.oauth.metadata")
local registration = require("operations.oauth.registration")
local scope = require("operations.oauth.scope")
local url = require("operations.base.url")

local login = {}

---@class operations.oauth.Record  what is kept about a server
---@field issuer string
---@field client_id string  whom the token was given to
---@field resource string
---@field scope? string  all that was asked for
---@field token? operations.oauth.Token

-- Asks with what `fields` say; a client that the issuer does not know (any more) is forgotten.
local function request(options, server, client, fields)
  local token, err = grant.request(server.token_endpoint, client, fields, options)
  if not token and err.details.error == "invalid_client" then
    registration.forget(options, server.issuer)
  end
  return token, err
end

-- Sends the user to the browser; the code that comes back.
local function ask_user(options, pending)
  local answer, err = options.open(pending.url)
  if answer == nil then
    return nil, err or endpoint.failure("nothing came back from the browser", { error = "login_required" })
  end
  return authorization.code(pending, answer)
end

local grants = {}

function grants.authorization_code(options, server, client, record)
  local pending, err = authorization.begin(server, client, {
    redirect_uri = options.redirect_uri, resource = record.resource, scope = record.scope,
  })
  if not pending then
    return nil, err
  end
  local code
  code, err = ask_user(options, pending)
  if not code then
    return nil, err
  end
  return request(options, server, client, {
    grant_type = "authorization_code",
    code = code,
    code_verifier = pending.verifier,
    redirect_uri = pending.redirect_uri,
    resource = record.resource,
  })
end

function grants.client_credentials(options, server, client, record)
  return request(options, server, client, {
    grant_type = "client_credentials", scope = record.scope, resource = record.resource,
  })
end

-- A grant of the user's own: a workload's JWT (RFC 7523), an exchanged token (RFC 8693) and so on.
local function own_grant(options, server, client, record)
  local asked = {
    issuer = server.issuer, token_endpoint = server.token_endpoint, resource = record.resource, scope = record.scope,
  }
  local given, err = options.grant(asked)
  if given == nil then
    return nil, err or endpoint.failure("the option 'grant' gave none", { error = "login_required" })
  end
  local fields = members.merged({ resource = record.resource, scope = record.scope }, given)
  return request(options, server, client, fields)
end

-- With offline_access where the server knows it: users want to log in once.
local function scope_of(options, server, wanted)
  local offline = wanted and options.open and metadata.contains(server.scopes, "offline_access")
  return offline and scope.union(wanted, "offline_access") or wanted
end

-- Who gives out tokens, and who we are there.
local function parties(options, issuer)
  local server, err = metadata.server(issuer, options)
  if not server then
    return nil, nil, err
  end
  local client
  client, err = registration.client(options, server)
  return client and server, client, err
end

--- Gets a first token, or one for other scopes.
---@param options operations.oauth.AuthorizerOptions
---@param issuer string
---@param resource string
---@param wanted? string  scopes
---@return operations.oauth.Record?
---@return operations.Error? err
function login.begin(options, issuer, resource, wanted)
  local get_token = type(options.grant) == "function" and own_grant or grants[options.grant or "authorization_code"]
  if get_token == grants.authorization_code and not options.open then
    return nil, endpoint.failure(("%s wants a user to log in, and there is no way to a browser (option 'open')"):format(
      url.redact(issuer)), { error = "login_required" })
  end
  local server, client, err = parties(options, issuer)
  if not server then
    return nil, err
  end
  local record = {
    issuer = issuer, client_id = client.client_id, resource = resource, scope = scope_of(options, server, wanted),
  }
  record.token, err = get_token(options, server, client, record)
  if not record.token then
    return nil, err
  end
  record.token.scope = record.token.scope or record.scope
  return record
end

--- Gets the next token by a refresh token (RFC 6749, 6).
---@param options operations.oauth.AuthorizerOptions
---@param record operations.oauth.Record
---@return operations.oauth.Token?
---@return operations.Error? err
function login.refresh(options, record)
  local server, client, err = parties(options, record.issuer)
  if not server then
    return nil, err
  elseif client.client_id ~= record.client_id then
    return nil, endpoint.failure("the refresh token belongs to another client", { error = "invalid_grant" })
  end
  local token
  token, err = request(options, server, client, {
    grant_type = "refresh_token", refresh_token = record.token.refresh_token, resource = record.resource,
  })
  if token then
    token.scope = token.scope or record.token.scope
  end
  return token, err
end

return login

--- Gets a user's token: finds the authorization server that protects a server, sends the browser there (PKCE, RFC
--- 7636), checks the browser's answer (RFC 6749, 4.1.2; RFC 9207), and exchanges it for a token: with the user at a
--- browser, as the program itself, or by a stored refresh token.
local base64 = require("operations.base.base64")
local challenge = require("operations.oauth.challenge")
local clients = require("operations.oauth.client")
local core = require("operations.core")
local endpoint = require("operations.oauth.endpoint")
local members = require("operations.base.members")
local metadata = require("operations.oauth.metadata")
local tokens = require("operations.oauth.token")
local url = require("operations.base.url")

local login = {}

-- The authorization server.

---@class operations.oauth.Place
---@field issuer string
---@field issuers string[]  that one, and others to try if it cannot be used
---@field same boolean  it issued the previous token
---@field resource string
---@field scope? string  scopes to request

-- The issuers in the order of trying: the one in use, the one that has our registration, the others.
local function ordered(options, record, issuers)
  local known, list = type(options.client) == "table" and options.client.issuer, {}
  for _, preferred in ipairs({ record and record.issuer or false, known or false }) do
    if members.contains(issuers, preferred) and not members.contains(list, preferred) then
      list[#list + 1] = preferred
    end
  end
  for _, issuer in ipairs(issuers) do
    if not members.contains(list, issuer) then
      list[#list + 1] = issuer
    end
  end
  return list
end

-- A client without an issuer belongs to the one that it was first used with.
local function belongs_elsewhere(options, record, issuer)
  local given = options.client
  return type(given) == "table" and not given.issuer and record ~= nil
    and record.client_id == given.client_id and record.issuer ~= issuer
end

--- Finds the authorization server of a server. Scopes requested before are requested again, with those that the server
--- requires now.
---@param options operations.oauth.AuthorizerOptions
---@param server string  URL
---@param record? operations.oauth.Record  of the previous token
---@param asked { resource_metadata: string?, scope: string? }  the server's challenge
---@return operations.oauth.Place?
---@return operations.Error? err
function login.find(options, server, record, asked)
  local resource, err = metadata.resource(server, asked.resource_metadata, options)
  if not resource then
    return nil, err
  end
  local issuers = ordered(options, record, resource.issuers)
  local issuer = issuers[1]
  if belongs_elsewhere(options, record, issuer) then
    return nil, endpoint.failure(("%s is now protected by %s, which does not know the client of %s"):format(
      url.redact(server), url.redact(issuer), url.redact(record.issuer)))
  end
  local same = record ~= nil and record.issuer == issuer
  local before = same and record.scope or nil
  local wanted = challenge.union(options.scope, asked.scope) or (not before and resource.scope or nil)
  return { issuer = issuer, issuers = issuers, same = same, resource = resource.resource,
    scope = challenge.union(before, wanted) }
end

-- The browser.

-- 256 random bits, as 43 characters.
local function random_text()
  return base64.encode_url(core.random_bytes(32))
end

-- The reason why a server cannot be used with a browser, or nil. Its endpoints are checked before a user is asked.
local function server_problem(server, options)
  if not server.authorization_endpoint then
    return "has no authorization_endpoint"
  elseif not server.has_s256 then
    return "does not say that it takes PKCE with S256"
  end
  for _, name in ipairs({ "authorization_endpoint", "token_endpoint" }) do
    local problem = endpoint.problem(server[name], options.remote)
    if problem then
      return ("names no usable %s: %s"):format(name, problem)
    end
  end
end

-- The fields of the URL that the browser was redirected to; or nil and the problem.
local function fields_of(answer, redirect_uri)
  if type(answer) == "table" then
    return answer
  elseif type(answer) ~= "string" then
    return nil, "it is neither a URL nor a table"
  end
  local address, query = answer:match("^%s*([^?#%s]*)%??([^#%s]*)")
  if address ~= redirect_uri:match("^[^?#]*") then
    return nil, "it is not the redirect_uri"
  end
  local fields, repeated = endpoint.decode_form(query)
  for _, name in ipairs({ "code", "state", "iss", "error" }) do
    if repeated[name] then
      return nil, ("it has more than one %s"):format(name)
    end
  end
  return fields
end

-- The reason why the answer must not be trusted or shown, or nil.
local function answer_problem(server, state, fields)
  if fields.state ~= state then
    return "its state is not the one that was sent"
  elseif fields.iss ~= nil and fields.iss ~= server.iss then -- letter by letter (RFC 9207, 2.4)
    return "it comes from another issuer"
  elseif fields.iss == nil and server.names_issuer then
    return "it does not say which issuer it comes from, which this one always does"
  end
end

-- Sends the user to the browser; returns the code that comes back.
local function ask_browser(options, server, sent)
  local address = server.authorization_endpoint
  local separator = address:find("?", 1, true) and "&" or "?"
  local answer, err = options.open(address .. separator .. endpoint.encode_form(sent))
  if answer == nil then
    return nil, err or endpoint.failure("nothing came back from the browser", { error = "login_required" })
  end
  local fields, problem = fields_of(answer, sent.redirect_uri)
  problem = problem or answer_problem(server, sent.state, fields)
  if problem then
    return nil, endpoint.failure("the answer of the browser was refused: " .. problem)
  elseif fields.error ~= nil then
    return nil, endpoint.refusal(server.issuer, fields)
  elseif type(fields.code) ~= "string" or fields.code == "" then
    return nil, endpoint.failure("the answer of the browser has no code")
  end
  return fields.code
end

-- The token.

---@class operations.oauth.Record  data stored for a server
---@field issuer string
---@field client_id string  the client of the token
---@field resource string
---@field scope? string  all requested scopes
---@field basis? string  the server's metadata at its registration
---@field token? operations.oauth.Token

-- Requests a token with `fields`; forgets a client that the issuer does not accept (any more).
local function request(options, server, client, fields)
  local token, err = tokens.request(server.token_endpoint, client, fields, options)
  if not token and err.details.error == "invalid_client" then
    clients.forget(options, server.issuer)
  end
  return token, err
end

local grants = {}

function grants.authorization_code(options, server, client, record)
  local problem = server_problem(server, options)
  if problem then
    return nil, endpoint.failure(("%s %s"):format(url.redact_any(server.issuer), problem))
  end
  local redirect_uri, resource, verifier = options.redirect_uri, record.resource, random_text()
  local code, err = ask_browser(options, server, {
    response_type = "code", client_id = client.client_id, redirect_uri = redirect_uri, scope = record.scope,
    resource = resource, state = random_text(), code_challenge = base64.encode_url(core.sha256(verifier)),
    code_challenge_method = "S256",
  })
  if not code then
    return nil, err
  end
  return request(options, server, client, {
    grant_type = "authorization_code", code = code, code_verifier = verifier, redirect_uri = redirect_uri,
    resource = resource,
  })
end

function grants.client_credentials(options, server, client, record)
  return request(options, server, client, {
    grant_type = "client_credentials", scope = record.scope, resource = record.resource,
  })
end

-- A grant made by the program: a workload's JWT (RFC 7523), an exchanged token (RFC 8693), etc.
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

-- Adds offline_access if the server supports it, so that users log in only once.
local function scope_of(options, server, wanted)
  local offline = wanted and options.open and members.contains(server.scopes, "offline_access")
  return offline and challenge.union(wanted, "offline_access") or wanted
end

-- Has the metadata changed since the record was made?
local function is_outdated(record, server)
  return record.basis ~= nil and record.basis ~= clients.basis(server)
end

-- The authorization server, our client there, and the scopes to request. A registration is not reused when the metadata
-- has changed since the previous record.
local function parties(options, issuer, wanted, before)
  local server, err = metadata.server(issuer, options)
  if not server then
    return nil, nil, err
  end
  if before and before.issuer == issuer and is_outdated(before, server) then
    clients.forget(options, issuer)
  end
  local scope = scope_of(options, server, wanted)
  local client, problem = clients.of(options, server, scope)
  return client and server, client, problem, scope
end

--- Prepares to get a first token, or one for other scopes: everything that needs no user.
---@param options operations.oauth.AuthorizerOptions
---@param issuer string
---@param resource string
---@param wanted? string  scopes
---@param before? operations.oauth.Record  the previous one
---@return (fun(): operations.oauth.Record?, operations.Error?)|nil finish  gets the token; a user may be asked
---@return operations.Error? err
function login.prepare(options, issuer, resource, wanted, before)
  local get_token = type(options.grant) == "function" and own_grant or grants[options.grant or "authorization_code"]
  if get_token == grants.authorization_code and not options.open then
    return nil, endpoint.failure(("%s requires a login, but no browser can be opened (option 'open')"):format(
      url.redact(issuer)), { error = "login_required" })
  end
  local server, client, err, scope = parties(options, issuer, wanted, before)
  if not server then
    return nil, err
  end
  local record = {
    issuer = issuer, client_id = client.client_id, resource = resource, scope = scope,
    basis = client.redirect_uri and clients.basis(server) or nil, -- of a registration
  }
  return function()
    record.token, err = get_token(options, server, client, record)
    if not record.token then
      return nil, err
    end
    record.token.scope = record.token.scope or record.scope
    return record
  end
end

--- Gets a token with the user at a browser, from a server whose endpoints are configured.
---@param options operations.oauth.AuthorizerOptions
---@param client operations.oauth.Client
---@param place { authorization_endpoint: string, token_endpoint: string, scope?: string }
---@return operations.oauth.Token?
---@return operations.Error? err
function login.authorize(options, client, place)
  local server = members.merged(place, { issuer = place.authorization_endpoint, has_s256 = true })
  return grants.authorization_code(options, server, client, { scope = place.scope })
end

--- Gets the next token by a refresh token (RFC 6749, 6).
---@param options operations.oauth.AuthorizerOptions
---@param record operations.oauth.Record
---@return operations.oauth.Token?
---@return operations.Error? err
function login.refresh(options, record)
  local server, err = metadata.server(record.issuer, options)
  local client
  if server and is_outdated(record, server) then
    return nil, endpoint.failure("the issuer's metadata has changed since the login", { error = "invalid_grant" })
  elseif server then
    client, err = clients.of(options, server)
  end
  if not client then
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

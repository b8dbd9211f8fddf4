--- The step in the browser: the request that the user's browser is sent to, with PKCE (RFC 7636), and what of its
--- answer is believed (RFC 6749, 4.1.2; RFC 9207).
local base64 = require("operations.base.base64")
local core = require("operations.core")
local endpoint = require("operations.oauth.endpoint")
local form = require("operations.oauth.form")
local url = require("operations.base.url")

local authorization = {}

---@class operations.oauth.Pending
---@field url string  for the browser
---@field state string
---@field verifier string
---@field issuer string  who must answer
---@field names_issuer boolean  and will say so
---@field redirect_uri string

-- 256 bits, as 43 characters.
local function random_text()
  return base64.encode_url(core.random_bytes(32))
end

--- Makes a request.
---@param server operations.oauth.Server
---@param client operations.oauth.Client
---@param request { redirect_uri: string, resource: string, scope: string? }
---@return operations.oauth.Pending?
---@return operations.Error? err
function authorization.begin(server, client, request)
  if not server.authorization_endpoint then
    return nil, endpoint.failure(("%s has no authorization_endpoint"):format(url.redact(server.issuer)))
  elseif not server.has_s256 then
    return nil, endpoint.failure(("%s does not say that it takes PKCE with S256"):format(url.redact(server.issuer)))
  end
  local state, verifier = random_text(), random_text()
  local query = form.encode({
    response_type = "code",
    client_id = client.client_id,
    redirect_uri = request.redirect_uri,
    scope = request.scope,
    resource = request.resource,
    state = state,
    code_challenge = base64.encode_url(core.sha256(verifier)),
    code_challenge_method = "S256",
  })
  local address = server.authorization_endpoint
  return {
    url = address .. (address:find("?", 1, true) and "&" or "?") .. query,
    state = state,
    verifier = verifier,
    issuer = server.issuer,
    names_issuer = server.names_issuer,
    redirect_uri = request.redirect_uri,
  }
end

-- The fields of the URL that the browser was sent back to; or nil and the problem.
local function fields_of(pending, answer)
  if type(answer) == "table" then
    return answer
  elseif type(answer) ~= "string" then
    return nil, "it is neither a URL nor a table"
  end
  local address, query = answer:match("^%s*([^?#%s]*)%??([^#%s]*)")
  if address ~= pending.redirect_uri:match("^[^?#]*") then
    return nil, "it is not the redirect_uri"
  end
  local fields, repeated = form.decode(query)
  for _, name in ipairs({ "code", "state", "iss", "error" }) do
    if repeated[name] then
      return nil, ("it has more than one %s"):format(name)
    end
  end
  return fields
end

-- Why the answer is not to be believed, nor shown.
local function problem_of(pending, fields)
  if fields.state ~= pending.state then
    return "its state is not the one that was sent"
  elseif fields.iss ~= nil and fields.iss ~= pending.issuer then
    return "it comes from another issuer"
  elseif fields.iss == nil and pending.names_issuer then
    return "it does not say which issuer it comes from, which this one always does"
  end
end

--- Reads the answer to a request.
---@param pending operations.oauth.Pending
---@param answer string|table  the URL that the browser was sent back to, or its fields
---@return string? code
---@return operations.Error? err
function authorization.code(pending, answer)
  local fields, problem = fields_of(pending, answer)
  problem = problem or problem_of(pending, fields)
  if problem then
    return nil, endpoint.failure("the answer of the browser was refused: " .. problem)
  elseif fields.error ~= nil then
    return nil, endpoint.refusal(pending.issuer, fields)
  elseif type(fields.code) ~= "string" or fields.code == "" then
    return nil, endpoint.failure("the answer of the browser has no code")
  end
  return fields.code
end

return authorization

--- Authorizers for the auth scenarios of the conformance suite: what a scenario gives out, made of its data.
local base64 = require("operations.base.base64")
local endpoint = require("operations.oauth.endpoint")
local http = require("operations.net.http")
local json = require("operations.base.json")
local oauth = require("operations.oauth")

local auth = {}

local JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"

-- The suite's authorization page says yes at once.
local function open(address)
  return assert(http.request({ url = address, redirects = 0 })).headers.location
end

-- The two numbers of an ECDSA signature, from DER to the 64 bytes that a JWT wants.
local function raw_signature(der)
  local numbers, at = {}, 3
  for i = 1, 2 do
    local length = der:byte(at + 1)
    numbers[i] = (("\0"):rep(32) .. der:sub(at + 2, at + 1 + length)):sub(-32)
    at = at + 2 + length
  end
  return table.concat(numbers)
end

local function run(command)
  local pipe = assert(io.popen(command))
  local output = pipe:read("*a")
  pipe:close()
  return output
end

-- Signs with openssl; the key is the scenario's own.
local function sign(text, key)
  local key_file, text_file = os.tmpname(), os.tmpname()
  for path, content in pairs({ [key_file] = key, [text_file] = text }) do
    local file = assert(io.open(path, "wb"))
    file:write(content)
    file:close()
  end
  local der = run(("openssl dgst -sha256 -sign '%s' '%s'"):format(key_file, text_file))
  os.remove(key_file)
  os.remove(text_file)
  return raw_signature(der)
end

local function jwt(claims, key)
  local head = base64.encode_url(json.encode({ alg = "ES256", typ = "JWT" }))
  local text = head .. "." .. base64.encode_url(json.encode(claims))
  return text .. "." .. base64.encode_url(sign(text, key))
end

local scenarios = {}

scenarios["auth/pre-registration"] = function(given)
  return { open = open, client = given }
end

scenarios["auth/client-credentials-basic"] = function(given)
  return { grant = "client_credentials", client = given }
end

-- private_key_jwt (RFC 7523, 2.2)
scenarios["auth/client-credentials-jwt"] = function(given)
  local function client(issuer)
    return {
      client_id = given.client_id,
      client_auth = function(fields)
        fields.client_assertion_type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
        fields.client_assertion = jwt({
          iss = given.client_id, sub = given.client_id, aud = issuer, exp = os.time() + 60, iat = os.time(),
          jti = base64.encode_url(tostring(os.clock())),
        }, given.private_key_pem)
        return true
      end,
    }
  end
  return { grant = "client_credentials", client = client }
end

scenarios["auth/wif-jwt-bearer"] = function(given)
  return {
    client = { client_id = given.client_id },
    grant = function()
      return { grant_type = JWT_BEARER, assertion = given.valid_jwt }
    end,
  }
end

-- An id token becomes an assertion for the server's own issuer (RFC 8693), and that becomes a token.
scenarios["auth/enterprise-managed-authorization"] = function(given)
  local function exchange(asked)
    local response = assert(http.request({
      url = given.idp_token_endpoint,
      method = "POST",
      headers = { ["Content-Type"] = "application/x-www-form-urlencoded" },
      body = endpoint.encode_form({
        grant_type = "urn:ietf:params:oauth:grant-type:token-exchange",
        requested_token_type = "urn:ietf:params:oauth:token-type:id-jag",
        subject_token = given.idp_id_token,
        subject_token_type = "urn:ietf:params:oauth:token-type:id_token",
        audience = asked.issuer, resource = asked.resource, client_id = given.idp_client_id,
      }),
    }))
    return { grant_type = JWT_BEARER, assertion = assert(json.decode(response.body)).access_token }
  end
  return { client = { client_id = given.client_id, client_secret = given.client_secret }, grant = exchange }
end

--- The authorizer for a scenario.
---@param scenario string
---@param given table  its data
---@return operations.oauth.Authorizer
function auth.authorizer(scenario, given)
  local options = scenarios[scenario] and scenarios[scenario](given) or {
    open = open, client_metadata_url = "https://conformance-test.local/client-metadata.json",
  }
  options.redirect_uri = "http://localhost:3000/callback"
  return oauth.authorizer(options)
end

return auth

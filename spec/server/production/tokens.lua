--- Tokens that npm's jose makes, sent to a live server with the keys of its JWKS, and what jose says of them itself.
local command = require("spec.support.command")
local core = require("operations.core")
local json = require("operations.base.json")
local operations = require("operations")

local algorithms = { "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA" }

describe("a live server, and tokens of jose", function()
  local jose, server, listener

  setup(function()
    jose = assert(operations.process.spawn({ "node", "spec/server/production/tokens.mjs",
      env = command.environment() }))
    local port = jose:read_line() or error(jose:stderr())
    local registry = operations.registry()
    assert(registry:register({ namespace = "who", name = "am_i", type = "query", inputSchema = { type = "object" },
      accessControl = { requiredScopes = { "read" } }, handler = function(_, context)
        return context.identity.id
      end }))
    server = assert(operations.to_http(registry, { mcp = true, log = function() end,
      authorize = operations.oauth.resource_server({ issuer = "https://login.example",
        audience = "https://api.example", jwks_uri = ("http://127.0.0.1:%s/jwks.json"):format(port) }) }))
    listener = assert(server:listen({ port = 0 }))
  end)

  teardown(function()
    server:close()
    jose:close_stdin()
    jose:wait()
  end)

  local function claims(changed)
    local seconds = math.floor(core.now() / 1000)
    local made = { iss = "https://login.example", aud = "https://api.example", sub = "ada", exp = seconds + 300,
      iat = seconds, scope = "read" }
    for name, value in pairs(changed or {}) do
      made[name] = value or nil
    end
    return made
  end

  local function made(request)
    assert(jose:write(json.encode(request) .. "\n"))
    return assert(json.decode(jose:read_line() or error(jose:stderr())))
  end

  local function send(token, path)
    return assert(operations.http.request({ url = ("http://127.0.0.1:%d%s"):format(listener.port,
      path or "/who/am_i"), headers = { Authorization = token and "Bearer " .. token } }))
  end

  it("are accepted, whichever algorithm signs them", function()
    for _, alg in ipairs(algorithms) do
      local found = made({ alg = alg, claims = claims() })
      local answer = send(found.token)
      assert.same({ alg, true, 200, '"ada"' }, { alg, found.accepted, answer.status, answer.body })
    end
  end)

  it("are judged as jose judges them", function()
    local seconds = math.floor(core.now() / 1000)
    local cases = { {}, { aud = "other" }, { aud = operations.array({ "a", "https://api.example" }) }, { aud = false },
      { iss = "https://evil.example" }, { iss = false }, { exp = seconds - 30 }, { exp = seconds - 3600 },
      { exp = false }, { exp = "soon" }, { nbf = seconds + 30 }, { nbf = seconds + 3600 }, { nbf = "now" },
      { iat = seconds - 10 } }
    for i, changed in ipairs(cases) do
      for _, alg in ipairs({ "RS256", "ES256", "EdDSA" }) do
        local found = made({ alg = alg, claims = claims(changed) })
        assert.equal(found.accepted and 200 or 401, send(found.token).status, alg .. ", case " .. i)
      end
    end
  end)

  it("are refused when they are invalid, of an HMAC with the public key, or of another type", function()
    for _, request in ipairs({ { alg = "none" }, { alg = "HS256", secret = true, header = { kid = "RS256" } },
      { alg = "RS256", header = { typ = "id+jwt" } }, { alg = "RS256", header = { kid = "ES256" } },
      { alg = "ES256", header = { kid = "https://evil.example" } } }) do
      request.claims = claims()
      local answer = send(made(request).token)
      assert.equal(401, answer.status)
      assert.matches('error="invalid_token"', answer.headers["www-authenticate"], 1, true)
    end
  end)

  it("need the scopes of the operation, which the refusal names beside the place to get tokens", function()
    local answer = send(made({ alg = "ES256", claims = claims({ scope = "write" }) }).token)
    assert.equal(403, answer.status)
    assert.equal('Bearer error="insufficient_scope", scope="read", '
      .. 'resource_metadata="https://api.example/.well-known/oauth-protected-resource"',
      answer.headers["www-authenticate"])
    answer = send(nil, "/.well-known/oauth-protected-resource")
    assert.same({ "https://login.example" }, json.decode(answer.body).authorization_servers)
    assert.equal(401, send(nil, "/mcp").status)
  end)
end)

local operations = require("operations")

describe("the credentials in an OpenAPI document", function()
  local key = { kty = "OKP", crv = "Ed25519", x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" }

  local function document(changed, more)
    local registry = operations.registry()
    assert(registry:register({ namespace = "tasks", name = "open", type = "query", handler = function() end }))
    assert(registry:register({ namespace = "tasks", name = "read", type = "query", handler = function() end,
      accessControl = { requiredScopes = { "read" } } }))
    assert(registry:register({ namespace = "tasks", name = "write", handler = function() end,
      accessControl = { requiredScopes = { "read" }, requiredScopesAny = { "write", "admin" } } }))
    local options = { issuer = "https://login.example/", audience = "api", jwks = { keys = { key } } }
    for name, value in pairs(changed or {}) do
      options[name] = value
    end
    local given = { authorize = changed and operations.oauth.resource_server(options) or function() end }
    for name, value in pairs(more or {}) do
      given[name] = value
    end
    return assert(operations.to_http(registry, given)):openapi()
  end

  local function security(made)
    local list = {}
    for _, item in pairs(made.paths) do
      for _, operation in pairs(item) do
        list[operation["x-operation"].id] = operation.security
      end
    end
    return list
  end

  it("names the flows and scopes of a known authorization server, beside a token from elsewhere", function()
    local made = document({ authorization_endpoint = "https://login.example/authorize",
      token_endpoint = "https://login.example/token" })
    local scopes = { read = "read", write = "write", admin = "admin" }
    assert.same({ bearer = { type = "http", scheme = "bearer" }, oauth = { type = "oauth2", flows = {
      authorizationCode = { authorizationUrl = "https://login.example/authorize",
        tokenUrl = "https://login.example/token", scopes = scopes },
      clientCredentials = { tokenUrl = "https://login.example/token", scopes = scopes } } } },
      made.components.securitySchemes)
    assert.same({ ["tasks.open"] = { { oauth = {} }, { bearer = {} } },
      ["tasks.read"] = { { oauth = { "read" } }, { bearer = {} } },
      ["tasks.write"] = { { oauth = { "read", "write" } }, { oauth = { "read", "admin" } }, { bearer = {} } } },
      security(made))
  end)

  it("leads to the metadata of an authorization server whose endpoints are not given", function()
    local made = document({}, { anonymous = true })
    assert.same({ type = "openIdConnect",
      openIdConnectUrl = "https://login.example/.well-known/openid-configuration" },
      made.components.securitySchemes.oauth)
    assert.same({}, security(made)["tasks.open"])
    assert.same({ { oauth = {} }, { bearer = {} } }, security(made)["tasks.write"])
  end)

  it("names a token only where its issuer is unknown", function()
    local made = document()
    assert.same({ bearer = { type = "http", scheme = "bearer" } }, made.components.securitySchemes)
    assert.same({ { bearer = {} } }, security(made)["tasks.write"])
  end)

  it("gives the operations back as they were", function()
    for _, changed in ipairs({ {}, { authorization_endpoint = "https://login.example/authorize",
      token_endpoint = "https://login.example/token" } }) do
      local made = document(changed)
      made.servers = { { url = "http://localhost:1" } }
      local definitions = assert(operations.from_openapi.document(made, { auth = { bearer = { token = "t" } } }))
      local found = {}
      for _, definition in ipairs(definitions) do
        found[definition.namespace .. "." .. definition.name] = definition.accessControl
      end
      assert.same({ "read" }, found["tasks.read"].requiredScopes)
      assert.same({ "write", "admin" }, found["tasks.write"].requiredScopesAny)
    end
  end)
end)

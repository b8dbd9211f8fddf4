local operations = require("operations")

describe("the options of a resource server", function()
  local function raised(more)
    local given = { issuer = "https://login.example", audience = "api", jwks_uri = "https://login.example/keys" }
    for name, value in pairs(more) do
      if value == "none" then
        given[name] = nil
      else
        given[name] = value
      end
    end
    local ok, message = pcall(function()
      return operations.oauth.resource_server(given) and nil
    end)
    if ok then
      return nil
    end
    assert.matches("^[^ ]*options_spec.lua:%d+: ", message)
    return (message:gsub("^[^ ]*options_spec.lua:%d+: ", ""))
  end

  it("are refused in the line that gives them", function()
    for message, more in pairs({
      ["bad option 'issuer' to 'resource_server' (missing)"] = { issuer = "none" },
      ["bad option 'other' to 'resource_server' (unknown)"] = { other = 1 },
      ["bad option 'leeway' to 'resource_server' (number expected, got string)"] = { leeway = "1" },
      ["bad options to 'resource_server' (one of jwks_uri, jwks and introspection expected)"] =
        { jwks = { keys = {} } },
      ["bad options to 'resource_server' (audience: what tokens for this server are for expected)"] =
        { audience = "none" },
      ["bad options to 'resource_server' (audience: what tokens for this server are for expected) "] =
        { audience = {} },
      ["bad options to 'resource_server' (leeway: 0 to 3600 seconds expected)"] = { leeway = -1 },
      ["bad options to 'resource_server' (leeway: 0 to 3600 seconds expected) "] = { leeway = 3601 },
      ["bad options to 'resource_server' (jwks_uri: it is not an absolute URL)"] = { jwks_uri = "keys" },
      ["bad options to 'resource_server' (token_endpoint: it contains a fragment)"] =
        { token_endpoint = "https://a/t#f" },
      ["bad options to 'resource_server' (authorization_endpoint: it is not an absolute URL)"] =
        { authorization_endpoint = "/a" },
      ["bad options to 'resource_server' (issuer: it is not an absolute URL)"] = { jwks_uri = "none",
        issuer = "login" },
      ["bad options to 'resource_server' (algorithms: at least one expected)"] = { algorithms = {} },
      ["bad options to 'resource_server' (algorithms: RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, "
        .. "EdDSA, Ed25519, Ed448 expected, got \"HS256\")"] = { algorithms = { "ES256", "HS256" } },
      ["bad options to 'resource_server' (introspection.endpoint: it is not an absolute URL)"] = { jwks_uri = "none",
        introspection = {} },
      ["bad options to 'resource_server' (introspection.client_id: expected a string, got nil)"] = { jwks_uri = "none",
        introspection = { endpoint = "https://a/i" } },
      ["bad option 'jwks' to 'resource_server' (no key that verifies signatures)"] = { jwks_uri = "none",
        jwks = { keys = {} } },
      ["bad option 'jwks' to 'resource_server' (no key that verifies signatures: another type of key)"] = {
        jwks_uri = "none", jwks = { keys = { { kty = "oct" } } } },
      ["bad option 'jwks' to 'resource_server' (not a set of keys: a member `keys`, a list, expected)"] = {
        jwks_uri = "none", jwks = {} },
    }) do
      assert.equal(message:gsub(" $", ""), raised(more))
    end
    local ok, message = pcall(function()
      return operations.oauth.resource_server("x") and nil
    end)
    assert.is_false(ok)
    assert.matches("options_spec.lua:%d+: bad argument #1 to 'resource_server' %(table expected, got string%)$",
      message)
  end)

  it("may be any of those that mean something", function()
    for _, more in ipairs({ {}, { leeway = 0 }, { leeway = 3600 }, { audience = { "a", "b" } }, { jwks_uri = "none" },
      { algorithms = { "ES256" } }, { jwks_uri = "none", audience = "none", introspection = {
        endpoint = "https://a/i", client_id = "c" } }, { jwks_uri = "http://127.0.0.1/keys" } }) do
      assert.is_nil(raised(more))
    end
  end)
end)

describe("the options of an authorizer", function()
  local oauth_options = require("operations.oauth.options")

  it("are refused with an explanation", function()
    for problem, given in pairs({
      ['grant: there is no "password"'] = { grant = "password" },
      ["client: client_credentials need one"] = { grant = "client_credentials" },
      ["redirect_uri: it is not an absolute URL"] = { open = print },
      ["redirect_uri: it is neither https nor on this machine"] = { open = print, redirect_uri = "http://a.test/" },
      ["client_metadata_url: expected an https URL with a path"] = { client_metadata_url = "https://a.test" },
      ["client.client_id: expected a string, got nil"] = { client = {} },
    }) do
      assert.equal(problem, (select(2, oauth_options.authorizer(given))))
    end
    for _, address in ipairs({ "https://a.test/", "http://127.0.0.1/c", "https://u@a.test/c", "a",
      "https://a.test/c#f" }) do
      assert.equal("client_metadata_url: expected an https URL with a path",
        (select(2, oauth_options.authorizer({ client_metadata_url = address }))))
    end
  end)

  it("are copied, scopes as one text, a store of its own where none is given", function()
    for _, given in ipairs({ {}, { grant = "authorization_code" }, { grant = print }, { client = print },
      { grant = "client_credentials", client = { client_id = "a" } }, { open = print,
        redirect_uri = "http://127.0.0.1/cb" }, { client_metadata_url = "https://a.test/c" } }) do
      local copy, problem = oauth_options.authorizer(given)
      assert.is_nil(problem)
      assert.is_function(copy.store.load)
      assert.is_nil(given.store)
    end
    assert.equal("a b", oauth_options.authorizer({ scope = { "a", "b" } }).scope)
    assert.equal("a", oauth_options.authorizer({ scope = "a" }).scope)
    local kept = { load = print, save = print }
    assert.equal(kept, oauth_options.authorizer({ store = kept }).store)
  end)
end)

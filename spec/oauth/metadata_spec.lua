local metadata = require("operations.oauth.metadata")

describe("metadata", function()
  it("of a server is looked for at its path, then at the root (RFC 9728, 3.1)", function()
    assert.same({
      "https://h:1/.well-known/oauth-protected-resource/public/mcp", "https://h:1/.well-known/oauth-protected-resource",
    }, metadata.resource_urls("https://h:1/public/mcp?x=1"))
    for _, server in ipairs({ "https://h", "https://h/", "https://h?x=1" }) do
      assert.same({ "https://h/.well-known/oauth-protected-resource" }, metadata.resource_urls(server))
    end
  end)

  it("of an issuer is looked for where RFC 8414 and OpenID Connect put it, in MCP's order", function()
    local with_path = {
      "https://h/.well-known/oauth-authorization-server/tenant1", "https://h/.well-known/openid-configuration/tenant1",
      "https://h/tenant1/.well-known/openid-configuration",
    }
    assert.same(with_path, metadata.issuer_urls("https://h/tenant1"))
    assert.same(with_path, metadata.issuer_urls("https://h/tenant1/"))
    assert.same({
      "https://h/.well-known/oauth-authorization-server", "https://h/.well-known/openid-configuration",
    }, metadata.issuer_urls("https://h/"))
  end)

  it("counts for a server at its resource or below", function()
    for _, pair in ipairs({
      { "https://h/mcp", "https://h/mcp" }, { "https://H:443/mcp/", "https://h/mcp" }, { "https://h", "https://h/mcp" },
      { "https://h/", "https://h/a/b" }, { "https://h/a", "https://h/a/b" }, { "https://h/a?x=1", "https://h/a?x=1" },
    }) do
      assert.is_true(metadata.covers(pair[1], pair[2]), pair[1])
    end
    for _, pair in ipairs({
      { "https://h/mcp", "https://h/mcp2" }, { "https://h/mcp/sub", "https://h/mcp" },
      { "http://h/mcp", "https://h/mcp" },
      { "https://h:8443/mcp", "https://h/mcp" }, { "https://h.test/mcp", "https://h/mcp" }, { "mcp", "https://h/mcp" },
      { "https://h/mcp#x", "https://h/mcp" }, { "https://u@h/mcp", "https://h/mcp" },
      { "https://h/a?x=1", "https://h/a?x=2" },
    }) do
      assert.is_false(metadata.covers(pair[1], pair[2]), pair[1])
    end
  end)
end)

describe("metadata that is fetched", function()
  local json = require("operations.base.json")

  -- An HTTP client that answers documents by URL, else 404; what it was asked for is in `asked`.
  local function transport(documents, more)
    local made = { asked = {} }
    made.http = { request = function(request)
      made.asked[#made.asked + 1] = request.url
      local found = documents[request.url]
      if type(found) == "number" then
        return { status = found, headers = {}, body = "" }
      end
      return { status = found and 200 or 404, headers = {}, body = found or "" }
    end }
    for name, value in pairs(more or {}) do
      made[name] = value
    end
    return made
  end

  local SERVER = "https://api.example/mcp"
  local ROOT = "https://api.example/.well-known/oauth-protected-resource"

  local function resource(document, at)
    local found, err = metadata.resource(SERVER, nil, transport({ [at or ROOT .. "/mcp"] = document }))
    return found or err.message
  end

  it("of a server names its resource, issuers and scopes", function()
    assert.same({ resource = "https://api.example/mcp", issuers = { "https://a", "https://b" }, scope = "x y" },
      resource('{"resource":"https://api.example/mcp","authorization_servers":["https://a",7,"https://b"],'
      .. '"scopes_supported":["x","y"]}'))
    assert.same({ resource = "https://api.example", issuers = { "https://a" } },
      resource('{"resource":"https://api.example","authorization_servers":["https://a"],"scopes_supported":[]}', ROOT))
  end)

  it("of a server is refused where it is about another issuer or has none", function()
    local at = "protected resource metadata at " .. ROOT .. "/mcp: "
    for problem, document in pairs({
      ["it names no resource"] = '{"authorization_servers":["https://a"]}',
      ["it is about another resource, https://other"] = '{"resource":"https://other","authorization_servers":["a"]}',
      ["it names no authorization server"] = '{"resource":"https://api.example","authorization_servers":[]}',
    }) do
      assert.equal(at .. problem, resource(document))
    end
    for _, servers in ipairs({ '"a"', '{"a":1}', "[7]", "null" }) do
      assert.equal(at .. "it names no authorization server",
        resource(('{"resource":"https://api.example","authorization_servers":%s}'):format(servers)))
    end
  end)

  it("of a server is the server's own origin where its metadata is missing", function()
    local to = transport({})
    assert.same({ resource = "https://api.example/mcp?x", issuers = { "https://api.example" } },
      metadata.resource(SERVER .. "?x#f", nil, to))
    assert.same({ ROOT .. "/mcp", ROOT }, to.asked)
  end)

  it("of a server has to be there where the server names it", function()
    local found, err = metadata.resource(SERVER, "https://api.example/named", transport({}))
    assert.is_nil(found)
    assert.equal("no protected resource metadata: tried https://api.example/named (answered 404)", err.message)
  end)

  it("of a server is not guessed where it could not be asked", function()
    local found, err = metadata.resource(SERVER, nil, transport({ [ROOT .. "/mcp"] = 503 }))
    assert.is_nil(found)
    assert.equal(ROOT .. "/mcp: answered 503", err.message)
  end)

  local ISSUER = "https://login.example"
  local AT = ISSUER .. "/.well-known/oauth-authorization-server"

  local function server(document, issuer, more)
    local found, err = metadata.server(issuer or ISSUER, transport({ [AT] = document }, more))
    return found or err.message
  end

  it("of an issuer has its endpoints and what it supports", function()
    assert.same({ issuer = ISSUER, iss = ISSUER, authorization_endpoint = ISSUER .. "/a",
      token_endpoint = ISSUER .. "/t", registration_endpoint = ISSUER .. "/r", scopes = { "s" },
      auth_methods = { "none" }, takes_metadata_urls = true, names_issuer = true, has_s256 = true },
      server(json.encode({ issuer = ISSUER,
      authorization_endpoint = ISSUER .. "/a", token_endpoint = ISSUER .. "/t", registration_endpoint = ISSUER .. "/r",
      scopes_supported = { "s" }, token_endpoint_auth_methods_supported = { "none" },
      client_id_metadata_document_supported = true, authorization_response_iss_parameter_supported = true,
      code_challenge_methods_supported = { "plain", "S256" } })))
    assert.same({ issuer = ISSUER, iss = ISSUER, token_endpoint = ISSUER .. "/t", takes_metadata_urls = false,
      names_issuer = false, has_s256 = false }, server(json.encode({ issuer = ISSUER, token_endpoint = ISSUER .. "/t",
      client_id_metadata_document_supported = "yes", authorization_response_iss_parameter_supported = 1,
      code_challenge_methods_supported = { "plain" } })))
  end)

  it("of an issuer without a path may be named with and without the slash at the end", function()
    for _, names in ipairs({ { "https://g.test", "https://g.test/" }, { "https://g.test/", "https://g.test" } }) do
      local at = "https://g.test/.well-known/oauth-authorization-server"
      local found = assert(metadata.server(names[1], transport({ [at] = json.encode({ issuer = names[2],
        token_endpoint = "https://g.test/t" }) })))
      assert.equal(names[1], found.issuer)
    end
    assert.is_false(metadata.same_issuer("https://g.test/a/", "https://g.test/a"))
    assert.is_false(metadata.same_issuer("https://g.test//", "https://g.test"))
    assert.is_false(metadata.same_issuer(nil, "https://g.test"))
  end)

  it("of an issuer is refused where it is another one's, or an endpoint is not safe", function()
    local at = "authorization server metadata at " .. AT .. ": "
    for problem, document in pairs({
      ["it is of another issuer, https://other"] = { issuer = "https://other", token_endpoint = ISSUER .. "/t" },
      ["it is of another issuer, nil"] = { token_endpoint = ISSUER .. "/t" },
      ['it is of another issuer, {"a":1}'] = { issuer = { a = 1 }, token_endpoint = ISSUER .. "/t" },
      ["it names no token_endpoint"] = { issuer = ISSUER },
      ["token_endpoint: it is neither https nor on this machine"] = { issuer = ISSUER,
        token_endpoint = "http://login.example/t" },
      ["authorization_endpoint: it is not an absolute URL"] = { issuer = ISSUER, token_endpoint = ISSUER .. "/t",
        authorization_endpoint = 7 },
      ["registration_endpoint: it contains a fragment"] = { issuer = ISSUER, token_endpoint = ISSUER .. "/t",
        registration_endpoint = ISSUER .. "/r#f" },
    }) do
      assert.equal(at .. problem, server(json.encode(document)))
    end
    local here = json.encode({ issuer = ISSUER, token_endpoint = "http://127.0.0.1/t" })
    assert.equal(at .. "token_endpoint: it is on this machine, but the server is not",
      server(here, nil, { remote = true }))
    assert.equal("http://127.0.0.1/t", server(here).token_endpoint)
  end)

  it("of an issuer is looked for at each place; the error names the places", function()
    assert.equal("no authorization server metadata: tried " .. AT .. " (answered 404), " .. ISSUER
      .. "/.well-known/openid-configuration (answered 404)", server(nil))
    assert.equal("no authorization server metadata: tried " .. AT .. " (no JSON object), " .. ISSUER
      .. "/.well-known/openid-configuration (answered 404)", server("<html>"))
    assert.equal("authorization server http://login.example: refused: it is neither https nor on this machine",
      server(nil, "http://login.example"))
    assert.equal(AT .. ": answered 500", server(500))
  end)

  it("of an issuer names the address of its keys", function()
    local function address(document)
      local found, err = metadata.key_address(ISSUER, transport({ [AT] = document and json.encode(document) }))
      return found or err.message
    end
    local at = "authorization server metadata at " .. AT .. ": "
    assert.equal(ISSUER .. "/keys", address({ issuer = ISSUER, jwks_uri = ISSUER .. "/keys" }))
    assert.equal(at .. "it is of another issuer", address({ issuer = "x", jwks_uri = ISSUER .. "/keys" }))
    assert.equal(at .. "jwks_uri: it is not an absolute URL", address({ issuer = ISSUER }))
    assert.matches("^no authorization server metadata: tried ", address(nil))
  end)
end)

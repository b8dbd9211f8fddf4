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

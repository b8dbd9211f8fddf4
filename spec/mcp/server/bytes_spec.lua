local bytes = require("operations.mcp.server.bytes")

describe("bytes of MCP", function()
  it("are what has another type than text, or is not UTF-8", function()
    for media, text in pairs({ ["text/plain"] = true, ["application/problem+json"] = true, ["image/svg+xml"] = true,
      ["application/yaml"] = true, ["application/javascript"] = true, ["image/png"] = false,
      ["application/pdf"] = false, ["application/octet-stream"] = false }) do
      assert.equal(text, bytes.is_text(media, "abc"))
      assert.is_false(bytes.is_text(media, "\255"))
    end
    assert.is_true(bytes.is_text(nil, "\195\188"))
    assert.is_false(bytes.is_text(nil, "\195"))
  end)

  local function media(schema, value, source)
    return select(2, bytes.of({ data = value or "abcd", meta = { source = source or "local" } }, schema))
  end

  it("are what a schema says is bytes, as they are or encoded, also behind references and in branches", function()
    local png = { contentMediaType = "Image/PNG; a=b" }
    assert.equal("image/png", media(png))
    assert.equal("image/png", media({ contentMediaType = "image/png", contentEncoding = "BASE64" }))
    assert.equal("image/png", media({ contentMediaType = "image/png", contentEncoding = "binary" }))
    assert.equal("application/octet-stream", media({ format = "binary" }))
    assert.equal("image/png", media({ ["$ref"] = "#/$defs/png", ["$defs"] = { png = png } }))
    assert.equal("image/png", media({ anyOf = { { type = "null" }, png } }))
    for _, schema in ipairs({ true, {}, { contentMediaType = 7 }, { contentMediaType = "text/csv" },
      { format = "byte" },
      { contentMediaType = "image/svg+xml", contentEncoding = "base64" }, { contentEncoding = "base64" },
      { contentMediaType = "image/png", contentEncoding = "quoted-printable" } }) do
      assert.is_nil(media(schema))
    end
    assert.is_nil(media(nil))
    assert.is_nil(media({ contentMediaType = "image/png", contentEncoding = "base64" }, "https://example.org/a.png"))
    assert.equal("image/png", media(png, "https://example.org/a.png", "http")) -- the answer itself, of no known type
  end)

  it("are base64 by the schema that clients get", function()
    assert.same({ properties = { a = { contentMediaType = "image/png", contentEncoding = "base64" },
      b = { type = "string", contentMediaType = "application/octet-stream", contentEncoding = "base64" },
      c = { format = "uri" } } },
      bytes.told({ properties = { a = { contentMediaType = "image/png" }, b = { type = "string", format = "binary" },
        c = { format = "uri" } } }))
  end)
end)

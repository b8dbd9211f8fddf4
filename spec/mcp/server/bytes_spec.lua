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

  it("have the media type of a schema whose values are not encoded", function()
    assert.equal("image/png", bytes.media({ contentMediaType = "Image/PNG; a=b" }))
    for _, schema in ipairs({ true, {}, { contentMediaType = 7 }, { contentMediaType = "text/csv" },
      { contentMediaType = "image/png", contentEncoding = "base64" } }) do
      assert.is_nil(bytes.media(schema))
    end
    assert.is_nil(bytes.media(nil))
  end)
end)

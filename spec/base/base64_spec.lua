local base64 = require("operations.base.base64")

describe("base64", function()
  it("gives the test vectors of RFC 4648", function()
    for text, encoded in pairs({
      [""] = "", f = "Zg==", fo = "Zm8=", foo = "Zm9v", foob = "Zm9vYg==", fooba = "Zm9vYmE=", foobar = "Zm9vYmFy",
    }) do
      assert.equal(encoded, base64.encode(text))
      assert.equal((encoded:gsub("=", "")), base64.encode_url(text))
    end
  end)

  it("takes any byte", function()
    assert.equal("+/8AA/8=", base64.encode("\251\255\0\3\255"))
    assert.equal("-_8AA_8", base64.encode_url("\251\255\0\3\255"))
    assert.equal("Cg0K", base64.encode("\n\r\n"))
  end)
end)

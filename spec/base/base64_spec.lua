local base64 = require("operations.base.base64")

describe("base64", function()
  it("gives the test vectors of RFC 4648", function()
    for text, encoded in pairs({
      [""] = "", f = "Zg==", fo = "Zm8=", foo = "Zm9v", foob = "Zm9vYg==", fooba = "Zm9vYmE=", foobar = "Zm9vYmFy",
    }) do
      assert.equal(encoded, base64.encode(text))
      assert.equal((encoded:gsub("=", "")), base64.encode_url(text))
      assert.equal(text, base64.decode(encoded))
      assert.equal(text, base64.decode_url((encoded:gsub("=", ""))))
    end
  end)

  it("takes any byte", function()
    assert.equal("+/8AA/8=", base64.encode("\251\255\0\3\255"))
    assert.equal("-_8AA_8", base64.encode_url("\251\255\0\3\255"))
    assert.equal("Cg0K", base64.encode("\n\r\n"))
  end)

  it("gives back all that it encoded", function()
    local operations, all = require("operations"), {}
    for byte = 0, 255 do
      all[byte + 1] = string.char(byte)
    end
    for length = 0, 256 do
      local bytes = table.concat(all, "", 257 - length)
      assert.equal(bytes, operations.base64.decode(operations.base64.encode(bytes)))
      assert.equal(bytes, operations.base64.decode_url(operations.base64.encode_url(bytes)))
    end
  end)

  for text, why in pairs({
    ["Zg"] = "2 bytes: a multiple of 4 expected",
    ["Zg="] = "3 bytes: a multiple of 4 expected",
    ["Zg==="] = "5 bytes: a multiple of 4 expected",
    ["Zm8=Zm8="] = "byte 4: a digit expected, got \"=\"",
    ["===="] = "byte 1: a digit expected",
    ["=="] = "2 bytes: a multiple of 4 expected",
    ["Z==="] = "byte 2: a digit expected",
    ["Zm9v\nZm9"] = "byte 5: a digit expected",
    ["Zm9v Zm9"] = "byte 5: a digit expected, got \" \"",
    ["-_8="] = "byte 1: a digit expected, got \"-\"",
    ["Zm9\0"] = "byte 4: a digit expected",
    ["Zm9\255"] = "byte 4: a digit expected",
    ["Zh=="] = "byte 2: the last digit has unused bits",
    ["Zm9="] = "byte 3: the last digit has unused bits",
  }) do
    it(("refuses %q"):format(text), function()
      local bytes, err = base64.decode(text)
      assert.is_nil(bytes)
      assert.equal("VALIDATION_ERROR", err.code)
      assert.equal("base64: " .. why, err.message:sub(1, #why + 8))
    end)
  end

  it("refuses in URLs what is of the other alphabet, padded or cut off", function()
    for text, at in pairs({ ["+_8"] = 1, ["-/8"] = 2, ["Zg=="] = 3 }) do
      local bytes, err = base64.decode_url(text)
      assert.is_nil(bytes)
      assert.matches(("byte %d: a digit expected"):format(at), err.message)
    end
    assert.matches("truncated", select(2, base64.decode_url("Zm9vY")).message)
    assert.matches("byte 2: the last digit", select(2, base64.decode_url("Zh")).message)
  end)
end)

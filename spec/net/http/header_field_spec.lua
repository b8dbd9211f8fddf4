local header_field = require("operations.net.http.header_field")

describe("a header field", function()
  it("has names that are tokens", function()
    for _, name in ipairs({ "Accept", "X-1", "!#$%&'*+-.^_`|~" }) do
      assert.is_true(header_field.is_token(name))
    end
    for _, name in ipairs({ "", "a b", "a:", "a\n", "a\0", "\195\164", 1 }) do
      assert.is_false(header_field.is_token(name))
    end
  end)

  it("has values without control characters but tab", function()
    for byte = 0, 255 do
      local is_control = byte ~= 9 and (byte < 32 or byte == 127)
      assert.equal(is_control, ("a" .. string.char(byte) .. "b"):find(header_field.control) ~= nil)
    end
    assert.equal("a b", header_field.trim(" \ta b\t "))
  end)

  it("has quoted strings, whose end must be there", function()
    for text, expected in pairs({ ['"a"'] = "a", ['"a\\"b\\\\"'] = 'a"b\\', ['""'] = "" }) do
      local value, after = header_field.quoted("x" .. text .. ";", 2)
      assert.same({ expected, #text + 2 }, { value, after })
    end
    for _, text in ipairs({ '"', '"a', '"a\\', '"a\\"' }) do
      assert.is_nil((header_field.quoted(text, 1)))
    end
  end)
end)

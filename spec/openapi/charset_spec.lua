local charset = require("operations.openapi.charset")

-- Decoded whole, and in pieces of one byte.
local function decoded(name, bytes)
  local whole, pieces, decode = charset.decoder(name)(bytes, true), {}, charset.decoder(name)
  for i = 1, #bytes do
    pieces[i] = decode(bytes:sub(i, i))
  end
  pieces[#pieces + 1] = decode("", true)
  assert.equal(whole, table.concat(pieces))
  return whole
end

describe("a charset", function()
  it("of single bytes is decoded under each of its names", function()
    for name, expected in pairs({ ["iso-8859-1"] = "é\194\128¤", latin1 = "é\194\128¤", ["us-ascii"] = "é\194\128¤",
      ["windows-1252"] = "é€¤", cp1252 = "é€¤", ["iso-8859-15"] = "é\194\128€" }) do
      assert.equal(expected, decoded(name, "\233\128\164"), name)
    end
    assert.equal("‘’“”•–—™Ÿž", decoded("windows-1252", "\145\146\147\148\149\150\151\153\159\158"))
  end)

  it("UTF-16 is decoded by its byte order mark, its name, or the zeros of its first character", function()
    for name, bytes in pairs({ ["utf-16"] = "\254\255\0a\0\233\216\61\222\0", utf16 = "\255\254a\0\233\0\61\216\0\222",
      ["utf-16le"] = "a\0\233\0\61\216\0\222", ["utf-16be"] = "\0a\0\233\216\61\222\0" }) do
      assert.equal("aé😀", decoded(name, bytes), name)
    end
    assert.equal("aé", decoded("utf-16", "a\0\233\0"))
    assert.equal("aé", decoded("utf-16", "\0a\0\233"))
    assert.equal("€x", decoded("utf-16be", "\32\172\0x"))
  end)

  it("UTF-16 has U+FFFD for halves of characters and of units", function()
    assert.equal("\239\191\189a", decoded("utf-16be", "\216\61\0a"))
    assert.equal("\239\191\189a\239\191\189", decoded("utf-16be", "\222\0\0a\0"))
    assert.equal("\239\191\189", decoded("utf-16be", "\216\61"))
  end)

  it("that is UTF-8 or not known has no decoder", function()
    for _, name in ipairs({ "utf-8", "koi8-r", "", "x" }) do
      assert.is_nil(charset.decoder(name))
    end
    assert.is_nil(charset.decoder(nil))
  end)
end)

local hmac = require("operations.base.hmac")

local function hex(bytes)
  return (bytes:gsub(".", function(byte)
    return ("%02x"):format(byte:byte())
  end))
end

describe("HMAC-SHA-256", function()
  it("gives what RFC 4231 says", function()
    local counted = {}
    for i = 1, 25 do
      counted[i] = string.char(i)
    end
    for _, case in ipairs({
      { ("\11"):rep(20), "Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7" },
      { "Jefe", "what do ya want for nothing?", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843" },
      { ("\170"):rep(20), ("\221"):rep(50), "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe" },
      { table.concat(counted), ("\205"):rep(50), "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b" },
      { ("\170"):rep(131), "Test Using Larger Than Block-Size Key - Hash Key First",
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54" },
      { ("\170"):rep(131), "This is a test using a larger than block-size key and a larger than block-size data. The "
        .. "key needs to be hashed before being used by the HMAC algorithm.",
        "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2" },
    }) do
      assert.equal(case[3], hex(hmac.signer(case[1])(case[2])))
    end
  end)

  it("takes a key of one block as it is", function()
    local key = ("k"):rep(64)
    assert.equal(hmac.signer(key:sub(1, 63) .. "\0")("x"), hmac.signer(key:sub(1, 63))("x"))
    assert.are_not.equal(hmac.signer(key)("x"), hmac.signer(key .. "\0")("x"))
  end)

  it("compares whole texts", function()
    assert.is_true(hmac.same("", ""))
    assert.is_true(hmac.same("abc", "abc"))
    for _, other in ipairs({ "abd", "bbc", "ab", "abcd", "", "cba" }) do
      assert.is_false(hmac.same("abc", other), other)
    end
  end)
end)

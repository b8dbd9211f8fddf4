local core = require("operations.core")

local function sha256(text)
  return (core.sha256(text):gsub(".", function(byte)
    return ("%02x"):format(byte:byte())
  end))
end

-- The examples for FIPS 180-4 that NIST publishes, and texts whose padding takes every form, as coreutils hashes them.
describe("SHA-256", function()
  for text, digest in pairs({
    [""] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq =
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
    ["abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
      .. "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"] =
      "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1",
    [("a"):rep(1000000)] = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
    ["\189"] = "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b",
    ["\201\140\142\85"] = "7abc22c0ae5af26ce93dbb94433a0e0b2e119d014f8e7f65bd56c61ccccd9504",
    [("\0"):rep(55)] = "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7",
    [("\0"):rep(56)] = "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb",
    [("\0"):rep(57)] = "65a16cb7861335d5ace3c60718b5052e44660726da4cd13bb745381b235a1785",
    [("\0"):rep(63)] = "c7723fa1e0127975e49e62e753db53924c1bd84b8ac1ac08df78d09270f3d971",
    [("\0"):rep(64)] = "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b",
  }) do
    it("of " .. #text .. " bytes is " .. digest:sub(1, 8), function()
      assert.equal(digest, sha256(text))
    end)
  end
end)

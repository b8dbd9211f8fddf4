local failing = require("spec.support.failing")

if not failing.library then
  return
end

local BEGIN = [[
  local base64 = require("operations.base.base64")
  local crypto = require("operations.crypto")
  local json = require("operations.base.json")
  local file = assert(io.open("spec/vectors/jose/signed.json", "rb"))
  local vectors = assert(json.decode(file:read("*a")))
  file:close()
  local function vector(alg)
    for _, one in ipairs(vectors) do
      if one.alg == alg then
        local text, signature = one.token:match("^(.*)%.([^.]*)$")
        return one.key, text, base64.decode_url(signature)
      end
    end
  end
  local function make(key)
    if key.kty == "RSA" then
      return crypto.rsa(base64.decode_url(key.n), base64.decode_url(key.e))
    end
    return crypto.curve(key.crv, base64.decode_url(key.x), key.y and base64.decode_url(key.y))
  end
]]

local function prints(expected, script, ...)
  assert.same({ expected, 0 }, { failing.run(BEGIN .. script:format(...)) })
end

describe("a call of libcrypto that fails", function()
  for _, case in ipairs({
    { "BN_bin2bn", "RS256", "not enough memory" }, { "OSSL_PARAM_BLD_new", "RS256", "not enough memory" },
    { "EVP_PKEY_CTX_new_from_name", "RS256", "not enough memory" },
    { "EVP_PKEY_CTX_new_from_name", "ES256", "a point that is not on its curve" },
  }) do
    it(case[1] .. " is why there is no key for " .. case[2], function()
      prints(("nil\t%s\ntrue\n"):format(case[3]), [[
        local key, text, signature = vector("%s")
        fail("%s", 0)
        told(make(key))
        print(make(key):verify("%s", text, signature))
      ]], case[2], case[1], case[2])
    end)
  end

  for _, case in ipairs({ { "EVP_MD_CTX_new", "RS256" }, { "EVP_MD_CTX_new", "ES256" }, { "ECDSA_SIG_new", "ES256" },
    { "BN_bin2bn", "ES256" } }) do
    it(case[1] .. " is why a signature of " .. case[2] .. " is not verified", function()
      prints("false\tnot enough memory\ntrue\n", [[
        local key, text, signature = vector("%s")
        local made = assert(make(key))
        fail("%s", 0)
        told(pcall(made.verify, made, "%s", text, signature))
        print(made:verify("%s", text, signature))
      ]], case[2], case[1], case[2], case[2])
    end)
  end
end)

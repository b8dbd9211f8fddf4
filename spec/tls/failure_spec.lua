local failing = require("spec.support.failing")

if not failing.library then
  return
end

local BEGIN = [[
  local certificates = require("spec.support.certificates")
  local tls = require("operations.tls")
  local own = { cert = certificates.read("localhost.pem"), key = certificates.read("localhost.key") }
  local function context(more)
    local options = { certificates = { own, own }, session = 60 }
    for name, value in pairs(more or {}) do
      options[name] = value
    end
    return tls.context(options)
  end
]]

local function prints(expected, script, ...)
  assert.same({ expected, 0 }, { failing.run(BEGIN .. script:format(...) .. "\ncertificates.remove()\n") })
end

describe("a call of OpenSSL that fails", function()
  -- In one program, as its certificates take seconds to make.
  it("is why there is no context, or no session", function()
    local names = { "SSL_CTX_new", "SSL_CTX_set_cipher_list", "RAND_bytes", "RAND_priv_bytes", "BIO_new_mem_buf" }
    local expected = {}
    for i, name in ipairs(names) do
      expected[i] = name .. "\tnil\tnot enough memory\tnil\ttrue\n"
    end
    prints(table.concat(expected) .. "nil\tit cannot be used\tcert\t1\nfalse\tnot enough memory\ntrue\n", [[
      for _, name in ipairs({ "%s" }) do
        fail(name, 0)
        local made, message, part = context()
        told(name, made, message, part, context() ~= nil)
      end
      fail("SSL_CTX_use_cert_and_key", 0)
      told(context())
      local made = assert(context())
      fail("SSL_new", 0)
      told(pcall(made.session, made))
      print(made:session() ~= nil)
    ]], table.concat(names, '", "'))
  end)
end)

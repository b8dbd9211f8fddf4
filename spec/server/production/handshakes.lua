-- 10,000 handshakes, of which a third breaks off: run by `make test-server-production`, under ASan with its leak check.
local certificates = require("spec.support.certificates")
local handshakes = require("spec.support.handshakes")

describe("a listener with TLS, after 10,000 handshakes of which a third broke off,", function()
  teardown(certificates.remove)

  it("holds nothing of them", function()
    local told = handshakes.run(10000)
    print(("%d served, %d broke off, %d KiB more than after the first 1,000"):format(told.served, told.failed,
      told.resident))
    assert.equal(6667, told.served)
    assert.equal(3333, told.failed)
    assert.equal(0, told.connections)
    assert.is_true(told.descriptors <= 0)
  end)
end)

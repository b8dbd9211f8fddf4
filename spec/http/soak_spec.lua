local soak = require("spec.support.soak")
local test_server = require("spec.support.server")

describe("after many requests", function()
  local server

  setup(function()
    server = test_server.start()
  end)

  teardown(function()
    server:stop()
  end)

  for name, count in pairs({ sequential = 1000, concurrent = 1000, cancelled = 200, streams = 100 }) do
    it("no descriptor, reference or memory stays behind: " .. name, function()
      soak[name](server.url, count)
      local before = soak.measure()
      soak[name](server.url, count)
      local after = soak.measure()
      assert.equal(before.inflight, after.inflight)
      assert.is_true(after.descriptors <= before.descriptors + 1)
      assert.is_true(after.references <= before.references)
      assert.is_true(after.lua < before.lua + 64)
    end)
  end
end)

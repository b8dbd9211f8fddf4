local contract = require("spec.server.contract")
local inside = require("spec.support.inside")
local test_server = require("spec.support.server")

describe("a server in OpenResty", function()
  local missing = inside.missing("nginx")
  if missing then
    pending(missing)
    return
  end

  contract({ it = it, setup = setup, teardown = teardown, assert = assert }, function()
    return test_server.start({ app = true })
  end)
end)

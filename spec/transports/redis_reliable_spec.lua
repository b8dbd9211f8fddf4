local contract = require("spec.transports.contract")
local operations = require("operations")
local redis = require("spec.support.redis")

local function quiet() end

local server

setup(function()
  server = redis.start()
end)

teardown(function()
  server.stop()
end)

local function connect(options)
  options = options or {}
  options.mode = "reliable"
  return operations.call_map(assert(operations.transports.redis(server.url, options)), { log = quiet })
end

describe("a call map over Redis, reliable", function()
  contract(it, function(registry, options)
    local served = connect()
    local handler = operations.call_handler(registry, served, options)
    local map = connect()
    return map, handler, function()
      map:close()
      served:close()
    end
  end, { unknown = "UNAVAILABLE", queued = true })

  it("says that nobody serves it, whatever is collected while it waits for somebody", function()
    operations.run(function()
      local map, over = connect(), false
      operations.spawn(function()
        repeat
          collectgarbage()
          operations.sleep(0.005)
        until over
      end)
      local _, err = map:call("nobody.serves", nil, { timeout = 20000 })
      over = true
      assert.equal("UNAVAILABLE", err.code)
      map:close()
    end)
  end)
end)

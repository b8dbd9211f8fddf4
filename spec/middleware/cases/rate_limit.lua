local identities = require("spec.support.identities")
local operations = require("operations")

local rate_limit = operations.middleware.rate_limit

return function(kit)
  local it, assert = kit.it, kit.assert

  local function limited(options)
    local call = kit.operation({ rate_limit(options) }, function() return 1 end)
    return function(count, context)
      local list = {}
      for i = 1, count do
        list[i] = call({}, context) and "." or "!"
      end
      return table.concat(list)
    end, call
  end

  it("gives so many calls in so much time", function()
    local calls = limited({ rate = 3, per = 6000 })
    assert.equal("...!!", calls(5))
    kit.clock.advance(1999)
    assert.equal("!", calls(1))
    kit.clock.advance(1)
    assert.equal(".!", calls(2))
    kit.clock.advance(60000)
    assert.equal("...!", calls(4))
  end)

  it("has a burst of its own", function()
    local calls = limited({ rate = 100, burst = 2 })
    assert.equal("..!", calls(3))
    kit.clock.advance(10)
    assert.equal(".!", calls(2))
    assert.equal(".!", limited({ rate = 0.5 })(2))
  end)

  it("refuses exactly at uneven rates", function()
    local calls = limited({ rate = 7, per = 1000, burst = 7 })
    local passed = 0
    for _ = 1, 10000 do
      passed = passed + (calls(1) == "." and 1 or 0)
      kit.clock.advance(1)
    end
    assert.equal(7 + 69, passed) -- at 9,999 ms, 69 have come back
  end)

  it("names to a refused caller the time of its next try", function()
    local calls, call = limited({ rate = 2, per = 3000, name = "basic" })
    calls(2)
    kit.clock.advance(500)
    local _, err = call()
    assert.same({ "RATE_LIMITED", "spec.call: no more than 2 calls in 3 s", true, false, 1000,
      { policy = "basic", quota = 2, window = 3000, remaining = 0, reset = 1000 } },
      { err.code, err.message, err.retryable, err.mayHaveRun, err.retryAfter, err.details })
    _, call = limited({ rate = 2, per = 1500 })
    call()
    call()
    _, err = call()
    assert.same({ "spec.call: no more than 2 calls in 1.5 s", "default" }, { err.message, err.details.policy })
  end)

  it("has a bucket for each identity and operation", function()
    local calls = limited({ rate = 1 })
    local function as(id)
      return { identity = { id = id, scopes = {} } }
    end
    assert.equal(".!", calls(2, as("a")))
    assert.equal(".!", calls(2, as("b")))
    assert.equal(".!", calls(2))
    assert.equal(".!", calls(2, { metadata = { http = { address = "1.2.3.4" } } }))
    assert.equal("!", calls(1, as("a")))
    local _, registry = kit.operation({ rate_limit({ rate = 1 }) }, function() return 1 end)
    assert(registry:register({ namespace = "spec", name = "other", handler = function() return 1 end }))
    assert.is_table(registry:execute("spec.call"))
    assert.is_table(registry:execute("spec.other"))
    assert.is_nil((registry:execute("spec.call")))
  end)

  it("has a bucket for each identity, whatever makes it another one", function()
    local calls = limited({ rate = 1 })
    for _, identity in ipairs(identities.different) do
      assert.equal(".!", calls(2, { identity = identity }))
    end
    assert.equal(".", calls(1, { identity = identities.same[1] }))
    assert.equal("!", calls(1, { identity = identities.same[2] }))
    for _, address in ipairs({ "1.2.3.4", "1.2.3.5" }) do -- an identity without an id
      assert.equal(".!", calls(2, { identity = { scopes = {} }, metadata = { http = { address = address } } }))
    end
  end)

  it("keeps so many buckets; the one used least recently is full again", function()
    local calls = limited({ rate = 1, max_keys = 2 })
    local function as(id)
      return { identity = { id = id, scopes = {} } }
    end
    assert.equal("..", calls(1, as("a")) .. calls(1, as("b")))
    assert.equal("!", calls(1, as("a")))
    assert.equal(".", calls(1, as("c"))) -- in place of b's
    assert.equal("!.", calls(1, as("a")) .. calls(1, as("b")))
  end)

  it("goes by a store of the program", function()
    local asked = {}
    local store = { take = function(_, key, interval, burst)
      asked = { key, interval, burst }
      return false, 1234.5, 0
    end }
    local _, call = limited({ rate = 4, per = 1000, by = "namespace", store = store })
    assert.equal(1235, select(2, call()).retryAfter)
    assert.same({ "spec", 250, 4 }, asked)
  end)

  it("refuses options that make no sense", function()
    assert.has_error(function() rate_limit({}) end,
      "bad option 'rate' to 'rate_limit' (calls above 0 expected, got nil)")
    assert.has_error(function() rate_limit({ rate = 0 }) end,
      "bad option 'rate' to 'rate_limit' (calls above 0 expected, got 0)")
    assert.has_error(function() rate_limit({ rate = 1, per = 0 }) end,
      "bad option 'per' to 'rate_limit' (ms from 1 on expected, got 0)")
    assert.has_error(function() rate_limit({ rate = 1, burst = 0 }) end,
      "bad option 'burst' to 'rate_limit' (calls from 1 on expected, got 0)")
    assert.has_error(function() rate_limit({ rate = 1, store = {} }) end, "bad option 'store' to 'rate_limit' "
      .. "(a shared dictionary of nginx or middleware.redis(url) expected)")
    assert.has_error(function() rate_limit() end, "bad argument #1 to 'rate_limit' (table expected, got nil)")
  end)
end

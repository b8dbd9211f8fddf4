local refusal = require("operations.calls.redis.refusal")

local address = { host = "a.test", port = 6379, user = "u", password = "p", tls = true }

describe("an error of Redis", function()
  for message, expected in pairs({
    ["WRONGPASS invalid password"] = { "ACCESS_DENIED" },
    ["NOAUTH Authentication required."] = { "ACCESS_DENIED" },
    ["NOPERM this user has no permissions"] = { "ACCESS_DENIED" },
    ["DENIED Redis is running in protected mode"] = { "ACCESS_DENIED" },
    ["ERR max number of clients reached"] = { "BUSY", true },
    ["OOM command not allowed"] = { "BUSY", true },
    ["LOADING Redis is loading the dataset in memory"] = { "TRANSPORT_LOST", true },
    ["MASTERDOWN Link with MASTER is down"] = { "TRANSPORT_LOST", true },
    ["READONLY You can't write against a read only replica."] = { "TRANSPORT_LOST", true, "URL of the primary" },
    ["CLUSTERDOWN The cluster is down"] = { "TRANSPORT_LOST", true },
    ["ASK 3999 127.0.0.1:6381"] = { "TRANSPORT_LOST", true, "it works again after that" },
    ["TRYAGAIN Multiple keys request during rehashing of slot"] = { "TRANSPORT_LOST", true, "it works again" },
    ["ERR unknown command"] = { "EXECUTION_ERROR" },
    ["odd"] = { "EXECUTION_ERROR" },
  }) do
    it("says what it means here: " .. message, function()
      local err = refusal.error(message)
      assert.equal(expected[1], err.code)
      assert.equal(expected[2], err.retryable)
      assert.equal("Redis: " .. message, err.message:sub(1, #message + 7))
      assert.matches(expected[3] or "", err.message, 1, true)
      assert.same({ kind = "redis" }, err.details)
    end)
  end

  it("leads to the node of a cluster that has the key, by whatever address", function()
    for host, told in pairs({ ["10.0.0.7"] = "10.0.0.7", ["b.test"] = "b.test", ["::1"] = "::1", [""] = "a.test",
      ["?"] = "a.test" }) do
      local err = refusal.error(("MOVED 3999 %s:6381"):format(host))
      assert.same({ "TRANSPORT_LOST", true }, { err.code, err.retryable })
      assert.same({ host = host, port = 6381 }, err.details.moved)
      assert.same({ host = told, port = 6381, user = "u", password = "p", tls = true },
        refusal.elsewhere(address, err.details.moved))
    end
    assert.equal(6379, address.port)
  end)

  it("passes by itself, or lasts until somebody changes something", function()
    for message, lasts in pairs({ NOAUTH = true, READONLY = true, ["ERR max number of clients reached"] = true,
      LOADING = false, MASTERDOWN = false, ["MOVED 3999 b.test:6381"] = false }) do
      assert.equal(lasts, refusal.lasts(refusal.error(message)), message)
    end
  end)

  it("names the node that cannot be reached", function()
    local err = refusal.error("LOADING")
    local told = refusal.unreached(err, address, "ops:{ops}:any")
    assert.same({ err.code, err.details, true }, { told.code, told.details, told.retryable })
    assert.matches("keys like 'ops:{ops}:any' on a.test:6379, .*: Redis: LOADING", told.message)
  end)
end)

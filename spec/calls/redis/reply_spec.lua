local addresses = require("operations.calls.redis.address")
local redis_reply = require("operations.calls.redis.reply")

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
      local err = redis_reply.error(message)
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
      local err = redis_reply.error(("MOVED 3999 %s:6381"):format(host))
      assert.same({ "TRANSPORT_LOST", true }, { err.code, err.retryable })
      assert.same({ host = host, port = 6381 }, err.details.moved)
      assert.same({ host = told, port = 6381, user = "u", password = "p", tls = true },
        addresses.elsewhere(address, err.details.moved))
    end
    assert.equal(6379, address.port)
  end)

  it("passes by itself, or lasts until an operator changes something", function()
    for message, lasts in pairs({ NOAUTH = true, READONLY = true, ["ERR max number of clients reached"] = true,
      LOADING = false, MASTERDOWN = false, ["MOVED 3999 b.test:6381"] = false }) do
      assert.equal(lasts, redis_reply.lasts(redis_reply.error(message)), message)
    end
  end)

  it("names the node that cannot be reached", function()
    local err = redis_reply.error("LOADING")
    local told = redis_reply.unreached(err, address, "ops:{ops}:any")
    assert.same({ err.code, err.details, true }, { told.code, told.details, told.retryable })
    assert.matches("keys like 'ops:{ops}:any' on a.test:6379, .*: Redis: LOADING", told.message)
  end)
end)

describe("the shape of a reply", function()
  it("is a text, a number, nil, one text, or one of several", function()
    for wanted, values in pairs({ string = { "a" }, integer = { 7 }, ["nil"] = { false }, ["=OK"] = { "OK" },
      entry = { "1-0" }, ["string|nil"] = { "a", false }, ["nil|integer|string"] = { false, 7, "a" } }) do
      for _, value in ipairs({ "a", 7, false, "OK", "1-0", { "a" }, { err = "no" } }) do
        local expected = false
        for _, fitting in ipairs(values) do
          expected = expected or value == fitting or wanted:find("string") ~= nil and type(value) == "string"
        end
        assert.equal(expected, redis_reply.fits(wanted, value), wanted .. " " .. tostring(value))
      end
    end
  end)

  it("is a list, each item of one shape or the first of several", function()
    assert.is_true(redis_reply.fits({ each = "string" }, {}))
    assert.is_true(redis_reply.fits({ each = "string" }, { "a", "b" }))
    assert.is_true(redis_reply.fits({ "integer", "string" }, { 1, "a", {} }))
    for _, wrong in ipairs({ { "a", 1 }, { false }, { err = "x" }, "a", false }) do
      assert.is_false(redis_reply.fits({ each = "string" }, wrong))
    end
    assert.is_false(redis_reply.fits({ "integer", "string" }, { 1 }))
  end)

  it("of entries of streams has ids, and values for all fields", function()
    assert.is_true(redis_reply.fits(redis_reply.shapes.XRANGE, { { "1-0", { "i", "x" } } }))
    for _, wrong in ipairs({ { { "x", { "i", "x" } } }, { { "1-0", { "i" } } }, { { "1-0", false } }, { "1-0" } }) do
      assert.is_false(redis_reply.fits(redis_reply.shapes.XRANGE, wrong))
    end
    assert.is_true(redis_reply.fits(redis_reply.shapes.XREADGROUP, false))
    assert.is_false(redis_reply.fits(redis_reply.shapes.XRANGE, false))
  end)
end)

local eventually = require("spec.support.eventually")
local free_port = require("spec.support.free_port")
local inside = require("spec.support.inside")
local operations = require("operations")
local redis = require("spec.support.redis")

local middleware = operations.middleware

describe("buckets in Redis", function()
  if not inside.has("redis-server") then
    pending("redis-server is not installed")
    return
  end

  -- A registry as another process would have it.
  local function limited(store, options)
    local given = { rate = 20, per = 3600000, store = store }
    for name, value in pairs(options or {}) do
      given[name] = value
    end
    local registry = operations.registry({ middleware = { middleware.rate_limit(given) } })
    assert(registry:register({ namespace = "a", name = "b", handler = function() return 1 end }))
    return function(context)
      local envelope, err = registry:execute("a.b", {}, context)
      return envelope ~= nil, err
    end
  end

  local function count(calls, times)
    local numbers, passed = {}, 0
    for i = 1, times do
      numbers[i] = i
    end
    assert(operations.map(numbers, function(i)
      local ok = calls[i % #calls + 1]()
      passed = passed + (ok and 1 or 0)
      return true
    end))
    return passed
  end

  it("are those of all processes, each caller's apart, and leave when they are full", function()
    local server = redis.start()
    operations.run(function()
      local stores = { middleware.redis(server.url), middleware.redis(server.url) }
      local one, other = limited(stores[1]), limited(stores[2])
      assert.equal(20, count({ one, other }, 100))
      local ok, err = other()
      assert.same({ false, "RATE_LIMITED", 20 }, { ok, err.code, err.details.quota })
      assert.is_true(err.retryAfter > 170000 and err.retryAfter <= 180000, err.retryAfter)
      assert.is_true((one({ identity = { id = "ada", scopes = {} } })))
      local quick = limited(stores[1], { rate = 10, per = 1000, by = "namespace", burst = 1 })
      assert.is_true((quick()))
      eventually(function() return (quick()) end)
      local apart = middleware.redis(server.url, { prefix = "mine:" })
      assert.is_true((limited(apart)()))
      for _, store in ipairs({ stores[1], stores[2], apart }) do
        store:close()
      end
    end)
    server.stop()
  end)

  it("are each process's own while Redis is not there", function()
    local server = redis.start()
    operations.run(function()
      local store = middleware.redis(server.url)
      local call = limited(store)
      assert.equal(20, count({ call }, 30))
      server.stop()
      local passed = 0
      eventually(function()
        local ok = call()
        passed = passed + (ok and 1 or 0)
        return passed == 20
      end)
      assert.is_false((call()))
      server = redis.start(server.port)
      eventually(function() return (call()) end)
      assert.equal(19, count({ call }, 50))
      store:close()
      server.stop()
    end)
  end)

  it("begin where there is no Redis yet", function()
    operations.run(function()
      local store = middleware.redis("redis://127.0.0.1:" .. free_port())
      local call = limited(store)
      assert.equal(20, count({ call }, 30))
      store:close()
      assert.is_false((call()))
    end)
  end)

  it("refuse anything but an address", function()
    assert.has_error(function() middleware.redis("http://x") end,
      "bad argument #1 to 'redis' (URL of redis or rediss expected, got http://x)")
    assert.has_error(function() middleware.redis("redis://x", { lease = 1 }) end,
      "bad option 'lease' to 'redis' (unknown)")
  end)
end)

describe("middleware.redis", function()
  it("names the package to install where its C module was not built", function()
    local result = require("spec.support.command").run("lua -", [[
      local middleware = require("operations").middleware
      package.cpath = ""
      for _ = 1, 2 do
        local ok, message = pcall(function()
          local make = middleware.redis
          return make
        end)
        print(ok, (message:gsub(":\n.*", "")))
      end
    ]])
    local line = "false\tstdin:5: middleware.redis needs hiredis: install it (Debian: libhiredis-dev) and build this "
      .. "library again\n"
    assert.equal(line:rep(2), result.out)
  end)
end)

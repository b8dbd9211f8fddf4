local answer_store = require("operations.server.answer_store")
local core = require("operations.core")
local inside = require("spec.support.inside")
local limits = require("operations.base.limits")
local operations = require("operations")
local redis = require("spec.support.redis")

-- A dictionary as nginx has it.
local function dictionary()
  local values = {}
  local function set(_, key, value, seconds)
    values[key] = { value = value, ends = seconds and core.now() + seconds * 1000 or math.huge }
    return true
  end
  return { set = set, get = function(_, key)
    return values[key] and values[key].ends > core.now() and values[key].value or nil
  end, add = function(_, key, value)
    if values[key] then
      return false, "exists"
    end
    return set(nil, key, value)
  end, delete = function(_, key)
    values[key] = nil
  end }
end

local function contract(make)
  local store

  before_each(function()
    store = make()
  end)

  local function within(fn)
    return function()
      operations.run(fn)
    end
  end

  it("keeps the first value", within(function()
    assert.is_nil(store:add("first", "1", 60000))
    assert.equal("1", store:add("first", "2", 60000))
    assert.is_nil(store:add("other", "2", 60000))
  end))

  it("changes a value only where it is the one that was meant", within(function()
    store:add("k", "1", 60000)
    assert.is_false(store:swap("k", "2", "3", 60000))
    assert.is_true(store:swap("k", "1", "2\0\255", 60000))
    assert.equal("2\0\255", store:add("k", "4", 60000))
    assert.is_true(store:swap("k", "2\0\255", nil))
    assert.is_false(store:swap("k", "2\0\255", "5", 60000))
    assert.is_nil(store:add("k", "6", 60000))
  end))

  it("forgets after a time", within(function()
    store:add("short", "1", 1)
    operations.sleep(0.05)
    assert.is_false(store:swap("short", "1", "2", 60000))
    assert.is_nil(store:add("short", "3", 60000))
    assert.is_true(store:swap("short", "3", "4", 1))
    operations.sleep(0.05)
    assert.is_nil(store:add("short", "5", 60000))
  end))
end

describe("answers in this process", function()
  contract(answer_store.new)

  it("are of a limited number and size, and the oldest leave", function()
    local store = answer_store.new()
    store:add("a", "1", 60000)
    for i = 1, limits.idempotency_keys do
      store:add("k" .. i, "1", 60000)
    end
    assert.is_nil(store:add("a", "2", 60000))
    local bytes = ("x"):rep(limits.idempotency_bytes / 4)
    for i = 1, 4 do
      store:add("large" .. i, bytes, 60000)
    end
    assert.is_nil(store:add("large1", "again", 60000))
  end)
end)

describe("answers in a shared dictionary", function()
  contract(function()
    return answer_store.shared(dictionary())
  end)

  it("are not said to be kept where there is no memory", function()
    local full = dictionary()
    local store = answer_store.shared(full)
    assert.is_nil(store:add("k", "1", 60000))
    full.set = function() return nil, "no memory" end
    for _, answers in ipairs({ { store:add("other", "1", 60000) }, { store:swap("k", "1", "2", 60000) } }) do
      assert.is_nil(answers[1])
      assert.same({ "UNAVAILABLE", "the shared dictionary does not keep it: no memory" },
        { answers[2].code, answers[2].message })
    end
  end)
end)

describe("answers in Redis", function()
  if not inside.has("redis-server") then
    pending("redis-server is not installed")
    return
  end

  local server
  local stores = {}
  setup(function() server = redis.start() end)
  teardown(function()
    for _, store in ipairs(stores) do
      store:close()
    end
    server.stop()
  end)

  contract(function()
    local store = operations.middleware.redis(server.url, { prefix = "spec" .. #stores .. ":" })
    stores[#stores + 1] = store
    return store
  end)

  it("are nobody's when Redis is not there", function()
    operations.run(function()
      local store = operations.middleware.redis("redis://127.0.0.1:1")
      stores[#stores + 1] = store
      local known, err = store:add("k", "1", 60000)
      assert.is_nil(known)
      assert.equal("UNAVAILABLE", err.code)
      known, err = store:swap("k", "1", "2", 60000)
      assert.is_nil(known)
      assert.equal("UNAVAILABLE", err.code)
    end)
  end)
end)

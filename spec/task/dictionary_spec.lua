local dictionary = require("operations.task.dictionary")
local hosts = require("operations.hosts")
local operations = require("operations")

describe("the name of a shared dictionary", function()
  local host, notes = nil, { incr = print, safe_add = print }

  before_each(function()
    host = hosts.current()
    hosts.use(setmetatable({ dictionary = function(name)
      return name == "notes" and notes or nil
    end }, { __index = host }))
  end)

  after_each(function()
    hosts.use(host)
  end)

  it("is looked up; other values stay", function()
    assert.equal(notes, dictionary.of("notes", "store", "f", 1))
    for _, other in ipairs({ true, notes }) do
      assert.equal(other, dictionary.of(other, "store", "f", 1))
    end
    assert.is_nil(dictionary.of(nil, "store", "f", 1))
  end)

  it("that nginx does not have is refused when a store is made", function()
    for name, fn in pairs({
      ["'store' to 'rate_limit'"] = function() operations.middleware.rate_limit({ rate = 1, store = "typo" }) end,
      ["'store' to 'metrics'"] = function() operations.middleware.metrics({ store = "typo" }) end,
      ["'idempotency' to 'to_http'"] = function()
        operations.to_http(operations.registry(), { idempotency = "typo" })
      end,
    }) do
      local ok, raised = pcall(fn)
      assert.is_false(ok)
      assert.matches("^[^ ]*dictionary_spec.lua:%d+: bad option " .. name
        .. ' %(nginx has no lua_shared_dict "typo"%)$', raised)
    end
    operations.middleware.rate_limit({ rate = 1, store = "notes" })
    operations.middleware.metrics({ store = "notes" })
    assert(operations.to_http(operations.registry(), { idempotency = "notes" }))
  end)

  it("is refused outside of nginx", function()
    hosts.use(host)
    assert.error_matches(function()
      operations.middleware.rate_limit({ rate = 1, store = "notes" })
    end, '("notes": only nginx has dictionaries with names)', 1, true)
  end)

  it("does not help where a store keeps no figures", function()
    assert.error_matches(function()
      operations.middleware.metrics({ store = operations.middleware.redis("redis://127.0.0.1:1") })
    end, "bad option 'store' to 'metrics' (a shared dictionary of nginx, or its name, expected)", 1, true)
  end)
end)

-- What nginx's dictionary does with locks; `busy` times another worker has it.
local function store(busy, why)
  return { held = nil, asked = 0, leases = {}, add = function(self, name, _, lease)
    self.asked = self.asked + 1
    if self.asked <= busy then
      return false, why or "exists"
    end
    self.held, self.leases[#self.leases + 1] = name, lease
    return true
  end, delete = function(self, name)
    assert(why or name == self.held)
    self.held = nil
  end }
end

describe("a lock in a shared dictionary", function()
  it("is held while the function runs, for one key, and for a time only", function()
    local shared, held = store(0), nil
    local a, b, c = dictionary.locked(shared, "k", function(given, key, x)
      held = given.held
      return key, x, 3
    end, 2)
    assert.same({ "k", 2, 3, "k:lock" }, { a, b, c, held })
    assert.is_nil(shared.held)
    assert.is_true(shared.leases[1] > 0)
  end)

  it("is waited for while another worker has it", function()
    local shared = store(50)
    dictionary.locked(shared, "k", function(given) assert.equal("k:lock", given.held) end)
    assert.equal(51, shared.asked)
  end)

  it("is not waited for where there is no memory for it, nor for ever", function()
    local shared, ran = store(math.huge, "no memory"), 0
    local function run() ran = ran + 1 end
    dictionary.locked(shared, "k", run)
    assert.equal(1, shared.asked)
    shared = store(math.huge)
    shared.delete = function() end
    dictionary.locked(shared, "k", run)
    assert.equal(2, ran)
  end)
end)

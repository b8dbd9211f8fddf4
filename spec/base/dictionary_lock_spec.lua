local dictionary_lock = require("operations.base.dictionary_lock")

-- What nginx's dictionary does with locks; `busy` times another worker has it.
local function dictionary(busy, why)
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
    local shared, held = dictionary(0), nil
    local a, b, c = dictionary_lock.run(shared, "k", function(given, key, x)
      held = given.held
      return key, x, 3
    end, 2)
    assert.same({ "k", 2, 3, "k:lock" }, { a, b, c, held })
    assert.is_nil(shared.held)
    assert.is_true(shared.leases[1] > 0)
  end)

  it("is waited for while another worker has it", function()
    local shared = dictionary(50)
    dictionary_lock.run(shared, "k", function(given) assert.equal("k:lock", given.held) end)
    assert.equal(51, shared.asked)
  end)

  it("is not waited for where there is no memory for it, nor for ever", function()
    local shared, ran = dictionary(math.huge, "no memory"), 0
    local function run() ran = ran + 1 end
    dictionary_lock.run(shared, "k", run)
    assert.equal(1, shared.asked)
    shared = dictionary(math.huge)
    shared.delete = function() end
    dictionary_lock.run(shared, "k", run)
    assert.equal(2, ran)
  end)
end)

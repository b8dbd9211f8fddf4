local inside = require("spec.support.inside")
local operations = require("operations")
local test_server = require("spec.support.server")

describe("buckets and figures in nginx's shared dictionary", function()
  local missing = inside.missing("nginx")
  if missing then
    pending(missing)
    return
  end

  local app

  setup(function()
    app = test_server.start({ app = true, workers = 3 })
  end)

  teardown(function()
    app:stop()
  end)

  it("are those of all workers", function()
    local passed, refused = 0, 0
    local numbers = {}
    for i = 1, 200 do
      numbers[i] = i
    end
    assert(operations.map(numbers, function()
      local text = assert(operations.http.request({ url = app.url .. "/limited" })).body
      if text == "RATE_LIMITED\n" then
        refused = refused + 1
      else
        passed = passed + 1
      end
      return true
    end))
    assert.same({ 20, 180 }, { passed, refused })
    local text = operations.http.request({ url = app.url .. "/limited/metrics" }).body
    assert.matches('operations_calls_total{operation="limited.call",code="OK"} 20\n', text, 1, true)
    assert.matches('operations_calls_total{operation="limited.call",code="RATE_LIMITED"} 180\n', text, 1, true)
    assert.matches('operations_call_duration_seconds_count{operation="limited.call"} 200\n', text, 1, true)
  end)
end)

-- A dictionary as nginx has it, of one worker.
local function dictionary(locked)
  local values = {}
  return {
    values = values, expires = {},
    add = function(_, key, value)
      if locked or values[key] ~= nil then
        return false, "exists"
      end
      values[key] = value
      return true
    end,
    get = function(_, key) return values[key] end,
    set = function(self, key, value, seconds) values[key], self.expires[key] = value, seconds end,
    delete = function(_, key) values[key] = nil end,
    incr = function() end,
  }
end

describe("a shared dictionary", function()
  local function calls(shared, count)
    local registry = operations.registry({ middleware = {
      operations.middleware.rate_limit({ rate = 2, per = 3600000, store = shared }) } })
    assert(registry:register({ namespace = "a", name = "b", handler = function() return 1 end }))
    local list = {}
    for i = 1, count do
      list[i] = registry:execute("a.b") and "." or "!"
    end
    return table.concat(list)
  end

  it("keeps a bucket until it is full again, and no lock", function()
    local shared = dictionary()
    assert.equal("..!", calls(shared, 3))
    local keys = {}
    for key in pairs(shared.values) do
      keys[#keys + 1] = key
    end
    assert.same({ "operations:rate:3:a.b-" }, keys)
    local seconds = shared.expires[keys[1]]
    assert.is_true(seconds > 3590 and seconds <= 3600, seconds)
  end)

  it("is asked for its lock once where it has no memory", function()
    local shared, asked = dictionary(), 0
    function shared.add()
      asked = asked + 1
      return false, "no memory"
    end
    assert.equal("..!", calls(shared, 3))
    assert.equal(3, asked)
  end)

  it("is used although a worker died with the lock", function()
    assert.equal("..!", calls(dictionary(true), 3))
  end)
end)

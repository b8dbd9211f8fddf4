local answer_store = require("operations.server.answer_store")
local command = require("spec.support.command")
local core = require("operations.core")
local failed = require("operations.task.dictionary")
local eventually = require("spec.support.eventually")
local inside = require("spec.support.inside")
local limits = require("operations.base.limits")
local log = require("operations.task.log")
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

describe("answers in this process, of many senders", function()
  it("take the place of the sender's own, never that of another one", function()
    local store, answer = answer_store.new(), ("x"):rep(900000)
    assert.is_nil(store:add("k", "1", 60000, "ada"))
    assert.is_true(store:swap("k", "1", answer, 60000, "ada"))
    for i = 1, 100 do
      store:add("k" .. i, answer, 60000, "bob")
    end
    assert.equal(answer, store:add("k", "2", 60000, "ada"))
    assert.is_nil(store:add("k1", "2", 60000, "bob"))
    assert.equal(answer, store:add("k100", "2", 60000, "bob"))
    for i = 1, limits.idempotency_sender_keys * 2 do
      store:add("n" .. i, "1", 60000, "carl")
    end
    assert.equal(answer, store:add("k", "2", 60000, "ada"))
    assert.is_true(store._kept.count <= limits.idempotency_keys and store._kept.weight <= limits.idempotency_bytes)
  end)

  it("are dropped of the sender with most when all are too many", function()
    local store, answer = answer_store.new(), ("x"):rep(1000000)
    for sender = 1, 6 do
      for i = 1, 15 do
        store:add("k" .. i, answer, 60000, "many" .. sender)
      end
      store:add("k", "1", 60000, "few" .. sender)
    end
    for sender = 1, 6 do
      assert.equal("1", store:add("k", "2", 60000, "few" .. sender))
    end
    assert.is_true(store._kept.weight <= limits.idempotency_bytes)
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

  it("are refused, counted and told where their size cannot be counted, and told where others made room", function()
    local shared = dictionary()
    local store, messages = answer_store.shared(shared), {}
    local length, kept, dropped = 1, 1, nil
    shared.lpush = function() return length, not length and "no memory" or nil end
    shared.incr = function() return kept, not kept and "no memory" or nil, dropped end
    local function failures()
      local found = failed.failures.answers or {}
      return { found.refused or 0, found.dropped or 0 }
    end
    local function change(before, key)
      local known, err = store:add(key, "1", 60000)
      local now = failures()
      return { known == nil, err and err.code or "kept", now[1] - before[1], now[2] - before[2] }
    end
    local write = log.write
    log.write = function(level, message) -- luacheck: ignore 122
      messages[#messages + 1] = level .. ": " .. message
    end
    dropped = true
    assert.same({ true, "kept", 0, 1 }, change(failures(), "a"))
    length = nil
    assert.same({ true, "UNAVAILABLE", 1, 0 }, change(failures(), "b"))
    length, kept, dropped = 1, nil, nil
    assert.same({ true, "UNAVAILABLE", 1, 0 }, change(failures(), "c"))
    log.write = write -- luacheck: ignore 122
    for _, message in ipairs(messages) do
      assert.matches("^warn: idempotency: its shared dictionary ", message)
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

  it("belong to no request when Redis is gone", function()
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

  local function redis_cli(...)
    return inside.shell(("redis-cli -p %d %s"):format(server.port, (...):format(select(2, ...)))).out
  end

  -- As much memory as Redis may use, in bytes; 0: any.
  local function allow(bytes)
    redis_cli("CONFIG SET maxmemory %d", bytes)
  end

  it("stay taken where Redis is full: requests that have run do not run again", function()
    operations.run(function()
      local store = operations.middleware.redis(server.url, { prefix = "full:" })
      stores[#stores + 1] = store
      assert.is_nil(store:add("k", "1", 60000))
      allow(1)
      local was, err = store:swap("k", "1", "2", 3600000)
      local known, full = store:add("other", "1", 60000)
      allow(0)
      assert.same({ nil, nil }, { was, known })
      assert.matches("OOM", err.message)
      assert.matches("OOM", full.message)
      assert.equal("1", store:add("k", "3", 60000))
      assert.is_true(tonumber(redis_cli("PTTL {full:}answer:k")) > 60000)
    end)
  end)

  it("take the place of the sender's own, never that of another one", function()
    operations.run(function()
      local store, answer = operations.middleware.redis(server.url, { prefix = "share:" }), ("x"):rep(900000)
      stores[#stores + 1] = store
      local function keep(key, value, owner)
        assert.is_nil(store:add(key, "r", 60000, owner))
        assert.is_true(store:swap(key, "r", value, 60000, owner))
      end
      keep("k", answer, "ada")
      for i = 1, 20 do
        keep("k" .. i, answer, "bob")
      end
      assert.equal(answer, store:add("k", "2", 60000, "ada"))
      assert.is_nil(store:add("k1", "2", 60000, "bob"))
      assert.equal(answer, store:add("k20", "2", 60000, "bob"))
      for i = 1, limits.idempotency_sender_keys + 1 do
        keep("n" .. i, "1", "carl")
      end
      assert.is_nil(store:add("n1", "2", 60000, "carl"))
      assert.equal("1", store:add("n2", "2", 60000, "carl"))
    end)
  end)

  -- A process with the same answers.
  local function start(children)
    local child = assert(operations.process.spawn({ command.interpreter(), "spec/support/paying.lua", server.url,
      env = command.environment() }))
    children[#children + 1] = child
    local url = "http://127.0.0.1:" .. assert(child:read_line())
    return {
      child = child,
      pay = function(key, wait, timeout)
        return assert(operations.http.request({ method = "POST", url = url .. "/a/pay", timeout = 60000,
          headers = {
            ["Content-Type"] = "application/json", ["Idempotency-Key"] = key, ["Request-Timeout-Ms"] = timeout },
          body = ('{"wait":%g}'):format(wait) }))
      end,
      ran = function()
        return tonumber(assert(operations.http.request({ url = url .. "/a/ran" })).body)
      end,
    }
  end

  local function kill(child)
    os.execute(("kill -KILL %d 2>/dev/null"):format(child.pid))
  end

  local function with_processes(count, fn)
    return function()
      local children = {}
      operations.run(function()
        local processes = {}
        for i = 1, count do
          processes[i] = start(children)
        end
        local ok, raised = pcall(fn, processes)
        for _, child in ipairs(children) do
          kill(child)
          child:wait()
        end
        assert(ok, raised)
      end)
    end
  end

  it("are of all processes: one runs a request, whichever it is sent to", with_processes(2, function(processes)
    local numbers, statuses = {}, { [200] = 0, [409] = 0 }
    for i = 1, 30 do
      numbers[i] = i
    end
    assert(operations.map(numbers, function(i)
      local answer = processes[i % 2 + 1].pay("k-1", 0.2)
      statuses[answer.status] = statuses[answer.status] + 1
      return true
    end))
    assert.equal(30, statuses[200] + statuses[409])
    for _, process in ipairs(processes) do
      local again = process.pay("k-1", 0.2)
      assert.same({ 200, '{"ran":1}', "true" }, { again.status, again.body, again.headers["idempotent-replayed"] })
      assert.equal(422, process.pay("k-1", 0.3).status)
    end
    assert.equal(1, processes[1].ran() + processes[2].ran())
  end))

  it("are free when the process that ran them died", with_processes(2, function(processes)
    local died = operations.spawn(pcall, processes[1].pay, "k-2", 60, "2500")
    eventually(function() return processes[1].ran() == 1 end)
    kill(processes[1].child)
    assert.is_false((died:wait()))
    assert.equal(409, processes[2].pay("k-2", 60, "2500").status)
    eventually(function()
      local answer = processes[2].pay("k-2", 60, "1") -- free: it runs, and takes too long here as well
      return answer.status == 504
    end)
    assert.equal(1, processes[2].ran())
  end))
end)

--- rate_limit with `wait`: calls wait for their turn, and each request of an imported operation counts.
local fake_host = require("spec.support.fake_host")
local hosts = require("operations.hosts")
local operations = require("operations")
local server = require("spec.support.server")
local support = require("spec.support.openapi")
local task = require("operations.task")

local rate_limit = operations.middleware.rate_limit

describe("rate_limit with wait", function()
  local host

  before_each(function()
    host = fake_host.new(0)
    hosts.use(host)
  end)

  after_each(function()
    hosts.use("plain")
  end)

  local function registry_of(options)
    local registry = operations.registry({ middleware = { rate_limit(options) } })
    registry:register({ namespace = "spec", name = "now", type = "query", handler = function()
      return host.now()
    end })
    return registry
  end

  local function call(registry, context)
    local envelope, err = registry:execute("spec.now", {}, context)
    return envelope and envelope.data or err.code
  end

  it("lets calls wait for their turn", function()
    local registry = registry_of({ rate = 2, per = 1000, burst = 1, wait = math.huge })
    assert.same({ 0, 500, 1000 }, { call(registry), call(registry), call(registry) })
  end)

  it("refuses a call that would wait longer, or beyond its deadline, at once", function()
    local registry = registry_of({ rate = 1, per = 1000, wait = 600 })
    assert.equal(0, call(registry))
    assert.equal("RATE_LIMITED", call(registry))
    host.advance(500)
    assert.equal("RATE_LIMITED", call(registry, { timeout = 400 }))
    assert.equal(500, host.now())
    assert.equal(1000, call(registry, { timeout = 600 }))
  end)

  it("shares the rate among tasks that wait", function()
    local registry = registry_of({ rate = 1, per = 1000, wait = math.huge })
    local seen = task.run(function()
      return operations.map({ 1, 2, 3, 4 }, function()
        return call(registry)
      end)
    end)
    table.sort(seen)
    assert.same({ 0, 1000, 2000, 3000 }, seen)
  end)

  it("ends with the cancellation of its task, before the handler has run", function()
    local registry = registry_of({ rate = 1, per = 1000, wait = math.huge })
    task.run(function()
      call(registry)
      local waiting = task.spawn(function()
        local _, err = registry:execute("spec.now", {})
        return { err.code, err.mayHaveRun }
      end)
      operations.sleep(0.1)
      waiting:cancel()
      assert.same({ "ABORTED", false }, (waiting:wait()))
    end)
  end)

  it("needs ms", function()
    assert.error_matches(function()
      rate_limit({ rate = 1, wait = -1 })
    end, "'wait'")
  end)
end)

describe("rate_limit with wait around an imported operation", function()
  local running = server.around(setup, teardown)

  local function counting()
    local store = { takes = 0 }
    function store:take()
      self.takes = self.takes + 1
      return true, 0, 1
    end
    return store
  end

  it("counts its pages", function()
    local store = counting()
    local registry = support.registry(support.one({ parameters = { { name = "of", ["in"] = "query",
      schema = { type = "integer" } } } }, { path = "/pages" }), running.url, {}, {
      middleware = { rate_limit({ rate = 1, wait = 1000, store = store }) } })
    local count = 0
    for _ in assert(registry:pages("api.op", { of = 3 })) do
      count = count + 1
    end
    assert.same({ 3, 3 }, { count, store.takes })
  end)

  it("counts its retries", function()
    local store = counting()
    local again = { retry = { attempts = 3, delay = 1 } }
    local registry = support.registry(support.one({}, { path = "/status/503" }), running.url, again, {
      middleware = { rate_limit({ rate = 1, wait = 1000, store = store }) } })
    local _, err = registry:execute("api.op", {})
    assert.same({ "HTTP_503", 3 }, { err.code, store.takes })
  end)
end)

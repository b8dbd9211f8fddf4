local contract = require("spec.jobs.contract")
local jobs = require("operations.jobs")
local jumping_clock = require("spec.support.jumping_clock")
local limits = require("operations.base.limits")
local operations = require("operations")

-- A registry with one operation, "job.run".
local function registry_of(handler)
  local registry = operations.registry({ log = function() end })
  assert(registry:register({ namespace = "job", name = "run", type = "mutation", handler = handler }))
  return registry
end

describe("a store of jobs in memory", function()
  contract(it, jobs.new)

  it("forgets a job after its time, and cancels one that runs then", function()
    local clock = jumping_clock.start()
    local raised
    local ok, problem = pcall(operations.run, function()
      local store = jobs.new(registry_of(function()
        raised = tostring(select(2, pcall(operations.sleep, math.huge)))
      end))
      local id = assert(store:start("job.run", {}, { ttl = 60000 })).id
      operations.sleep(59)
      assert.equal("working", store:get(id).state)
      operations.sleep(12)
      assert.equal("ABORTED: its time to live is over", raised)
      local none, err = store:wait(id)
      assert.same({ nil, "OPERATION_NOT_FOUND" }, { none, err.code })
      store:close()
    end)
    clock.stop()
    assert(ok, problem)
  end)

  it("keeps jobs and waits for them while the clock on the wall jumps", function()
    local hosts = require("operations.hosts")
    local real, ahead, gate = hosts.current(), 0, nil
    hosts.use(setmetatable({ now = function()
      return real.now() + ahead
    end }, { __index = real }))
    local ok, problem = pcall(operations.run, function()
      local store = jobs.new(registry_of(function()
        operations.await(function(wake)
          gate = wake
        end)
        return "done"
      end))
      local id = assert(store:start("job.run", {})).id
      for _, jump in ipairs({ 31536000000, -31536000000 }) do
        ahead = jump
        assert.equal("working", store:wait(id, nil, { ended = true, timeout = 5 }).state)
      end
      gate()
      assert.equal("completed", store:wait(id, nil, { ended = true }).state)
      store:close()
    end)
    hosts.use(real)
    assert(ok, problem)
  end)

  it("ends the wait for a job whose time is over", function()
    local clock = jumping_clock.start()
    local ok, problem = pcall(operations.run, function()
      local store = jobs.new(registry_of(function()
        operations.sleep(math.huge)
      end))
      local none, err = store:wait(assert(store:start("job.run", {}, { ttl = 60000 })).id, nil, { ended = true })
      assert.same({ nil, "OPERATION_NOT_FOUND" }, { none, err.code })
      store:close()
    end)
    clock.stop()
    assert(ok, problem)
  end)

  it("says that a result is too large to be kept, instead of keeping it", function()
    local most = limits.job_result
    limits.job_result = 100000
    operations.run(function()
      local store = jobs.new(registry_of(function(input)
        return ("x"):rep(input.bytes)
      end))
      local small = assert(store:start("job.run", { bytes = 90000 })).id
      local large = assert(store:start("job.run", { bytes = 110000 })).id
      assert.equal("completed", store:wait(small, nil, { ended = true }).state)
      local record = store:wait(large, nil, { ended = true })
      assert.same({ "failed", "EXECUTION_ERROR" }, { record.state, record.error.code })
      assert.is_nil(record.envelope)
      store:close()
    end)
    limits.job_result = most
  end)

  it("drops the oldest results of a caller beyond its share, never those of others", function()
    operations.run(function()
      local store = jobs.new(registry_of(function()
        return ("x"):rep(limits.job_identity_results / 8)
      end))
      local other = assert(store:start("job.run", {}, { identity = { id = "other", scopes = {} } })).id
      local who, ids = { id = "ada", scopes = {} }, {}
      for i = 1, 10 do
        ids[i] = assert(store:start("job.run", {}, { identity = who })).id
        store:wait(ids[i], who, { ended = true })
      end
      assert.is_nil(store:get(ids[1], who))
      assert.equal("completed", store:get(ids[10], who).state)
      assert.equal("completed", store:get(other, { id = "other", scopes = {} }).state)
      store:close()
    end)
  end)

  it("holds 10,000 jobs of one caller to its limit, and keeps few of them", function()
    operations.run(function()
      local store, refused = jobs.new(registry_of(function() end)), 0
      for _ = 1, 10000 do
        local _, err = store:start("job.run", {})
        refused = refused + (err and err.code == "BUSY" and 1 or 0)
        if err then
          operations.sleep(0)
        end
      end
      assert.is_true(refused > 0)
      assert.is_true(store._ended.count <= limits.identity_job_records)
      store:close()
    end)
  end)

  it("cancels its jobs when it is closed", function()
    local raised
    operations.run(function()
      local store = jobs.new(registry_of(function()
        raised = tostring(select(2, pcall(operations.sleep, math.huge)))
      end))
      assert(store:start("job.run", {}))
      operations.sleep(0)
      store:close()
      operations.sleep(0)
    end)
    assert.equal("ABORTED: the server has closed", raised)
  end)

  it("is refused where nginx has several workers, and with invalid options", function()
    local hosts = require("operations.hosts")
    local real = hosts.current()
    hosts.use(setmetatable({ workers = function() return 4 end }, { __index = real }))
    local ok, raised = pcall(jobs.new, operations.registry())
    hosts.use(real)
    assert.is_false(ok)
    assert.matches("nginx has several workers", raised)
    for _, options in ipairs({ { ttl = 0 }, { poll = 0 / 0 }, { max_jobs = math.huge }, { most = 1 } }) do
      assert.is_false((pcall(jobs.new, operations.registry(), options)))
    end
  end)
end)

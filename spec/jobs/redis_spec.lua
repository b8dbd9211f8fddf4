local contract = require("spec.jobs.contract")
local eventually = require("spec.support.eventually")
local jobs = require("operations.jobs")
local members = require("operations.base.members")
local operations = require("operations")
local redis = require("spec.support.redis")

local server = redis.around(setup, teardown)

local function quiet() end

local systems = 0 -- each spec has its own

local function new_system(options)
  systems = systems + 1
  return members.merged({ mode = "reliable", lease = 10000, vouches = true, prefix = "system" .. systems }, options)
end

local function connect(system)
  return operations.call_map(assert(operations.transports.redis(server.url, system)), { log = quiet })
end

for name, options in pairs({ ["a store of jobs in Redis"] = {},
  ["a store of jobs in Redis, with a secret,"] = { secret = "sixteen bytes or more" } }) do
  describe(name, function()
    contract(it, function(registry, limits)
      local system = new_system(options)
      local worker, map = connect(system), connect(system)
      operations.call_handler(registry, worker)
      return jobs.new(registry, members.merged(limits or {}, { map = map })), function()
        map:close()
        worker:close()
      end
    end)
  end)
end

describe("jobs in Redis", function()
  it("are those of all replicas, and outlive each of them", function()
    operations.run(function()
      local system, gates = new_system({ lease = 500 }), {}
      local who = { id = "ada", scopes = operations.array() }
      -- A replica serves callers and runs jobs.
      local function replica(name)
        local registry = operations.registry({ log = quiet })
        assert(registry:register({ namespace = "job", name = "ask", type = "mutation", handler = function(_, context)
          local action = context.elicit("Sure?", nil, "sure")
          operations.await(function(wake)
            gates[name] = wake
          end)
          return { by = name, action = action, attempt = context.attempt }
        end }))
        local map = connect(system)
        operations.call_handler(registry, map)
        return jobs.new(registry, { map = map }), map
      end
      local first, first_map = replica("first")
      local id = assert(first:start("job.ask", {}, { identity = who,
        capabilities = { elicitation = operations.object() } })).id
      eventually(function()
        return first:get(id, who).state == "input_required"
      end)
      local second, second_map = replica("second")
      assert(second:answer(id, who, { sure = { action = "accept", content = operations.object() } }))
      eventually(function()
        return gates.first
      end)
      first_map:close() -- its job is left to the others
      eventually(function()
        return gates.second
      end)
      gates.second()
      local done = assert(second:wait(id, who, { ended = true, timeout = 30000 }))
      assert.same({ by = "second", action = "accept", attempt = 2 }, done.envelope.data)
      assert.equal(2, done.attempt)
      second_map:close()
    end)
  end)
end)

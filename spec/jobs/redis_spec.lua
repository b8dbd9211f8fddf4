local command = require("spec.support.command")
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

  -- A worker in a process of its own. Waits until it serves.
  local function start_worker(system)
    local serving = false
    local words = { command.interpreter(), "lua/operations/cli/main.lua", "worker", "--redis", server.url, "--reliable",
      "--prefix", system.prefix, "--lease", "500", "--lua", "spec/support/stuck_report.lua" }
    words.env = command.environment()
    function words.on_stderr(line)
      serving = serving or line:find("serving 1 operation", 1, true) ~= nil
    end
    local worker = assert(operations.process.spawn(words))
    eventually(function()
      return serving
    end)
    return worker
  end

  local function kill(worker)
    os.execute(("kill -KILL %d"):format(worker.pid))
    worker:wait()
  end

  local function serve(system, to)
    local registry, map = operations.registry({ log = quiet }), connect(system)
    assert(registry:register(dofile("spec/support/stuck_report.lua")))
    local made = assert(to(registry, { tasks = { map = map, poll = 20 }, log = quiet }))
    return assert(made:listen()).port, function()
      made:close()
      map:close()
    end
  end

  it("run on as tasks of MCP when their worker is killed, and say so", function()
    operations.run(function()
      local system = new_system({ lease = 500 })
      local worker = start_worker(system)
      local port, close = serve(system, operations.to_mcp)
      local registry = operations.registry({ log = quiet })
      local client = assert(operations.from_mcp.connect("office", { url = ("http://127.0.0.1:%d/mcp"):format(port) }))
      assert(client:register(registry))
      local done, began = {}, false
      local call = operations.spawn(function()
        return registry:execute("office.report_write", {}, { on_progress = function(progress)
          began = true
          done[#done + 1] = progress
        end })
      end)
      eventually(function()
        return began
      end)
      kill(worker)
      worker = start_worker(system)
      local envelope = assert(call:wait())
      assert.same({ { attempt = 2 }, { 1, 2 } }, { envelope.data, done })
      client:close()
      close()
      kill(worker)
    end)
  end)

  it("run on as jobs of HTTP when their worker is killed, and say so at every server", function()
    operations.run(function()
      local system = new_system({ lease = 500 })
      local worker = start_worker(system)
      local first, close_first = serve(system, operations.to_http)
      local second, close_second = serve(system, operations.to_http)
      local url = "http://127.0.0.1:%d%s"
      local begun = assert(operations.http.request({ method = "POST", url = url:format(first, "/report/write"),
        body = "{}", headers = { ["content-type"] = "application/json", prefer = "respond-async" } }))
      assert.equal(202, begun.status)
      local place = url:format(second, begun.headers.location)
      local function state(prefer)
        local response = assert(operations.http.request({ url = place, headers = { prefer = prefer } }))
        return operations.json.decode(response.body)
      end
      eventually(function()
        return state().progress ~= nil
      end)
      close_first()
      kill(worker)
      worker = start_worker(system)
      local ended = state("wait=30")
      assert.same({ "completed", 2, { attempt = 2 } }, { ended.state, ended.attempt, ended.result })
      close_second()
      kill(worker)
    end)
  end)
end)

--- The tasks of MCP: scenarios of the official conformance suite, and the official requester. `make test-tasks` runs
--- this. The suite has no scenarios for clients.
local command = require("spec.support.command")
local operations = require("operations")

local modules = assert(os.getenv("TASKS_PACKAGES"), "TASKS_PACKAGES: where npm installed them")
local node, suite = modules .. "/node/bin/node", modules .. "/@modelcontextprotocol/conformance/dist/index.js"

-- The checks of each scenario; `notifications` has none yet, as the suite says.
local scenarios = { ["tasks-lifecycle"] = 9, ["tasks-capability-negotiation"] = 5, ["tasks-wire-fields"] = 4,
  ["tasks-request-state-removal"] = 3, ["tasks-mrtr-input"] = 4, ["tasks-request-headers"] = 5,
  ["tasks-dispatch-and-envelope"] = 9, ["tasks-required-task-error"] = 3, ["tasks-mrtr-composition"] = 2,
  ["tasks-status-notifications"] = 0 }

describe("tasks of the server", function()
  local server, url

  setup(function()
    server = assert(operations.process.spawn({ command.interpreter(), "spec/mcp/conformance/serve.lua",
      env = command.environment() }))
    url = ("http://127.0.0.1:%s/mcp"):format(assert(server:read_line()):match("port (%d+)"))
  end)

  teardown(function()
    server:stop()
  end)

  for scenario, count in pairs(scenarios) do
    it("pass the scenario " .. scenario, function()
      local result = command.run(("%s %s server --url %s --scenario %s -o %s"):format(node, suite, url, scenario,
        os.tmpname() .. ".d"))
      assert.matches(("Passed: %d/%d, 0 failed, 0 warnings"):format(count, count), result.out .. result.err)
    end)
  end

  it("are used by the official requester", function()
    local result = command.run(("%s spec/mcp/suite/tasks.mjs %s %s"):format(node, modules, url))
    assert.same({ out = [[
at once: immediate Hello, Ann!
a task: task it took 0.7 seconds
asked: task x: deleted
asked twice: task accept and accept
a tool that fails: task error: the operation failed
a request that fails: TaskFailedError broken
cancelled: task cancelled
found again: it took 0.5 seconds
]], err = "", code = 0 }, result)
  end)
end)

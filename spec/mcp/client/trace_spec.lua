--- OPERATIONS_LOG=mcp.
local command = require("spec.support.command")

local program = [=[
local command = require("spec.support.command")
local operations = require("operations")
local T = operations.type
local registry = operations.registry()

if arg[1] == "serve" then
  registry:register({ namespace = "a", name = "echo", inputSchema = T.object({ x = T.string() }),
    handler = function(input) return { x = input.x } end })
  registry:register({ namespace = "a", name = "fail", handler = function() error("NO: hidden") end })
  registry:register({ namespace = "a", name = "end", handler = function() os.exit(3) end })
  return operations.to_mcp(registry):stdio()
end

local tools = assert(operations.from_mcp.connect("own", { command = command.interpreter(), args = { arg[0], "serve" },
  env = command.environment() }))
registry:register_all(tools.operations)
%s
tools:close()
]=]

-- What the program writes to stderr.
local function logged(script)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(program:format(script))
  file:close()
  local result = command.run("OPERATIONS_LOG=mcp lua " .. path)
  os.remove(path)
  return result.err
end

describe("OPERATIONS_LOG=mcp", function()
  it("shows messages and states of connections, without arguments and results", function()
    local lines = {}
    local text = logged([[registry:execute("own.a_echo", { x = "hidden" }) registry:execute("own.a_fail", {})]])
    for line in text:gmatch("[^\n]+") do
      lines[#lines + 1] = not line:find("subscriptions") and line:gsub("%d+%.%d+ ms", "N ms"):gsub("id %d", "id N")
        or nil
    end
    assert.same({
      "operations: mcp: own is connecting",
      "operations: mcp: own > server/discover (id N)",
      "operations: mcp: own < answer to server/discover (id N) in N ms",
      "operations: mcp: own is connected",
      "operations: mcp: own > tools/list (id N)",
      "operations: mcp: own < answer to tools/list (id N) in N ms",
      "operations: mcp: own > tools/call a_echo (id N)",
      "operations: mcp: own < answer to tools/call a_echo (id N) in N ms",
      "operations: mcp: own > tools/call a_fail (id N)",
      "operations: mcp: own < answer to tools/call a_fail (id N) in N ms, isError",
    }, lines)
  end)

  it("shows that a server was lost, and that it is started again", function()
    local text = logged([[registry:execute("own.a_end", {})
      operations.await(function(wake)
        return tools:on_state(function(state)
          if state == "connected" then
            wake()
          end
        end)
      end)]])
    local states = {}
    for state in text:gmatch("mcp: own is (%a+)") do
      states[#states + 1] = state
    end
    assert.same({ "connecting", "connected", "lost", "connecting", "connected" }, states)
    assert.matches("own is lost: [^\n]*: the server ended with exit code 3", text)
  end)
end)

--- An MCP server over stdio before another one: `lua proxy.lua ERA [option=value]...`, ERA of the server behind, which
--- is stdio.lua.
local command = require("spec.support.command")
local operations = require("operations")

local options = { name = "proxy" }
for i = 2, #arg do
  local name, value = arg[i]:match("^([%w_]+)=(.*)$")
  options[name] = tonumber(value) or value
end
local registry = operations.registry()
operations.run(function()
  local client = assert(operations.from_mcp.connect("far", { era = arg[1], command = command.interpreter(),
    args = { "spec/support/mcp_server/stdio.lua" }, env = command.environment(), questions = "caller",
    accessControl = { requiredScopes = {} } }))
  assert(client:register(registry))
  assert(operations.to_mcp(registry, options):stdio())
  client:close()
end)

--- An MCP server over stdio, as a program: `lua stdio.lua [option=value]...`.
local operations = require("operations")

local options = { name = "spec", version = "1.2.3", instructions = "Be kind" }
for _, given in ipairs(arg or {}) do
  local name, value = given:match("^([%w_]+)=(.*)$")
  options[name] = tonumber(value) or value
end
assert(operations.to_mcp(require("spec.support.mcp_server.registry"), options):stdio())
io.stderr:write("over\n")

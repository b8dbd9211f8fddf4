--- The features of the server, one file each: their methods by name, and their capabilities.
local changes = require("operations.mcp.server.changes")
local lifecycle = require("operations.mcp.server.lifecycle")
local prompts = require("operations.mcp.server.prompts")
local resources = require("operations.mcp.server.resources")
local tools = require("operations.mcp.server.tools")

local features = { methods = {} }

--- A method that clients may call.
---@class operations.mcp.Method
---@field run fun(call: operations.mcp.ServerCall): table?, operations.mcp.Failure?  the result, or a failure
---@field era? "legacy"|"modern"  nil: both eras
---@field named_by? string  the member of its params repeated in the header Mcp-Name (revision 2026-07-28)
---@field asks? boolean  may ask the client for input before its result (revision 2026-07-28)
---@field cached? boolean  its result has a lifetime for caches (revision 2026-07-28)
---@field early? boolean  may be called before `initialize`

---@class operations.mcp.Failure
---@field code integer  of JSON-RPC
---@field message string
---@field data? any
---@field status? integer  of HTTP
---@field headers? table<string, string>

---@class operations.mcp.Feature
---@field methods table<string, operations.mcp.Method>
---@field capabilities? fun(server: operations.McpServer): table<string, table>

---@type operations.mcp.Feature[]
local list = { lifecycle, tools, resources, prompts, changes }

for _, feature in ipairs(list) do
  for name, method in pairs(feature.methods) do
    features.methods[name] = method
  end
end

--- The server's capabilities.
---@param server operations.McpServer
---@return table<string, table>
function features.capabilities(server)
  local all = {}
  for _, feature in ipairs(list) do
    for name, capability in pairs(feature.capabilities and feature.capabilities(server) or {}) do
      all[name] = capability
    end
  end
  return all
end

lifecycle.capabilities_of = features.capabilities

return features

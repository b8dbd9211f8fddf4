--- What specs of MCP share: servers to talk to.
local command = require("spec.support.command")
local from_mcp = require("operations.mcp.client")
local process = require("operations.net.process")

local support = {}

-- Neovim and nginx have LuaJIT inside; nginx starts programs only where it may.
local interpreter, count = command.interpreter() or "luajit", 0
process.allow(true)

--- The configuration of our own server over stdio.
---@param era "legacy"|"modern"|"dual"
---@param more? table  of the configuration; `server` is a list of the server's options
function support.config(era, more)
  count = count + 1 -- what is known of one server does not count for others
  local config = {
    command = interpreter, args = { "spec/support/mcp/server.lua", era, "count=" .. count },
    env = command.environment(), env_allow = { "PATH", "HOME" },
    log = function() end,
  }
  for key, value in pairs(more or {}) do
    if key == "server" then
      for _, option in ipairs(value) do
        table.insert(config.args, option)
      end
    else
      config[key] = value
    end
  end
  return config
end

--- A connection to it.
---@return operations.mcp.Client
function support.connect(era, more)
  return assert(from_mcp.connect("spec", support.config(era, more)))
end

--- The requests of a method that the server heard; nil: the answers.
function support.heard(client, method)
  local list = {}
  for _, message in ipairs(assert(client:call("heard")).data) do
    if message.method == method then
      list[#list + 1] = message
    end
  end
  return list
end

return support

--- The eras that servers turned out to be of, kept for as long as this program runs.
local compat = require("operations.base.compat")

local verdicts = {}

-- Servers that are remembered; with more, all are asked again.
local MAX = 1000

local known, count = {}, 0

local function key_of(config)
  if config.url then
    return (config.url:gsub("[?#].*$", ""))
  end
  return table.concat({ config.command, config.cwd or "", compat.unpack(config.args or {}) }, "\0")
end

--- What a server turned out to be of before, or what the configuration says.
---@param config operations.mcp.Config
---@return "modern"|"legacy"|"events"|nil
function verdicts.find(config)
  return config.verdict or known[key_of(config)]
end

--- Remembers it.
---@param config operations.mcp.Config
---@param verdict "modern"|"legacy"|"events"
function verdicts.keep(config, verdict)
  local key = key_of(config)
  if known[key] == nil then
    count = count + 1
    if count > MAX then
      known, count = {}, 1
    end
  end
  known[key] = verdict
end

return verdicts

--- A port for a server that is started a moment later, or again on the same one: nobody listens on it, and no
--- connection of this machine has it.
local command = require("spec.support.command")
local core = require("operations.core")

local seeded

-- Is the port bound or in use by a connection of this machine?
local function taken(port)
  local file = io.open("/proc/net/tcp")
  local text = file and file:read("*a") or ""
  if file then
    file:close()
  end
  return text:find((":%04X "):format(port), 1, true) ~= nil
end

---@return integer
return function()
  if not seeded then
    math.randomseed(core.now() % 2147483647 + command.pid())
    seeded = true
  end
  local port
  repeat
    port = math.random(10000, 31000) -- below Linux' range for outgoing connections
  until not taken(port)
  return port
end

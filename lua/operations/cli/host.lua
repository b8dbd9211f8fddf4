--- The host of the command line: plain Lua, where a signal is raised between two turns, as nothing is half done then.
local members = require("operations.base.members")
local plain = require("operations.hosts.plain")
local system = require("operations.system")

local function block(poll)
  system.hold_signals(plain.block, function()
    system.raise_signal()
    return poll()
  end)
end

return members.merged(plain, { block = block })

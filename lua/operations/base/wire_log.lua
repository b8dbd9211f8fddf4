--- The logs of a program on stderr, by the variable OPERATIONS_LOG: a list of `http`, `mcp` and `calls`. They have no
--- credentials and no contents of messages.
local members = require("operations.base.members")
local printable = require("operations.base.printable")

local wire_log = {}

local known = members.set({ "calls", "http", "mcp" })

local function write(text)
  io.stderr:write("operations: ", printable.message(text), "\n")
end

local wanted = {}
for name in (os and os.getenv("OPERATIONS_LOG") or ""):gmatch("[^,%s]+") do
  wanted[name] = true
  if not known[name] then
    write(("OPERATIONS_LOG has no '%s'; it has calls, http and mcp"):format(name))
  end
end

--- Is this log wanted?
---@param name "calls"|"http"|"mcp"
---@return boolean
function wire_log.has(name)
  return wanted[name] == true
end

--- Writes a line.
---@param name "calls"|"http"|"mcp"
---@param format string  as for `string.format`
---@param ... any
function wire_log.write(name, format, ...)
  write(name .. ": " .. format:format(...))
end

return wire_log

--- The file of `operations mcp --log`: a line for each change of a server's state.
local output = require("operations.cli.output")

local event_log = {}

---@class operations.cli.EventLog
---@field state fun(name: string, state: string, reason: operations.Error?)

--- Opens a file to append to it.
---@param path string
---@return operations.cli.EventLog?
---@return string? message
function event_log.open(path)
  local file, message = io.open(path, "ab")
  if not file then
    return nil, message
  end
  file:setvbuf("line")
  output.at_end({ close = function()
    file:close()
  end })
  local function write(name, text)
    file:write(("%s %s: %s\n"):format(os.date("!%Y-%m-%dT%H:%M:%SZ"), name, (text:gsub("%c", " "))))
  end
  return {
    state = function(name, state, reason)
      write(name, state .. (reason and ": " .. tostring(reason) or ""))
    end,
  }
end

return event_log

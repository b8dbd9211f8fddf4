--- Points in time as texts (RFC 3339).
local timestamp = {}

--- The text of a time, in UTC.
---@param ms number  since the epoch
---@return string  "2026-11-30T12:00:00.000Z"
function timestamp.of(ms)
  return os.date("!%Y-%m-%dT%H:%M:%S", math.floor(ms / 1000)) .. (".%03dZ"):format(math.floor(ms) % 1000)
end

return timestamp

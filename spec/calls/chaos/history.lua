--- Histories as files: one JSON object per line, written at once, so that nothing is lost with a killed process.
local core = require("operations.core")
local json = require("operations.base.json")

local history = {}

--- Begins the history of a process.
---@param directory string
---@param process string  its name
---@return fun(what: string, fields?: table) record
function history.open(directory, process)
  local file = assert(io.open(("%s/%s.jsonl"):format(directory, process), "ab"))
  file:setvbuf("no")
  return function(what, fields)
    fields = fields or {}
    fields.what, fields.process, fields.at = what, process, core.now()
    assert(file:write((assert(json.encode(fields)) .. "\n")))
  end
end

local function read(path, records)
  local number = 0
  for line in io.lines(path) do
    number = number + 1
    local record, err = json.decode(line)
    records[#records + 1] = record or { what = "unreadable", message = ("%s:%d: %s"):format(path, number, err.message) }
  end
end

--- All histories in a directory, one after the other.
---@param directory string
---@return table[] records  as `checker.check` takes them
function history.read(directory)
  local records = {}
  local pipe = io.popen(("ls %s/*.jsonl"):format(directory))
  for path in pipe:lines() do
    read(path, records)
  end
  pipe:close()
  return records
end

return history

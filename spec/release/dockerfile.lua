--- Reads a Dockerfile: its stages, and the instructions of each in their order.
local json = require("operations.base.json")

local dockerfile = {}

local function words(text)
  local list = {}
  for word in text:gmatch("%S+") do
    list[#list + 1] = word
  end
  return list
end

-- Instructions that the specs carry out; any other one is an error, as nothing may be left out.
local readers = {}

function readers.RUN(text)
  return { script = text }
end

function readers.COPY(text)
  local from, rest = text:match("^%-%-from=(%S+)%s+(.*)$")
  local paths = words(rest or text)
  return { from = from, to = table.remove(paths), paths = paths }
end

function readers.WORKDIR(text)
  return { path = text }
end

function readers.USER(text)
  return { user = text }
end

function readers.EXPOSE(text)
  return { port = tonumber(text) }
end

function readers.STOPSIGNAL(text)
  return { signal = text:gsub("^SIG", "") }
end

function readers.CMD(text)
  return { words = assert(json.decode(text)) }
end

function readers.HEALTHCHECK(text)
  return { words = assert(json.decode((text:gsub("^CMD%s+", "")))) }
end

---@class spec.DockerInstruction
---@field name string  "RUN", "COPY", ...

---@class spec.DockerStage
---@field image string
---@field name? string
---@field instructions spec.DockerInstruction[]

--- The stages of a Dockerfile.
---@param text string
---@return spec.DockerStage[]
function dockerfile.read(text)
  local stages = {}
  local joined = text:gsub("%f[^\n%z]#[^\n]*\n?", ""):gsub("\\\n", " ")
  for line in joined:gmatch("[^\n]+") do
    local name, rest = line:match("^(%u+)%s+(.-)%s*$")
    if name == "FROM" then
      local list = words(rest)
      stages[#stages + 1] = { image = list[1], name = list[3], instructions = {} }
    else
      local instruction = assert(readers[name], line)(rest)
      instruction.name = name
      table.insert(stages[#stages].instructions, instruction)
    end
  end
  return stages
end

return dockerfile

--- Documents that are there as JSON and as YAML, Swagger 2.0 among them: the operations and the reports are the same.
local json = require("operations.base.json")
local operations = require("operations")
local paths_in = require("spec.openapi.suite.paths")

local formats = {}

-- What the two files of a document do not both say.
local different = {
  ["2.0/petstore-expanded"] = "texts", ["3.0/petstore-expanded"] = "texts", ["3.0/uspto"] = "texts",
  ["3.1/parameters-style"] = "methods",
}

local function sorted_texts(report)
  local texts = operations.array({})
  for i, entry in ipairs(report) do
    texts[i] = json.encode(entry, { sort_keys = true })
  end
  table.sort(texts) -- what is wrong within one schema is told in no order
  return texts
end

--- Everything that a document gives, as one text; or nil, message.
local function read(path)
  local list, report = operations.from_openapi.file(path, { eager = true })
  if not list then
    return nil, tostring(report)
  end
  for _, definition in ipairs(list) do
    definition.handler = nil
  end
  return assert(json.encode({ operations = operations.array(list), report = sorted_texts(report) },
    { sort_keys = true })), #list
end

local function exists(path)
  local file = io.open(path)
  return file and file:close()
end

---@param places { packages: string }  node_modules
---@param fail fun(...: string)
function formats.run(places, fail)
  local pairs_read, count = 0, 0
  for _, path in ipairs(paths_in(places.packages .. "/@readme/oas-examples", "*/json/*.json")) do
    local name = path:match("([23]%.%d/json/.*)%.json$")
    name = name and name:gsub("/json/", "/")
    local yaml = path:gsub("/json/", "/yaml/"):gsub("%.json$", ".yaml")
    if name and exists(yaml) then
      local one, n = read(path)
      local other, message = read(yaml)
      if not one or not other then
        fail(name, one and message or n)
      elseif (one == other) == (different[name] ~= nil) then
        fail(name, one == other and "is the same now" or "differs as YAML")
      else
        pairs_read, count = pairs_read + 1, count + n
      end
    end
  end
  if pairs_read < 55 then
    fail("formats", pairs_read .. " documents are there in both formats")
  end
  print(("%d documents, %d operations the same as JSON and as YAML"):format(pairs_read, count))
end

return formats

--- Files in requests: the GraphQL multipart request specification.
local core = require("operations.core")
local json = require("operations.base.json")
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local property_order = require("operations.base.property_order")

local multipart = {}

--- The schema of the body: two texts, then the files by number.
multipart.schema = { type = "object", properties = { operations = { type = "string" }, map = { type = "string" } },
  additionalProperties = { type = "string", format = "binary" } }

-- A copy of a value with null at the end of the path that `names` has from `at` on.
local function without(value, names, at)
  local name = names[at]
  if not name then
    return core.null
  end
  local key = core.kind(value) == "array" and tonumber(name) + 1 or name
  local copy = property_order.carry(members.copy(value), value)
  copy[key] = without(value[key], names, at + 1)
  return copy
end

--- The body of a message whose variables hold files.
---@param message table
---@param files { path: string, value: any }[]
---@return table
function multipart.body(message, files)
  local body, map, numbers = {}, marked.object(), {}
  for i, file in ipairs(files) do
    local number, names = tostring(i - 1), {}
    for name in file.path:gmatch("[^.]+") do
      names[#names + 1] = name
    end
    message = without(message, names, 1)
    map[number], body[number], numbers[i] = marked.array({ file.path }), file.value, number
  end
  property_order.set(map, numbers)
  body.operations = assert(json.encode(message, { keep_order = true }))
  body.map = assert(json.encode(map, { keep_order = true }))
  property_order.set(body, members.joined({ "operations", "map" }, numbers)) -- the specification asks for this order
  return body
end

return multipart

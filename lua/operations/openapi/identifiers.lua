--- Names that schemas have in 3.1 and later: `$id` makes one a resource of its own, which references inside of it are
--- relative to; `$anchor` names a place in it. Collected when a reference needs them, which few documents' do.
local json_pointer = require("operations.base.json_pointer")
local limits = require("operations.base.limits")
local location = require("operations.openapi.location")

local identifiers = {}

--- The resource that a schema is: `file`, or its own when it has an `$id`.
---@param source operations.openapi.Document
---@param node table
---@param file operations.openapi.File
---@return operations.openapi.File
function identifiers.resource(source, node, file)
  local id = node["$id"]
  if type(id) ~= "string" or node == file.root then
    return file
  end
  local where = location.resolve(file.location or "", (id:gsub("#$", "")))
  local known = source.files[where]
  return known and known.root == node and known or not known and source:add(node, where) or file
end

local function visit(source, node, file, pointer, depth)
  local own = identifiers.resource(source, node, file)
  if own ~= file then
    own.collected = true
    file, pointer = own, own.prefix .. "#"
  end
  for _, keyword in ipairs({ "$anchor", "$dynamicAnchor" }) do
    local name = node[keyword]
    if type(name) == "string" then
      file.anchors[name] = file.anchors[name] or { node = node, file = file, pointer = pointer }
    end
  end
  for key, child in pairs(node) do
    if type(child) == "table" and depth < limits.json_depth then
      visit(source, child, file, pointer .. "/" .. json_pointer.escape(key), depth + 1)
    end
  end
end

--- Collects the names of every file that was read so far, each file once.
---@param source operations.openapi.Document
function identifiers.collect(source)
  local new = {}
  for _, file in pairs(source.files) do
    if not file.collected then
      new[#new + 1] = file
    end
  end
  for _, file in ipairs(new) do
    file.collected = true
    local id = file.root["$id"]
    if type(id) == "string" then
      local where = location.resolve(file.location or "", id)
      source.files[where] = source.files[where] or file
    end
    visit(source, file.root, file, file.prefix .. "#", 0)
  end
end

return identifiers

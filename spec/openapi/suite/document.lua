--- Documents and values as the checks compare them.
local json = require("operations.base.json")

local document = {}

--- Reads a document of JSON as plain tables, past the adapter; the order of its properties is kept.
---@param path string
---@return table
function document.read(path)
  local file = assert(io.open(path, "rb"))
  local root = assert(json.decode(file:read("*a"), { property_order = true }))
  file:close()
  return root
end

--- Follows the references of a document to itself.
---@param root table
---@param node any
---@return any
function document.dereference(root, node)
  while type(node) == "table" and node["$ref"] do
    local target = root
    for token in node["$ref"]:gmatch("/([^/]*)") do
      target = target[(token:gsub("~1", "/"):gsub("~0", "~"))]
    end
    node = target
  end
  return node
end

--- The operation of a document that a definition was made of.
---@param root table
---@param definition operations.Definition
---@return table
function document.operation(root, definition)
  return root.paths[definition._meta.path][definition._meta.method:lower()]
end

--- A value as text: the same text, the same value.
---@param value any
---@return string
function document.text(value)
  return (assert(json.encode(value, { sort_keys = true })))
end

return document

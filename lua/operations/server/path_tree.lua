--- Paths as a tree of their segments. A node has its children by segment; key 0 is the child for a parameter, key 1 the
--- place of the path that ends at the node.
local members = require("operations.base.members")
local url = require("operations.base.url")

local path_tree = {}

--- The place of a path; made if it does not exist.
---@param tree table
---@param segments (string|false)[]  false: a parameter
---@return { methods: table }
function path_tree.grow(tree, segments)
  local node = tree
  for _, segment in ipairs(segments) do
    local key = segment or 0 -- a parameter
    node[key] = node[key] or {}
    node = node[key]
  end
  node[1] = node[1] or { methods = {} }
  return node[1]
end

--- The text of a path.
---@param segments (string|false)[]  false: a parameter
---@param names table<integer, string>  of the parameters
---@return string
function path_tree.text(segments, names)
  local texts = {}
  for i, segment in ipairs(segments) do
    texts[i] = segment and url.encode(segment) or "{" .. names[i] .. "}"
  end
  return "/" .. table.concat(texts, "/")
end

-- Finds the place of decoded segments and the values of its parameters. Literal segments take precedence over
-- parameters.
local function walk(node, segments, at, values)
  local segment = segments[at]
  if segment == nil then
    return node[1]
  end
  local found = node[segment] and segment ~= "" and walk(node[segment], segments, at + 1, values)
  if not found and node[0] and segment ~= "" then
    values[at] = segment
    found = walk(node[0], segments, at + 1, values)
  end
  return found
end

--- Finds the place of a path.
---@param tree table
---@param segments string[]  decoded
---@param values table<integer, string>  gets the values of parameters, by the number of their segment
---@return { methods: table }?
function path_tree.find(tree, segments, values)
  return walk(tree, segments, 1, values)
end

-- Every place below a node, with the segments that lead there: 0 for a parameter.
local function each_place(node, path, visit)
  for key, child in pairs(node) do
    if key == 1 then
      visit(child, path)
    else
      each_place(child, members.joined(path, { key }), visit)
    end
  end
end

--- Visits every place, in no certain order.
---@param tree table
---@param visit fun(place: { methods: table }, path: (string|integer)[])  `path`: its segments, 0 for a parameter
function path_tree.each(tree, visit)
  each_place(tree, {}, visit)
end

return path_tree

--- Writes a JSON Schema for people: one line per property, nested objects and the branches of unions indented.
local type_text = require("operations.cli.type_text")

local schema_text = {}

-- Deeper objects are named only, and so are less deep ones where the text would have more lines than people read.
local MAX_DEPTH = 6
local MAX_LINES = 300

-- Columns; words longer than that stand out.
local MAX_WIDTH = 100

local function sorted_names(properties, required)
  local names = {}
  for name in pairs(properties) do
    names[#names + 1] = name
  end
  table.sort(names, function(a, b)
    if (required[a] or false) ~= (required[b] or false) then
      return required[a] or false
    end
    return a < b
  end)
  return names
end

--- Gathers properties and branches of a schema and of what it is made of (`allOf`).
local function gather(root, schema, found, depth)
  local target = type_text.target(root, schema)
  for name, property in pairs(target.properties or {}) do
    found.properties[name] = found.properties[name] or property
  end
  for _, name in ipairs(target.required or {}) do
    found.required[name] = true
  end
  for _, branch in ipairs(target.anyOf or target.oneOf or {}) do
    if type_text.target(root, branch).type ~= "null" then
      found.branches[#found.branches + 1] = branch
    end
  end
  for _, part in ipairs(depth < MAX_DEPTH and target.allOf or {}) do
    gather(root, part, found, depth + 1)
  end
  return found
end

local is_nested

--- What is worth lines below that of a schema: { schema, properties, required, branches }; nil when nothing is.
local function inside(root, schema, depth)
  local target = type_text.target(root, schema)
  if target.items then
    target = type_text.target(root, target.items)
  end
  local found = gather(root, target, { schema = target, properties = {}, required = {}, branches = {} }, 0)
  if #found.branches == 1 and next(found.properties) == nil then
    return depth < MAX_DEPTH and inside(root, found.branches[1], depth + 1) or nil
  end
  local is_union = false
  for _, branch in ipairs(found.branches) do
    is_union = is_union or depth < MAX_DEPTH and is_nested(root, branch, depth + 1)
  end
  found.branches = is_union and found.branches or {}
  return (is_union or next(found.properties) ~= nil) and found or nil
end

function is_nested(root, schema, depth)
  return inside(root, schema, depth) ~= nil
end

--- Adds a text in lines of at most MAX_WIDTH columns.
local function add_wrapped(lines, indent, text)
  local line = indent
  for word in text:gmatch("%S+") do
    if #line + #word >= MAX_WIDTH and line ~= indent then
      lines[#lines + 1] = line
      line = indent
    end
    line = line == indent and line .. word or line .. " " .. word
  end
  lines[#lines + 1] = line
end

local add_inside

--- What a schema says of itself, or what it refers to does.
local function description_of(root, schema)
  local own = type(schema) == "table" and schema.description
  local text = own or type_text.target(root, schema).description
  return type(text) == "string" and text:find("%S") and text or nil
end

--- One line: a name, the type, what else there is to it. Below it the description, and what is inside.
local function add_line(state, name, schema, word, indent, width)
  local root = state.root
  local found = inside(root, schema, 0)
  local is_known = found and state.shown[found.schema]
  local parts = { type_text.of(root, schema), word }
  for _, limit in ipairs(type(schema) == "table" and type_text.limits(schema) or {}) do
    parts[#parts + 1] = limit
  end
  parts[#parts + 1] = is_known and "as above" or nil
  state.lines[#state.lines + 1] = indent .. name .. (" "):rep(width - #name + 2) .. table.concat(parts, ", ")
  local description = not is_known and description_of(root, schema)
  if description then
    add_wrapped(state.lines, indent .. (" "):rep(width + 2), description)
  end
  if found then
    add_inside(state, found, indent .. "  ")
  end
end

local function add_branches(state, branches, indent)
  for i, branch in ipairs(branches) do
    add_line(state, i == 1 and "either" or "or", branch, nil, indent, 6)
  end
end

--- Adds the properties and branches of what was found; each schema once, however often it is used.
function add_inside(state, found, indent)
  if state.shown[found.schema] or #indent > 2 * state.depth then
    return
  end
  state.shown[found.schema] = true
  local names, width = sorted_names(found.properties, found.required), 0
  for _, name in ipairs(names) do
    width = math.max(width, #name)
  end
  for _, name in ipairs(names) do
    add_line(state, name, found.properties[name], found.required[name] and "required" or nil, indent, width)
  end
  add_branches(state, found.branches, indent)
end

--- The lines down to a depth.
local function lines_of(schema, depth)
  local found = inside(schema, schema, 0)
  local state = { root = schema, lines = {}, shown = {}, depth = depth }
  if not found or found.schema ~= type_text.target(schema, schema) or next(found.properties) == nil then
    local words = type(schema) == "table" and type_text.limits(schema) or {}
    table.insert(words, 1, type_text.of(schema, schema))
    state.lines[1] = "  " .. table.concat(words, ", ")
  end
  if found then
    add_inside(state, found, "  ")
  end
  return state.lines
end

--- Describes a schema in lines, each indented by two spaces.
---@param schema table|boolean
---@return string
function schema_text.describe(schema)
  local depth = MAX_DEPTH
  local lines = lines_of(schema, depth)
  while #lines > MAX_LINES and depth > 1 do
    depth = depth - 1
    lines = lines_of(schema, depth)
  end
  if depth < MAX_DEPTH then
    lines[#lines + 1] = "  (deeper objects are left out; --json shows them)"
  end
  return table.concat(lines, "\n") .. "\n"
end

return schema_text

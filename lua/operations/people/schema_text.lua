--- Describes a JSON Schema for people: types in a few words, and further constraints; one line per property, nested
--- objects and union branches indented.
local cells = require("operations.people.cells")
local json = require("operations.base.json")
local json_pointer = require("operations.base.json_pointer")
local keywords = require("operations.schema.keywords")
local members = require("operations.base.members")
local json_schema = require("operations.schema")
local number_text = require("operations.base.number_text")
local prose = require("operations.people.prose")

local schema_text = {}

-- Types.

-- The most columns of a type; longer types are named or counted.
local MAX_TYPE = 72

--- Follows a local reference ("#/$defs/Task") in `root`; returns the schema and the last part of the reference.
local function resolve(root, reference)
  local found = reference:sub(1, 1) == "#" and json_pointer.get(root, reference) or nil
  return found, reference:match("([^/#]*)$")
end

-- The schema, or the target of its reference.
local function target_of(root, schema)
  for _ = 1, 32 do
    if type(schema) ~= "table" or not schema["$ref"] then
      break
    end
    schema = resolve(root, schema["$ref"])
  end
  return type(schema) == "table" and schema or {}
end

local scalars = { string = true, integer = true, number = true, boolean = true, null = true }

-- The items of a keyword that has a list, if it has one.
local function list_of(value)
  return type(value) == "table" and value or {}
end

local function texts_of(list, fn)
  local texts = {}
  for i, item in ipairs(list) do
    texts[i] = fn(item)
  end
  return texts
end

local type_of

local function joined(root, schemas, separator)
  local parts = texts_of(schemas, function(schema)
    return type_of(root, schema)
  end)
  local text = table.concat(parts, separator)
  return #text > MAX_TYPE and separator == " | " and ("one of %d"):format(#parts) or text
end

--- The named parts of an object's `allOf`, if any has a name: the others only add to them.
local function named_parts(parts)
  local named = {}
  for _, part in ipairs(parts) do
    named[#named + 1] = type(part) == "table" and part["$ref"] and part or nil
  end
  return #named > 0 and named or parts
end

local function literal(value)
  return json.encode(value, { sort_keys = true }) or tostring(value)
end

local function array_text(root, schema)
  if schema.prefixItems then
    return "[" .. joined(root, schema.prefixItems, ", ") .. "]"
  end
  local items = schema.items and type_of(root, schema.items) or "any"
  return items:find("[ |]") and ("(%s)[]"):format(items) or items .. "[]"
end

--- The `type` keyword: one name or a list.
local function named_type(root, schema)
  if type(schema.type) == "table" then
    return table.concat(texts_of(schema.type, function(name)
      return name == "array" and array_text(root, schema) or name
    end), " | ")
  end
  local name = schema.type or (schema.properties and "object") or (schema.items and "array") or "any"
  return name == "array" and array_text(root, schema) or name
end

--- The meaning of a reference: scalars and lists of values are written out, other schemas named.
local function reference_text(root, reference)
  local target, name = resolve(root, reference)
  local schema = target_of(root, target or {})
  local is_scalar = schema.enum or schema.const ~= nil or type(schema.type) == "string" and scalars[schema.type]
  local text = is_scalar and type_of(root, schema)
  if text and #text <= MAX_TYPE then
    return text
  end
  return name ~= "" and name or target and target.title or "the whole schema"
end

-- The type of a schema in a few words: `string`, `"low" | "high"`, `Task[]`.
function type_of(root, schema)
  if type(schema) ~= "table" then
    return schema == false and "nothing" or "any"
  elseif schema["$ref"] then
    return reference_text(root, schema["$ref"])
  elseif type(schema.enum) == "table" then
    return table.concat(texts_of(schema.enum, literal), " | ")
  elseif schema.const ~= nil then
    return literal(schema.const)
  elseif type(schema.anyOf or schema.oneOf) == "table" then
    return joined(root, schema.anyOf or schema.oneOf, " | ")
  elseif type(schema.allOf) == "table" and not schema.type and not schema.properties then
    return joined(root, named_parts(schema.allOf), " & ")
  end
  return named_type(root, schema)
end

-- Numbers from a lowest to a highest one, of which either may be missing.
local function range_of(schema, row)
  local low, high = schema[row.name], schema[row.upper]
  low, high = type(low) == "number" and number_text.of(low), type(high) == "number" and number_text.of(high)
  if not low and not high then
    return nil
  end
  local text = low and high and low .. " to " .. high or (low and "at least " or "at most ") .. (low or high)
  return text .. (row.unit and " " .. row.unit .. (not (low and high) and (low or high) == "1" and "" or "s") or "")
end

-- The value of a keyword; those of a schema's own values as JSON.
local function value_text(row, value)
  return row.shape == "any" and literal(value) or type(value) == "number" and number_text.of(value) or value
end

-- Constraints beyond the type, in words.
local function limits_of(schema)
  local words = {}
  for _, row in ipairs(keywords) do
    local value = schema[row.name]
    if row.upper then
      words[#words + 1] = range_of(schema, row)
    elseif row.person and value ~= nil and (value or row.shape == "any") and value ~= "" then
      words[#words + 1] = row.person:format(value_text(row, value))
    end
  end
  return words
end

-- Lines.

-- Objects deeper than this are only named; less deep ones too when the text gets too long.
local MAX_DEPTH = 6
local MAX_LINES = 300

-- Default columns; longer words exceed them.
local WIDTH = 100

--- Collects properties and branches of a schema and its `allOf`.
local function gather(root, schema, found, depth)
  local target = target_of(root, schema)
  for _, name in ipairs(json_schema.properties(target)) do
    if found.properties[name] == nil then
      found.properties[name] = target.properties[name]
      found.names[#found.names + 1] = name
    end
  end
  for _, name in ipairs(list_of(target.required)) do
    found.required[name] = true
  end
  for _, branch in ipairs(list_of(target.anyOf or target.oneOf)) do
    if target_of(root, branch).type ~= "null" then
      found.branches[#found.branches + 1] = branch
    end
  end
  for _, part in ipairs(depth < MAX_DEPTH and list_of(target.allOf) or {}) do
    gather(root, part, found, depth + 1)
  end
  return found
end

--- The details shown below a schema: { schema, properties, required, branches }; nil when there are none.
local function inside(root, schema, depth)
  local target = target_of(root, schema)
  if target.items then
    target = target_of(root, target.items)
  end
  local found = gather(root, target, { schema = target, properties = {}, names = {}, required = {}, branches = {} }, 0)
  if #found.branches == 1 and next(found.properties) == nil then
    return depth < MAX_DEPTH and inside(root, found.branches[1], depth + 1) or nil
  end
  local is_union = false
  for _, branch in ipairs(found.branches) do
    is_union = is_union or depth < MAX_DEPTH and inside(root, branch, depth + 1) ~= nil
  end
  found.branches = is_union and found.branches or {}
  return (is_union or next(found.properties) ~= nil) and found or nil
end

--- Adds a text in lines of at most `width` columns.
local function add_wrapped(lines, indent, text, width)
  local line = indent
  for word in text:gmatch("%S+") do
    if cells.width(line) + cells.width(word) >= width and line ~= indent then
      lines[#lines + 1] = line
      line = indent
    end
    line = line == indent and line .. word or line .. " " .. word
  end
  lines[#lines + 1] = line
end

local add_inside

--- The description of a schema, or of the target of its reference.
local function description_of(root, schema)
  local own = type(schema) == "table" and schema.description
  local text = own or target_of(root, schema).description
  return type(text) == "string" and text:find("%S") and prose.unmarked(text) or nil
end

--- Adds a line with name, type and constraints; below it the description and details.
local function add_line(state, name, schema, word, indent, width)
  local root = state.root
  local found = inside(root, schema, 0)
  local is_known = found and state.shown[found.schema]
  local parts = members.joined({ type_of(root, schema), word }, type(schema) == "table" and limits_of(schema) or {})
  parts[#parts + 1] = is_known and "as above" or nil
  local start, margin = #state.lines + 1, indent .. (" "):rep(width + 2)
  add_wrapped(state.lines, margin, table.concat(parts, ", "), state.width)
  state.lines[start] = indent .. name .. (" "):rep(width - #name + 2) .. state.lines[start]:sub(#margin + 1)
  local description = not is_known and description_of(root, schema)
  if description then
    add_wrapped(state.lines, indent .. (" "):rep(width + 2), description, state.width)
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

--- Adds the collected properties and branches; each schema once.
function add_inside(state, found, indent)
  if state.shown[found.schema] or #indent > 2 * state.depth then
    return
  end
  state.shown[found.schema] = true
  local names, width = found.names, 0
  for _, name in ipairs(names) do
    width = math.max(width, #name)
  end
  for _, name in ipairs(names) do
    add_line(state, name, found.properties[name], found.required[name] and "required" or nil, indent, width)
  end
  add_branches(state, found.branches, indent)
end

--- The lines down to a depth.
local function lines_of(schema, depth, width)
  local found = inside(schema, schema, 0)
  local state = { root = schema, lines = {}, shown = {}, depth = depth, width = width }
  if not found or found.schema ~= target_of(schema, schema) or next(found.properties) == nil then
    local words = type(schema) == "table" and limits_of(schema) or {}
    table.insert(words, 1, type_of(schema, schema))
    state.lines[1] = "  " .. table.concat(words, ", ")
  end
  if found then
    add_inside(state, found, "  ")
  end
  return state.lines
end

--- The schema, or the target of its references; of an `allOf` of one part, that part with what stands beside it.
---@param root table
---@param schema any
---@return table
function schema_text.target(root, schema)
  local target, depth = target_of(root, schema), 0
  while type(target.allOf) == "table" and #target.allOf == 1 and depth < MAX_DEPTH do
    local part = target_of(root, target.allOf[1])
    target = members.merged(part, target, { allOf = false })
    target.allOf, depth = part.allOf, depth + 1
  end
  return target
end

--- The properties of an object, with those of its `allOf`.
---@param root table
---@param schema any
---@return { names: string[], properties: table<string, any>, required: table<string, true> }
function schema_text.members(root, schema)
  return gather(root, schema, { properties = {}, names = {}, required = {}, branches = {} }, 0)
end

--- What a value must be beside its type, in a few words each: "1 to 5", "email".
---@param schema table
---@return string[]
function schema_text.limits(schema)
  local copy = members.merged(schema)
  copy.default, copy.deprecated = nil, nil
  return limits_of(copy)
end

--- What a person may write: "integer, 1 to 5"; nothing for any text.
---@param root table
---@param schema table
---@return string
function schema_text.hint(root, schema)
  local words, text = schema_text.limits(schema), type_of(root, schema)
  if text ~= "string" and text ~= "any" then
    table.insert(words, 1, text)
  end
  return table.concat(words, ", ")
end

--- Describes a schema in lines, each indented by two spaces.
---@param schema table|boolean
---@param width? integer  columns, default 100
---@return string
function schema_text.describe(schema, width)
  local depth = MAX_DEPTH
  width = width or WIDTH
  local lines = lines_of(schema, depth, width)
  local complete = #lines
  while #lines > MAX_LINES and depth > 1 do
    depth = depth - 1
    lines = lines_of(schema, depth, width)
  end
  if #lines < complete then
    lines[#lines + 1] = "  (deeper objects are left out; --json shows them)"
  end
  return table.concat(lines, "\n") .. "\n"
end

return schema_text

--- Reads the answer to an introspection query (September 2025, section 4). Nothing in it is believed: names must be
--- names, kinds known, chains of types end.
local core = require("operations.core")
local lexer = require("operations.graphql.lexer")
local limits = require("operations.base.limits")
local parser = require("operations.graphql.parser")

local result = {}

local fail = lexer.fail

local function is_name(value)
  return type(value) == "string" and value:find("^[A-Za-z_][A-Za-z0-9_]*$") ~= nil
end

local function text(value)
  return type(value) == "string" and value or nil
end

local function list(value)
  return type(value) == "table" and value or {}
end

local function name_of(node, owner)
  local name = type(node) == "table" and node.name
  if not is_name(name) then
    fail(("%s: expected a name, got %s"):format(owner, type(name) == "string" and ("%q"):format(name)
      or core.kind(name)))
  end
  return name
end

local function read_ref(node, owner)
  local required, depth, top, inner = false, 0, nil, nil
  while true do
    depth = depth + 1
    if type(node) ~= "table" or depth > limits.graphql_depth then
      fail(owner .. ": its type is incomplete")
    elseif node.kind == "NON_NULL" and not required then
      required, node = true, node.ofType
    else
      local is_list = node.kind == "LIST"
      local ref = { name = not is_list and name_of(node, owner) or nil, required = required or nil }
      if inner then
        inner.list = ref
      end
      top, inner, required = top or ref, ref, false
      if not is_list then
        return top
      end
      node = node.ofType
    end
  end
end

local function deprecation(node)
  return node.isDeprecated == true and (text(node.deprecationReason) or "No longer supported") or nil
end

local function read_input(node, owner)
  local name = name_of(node, owner)
  local default = text(node.defaultValue) and parser.value(node.defaultValue)
  return {
    name = name, description = text(node.description), type = read_ref(node.type, owner .. "." .. name),
    default = default or nil, deprecated = deprecation(node),
  }
end

-- What is read of each node, of two of one name the first. With `problems` one that is wrong is left out, and told
-- there.
local function each(nodes, owner, read, problems)
  local all, seen = {}, {}
  for _, node in ipairs(list(nodes)) do
    local item, problem
    if problems then
      item, problem = parser.try(read, node, owner)
      problems[#problems + 1] = problem and problem.message
    else
      item = read(node, owner)
    end
    if item and not seen[item.name] then
      seen[item.name], all[#all + 1] = true, item
    end
  end
  return all
end

local function read_field(node, owner)
  local name = name_of(node, owner)
  local place = owner .. "." .. name
  return {
    name = name, description = text(node.description), type = read_ref(node.type, place),
    arguments = each(node.args, place, read_input), deprecated = deprecation(node),
  }
end

local function read_enum_value(node, owner)
  return { name = name_of(node, owner), description = text(node.description), deprecated = deprecation(node) }
end

local kinds = {
  SCALAR = {}, UNION = {}, OBJECT = { "fields", "fields", read_field }, INTERFACE = { "fields", "fields", read_field },
  ENUM = { "values", "enumValues", read_enum_value }, INPUT_OBJECT = { "inputs", "inputFields", read_input },
}

local function read_type(node, name)
  local body = kinds[node.kind]
  if not body then
    fail(("the type %s has the unknown kind %q"):format(name, tostring(node.kind)))
  end
  local made = {
    kind = node.kind, name = name, description = text(node.description), one_of = node.isOneOf == true or nil,
    specified_by = text(node.specifiedByURL), problems = body[1] == "fields" and {} or nil,
  }
  if body[1] then
    made[body[1]] = each(node[body[2]], name, body[3], made.problems)
  end
  return made
end

local function root_of(top, key)
  local node = top[key]
  if node == nil or node == core.null then
    return nil
  end
  return name_of(node, key)
end

local function index(top)
  local nodes, names = {}, {}
  for _, node in ipairs(list(top.types)) do
    if type(node) == "table" and is_name(node.name) and not nodes[node.name] then
      nodes[node.name], names[#names + 1] = node, node.name
    end
  end
  return nodes, names, {
    query = root_of(top, "queryType"), mutation = root_of(top, "mutationType"),
    subscription = root_of(top, "subscriptionType"),
  }
end

--- The reader of an introspection answer.
---@param answer table  { __schema }, or { data = { __schema } }
---@return operations.graphql.Reader?
---@return operations.graphql.Problem?
function result.reader(answer)
  local data = type(answer.data) == "table" and answer.data or answer
  local top = data.__schema
  if type(top) ~= "table" or type(top.types) ~= "table" then
    return nil, { message = "expected the answer to an introspection query, with __schema.types" }
  end
  local nodes, names, roots
  local _, problem = parser.try(function()
    nodes, names, roots = index(top)
  end)
  if problem then
    return nil, problem
  end
  return {
    roots = roots,
    read = function(name)
      return nodes[name] and read_type(nodes[name], name)
    end,
    possible = function(name)
      local possible = {}
      for _, node in ipairs(nodes[name] and list(nodes[name].possibleTypes) or {}) do
        possible[#possible + 1] = type(node) == "table" and text(node.name) or nil
      end
      return possible
    end,
    names = function()
      return names
    end,
  }
end

return result

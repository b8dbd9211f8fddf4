--- Random schemas and values, small and colliding, for laws that hold whatever they are. Own generator of numbers, so
--- that a seed means the same on every runtime.
local json = require("operations.base.json")

local random_schema = {}

---@param seed integer
---@return fun(n: integer): integer  1 to n
function random_schema.generator(seed)
  local state = seed % 2147483647
  if state == 0 then
    state = 1
  end
  return function(n)
    state = state * 16807 % 2147483647
    return state % n + 1
  end
end

local names = { "a", "b", "c", "kind" }
local texts = { "", "a", "b", "12", "1.5", "true", "xyz", "2024-01-01" }
local types = { "null", "boolean", "integer", "number", "string", "array", "object" }

local function array(list)
  return setmetatable(list, json.array_mt)
end

local function scalar(pick)
  local case = pick(8)
  if case == 1 then
    return json.null
  elseif case == 2 then
    return pick(2) == 1
  elseif case <= 4 then
    return pick(7) - 3
  elseif case == 5 then
    return pick(9) / 2 - 2
  end
  return texts[pick(#texts)]
end

--- Any JSON value.
function random_schema.value(pick, depth)
  local case = depth > 0 and pick(6) or 1
  if case <= 3 then
    return scalar(pick)
  end
  local value = case == 4 and array({}) or setmetatable({}, case == 6 and json.object_mt or nil)
  for i = 1, pick(4) - 1 do
    value[case == 4 and i or names[pick(#names)]] = random_schema.value(pick, depth - 1)
  end
  return value
end

local keywords = {}

local function schema(pick, depth)
  return random_schema.schema(pick, depth - 1)
end

local function schemas(pick, depth)
  local list = array({})
  for i = 1, pick(4) - 1 do
    list[i] = schema(pick, depth)
  end
  return list
end

local function map(pick, depth)
  local members = {}
  for _ = 1, pick(3) do
    members[names[pick(#names)]] = schema(pick, depth)
  end
  return members
end

local flat = {
  { "type", function(pick) return types[pick(#types)] end },
  { "type", function(pick) return types[pick(#types)] end },
  { "type", function() return "object" end },
  { "type", function(pick) return array({ types[pick(#types)], types[pick(#types)] }) end },
  { "enum", function(pick) return array(pick(5) > 1 and { scalar(pick), random_schema.value(pick, 1) } or {}) end },
  { "const", function(pick) return random_schema.value(pick, 1) end },
  { "minimum", function(pick) return pick(5) - 2 end },
  { "maximum", function(pick) return pick(5) / 2 end },
  { "exclusiveMinimum", function(pick) return pick(3) - 2 end },
  { "multipleOf", function(pick) return pick(4) / 2 end },
  { "minLength", function(pick) return pick(3) - 1 end },
  { "maxLength", function(pick) return pick(4) end },
  { "minItems", function(pick) return pick(3) - 1 end },
  { "maxItems", function(pick) return pick(3) end },
  { "uniqueItems", function() return true end },
  { "minProperties", function(pick) return pick(3) - 1 end },
  { "maxProperties", function(pick) return pick(3) end },
  { "required", function(pick) return array({ names[pick(#names)] }) end },
  { "dependentRequired", function(pick)
    return { [names[pick(#names)]] = array({ names[pick(#names)] }), a = array({ names[pick(#names)] }) }
  end },
  { "default", function(pick) return random_schema.value(pick, 1) end },
}

local nested = {
  { "properties", map },
  { "properties", map },
  { "properties", map },
  { "additionalProperties", function(pick, depth) return pick(2) == 1 and schema(pick, depth) end },
  { "items", schema },
  { "prefixItems", schemas },
  { "contains", schema },
  { "allOf", schemas },
  { "anyOf", schemas },
  { "oneOf", schemas },
  { "not", schema },
  { "if", schema },
  { "then", schema },
  { "else", schema },
  { "propertyNames", schema },
  { "dependentSchemas", map },
  { "patternProperties", function(pick, depth) return { ["^[ab]$"] = schema(pick, depth) } end },
  { "unevaluatedProperties", function(pick, depth) return pick(2) == 1 and schema(pick, depth) end },
  { "unevaluatedItems", function(pick, depth) return pick(2) == 1 and schema(pick, depth) end },
}

function keywords.add(definition, pick, depth, list)
  local keyword = list[pick(#list)]
  definition[keyword[1]] = keyword[2](pick, depth)
end

--- A schema of draft 2020-12.
function random_schema.schema(pick, depth)
  if pick(12) == 1 then
    return pick(3) > 1
  end
  local definition = {}
  for _ = 1, pick(4) - 1 do
    keywords.add(definition, pick, depth, flat)
  end
  if depth > 0 then
    for _ = 1, pick(3) - 1 do
      keywords.add(definition, pick, depth, nested)
    end
  end
  return definition
end

return random_schema

--- The published rules for tool definitions of four vendors, as a checker that shares nothing with the library: names,
--- shapes, and the subsets of JSON Schema of the strict modes.
local core = require("operations.core")
local json = require("operations.base.json")

local rules = {}

local function set(text)
  local result = {}
  for word in text:gmatch("%S+") do
    result[word] = true
  end
  return result
end

local OPENAI = set([[type properties required additionalProperties description title enum const anyOf items $ref $defs
  pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems]])
local ANTHROPIC = set([[type properties required additionalProperties description title enum const anyOf items $ref
  $defs format minItems]])
local GEMINI = set([[type properties required description enum anyOf items nullable format minimum maximum]])
local TYPES = set("string number integer boolean null array object")
local FORMATS = set("date-time time date duration email hostname ipv4 ipv6 uuid")

local function each_child(schema, visit)
  for name, property in pairs(type(schema.properties) == "table" and schema.properties or {}) do
    visit(property, "/properties/" .. name, true)
  end
  for name, definition in pairs(schema["$defs"] or {}) do
    visit(definition, "/$defs/" .. name)
  end
  for i, branch in ipairs(type(schema.anyOf) == "table" and schema.anyOf or {}) do
    visit(branch, "/anyOf/" .. i)
  end
  if schema.items ~= nil then
    visit(schema.items, "/items")
  end
end

local function has(list, wanted)
  for _, item in ipairs(list or {}) do
    if item == wanted then
      return true
    end
  end
  return false
end

local function check_types(schema, path, say, lists)
  local kind = schema.type
  if type(kind) == "table" then
    if not lists then
      say(path, "a list of types")
    end
    for _, one in ipairs(kind) do
      if not TYPES[one] then
        say(path, "unknown type")
      end
    end
  elseif kind ~= nil and not TYPES[kind] then
    say(path, "unknown type")
  end
end

local function check_keywords(schema, path, say, known)
  for key in pairs(schema) do
    if not known[key] then
      say(path, "keyword " .. key)
    end
  end
end

local function is_object(schema)
  return schema.type == "object" or type(schema.type) == "table" and has(schema.type, "object")
end

local function check_required(schema, path, say)
  for _, name in ipairs(schema.required or {}) do
    if not (schema.properties or {})[name] then
      say(path, "requires what it does not have: " .. tostring(name))
    end
  end
end

local function check_reference(schema, path, say, root)
  local ref = schema["$ref"]
  if ref == nil then
    return
  end
  local name = type(ref) == "string" and ref:match("^#/%$defs/(.+)$")
  name = name and name:gsub("~1", "/"):gsub("~0", "~")
  if not name or not (root["$defs"] or {})[name] then
    say(path, "$ref leads nowhere")
  end
  for key in pairs(schema) do
    if key ~= "$ref" then
      say(path, "$ref has siblings")
    end
  end
end

local function openai_strict(schema, path, say, state, depth)
  if type(schema) ~= "table" then
    return say(path, "a schema that is no object")
  end
  check_keywords(schema, path, say, OPENAI)
  check_types(schema, path, say, true)
  check_reference(schema, path, say, state.root)
  if not (schema.type or schema["$ref"] or schema.anyOf) then
    say(path, "no type")
  elseif schema.format and not FORMATS[schema.format] then
    say(path, "format " .. tostring(schema.format))
  elseif schema.type == "array" and schema.items == nil then
    say(path, "array without items")
  end
  if is_object(schema) then
    depth = depth + 1
    if depth > 10 then
      say(path, "more than 10 levels")
    elseif schema.additionalProperties ~= false then
      say(path, "additionalProperties is not false")
    end
    for name in pairs(schema.properties or {}) do
      state.properties, state.characters = state.properties + 1, state.characters + #name
      if not has(schema.required, name) then
        say(path, "not required: " .. name)
      end
    end
    check_required(schema, path, say)
  end
  for _, value in ipairs(schema.enum or {}) do
    state.enum, state.characters = state.enum + 1, state.characters + #tostring(value)
    if type(value) == "table" then
      say(path, "enum of objects")
    end
  end
  each_child(schema, function(child, below)
    openai_strict(child, path .. below, say, state, below:find("^/%$defs/") and 1 or depth)
  end)
end

local function check_openai(schema, say)
  local state = { root = schema, properties = 0, enum = 0, characters = 0 }
  openai_strict(schema, "", say, state, 0)
  if schema.anyOf then
    say("", "anyOf at the top")
  elseif state.properties > 5000 or state.enum > 1000 or state.characters > 120000 then
    say("", "too large")
  end
end

local function anthropic_strict(schema, path, say, root)
  if type(schema) ~= "table" then
    return say(path, "a schema that is no object")
  end
  check_keywords(schema, path, say, ANTHROPIC)
  check_types(schema, path, say, false)
  check_reference(schema, path, say, root)
  if schema.minItems and schema.minItems > 1 then
    say(path, "minItems above 1")
  elseif schema.format and not (FORMATS[schema.format] or schema.format == "uri") then
    say(path, "format " .. tostring(schema.format))
  elseif is_object(schema) and schema.additionalProperties ~= false then
    say(path, "additionalProperties is not false")
  elseif not (schema.type or schema.enum or schema.const ~= nil or schema.anyOf or schema["$ref"]) then
    say(path, "no type")
  end
  check_required(schema, path, say)
  each_child(schema, function(child, below, is_property)
    if is_property and not below:find("^/properties/[%w_.-]+$") then
      say(path, "name of a property")
    end
    anthropic_strict(child, path .. below, say, root)
  end)
end

-- Recursion: a definition that leads back to itself.
local function check_recursion(root, say)
  local function walk(schema, open)
    local ref = type(schema) == "table" and schema["$ref"]
    local name = type(ref) == "string" and ref:match("^#/%$defs/(.+)$")
    if name then
      if open[name] then
        return say("/$defs/" .. name, "recursion")
      end
      open[name] = true
      walk((root["$defs"] or {})[name], open)
      open[name] = nil
    elseif type(schema) == "table" then
      each_child(schema, function(child, below)
        if not below:find("^/%$defs/") then
          walk(child, open)
        end
      end)
    end
  end
  walk(root, {})
end

local function gemini_strict(schema, path, say)
  if type(schema) ~= "table" then
    return say(path, "a schema that is no object")
  end
  check_keywords(schema, path, say, GEMINI)
  if schema.type ~= nil and (type(schema.type) ~= "string" or schema.type ~= schema.type:upper()
    or not TYPES[schema.type:lower()]) then
    say(path, "unknown type")
  elseif schema.anyOf then
    for key in pairs(schema) do
      if key ~= "anyOf" then
        say(path, "anyOf has siblings")
      end
    end
  elseif schema.type == nil then
    say(path, "no type")
  end
  for _, value in ipairs(schema.enum or {}) do
    if type(value) ~= "string" or schema.type ~= "STRING" then
      say(path, "enum of other than strings")
    end
  end
  if schema.type == "ARRAY" and schema.items == nil then
    say(path, "array without items")
  end
  check_required(schema, path, say)
  each_child(schema, function(child, below, is_property)
    if is_property and not below:find("^/properties/[A-Za-z_][A-Za-z0-9_]*$") or #below > 76 then
      say(path, "name of a property")
    end
    gemini_strict(child, path .. below, say)
  end)
end

local function check_loose(format, schema, say)
  for _, key in ipairs({ "anyOf", "oneOf", "allOf", "not", "enum", "const", "$ref" }) do
    if schema[key] ~= nil then
      say("", key .. " at the top")
    end
  end
  if format == "gemini" then
    local text = json.encode(schema) or ""
    if text:find('"$ref"', 1, true) or text:find('"$defs"', 1, true) then
      say("", "references")
    end
  end
  for name in pairs(schema.properties or {}) do
    if format == "anthropic" and not name:find("^[%w_.-]+$")
      or format == "gemini" and not name:find("^[A-Za-z_][A-Za-z0-9_]*$") then
      say("", "name of a property")
    end
  end
end

local function schema_of(format, definition, say)
  if format == "openai" then
    local fn = type(definition["function"]) == "table" and definition["function"] or {}
    if definition.type ~= "function" then
      say("", "shape")
    end
    return fn, fn.parameters, fn.strict == true
  elseif format == "openai-responses" then
    if definition.type ~= "function" or type(definition.strict) ~= "boolean" then
      say("", "shape")
    end
    return definition, definition.parameters, definition.strict == true
  elseif format == "anthropic" then
    return definition, definition.input_schema, definition.strict == true
  end
  if definition.parameters ~= nil and definition.parametersJsonSchema ~= nil then
    say("", "shape")
  end
  return definition, definition.parameters or definition.parametersJsonSchema, definition.parameters ~= nil
end

--- What a definition breaks.
---@param format string
---@param definition table  one; of Gemini, one function declaration
---@return string[] flaws
function rules.check(format, definition)
  local flaws = {}
  local function say(path, message)
    flaws[#flaws + 1] = path .. ": " .. message
  end
  local tool, schema, strict = schema_of(format, definition, say)
  local name = tool.name
  if type(name) ~= "string" or not name:find("^[A-Za-z_][A-Za-z0-9_-]*$") or #name > 64 then
    say("", "name")
  elseif tool.description ~= nil and (type(tool.description) ~= "string" or tool.description == "") then
    say("", "description")
  end
  if schema == nil and format == "gemini" then
    return flaws
  elseif type(schema) ~= "table" or core.kind(schema.properties) ~= "object"
    or schema.type ~= "object" and schema.type ~= "OBJECT" then
    say("", "no object with properties")
  elseif not strict then
    check_loose(format, schema, say)
  elseif format == "anthropic" then
    anthropic_strict(schema, "", say, schema)
    check_recursion(schema, say)
  elseif format == "gemini" then
    gemini_strict(schema, "", say)
    if next(schema.properties) == nil then
      say("", "parameters without properties")
    end
  else
    check_openai(schema, say)
  end
  return flaws
end

return rules

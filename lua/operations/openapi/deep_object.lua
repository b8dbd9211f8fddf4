--- Style `deepObject`: objects and arrays in a flat list of names, as name[key]. OpenAPI says nothing of what lies
--- deeper than one key; servers expect name[key][key], and arrays in several ways.
local core = require("operations.core")
local members = require("operations.base.members")
local style = require("operations.openapi.style")

local deep_object = {}

local function has_compound(list)
  for i = 1, #list do
    local kind = core.kind(list[i])
    if kind == "array" or kind == "object" then
      return true
    end
  end
  return false
end

-- How the items of an array are called: OpenAPI does not say, and servers differ.
local item_names = {}

--- Of objects by index: with name[] alone nobody could tell where the next one begins.
function item_names.brackets(name, index, list)
  return name .. (has_compound(list) and "[" .. index - 1 .. "]" or "[]")
end

function item_names.indices(name, index)
  return name .. "[" .. index - 1 .. "]"
end

item_names["repeat"] = function(name)
  return name
end
deep_object.item_names = item_names

-- Each member of an object or array: its name on the wire, its value and its JSON Pointer.
local function deep_members(name, value, kind, arrays)
  local list = {}
  if kind == "array" then
    for i = 1, #value do
      list[i] = { item_names[arrays](name, i, value), value[i], "/" .. i - 1 }
    end
    return list
  end
  for i, key in ipairs(members.names(value)) do
    list[i] = { name .. "[" .. key .. "]", value[key], "/" .. key }
  end
  return list
end

local function deep(name, value, encode, arrays, list)
  local kind = core.kind(value)
  if kind == "object" or kind == "array" then
    for _, member in ipairs(deep_members(name, value, kind, arrays)) do
      local message, path = deep(member[1], member[2], encode, arrays, list)
      if message then
        return message, member[3] .. path
      end
    end
  elseif kind ~= "null" then
    local text, message = style.value_text(value)
    if not text then
      return message, ""
    end
    list[#list + 1] = { style.name_encoder(encode)(name), encode(text) }
  end
end

--- `deepObject`: name[key]. OpenAPI says nothing of what lies deeper; servers expect name[key][key], and arrays as
--- `arrays` says.
---@param name string  not encoded
---@param value table
---@param encode fun(text: string): string
---@param arrays? "brackets"|"indices"|"repeat"  name[] (indices for arrays of objects; the default), name[0], name
---@return string[][]? list  pairs { name, text }
---@return string? message
---@return string? path
function deep_object.pairs(name, value, encode, arrays)
  local list = {}
  local message, path = deep(name, value, encode, arrays or "brackets", list)
  if message then
    return nil, message, path
  end
  return list
end

return deep_object

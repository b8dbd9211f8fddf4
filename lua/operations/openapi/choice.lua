--- Which of several media types a body is sent as.
local core = require("operations.core")
local encoder = require("operations.openapi.encoder")
local encoding = require("operations.openapi.encoding")
local file_value = require("operations.openapi.file_value")
local media = require("operations.openapi.media")

local choice = {}

--- The JSON Schema of the input's key that picks a type.
---@param plan operations.openapi.Body
---@return table
function choice.schema(plan)
  local names, is_open = {}, false
  for i, made in ipairs(plan.types) do
    names[i] = made.name
    is_open = is_open or made.name:find("*", 1, true) ~= nil
  end
  return {
    type = "string", enum = not is_open and names or nil,
    description = ("The media type of the body; %s when absent."):format(plan.types[1].content_type),
  }
end

local function is_in_range(essence, range)
  local prefix = range:match("^(.*)%*$")
  return prefix == "*/" or prefix ~= nil and essence:sub(1, #prefix) == prefix
end

local function holds_file(made, value)
  for name, field in pairs(made.kind == "multipart" and made.fields or {}) do
    local item = encoding.may_be_file(field) and value[name] or nil
    if file_value.is_file(item) or core.kind(item) == "array" and file_value.is_file(item[1]) then
      return true
    end
  end
  return false
end

-- The first type; the first one that carries the files of the value, if it holds any.
local function fitting(plan, value)
  if plan.types[2] and core.kind(value) == "object" then
    for _, made in ipairs(plan.types) do
      if holds_file(made, value) then
        return made
      end
    end
  end
  return plan.types[1]
end

--- The type that a caller picked, or the one for the value.
---@param plan operations.openapi.Body
---@param value any
---@param wanted? any
---@return operations.openapi.BodyType?
---@return string? message
function choice.pick(plan, value, wanted)
  if wanted == nil then
    return fitting(plan, value)
  elseif type(wanted) ~= "string" or wanted:find("%c") then
    return nil, "expected a media type"
  end
  local essence = media.essence(wanted)
  for _, made in ipairs(plan.types) do
    if made.name == wanted or made.essence == essence then
      return made
    end
  end
  for _, made in ipairs(plan.types) do
    local kind = is_in_range(essence, made.essence) and encoder.kind(essence)
    if kind then
      return { kind = kind, essence = essence, content_type = wanted, fields = made.fields or {}, files = made.files,
        positions = kind == "multipart" and { prefix = {}, items = {} } or nil }
    end
  end
  return nil, ("%s is none of the operation's media types"):format(wanted)
end

return choice

--- Suggests names for unknown keys of an input.
local core = require("operations.core")
local errors = require("operations.base.error")
local json_pointer = require("operations.base.json_pointer")
local members = require("operations.base.members")
local schema_place = require("operations.offer.schema_place")
local suggestion = require("operations.base.suggestion")

local key_hint = {}

local unknown = members.set({ "additionalProperties", "unevaluatedProperties" })

local function tokens_of(pointer)
  local tokens = {}
  for token in pointer:gmatch("/([^/]*)") do
    tokens[#tokens + 1] = token:find("^%d+$") and tonumber(token) or json_pointer.unescape(token)
  end
  return tokens
end

local function hint(schema, pointer)
  local tokens = tokens_of(pointer)
  local key = tostring(table.remove(tokens))
  local names = schema_place.names(schema, tokens)
  return suggestion.behind(key, names)
end

--- Adds suggestions to the issues about unknown keys in an input's error.
---@param err operations.Error
---@param schema any  of the input
---@return operations.Error
function key_hint.add(err, schema)
  if type(err) ~= "table" or err.code ~= "VALIDATION_ERROR" or core.kind(err.details) ~= "array" then
    return err
  end
  local issues = {}
  for i, issue in ipairs(err.details) do
    local is_unknown = type(issue) == "table" and unknown[issue.keyword] and type(issue.path) == "string"
    issues[i] = is_unknown and members.merged(issue, { message = issue.message .. hint(schema, issue.path) }) or issue
  end
  local first = issues[1]
  local message = type(first) == "table" and first ~= err.details[1] and ("%s: %s"):format(first.path, first.message)
  return errors.new(err.code, message or err.message, issues)
end

--- A key that is not in the schema (which allows any) but similar to one that is: probably a typing error.
---@param value any   the input
---@param schema any
---@param issues table[]  of the input: the keys that it tells are left out
---@return string[] messages
function key_hint.near(value, schema, issues)
  local names, known = schema_place.names(schema, {})
  local list = {}
  for _, issue in ipairs(issues) do
    local tokens = unknown[issue.keyword] and tokens_of(issue.path) or {}
    if #tokens == 1 then
      known[tokens[1]] = true
    end
  end
  for _, key in ipairs(core.kind(value) == "object" and members.names(value) or {}) do
    local near = not known[key] and suggestion.behind(key, names) or ""
    if near ~= "" then
      list[#list + 1] = ("the input has no %q by its schema%s"):format(key, near)
    end
  end
  return list
end

return key_hint

--- YAML 1.2 (the core schema) for programs: writes values, the names of objects sorted, and reads texts.
local argument = require("operations.base.argument")
local core = require("operations.core")
local errors = require("operations.base.error")
local json = require("operations.base.json")
local members = require("operations.base.members")

local reader = require("operations.base.yaml")

---@class operations.yaml
local yaml = {}

-- Texts that readers of YAML 1.1 or 1.2 would take for other values.
local words = members.set({ "null", "true", "false", "yes", "no", "on", "off", "y", "n" })

local function is_plain(text)
  return text:find("^[%a_/][%w_ ./@%%+()-]*$") ~= nil and not text:find(" $") and not words[text:lower()]
end

local function quoted(text)
  local encoded, err = json.encode(text)
  if not encoded then
    error(err)
  end
  return (encoded:gsub("\127", "\\x7f"):gsub("\194([\128-\159])", function(byte)
    return ("\\x%02x"):format(byte:byte())
  end))
end

-- Can a text of several lines be written as a block without loss?
local function is_block(text)
  return text:find("\n", 1, true) and not text:find("[%z\1-\8\11-\31\127]") and not text:find("^%s")
    and not text:find("[ \t]\n") and not text:find("[ \t]$")
    and not text:find("\194[\128-\159]") and json.encode(text) ~= nil
end

local function block(text, indent)
  local body, ends = text:match("^(.-)(\n*)$")
  local chomp = ends == "" and "-" or ends == "\n" and "" or "+"
  local lines = { "|" .. chomp }
  for line in ((chomp == "+" and text or body .. "\n")):gmatch("([^\n]*)\n") do
    lines[#lines + 1] = line ~= "" and indent .. line or ""
  end
  return table.concat(lines, "\n")
end

local function scalar(value, indent)
  if type(value) ~= "string" then
    local text, err = json.encode(value)
    return text or error(err)
  elseif is_block(value) then
    return block(value, indent)
  end
  return is_plain(value) and value or quoted(value)
end

local add

-- A member of an object or list: on the same line if it is a scalar or empty.
local function add_member(lines, head, value, indent)
  local kind = core.kind(value)
  if (kind == "object" or kind == "array") and next(value) ~= nil then
    if head:sub(-2) == "- " then
      local first = #lines + 1
      add(lines, value, indent .. "  ")
      lines[first] = head .. lines[first]:sub(#head + 1)
      return
    end
    lines[#lines + 1] = (head:gsub(" $", ""))
    return add(lines, value, indent .. "  ")
  end
  lines[#lines + 1] = head .. scalar(value, indent .. "  ")
end

function add(lines, value, indent)
  if core.kind(value) == "array" then
    for _, item in ipairs(value) do
      add_member(lines, indent .. "- ", item, indent)
    end
    return
  end
  for _, name in ipairs(members.names(value)) do
    add_member(lines, indent .. (is_plain(name) and name or quoted(name)) .. ": ", value[name], indent)
  end
end

--- The YAML text of a value; raises the error object when it is not JSON.
---@param value any
---@return string
function yaml.encode(value)
  local kind = core.kind(value)
  if kind ~= "object" and kind ~= "array" or next(value) == nil then
    return scalar(value, "  ") .. "\n"
  end
  local lines = {}
  add(lines, value, "")
  return table.concat(lines, "\n") .. "\n"
end

--- Reads a text with one document as JSON data: null, arrays and objects have the marks of `operations.json`.
---@param text string
---@return any value
---@return operations.Error? err  VALIDATION_ERROR
function yaml.decode(text)
  argument.expect(text, "string", 1, "decode")
  local value, message = reader.decode(text)
  if message ~= nil then
    return nil, errors.new("VALIDATION_ERROR", "YAML: " .. message)
  end
  return value
end

return yaml

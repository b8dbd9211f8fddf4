--- Converts data to and from Neovim's own functions.
local core = require("operations.core")
local marked = require("operations.base.marked")

local vim = rawget(_G, "vim")

local value_of = {}

local convert

local function convert_members(value, ancestors)
  if ancestors[value] then
    error("operations.nvim.to_vim: a table contains itself", 0)
  end
  ancestors[value] = true
  local copy = next(value) == nil and core.kind(value) == "object" and getmetatable(value) and vim.empty_dict() or {}
  for key, item in pairs(value) do
    copy[key] = convert(item, ancestors)
  end
  ancestors[value] = nil
  return copy
end

function convert(value, ancestors)
  if value == core.null then
    return vim.NIL
  elseif type(value) == "table" then
    return convert_members(value, ancestors)
  elseif type(value) == "cdata" and core.kind(value) == "integer" then
    return (tostring(value):match("^%-?%d+"))
  end
  return value
end

--- A copy of data for functions of Neovim (`vim.json.encode`, `vim.fn`, `vim.mpack`, `vim.rpcnotify`): null is
--- `vim.NIL`, empty objects are `vim.empty_dict()`, wide integers are strings of digits, tables have no marks. An
--- unmarked empty table is a list, as in Neovim. Data from Neovim needs no conversion.
---@param value any
---@return any
function value_of.to_vim(value)
  return convert(value, {})
end

local take

-- Neovim represents floats, dictionaries with binary keys, and the like by special tables.
local function take_members(value, ancestors)
  if ancestors[value] then
    error("operations.nvim.from_vim: a table contains itself", 0)
  elseif value[vim.type_idx] ~= nil and value[vim.val_idx] ~= nil then
    return take(value[vim.val_idx], ancestors)
  end
  ancestors[value] = true
  local is_list = next(value) == nil and getmetatable(value) == nil or core.kind(value) == "array"
  local copy = {}
  for key, item in pairs(value) do
    copy[key] = take(item, ancestors)
  end
  ancestors[value] = nil
  return is_list and marked.array(copy) or marked.object(copy)
end

function take(value, ancestors)
  if value == vim.NIL then
    return core.null
  elseif type(value) == "table" then
    return take_members(value, ancestors)
  end
  return value
end

--- A copy of data from functions of Neovim (`vim.fn`, `vim.json.decode`, `vim.mpack`) as our JSON values: `vim.NIL` is
--- null, lists and dictionaries are marked, so that `[]` and `{}` stay distinct.
---@param value any
---@return any
function value_of.from_vim(value)
  return take(value, {})
end

return value_of

--- Data for Neovim's own functions, and data of theirs.
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
--- `vim.NIL`, empty objects are `vim.empty_dict()`, wide integers their digits, tables have no marks. An empty table
--- without a mark is a list, as it is for Neovim. What Neovim gives needs no conversion.
---@param value any
---@return any
function value_of.to_vim(value)
  return convert(value, {})
end

local take

-- Floats, dictionaries whose keys are no text, and the like are tables of a special form for Neovim.
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

--- A copy of what functions of Neovim gave (`vim.fn`, `vim.json.decode`, `vim.mpack`), as JSON of ours: `vim.NIL` is
--- null, lists and dictionaries have their marks, so that `[]` and `{}` stay what they are.
---@param value any
---@return any
function value_of.from_vim(value)
  return take(value, {})
end

return value_of

--- What Neovim's own functions need of us.
local core = require("operations.core")

local vim = rawget(_G, "vim")

local nvim = {}

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
function nvim.to_vim(value)
  if not vim or not vim.empty_dict then
    error("operations.nvim.to_vim works inside of Neovim only", 2)
  end
  return convert(value, {})
end

return nvim

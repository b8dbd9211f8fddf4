--- Whose marks of arrays, objects and null we understand: lua-cjson's are ours where it has them, Neovim's too.
local argument = require("operations.base.argument")
local core = require("operations.core")

local marks = {}

local function adopt_cjson(cjson)
  if type(cjson.array_mt) == "table" then
    core.set_array_mt(cjson.array_mt)
    core.array_mt = cjson.array_mt
  end
  if type(cjson.empty_array_mt) == "table" then
    core.add_mark(cjson.empty_array_mt, "array")
  end
end

local function adopt_vim(vim)
  core.set_foreign_null(vim.NIL)
  core.add_mark(getmetatable(vim.empty_dict()), "object")
end

local found, cjson = pcall(require, "cjson")
if found and type(cjson) == "table" then
  adopt_cjson(cjson)
end
local vim = rawget(_G, "vim")
if type(vim) == "table" and vim.NIL ~= nil and vim.empty_dict then
  adopt_vim(vim)
end

--- Marks a table as an array, so that it stays one when it is empty. Returns the same table.
---@param t? table
---@return table
function marks.array(t)
  argument.optional(t, "table", 1, "array")
  return setmetatable(t or {}, core.array_mt)
end

--- Marks a table as an object, whatever its keys. Returns the same table.
---@param t? table
---@return table
function marks.object(t)
  argument.optional(t, "table", 1, "object")
  return setmetatable(t or {}, core.object_mt)
end

return marks

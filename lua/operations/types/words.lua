--- Writes types: one walk for all printers, each of which has its words.
local json = require("operations.base.json")

local words = {}

--- How a printer writes types, the inner ones before those that contain them.
---@class operations.types.Words
---@field plain table<string, any>  by kind: any, never, null, boolean, string, number, integer
---@field literal fun(value: any): any
---@field ref fun(named: operations.types.Named): any
---@field map fun(item: any, of: operations.types.Type): any
---@field array fun(item: any, of: operations.types.Type): any  `of`: the type of its items
---@field union fun(list: any[]): any

---@class operations.types.Language
---@field plain table<string, string>  by kind
---@field map string  a format
---@field bar string  between the types of a union
---@field ref fun(named: operations.types.Named): string
---@field literal? fun(value: any): string  default: JSON
---@field is_union? fun(of: operations.types.Type): boolean  is it written as one?

--- Writes a type.
---@param of operations.types.Type
---@param by operations.types.Words
---@return any
function words.written(of, by)
  if of.kind == "literal" then
    return by.literal(of.value)
  elseif of.kind == "ref" then
    return by.ref(of.of)
  elseif of.kind == "map" or of.kind == "array" then
    return by[of.kind](words.written(of.item, by), of.item)
  elseif of.kind == "union" then
    local list = {}
    for i, item in ipairs(of.list) do
      list[i] = words.written(item, by)
    end
    return by.union(list)
  end
  return by.plain[of.kind]
end

local function is_union(of)
  return of.kind == "union"
end

--- The words of a language in which a list of T is `T[]`.
---@param language operations.types.Language
---@return operations.types.Words
function words.of(language)
  local has_bars = language.is_union or is_union
  return {
    plain = language.plain, ref = language.ref,
    literal = language.literal or function(value)
      return assert(json.encode(value))
    end,
    map = function(item)
      return language.map:format(item)
    end,
    array = function(item, of)
      return (has_bars(of) and "(%s)[]" or "%s[]"):format(item)
    end,
    union = function(list)
      return table.concat(list, language.bar)
    end,
  }
end

return words

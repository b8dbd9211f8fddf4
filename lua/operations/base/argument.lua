--- Checks arguments and options of public functions. Errors name the line of the program that called the function.
local argument = {}

local type = type

--- Raises "bad argument #position to 'name' (kind expected, got ...)" when `value` is not of the Lua type `kind`. The
--- error points at the caller of the function that calls this one.
---@param value any
---@param kind string
---@param position integer
---@param name string  of the public function
---@param level? integer  as for `error`: the function up the stack that the error points at; default 3
function argument.expect(value, kind, position, name, level)
  if type(value) ~= kind then
    error(("bad argument #%d to '%s' (%s expected, got %s)"):format(position, name, kind, type(value)), level or 3)
  end
end

--- Raises "calling 'name' on bad self (...)" when a method is called on a value that is not an object of its class.
---@param value any
---@param class table  the metatable of its objects
---@param kind string  readable: "call map"
---@param name string  of the method
function argument.self(value, class, kind, name)
  if getmetatable(value) ~= class then
    error(("calling '%s' on bad self (%s expected, got %s)"):format(name, kind, type(value)), 3)
  end
end

--- As `expect`, but nil is allowed.
---@param value any
---@param kind string
---@param position integer
---@param name string
---@param level? integer
function argument.optional(value, kind, position, name, level)
  if value ~= nil and type(value) ~= kind then
    error(("bad argument #%d to '%s' (%s expected, got %s)"):format(position, name, kind, type(value)), level or 3)
  end
end

local function is_kind(value, kinds)
  local found = type(value)
  if found == kinds or not kinds then
    return kinds ~= nil
  end
  local list = " or " .. kinds .. " or "
  return list:find(" or " .. found .. " or ", 1, true) or value == false and list:find(" or false or ", 1, true)
end

local function unknown(key, kinds)
  local suggestion = require("operations.base.suggestion") -- late: few programs misspell
  local names = {}
  for name in pairs(kinds) do
    names[#names + 1] = name
  end
  table.sort(names)
  local near = suggestion.behind(tostring(key), names)
  return "unknown" .. near:gsub("^ %((.*)%)$", "; %1")
end

--- Raises "bad option 'key' to 'name' (...)" for an unknown option, or one whose Lua type is not the one in `kinds`.
---@param options table
---@param kinds table<string, string>  "number", "boolean or table", "string or false"
---@param name string  of the public function
---@param level? integer  as for `error`: the function up the stack that the error points at; default 3
function argument.options(options, kinds, name, level)
  for key, value in pairs(options) do
    local kind = kinds[key]
    if not is_kind(value, kind) then
      local what = kind and ("%s expected, got %s"):format(kind, type(value)) or unknown(key, kinds)
      error(("bad option '%s' to '%s' (%s)"):format(tostring(key), name, what), level or 3)
    end
  end
end

--- Raises when `value` is not an object that has `method`, for arguments that are identified by what they can do.
---@param value any
---@param method string
---@param kind string  readable: "call map"
---@param position integer
---@param name string  of the public function
---@param level? integer  as for `error`: the function up the stack that the error points at; default 3
function argument.object(value, method, kind, position, name, level)
  local ok, found = pcall(function()
    return value[method]
  end)
  if not ok or type(found) ~= "function" then
    error(("bad argument #%d to '%s' (%s expected, got %s)"):format(position, name, kind, type(value)), level or 3)
  end
end

return argument

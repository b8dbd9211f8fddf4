--- What the makers of this adapter are told: options are copied and checked; a wrong one is misuse and raises.
local options = {}

local transport = {
  http = { table = true }, timeout = { number = true }, ca_file = { string = true },
  proxy = { string = true, boolean = true }, public_only = { boolean = true },
}

--- Copies options and checks their names and types, those of the transport among them.
---@param name string  of the maker, for messages
---@param given any
---@param kinds table<string, table<string, true>>  option -> types
---@param needed string[]
---@param depth? integer  of calls between the maker and this
---@return table copy
function options.check(name, given, kinds, needed, depth)
  local function wrong(message, ...)
    error((name .. ": " .. message):format(...), 4 + (depth or 0))
  end
  if type(given) ~= "table" then
    wrong("options: expected a table, got %s", type(given))
  end
  local copy = {}
  for key, value in pairs(given) do
    local expected = kinds[key] or transport[key]
    if not expected then
      wrong("there is no option %q", tostring(key))
    elseif not expected[type(value)] then
      wrong("%s: unexpected %s", key, type(value))
    end
    copy[key] = value
  end
  for _, key in ipairs(needed) do
    if copy[key] == nil then
      wrong("the option %q is missing", key)
    end
  end
  return copy
end

--- Scopes as one text.
---@param scope string|string[]|nil
---@return string?
function options.scope(scope)
  return type(scope) == "table" and table.concat(scope, " ") or scope
end

return options

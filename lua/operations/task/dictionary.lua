--- Finds the shared dictionaries of nginx by name, for options that take a store. `ngx.shared.NAME` of a name that is
--- misspelt is nil, which an option cannot tell from an absent one.
local hosts = require("operations.hosts")

local dictionary = {}

--- The dictionary that an option names; other values are returned unchanged. A name of none raises.
---@param given any
---@param option string
---@param name string  of the public function
---@param level integer  of the caller's line
---@return any
function dictionary.of(given, option, name, level)
  if type(given) ~= "string" then
    return given
  end
  local host = hosts.current()
  local found = host.dictionary and host.dictionary(given)
  if not found then
    error(("bad option '%s' to '%s' (%s)"):format(option, name, host.dictionary
      and ("nginx has no lua_shared_dict %q"):format(given)
      or ("%q: only nginx has dictionaries with names"):format(given)), level + 1)
  end
  return found
end

return dictionary

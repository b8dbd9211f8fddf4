--- Misuse raises where it was written: one form for every message about a wrong argument.
local argument = {}

--- Raises "bad argument #position to 'name' (kind expected, got ...)" when `value` is not of the Lua type `kind`, at
--- the place that called the function which calls this one.
---@param value any
---@param kind string
---@param position integer
---@param name string  of the public function
function argument.expect(value, kind, position, name)
  if type(value) ~= kind then
    error(("bad argument #%d to '%s' (%s expected, got %s)"):format(position, name, kind, type(value)), 3)
  end
end

--- As `expect`, but nil will do.
function argument.optional(value, kind, position, name)
  if value ~= nil and type(value) ~= kind then
    error(("bad argument #%d to '%s' (%s expected, got %s)"):format(position, name, kind, type(value)), 3)
  end
end

return argument

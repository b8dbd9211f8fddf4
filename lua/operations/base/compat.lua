--- What differs between Lua 5.4 and LuaJIT, in one place.
-- luacheck: ignore 113 143
local compat = {}

compat.unpack = table.unpack or unpack

compat.pack = table.pack or function(...)
  return { n = select("#", ...), ... }
end

--- Can the running coroutine yield here?
---@type fun(): boolean
compat.yieldable = coroutine.isyieldable

local close, status = coroutine.close, coroutine.status

--- Closes a coroutine if it is suspended: its to-be-closed variables run (5.4; LuaJIT has none, and nginx's functions
--- for coroutines must not be called by finalizers).
---@type fun(co: thread): boolean, any
compat.close = close and function(co)
  if status(co) == "suspended" then
    return close(co)
  end
  return true
end or function()
  return true
end

--- Does a Lua function look at its n-th argument? A C function may.
---@param fn function
---@param n integer
---@return boolean
function compat.takes(fn, n)
  local info = debug.getinfo(fn, "u")
  return info.isvararg or info.nparams >= n
end

--- Makes a value whose collection calls `fn`, once. Keep it where the owner is kept, out of reach of `fn`.
---@param fn fun()
---@return any sentinel
function compat.finalizer(fn)
  if newproxy then
    local sentinel = newproxy(true)
    getmetatable(sentinel).__gc = fn
    return sentinel
  end
  return setmetatable({}, { __gc = fn })
end

return compat

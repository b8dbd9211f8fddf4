--- The differences between Lua 5.4 and LuaJIT, in one place.
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

local left = {} ---@type function[]  by finalizers, for later

local function run_left()
  while left[1] do
    table.remove(left, 1)()
  end
end

-- A hook (LuaJIT has one for all coroutines) runs what is left at the next instruction. Where the state is
-- closed before that, the second finalizer does.
local closing -- luacheck: ignore 231
local function run_soon()
  local hook, mask, count = debug.gethook()
  if hook == "external hook" then
    return run_left() -- it could not be set again
  end
  debug.sethook(function()
    debug.sethook(hook, mask, count)
    run_left()
  end, "", 1)
  closing = compat.finalizer(run_left)
end

--- Calls `fn` for a finalizer: at once on Lua 5.4, on LuaJIT as soon as the finalizer has returned. Inside of one, a
--- compiled loop over `pairs` takes its first exit for ever there: no trace is recorded that would lead on.
---@type fun(fn: fun())
compat.after_finalizer = newproxy and function(fn)
  left[#left + 1] = fn
  if #left == 1 then
    run_soon()
  end
end or function(fn)
  fn()
end

return compat

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

--- Closes a suspended coroutine: runs its to-be-closed variables (5.4; LuaJIT has none, and finalizers must not call
--- nginx's coroutine functions).
---@type fun(co: thread): boolean, any
compat.close = close and function(co)
  if status(co) == "suspended" then
    return close(co)
  end
  return true
end or function()
  return true
end

--- Has a Lua function an n-th parameter? True for C functions.
---@param fn function
---@param n integer
---@return boolean
function compat.takes(fn, n)
  local info = debug.getinfo(fn, "u")
  return info.isvararg or info.nparams >= n
end

--- Makes a value that calls `fn` once when it is collected. Keep it where the owner is kept; `fn` must not refer to it.
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

local hook_before, mask_before, count_before

local function on_step()
  debug.sethook(hook_before, mask_before, count_before)
  run_left()
end

-- A hook (LuaJIT has one for all coroutines) runs the remaining functions at the next instruction. It is set again if
-- other code has replaced it; code in C may have removed it, and then `debug.gethook` still returns it, with count 0. If
-- the state is closed before that, the second finalizer runs them.
local closing -- luacheck: ignore 231
local function run_soon()
  local hook, mask, count = debug.gethook()
  if hook == "external hook" then
    return run_left() -- the hook could not be set again
  elseif hook ~= on_step or count == 0 then
    if hook == on_step then
      hook = nil
    end
    hook_before, mask_before, count_before = hook, mask, count
    debug.sethook(on_step, "", 1)
    closing = compat.finalizer(run_left)
  end
end

--- Calls `fn` for a finalizer: at once on Lua 5.4, on LuaJIT as soon as the finalizer has returned. Inside a finalizer
--- of LuaJIT a compiled loop over `pairs` always takes its first exit, because no trace that continues it is recorded.
---@type fun(fn: fun())
compat.after_finalizer = newproxy and function(fn)
  left[#left + 1] = fn
  run_soon()
end or function(fn)
  fn()
end

return compat

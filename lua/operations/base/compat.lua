--- The differences between Lua 5.4 and LuaJIT, in one place.
-- luacheck: ignore 113 143
local compat = {}

compat.unpack = table.unpack or unpack

compat.pack = table.pack or function(...)
  return { n = select("#", ...), ... }
end

--- What `pcall` returns for `error(nil)`: Lua 5.5 has a text in place of nil.
compat.raised_nil = select(2, pcall(error))

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

--- Makes a value that calls `fn` once when it is collected. Keep it where the owner is kept; `fn` must not refer to it.
---@param fn fun()
---@return any sentinel
function compat.finalizer(fn)
  if rawget(_G, "newproxy") then
    local sentinel = newproxy(true)
    getmetatable(sentinel).__gc = fn
    return sentinel
  end
  return setmetatable({}, { __gc = fn })
end

--- Writes to a file at once. LuaJIT does not compile it: its compiled code repeats a write that failed, and the second
--- one succeeds, because the C library has dropped the bytes.
---@param file file*
---@param text string
---@return any ok
---@return string? message
function compat.write(file, text)
  local ok, message = file:write(text)
  if ok then
    ok, message = file:flush()
  end
  return ok, message
end

if jit then
  jit.off(compat.write)
end

local debug = rawget(_G, "debug") -- a program may have left it out
local library = debug and debug.getinfo(1, "S").source:match("^@.*[/\\]operations[/\\]")

-- Is a function the library's, or LuaJIT's own and written in Lua?
local function is_library(info)
  return info.what ~= "C" and (info.linedefined < 0 or library ~= nil and info.source:find(library, 1, true) == 1)
end

--- Has a finalizer, which calls this, interrupted the library or what it called? Then a loop that runs here may change
--- what the library looked at just before.
---@return boolean
function compat.has_interrupted_library()
  local level, interrupted = 2, false
  local info = debug and debug.getinfo(level, "nS")
  while info do
    if interrupted and is_library(info) then
      return true
    end
    interrupted = interrupted or info.name == "__gc" or info.what ~= "C" and not is_library(info)
    level = level + 1
    info = debug.getinfo(level, "nS")
  end
  return false
end

-- Functions that finalizers left for later. With LuaJIT's compiler a finalizer may run between any two instructions: it
-- adds a function in a single step, and never to the list that is being called.
local added, called, done = {}, {}, 0 ---@type function[], function[], integer
local add = table.insert

--- Calls these functions, in their order; also inside one of them.
function compat.run_left()
  while true do
    local fn = called[done + 1]
    if fn then
      done = done + 1
      called[done] = false
      fn()
    elseif added[1] then
      called, done = added, 0
      added = {}
    else
      return
    end
  end
end

--- Can `resume_raising` be used? A hook that a program in C has set could not be set again.
---@param co thread
---@return boolean
function compat.can_raise_in(co)
  return debug ~= nil and debug.gethook(co) ~= "external hook"
end

--- Resumes a suspended coroutine as `coroutine.resume` does: an error is raised in the function that yielded. Where
--- that is one of the library, which called `coroutine.yield` in place of a program's function, it gets nil and the
--- error.
---@param co thread
---@param raised any
---@return boolean ok
---@return any ...
function compat.resume_raising(co, raised)
  local hook, mask, count = debug.gethook(co)
  debug.sethook(co, function()
    if coroutine.running() == co then -- LuaJIT has one hook for all coroutines
      debug.sethook(co, hook, mask, count)
      if not is_library(debug.getinfo(2, "S")) then
        error(raised, 0)
      end
    end
  end, "", 1) -- called before the instruction that follows the yield
  return coroutine.resume(co, nil, raised)
end

local hook_before, mask_before, count_before

-- Called before each instruction; compiled code may return to the interpreter at any of them. Waits until a function of
-- the program runs: those of the library, and LuaJIT's own that are written in Lua (`table.remove`), may have changed
-- only half of a table.
local function on_step()
  if not is_library(debug.getinfo(2, "S")) then
    debug.sethook(hook_before, mask_before, count_before)
    compat.run_left()
  end
end

-- Runs the functions if the state is closed before anything else did. An earlier one is collected anywhere.
local closing
local function on_close(sentinel)
  if sentinel == closing then
    compat.run_left()
  end
end

-- A hook (LuaJIT has one for all coroutines) runs the functions as soon as code of the program runs. It is set again if
-- other code has replaced it; code in C may have removed it, and then `debug.gethook` still returns it, with count 0.
local function run_soon()
  if not debug then
    return -- the scheduler does
  end
  local hook, mask, count = debug.gethook()
  if hook == on_step and count > 0 then
    return
  elseif hook ~= "external hook" then -- that could not be set again
    if hook == on_step then
      hook = nil
    end
    hook_before, mask_before, count_before = hook, mask, count
    debug.sethook(on_step, "", 1)
  end
  closing = compat.finalizer(on_close)
end

--- Calls `fn` for a finalizer: at once on Lua 5.4; on LuaJIT when the finalizer has returned, as soon as code of the
--- program runs or the scheduler runs tasks. Inside a finalizer of LuaJIT a compiled loop over `pairs` always takes its
--- first exit, because no trace that continues it is recorded.
---@type fun(fn: fun())
compat.after_finalizer = rawget(_G, "newproxy") and function(fn)
  add(added, fn)
  run_soon()
end or function(fn)
  fn()
end

return compat

--- Plain Lua: the program's own main thread waits in the reactor.
local core = require("operations.core")
local reactor_loop = require("operations.hosts.reactor")
local system = require("operations.system")

local plain = {
  name = "plain",
  now = core.now,
  timer = reactor_loop.timer,
  start = reactor_loop.start,
}

-- Turn by turn: what happened is handed out, then the tasks that are ready run. A signal that is caught is raised
-- between two turns, when nothing is half done.
local function run(poll)
  system.raise_signal()
  local done, more = poll()
  while not done do
    if not reactor_loop.step(more and 0 or -1, nil, true) and not more then
      error("deadlock: every task waits, and nothing is left that could wake one", 0)
    end
    system.raise_signal()
    done, more = poll()
  end
end

--- Lets things happen until `poll()` is true. Raises when nothing can happen any more.
---@param poll fun(): boolean, boolean
function plain.block(poll)
  system.hold_signals(reactor_loop.gather, run, poll)
end

-- Would what is raised here be caught: by `pcall`, or by the prompt of an interactive interpreter?
local function is_caught()
  local level, source = 2, nil
  local info = debug.getinfo(level, "Sf")
  while info do
    if info.func == pcall or info.func == xpcall then
      return true
    end
    source, level = info.what == "main" and info.source or source, level + 1
    info = debug.getinfo(level, "Sf")
  end
  return source == "=stdin"
end

local function finish(ok, ...)
  local signal = system.interrupted()
  if signal and not is_caught() then
    os.exit(128 + signal, true) -- by the signal, in the end
  end
  system.release_signals()
  if not ok then
    error(..., 0)
  end
  return ...
end

--- Calls `fn(...)`; INT, TERM and HUP are raised in what it waits for. Where nothing catches that error, the process
--- ends as by the signal, once the state is closed. The handlers of before are restored.
---@param fn function
---@param ... any
---@return any ...  what `fn` returns
function plain.interruptible(fn, ...)
  if not system.catch_signals() then
    return fn(...) -- they are caught already
  end
  return finish(pcall(fn, ...))
end

return plain

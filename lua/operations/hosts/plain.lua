--- Plain Lua: the program's own main thread waits in the reactor.
local core = require("operations.core")
local errors = require("operations.base.error")
local hosts = require("operations.hosts")
local reactor_loop = require("operations.hosts.reactor")
local system = require("operations.system")

local plain = {
  name = "plain",
  now = core.now,
  timer = reactor_loop.timer,
  start = reactor_loop.start,
}

-- One turn after the other: handles events, then runs the tasks that are ready. A caught signal is raised between two
-- turns, when no work is half done.
local function run(poll)
  system.raise_signal()
  local done, more = poll()
  while not done do
    if not reactor_loop.step(more and 0 or -1, nil, true) and not more then
      error("deadlock: every task waits, and nothing can wake one", 0)
    end
    system.raise_signal()
    done, more = poll()
  end
end

local names = { [1] = "SIGHUP", [2] = "SIGINT", [15] = "SIGTERM" }

-- The error of a signal, for the text that was raised in its place.
local function interruption(raised)
  local signal = system.interrupted()
  if not signal or raised ~= "interrupted!" then
    return raised
  end
  local name = names[signal] or "signal " .. signal
  return errors.new("ABORTED", "interrupted by " .. name, { signal = name, number = signal, exitCode = 128 + signal })
end

--- Runs the loop until `poll()` is true. Raises when nothing can happen any more.
---@param poll fun(): boolean, boolean
function plain.block(poll)
  local ok, raised = pcall(system.hold_signals, reactor_loop.gather, run, poll)
  if not ok then
    error(interruption(raised), 0)
  end
end

-- Is an error raised here caught, by `pcall` or by the prompt of an interactive interpreter?
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
    os.exit(128 + signal, true) -- ends by the signal
  end
  system.release_signals()
  if not ok then
    error(interruption((...)), 0)
  end
  return ...
end

-- Signals are caught in a script, for which the interpreter sets the global `arg`, not in a program that embeds Lua.
local function wants_signals()
  if hosts.catches_signals ~= nil then
    return hosts.catches_signals
  end
  return type(rawget(_G, "arg")) == "table"
end

--- Calls `fn(...)`; INT, TERM and HUP are raised where it waits. If that error is not caught, the process ends as by
--- the signal once the state is closed. Restores the previous handlers.
---@param fn function
---@param ... any
---@return any ...  what `fn` returns
function plain.interruptible(fn, ...)
  if not wants_signals() or not system.catch_signals() then
    return fn(...) -- or they are caught already
  end
  return finish(pcall(fn, ...))
end

return plain

--- Neovim: its loop polls the reactor's descriptor and never blocks. Events are handled where `vim.api` may be called,
--- a few at a time, so that the editor draws and reads keys in between.
local core = require("operations.core")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local printable = require("operations.base.printable")
local reactor_loop = require("operations.hosts.reactor")

local uv = vim.uv or vim.loop

-- The longest time of a turn in ns.
local BUDGET = 2e6

-- ms per wait: Neovim 0.7 checks for Ctrl-C only at the end of one.
local SLICE = 200

local SIGTERM = 15

local poll, polled -- the handle, and its reactor
local run_tasks -- the scheduler's turn
local scheduled, busy = false, false
local dispatch

local nvim = { name = "nvim", now = core.now }

-- Runs a turn soon, where `vim.api` may be called.
local function wake()
  if not scheduled then
    scheduled = true
    vim.schedule(dispatch)
  end
end

-- Runs in a fast context. The descriptor stays readable, so it is polled again only after the turn.
local function on_readable()
  poll:stop()
  wake()
end

local function close_poll()
  if poll then
    poll:stop()
    poll:close()
    poll, polled = nil, nil
  end
end

local at_end -- the autocommand for the end of the editor

--- Ends everything: the poll before its descriptor.
function nvim.close()
  if at_end then
    pcall(vim.api.nvim_del_autocmd, at_end) -- it may be the one that is running
    at_end = nil
  end
  close_poll()
  reactor_loop.close()
end

-- The handles of running child processes.
local children = setmetatable({}, { __mode = "k" })

local function each_child(fn)
  for handle in pairs(children) do
    if handle:cancelled() then
      children[handle] = nil
    else
      fn(handle)
    end
  end
  return next(children) ~= nil
end

-- Processes events until no child runs, for `ms` at most. The editor's own loop no longer runs.
local function go_on(ms)
  local stop = uv.hrtime() + ms * 1e6
  local function expired()
    return uv.hrtime() >= stop
  end
  while next(children) and not expired() do
    local left = math.max(math.ceil((stop - uv.hrtime()) / 1e6), 0)
    local more = run_tasks and run_tasks(expired)
    reactor_loop.step(more and 0 or left)
  end
end

-- The editor ends: gives children time to save their data. Closing the reactor kills the rest.
local function leave()
  if each_child(function(handle) handle:close_input() end) then
    go_on(limits.nvim_close)
  end
  if each_child(function(handle) handle:finish(SIGTERM) end) then
    go_on(limits.nvim_term)
  end
  nvim.close()
end

local function watch_for_end()
  if not at_end and not vim.in_fast_event() then
    at_end = vim.api.nvim_create_autocmd("VimLeavePre", { once = true, desc = "operations", callback = leave })
  end
end

local function open_poll(reactor)
  close_poll()
  poll, polled = assert(uv.new_poll(reactor:fd())), reactor
  watch_for_end()
end

-- Makes the editor's loop report events from now on; `soon`: there is work already.
local function watch(soon)
  if not soon and not reactor_loop.active() and not reactor_loop.due() then
    return
  end
  local reactor = reactor_loop.get()
  if polled ~= reactor then
    open_poll(reactor)
  end
  reactor:flush(soon)
  poll:start("r", on_readable)
end

local function work()
  local stop = uv.hrtime() + BUDGET
  local function expired()
    return uv.hrtime() >= stop
  end
  return reactor_loop.turn(function()
    return run_tasks
  end, expired)
end

-- Runs during a turn only when a task makes the editor itself wait (`vim.wait`, `input`): the other tasks continue.
local function overtake()
  if busy then
    busy = false
    wake()
  end
end

function dispatch()
  scheduled = false
  if busy then
    return
  end
  busy = true
  vim.schedule(overtake)
  local ok, more = pcall(reactor_loop.gather, work)
  busy = false
  watch(not ok or more)
  if not ok then
    error(more, 0)
  end
end

-- Called after something was started outside a turn: makes the loop poll.
local function noticed(...)
  if not busy then
    wake()
  end
  return ...
end

--- A one-shot timer.
---@param ms number
---@param fn fun()
---@return fun() stop
function nvim.timer(ms, fn)
  return noticed(reactor_loop.timer(ms, fn))
end

local function start_child(options, on_event)
  watch_for_end()
  local handle, step, why
  handle, step, why = reactor_loop.start("process", options, function(event, ...)
    if event == "exit" and handle then
      children[handle] = nil
    end
    on_event(event, ...)
  end)
  if handle then
    children[handle] = true
  end
  return handle, step, why
end

--- Starts something in the reactor. When the editor ends, the stdin of child processes is closed; those that still run
--- 200 ms later get TERM, and KILL after another 250 ms.
---@param kind string
---@param options any
---@param on_event fun(kind: string, ...)
---@return operations.Handle
function nvim.start(kind, options, on_event)
  if kind == "process" then
    return noticed(start_child(options, on_event))
  end
  return noticed(reactor_loop.start(kind, options, on_event))
end

--- Called when tasks are ready to run.
---@param turn fun(expired: fun(): boolean): boolean
function nvim.schedule(turn)
  run_tasks = turn
  noticed()
end

--- Runs the editor's loop until `poll()` is true. Raises in a fast context, and when interrupted by Ctrl-C.
---@param poll_tasks fun(): boolean, boolean
function nvim.block(poll_tasks)
  if vim.in_fast_event() then
    error("cannot wait in a fast context such as a callback of vim.loop: use operations.spawn or vim.schedule", 0)
  end
  local saved = busy
  busy = false -- a task may wait here too: the turn that runs it continues inside
  wake()
  local ok, why
  repeat
    ok, why = vim.wait(SLICE, function()
      local done, more = poll_tasks()
      if more then
        wake()
      end
      return done
    end, SLICE)
  until ok or why == -2
  busy = saved
  if not ok then
    error(errors.new("ABORTED", "interrupted! (Outside a task the editor waits; inside "
      .. "operations.spawn(function() ... end) it does not.)"), 0)
  end
end

local shown = { warn = vim.log.levels.WARN, error = vim.log.levels.ERROR }

--- Shows warnings and errors by `vim.notify`; from a fast context a little later.
---@param level "debug"|"info"|"warn"|"error"
---@param message string
function nvim.log(level, message)
  if not shown[level] then
    return
  elseif vim.in_fast_event() then
    return vim.schedule(function()
      nvim.log(level, message)
    end)
  end
  vim.notify("operations: " .. printable.escaped(message), shown[level])
end

return nvim

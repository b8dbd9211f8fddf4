--- OpenResty, or nginx with its Lua module: tasks are light threads, waits are semaphores. Each worker has a pump, a
--- light thread that reads a socket: a thread in C (src/reactor/relay.h) sends it a byte when the reactor has work. All
--- other work happens on the worker's own thread. The pump starts with the first wait and ends when nothing is running.
local core = require("operations.core")
local coroutines = require("operations.hosts.openresty.coroutines")
local errors = require("operations.base.error")
local handover = require("operations.hosts.openresty.handover")
local http = require("operations.hosts.openresty.http")
local printable = require("operations.base.printable")
local reactor_loop = require("operations.hosts.reactor")
local semaphores = require("ngx.semaphore")
local worker = require("operations.hosts.openresty.worker")

local sleep_on = coroutines.sleep_on

-- The events handled at once; the waits served without returning to nginx's loop, which other requests need.
local EVENTS, INLINE = 32, 32
-- The pump ends after this many bytes without work, 250 ms apart.
local IDLE = 4
-- KiB collected when nothing happens. Waits of a killed light thread are cancelled when they are collected.
local GARBAGE = 1024
local FOREVER = 0x7fffffff -- ms

-- Phases whose light threads can start others.
local threaded = {
  rewrite = true, server_rewrite = true, access = true, content = true, timer = true,
  preread = true, ssl_cert = true, ssl_session_fetch = true,
}

local pump -- { relay, reactor } of the running pump
local turning = false -- the pump is handling events
local inline = 0
local parked = setmetatable({}, { __mode = "k" }) -- waits of sleeping light threads
local free = {} -- semaphores

local openresty = {
  name = "openresty", now = core.now, strands = coroutines.strands, take_over = handover.take_over,
  on_exit = worker.on_exit, serve_http = http.serve,
}

--- The number of worker processes.
---@return integer
function openresty.workers()
  return ngx.worker.count()
end

--- A shared dictionary by its name.
---@param name string
---@return table?
function openresty.dictionary(name)
  return ngx.shared[name]
end

--- Sets a variable of the running request that the configuration declares by `set`.
---@param name string
---@param value string
function openresty.set_variable(name, value)
  ngx.var[name] = value
end

local function take_semaphore()
  local semaphore = table.remove(free)
  return semaphore or assert(semaphores.new(0))
end

-- Raises an error in all waits, or only in those of tasks that belong to no request.
local function break_waits(raised, homeless_only)
  for wait in pairs(parked) do
    if not homeless_only or wait.homeless then
      wait.broken = raised
      wait:unpark()
    end
  end
end

local collected, behind = {}, 0 -- functions

-- A finalizer may run between two requests, when nginx still refers to a request that has ended, or when the process
-- ends. So it only queues the function.
function openresty.finalize(fn)
  behind = behind + 1
  collected[behind] = fn
end

local function run_collected(list)
  for i = 1, #list do
    local ok, raised = pcall(list[i])
    if not ok then
      ngx.log(ngx.ERR, "operations: a finalizer failed: ", tostring(raised))
    end
  end
end

-- Runs the queued functions of finalizers, in a light thread.
local function clean_up()
  local list = collected
  collected, behind = {}, 0
  worker.spawn(run_collected, list)
end

local function ending()
  return errors.new("ABORTED", "cannot wait: nginx's worker is ending")
end

-- Fails the waits when the pump broke down. If the worker ends late, nginx has closed its connections
-- (worker_shutdown_timeout).
local function broke_down(why)
  local over = ngx.worker.exiting()
  ngx.log(over and ngx.INFO or ngx.ERR, "operations: the reactor's relay: ", why)
  break_waits(over and ending() or "cannot wait: " .. why)
end

-- Is the pump needed?
local function needed()
  if not worker.begun() then
    return reactor_loop.active()
  elseif worker.is_over() then
    break_waits(ending(), true)
  end
  return next(parked) ~= nil
end

-- Handles events. They wake light threads, which run when the pump yields; what they start is then begun in one step.
local function take_in(let_others_run)
  local happened = reactor_loop.step(0, EVENTS)
  if happened > 0 then
    let_others_run()
    reactor_loop.step(0, EVENTS)
  end
  return happened > 0
end

local function turn(let_others_run)
  inline, turning = 0, true
  local happened = reactor_loop.gather(take_in, let_others_run)
  turning = false
  return happened
end

-- A posted semaphore wakes its thread after those posted before. (Debian's nginx has no sleep(0) for this.)
local function make_pause()
  local asked, answered = take_semaphore(), take_semaphore()
  local thread = ngx.thread.spawn(function()
    while true do
      sleep_on(asked)
      answered:post(1)
    end
  end)
  return function()
    asked:post(1)
    sleep_on(answered)
  end, thread
end

local function serve(relay, reactor, socket, pause)
  local idle = 0
  while true do
    local byte, err = socket:receive(1)
    if not byte then
      error(err, 0)
    end
    local happened = turn(pause)
    if needed() then
      idle = 0
      if not happened then
        collectgarbage("step", GARBAGE)
      end
      if behind > 0 then
        clean_up()
      end
    elseif worker.begun() then
      return
    else
      idle = happened and 0 or idle + 1
      if idle == IDLE then
        return
      end
    end
    reactor:flush()
    relay:acknowledge()
  end
end

local function run_pump(relay, reactor, port, token)
  local socket = ngx.socket.tcp()
  socket:settimeout(FOREVER)
  assert(socket:connect("127.0.0.1", port))
  assert(socket:send(token))
  local pause, thread = make_pause()
  local ok, err = pcall(serve, relay, reactor, socket, pause)
  ngx.thread.kill(thread)
  socket:close()
  if not ok then
    error(err, 0)
  end
end

local tidying = false -- a timer is set
local lasting, first = false, nil -- this Lua state serves several requests; `ngx.ctx` of the first

-- With `lua_code_cache off` each request has its own Lua state, which a timer would keep alive.
local function notice_request(phase)
  if phase == "init_worker" then
    lasting = true
  elseif phase ~= "timer" and phase ~= "init" then
    first = first or ngx.ctx
    lasting = first ~= ngx.ctx
  end
end

-- Idle connections do not keep the pump running: a timer closes them, unless another pump runs by then.
local function tidy_later(reactor)
  local due = reactor:usable() and reactor:due()
  if not due or tidying or not lasting then
    return
  end
  tidying = ngx.timer.at(due / 1000 + 0.001, function(premature)
    tidying = false
    if not premature and not pump and reactor_loop.get() == reactor then
      reactor_loop.step(0)
      tidy_later(reactor)
    end
  end)
end

local function start_pump(reactor)
  worker.expect()
  local relay, port, token = reactor:relay()
  if not relay then
    error("cannot wait: " .. port, 0)
  end
  local mine = { relay = relay, reactor = reactor }
  local ok, err = ngx.timer.at(0, function()
    local fine, why = pcall(run_pump, relay, reactor, port, token)
    relay:close()
    if pump == mine then
      pump = nil
      tidy_later(reactor)
    end
    if not fine then
      broke_down(why)
    end
  end)
  if not ok then
    relay:close()
    error(("cannot wait: ngx.timer.at: %s"):format(err), 0)
  end
  pump = mine
end

-- Starts the pump that polls the reactor of this process. A forked process has a reactor of its own.
local function attend()
  local reactor = reactor_loop.get()
  if not pump or pump.reactor ~= reactor then
    turning = false
    start_pump(reactor)
  end
  if not turning then
    reactor:flush()
  end
end

local function unpark(wait)
  wait.semaphore:post(1)
end

--- Suspends the running light thread until the wait is done.
---@param wait operations.Wait
function openresty.park(wait)
  if behind > 0 then
    clean_up()
  end
  if not turning and inline < INLINE then
    inline = inline + 1
    reactor_loop.step(0, EVENTS)
    if wait.done then
      return
    end
  end
  local phase = ngx.get_phase()
  wait.homeless = phase == "timer"
  if not lasting then
    notice_request(phase)
  end
  if wait.homeless and worker.is_over() then
    error(ending(), 0)
  end
  attend()
  wait.semaphore, wait.unpark = take_semaphore(), unpark
  parked[wait] = true
  local sleep = coroutines.sleeper()
  repeat
    sleep(wait.semaphore)
  until wait.done or wait.broken
  parked[wait], wait.unpark = nil, nil
  if wait.broken then
    error(wait.broken, 0)
  end
  free[#free + 1] = wait.semaphore -- the semaphore of a killed thread is not reused
end

-- Called after something was started, perhaps in a phase that cannot wait.
local function started(...)
  if not pump then
    attend()
  end
  return ...
end

--- A one-shot timer.
---@param ms number
---@param fn fun()
---@return fun() stop
function openresty.timer(ms, fn)
  return started(reactor_loop.timer(ms, fn))
end

--- Starts something in the reactor.
---@param kind string
---@param options any
---@param on_event fun(kind: string, ...)
---@return operations.Handle
function openresty.start(kind, options, on_event)
  return started(reactor_loop.start(kind, options, on_event))
end

--- Runs `fn(argument)` in a light thread of the running request; without a request, or when `detached` from it, in that
--- of a timer.
---@param fn function
---@param argument any
---@param detached? boolean
function openresty.spawn(fn, argument, detached)
  if detached or not threaded[ngx.get_phase()] then
    return worker.spawn(fn, argument)
  end
  local spawned, co = coroutines.own("operations.spawned"), coroutine.running()
  local ended = spawned[co] or {}
  spawned[co] = ended
  worker.reap(ended)
  local gate = take_semaphore()
  ngx.thread.spawn(function()
    sleep_on(gate) -- until the caller waits
    free[#free + 1] = gate
    fn(argument)
    ended[#ended + 1] = coroutine.running()
  end)
  gate:post(1)
end

local levels = { debug = ngx.DEBUG, info = ngx.INFO, warn = ngx.WARN, error = ngx.ERR }

--- Writes to nginx's error log; its level decides what is kept.
---@param level "debug"|"info"|"warn"|"error"
---@param message string
function openresty.log(level, message)
  ngx.log(levels[level], "operations: ", printable.message(message))
end

return openresty

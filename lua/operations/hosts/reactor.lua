--- The reactor for hosts: made on first use; passes events to the function given when a handle was started.
local limits = require("operations.base.limits")
local runtime = require("operations.base.runtime")

local reactor_loop = {}

local reactor

-- The defaults of HTTP requests, and the limits of all connections.
local function usual()
  return {
    connect_timeout = limits.connect_timeout,
    first_byte_timeout = limits.first_byte_timeout,
    idle_timeout = limits.idle_timeout, -- not of streams
    keep_alive = limits.keep_alive,
    connection_age = limits.connection_age,
    dns_cache = limits.dns_cache,
    idle_connections = limits.idle_connections,
    host_connections = limits.host_connections,
    connections = limits.http_connections,
    max_headers = limits.headers,
    max_body = limits.body, -- not of streams
    window = limits.window,
    decode = true,
  }
end

local function get()
  if not reactor or not reactor:usable() then
    -- Required late: programs that never wait do not load it.
    local made, why = require("operations.reactor").new(usual())
    if not made then
      error("cannot wait for anything: " .. why, 0)
    end
    reactor = made
  end
  return reactor
end
reactor_loop.get = get

local missing -- the error of the first attempt: LuaJIT reports it once

--- Loads the part that needs libcurl: more than half of the memory of a program that does without.
function reactor_loop.load_transfers()
  local loaded, why = runtime.optional("operations.transfer")
  if not loaded then
    missing = missing or tostring(why)
    error("HTTP and outgoing connections need libcurl (Debian's package libcurl4, others' libcurl): " .. missing, 0)
  end
end

---@class operations.Handle  of the reactor, with the methods of its kind
---@field cancel fun(self)
---@field owner fun(self): function?  its `on_event`

--- Starts something; its events go to `on_event`.
---@param kind "http"|"connect"|"listen"|"accept"|"process"
---@param options any
---@param on_event fun(kind: string, ...)
---@return operations.Handle handle  dropping it cancels the operation
function reactor_loop.start(kind, options, on_event)
  local r = get()
  local start = r[kind]
  if not start then
    reactor_loop.load_transfers()
    start = r[kind]
  end
  return start(r, options, on_event)
end

--- A one-shot timer.
---@param ms number
---@param fn fun()
---@return fun() stop  dropping it stops the timer too
function reactor_loop.timer(ms, fn)
  local handle = get():timer(ms, function()
    fn()
  end)
  return function()
    handle:cancel()
  end
end

--- Waits up to `timeout` ms (-1: no limit) for events and handles them.
---@param timeout integer
---@param limit? integer  of events; the rest stays pending
---@param gather? boolean  sends what is written from now on together, at the next step or at the end of `gather`; no
---  effect when no event can come
---@return integer? happened  the number of events; nil: none can come
function reactor_loop.step(timeout, limit, gather)
  local count, r = 0, reactor
  if not r then
    return not gather and 0 or nil
  elseif gather and not r:hold() then
    return nil
  end
  r:step(timeout)
  while count ~= limit do
    local on_event, kind, a, b, c, d = r:next_for()
    if not kind then
      break
    elseif on_event then
      on_event(kind, a, b, c, d)
    end
    count = count + 1
  end
  return count
end

local function let_go(ok, ...)
  if reactor and reactor:usable() then
    reactor:release()
  end
  if not ok then
    error(..., 0)
  end
  return ...
end

--- Runs `fn(...)`; small writes to streams are sent together, at its end or when the reactor steps.
---@param fn function
---@param ... any
---@return any ...  what `fn` returns
function reactor_loop.gather(fn, ...)
  if reactor and reactor:usable() then
    reactor:hold()
  end
  return let_go(pcall(fn, ...))
end

-- The number of events that are handled before other tasks run.
local EVENTS = 32

--- Handles events and runs the tasks that are ready, in turn, until nothing is left to do or `expired()`.
---@param scheduled fun(): operations.Turn?  the scheduler's turn; an event may bring the first task
---@param expired fun(): boolean
---@return boolean more  is something left to do?
function reactor_loop.turn(scheduled, expired)
  local more, ran = false, false
  repeat
    local happened = reactor_loop.step(0, EVENTS)
    local run_tasks = scheduled()
    if run_tasks then
      more, ran = run_tasks(expired)
    end
  until happened == 0 and not ran or expired()
  return more or reactor_loop.pending()
end

--- Are there events that were not handled?
---@return boolean
function reactor_loop.pending()
  return reactor ~= nil and reactor:usable() and reactor:pending()
end

--- Ends everything in the reactor; the next start makes a new one.
function reactor_loop.close()
  if reactor then
    reactor:close()
    reactor = nil
  end
end

--- Can events still come?
---@return boolean
function reactor_loop.active()
  return reactor ~= nil and reactor:inflight() > 0
end

--- When does the reactor have work without an event, such as closing idle connections?
---@return number?  ms from now
function reactor_loop.due()
  return reactor and reactor:usable() and reactor:due() or nil
end

return reactor_loop

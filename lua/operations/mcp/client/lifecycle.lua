--- The life of a client: connecting, connected, lost when the server ends, retrying until it is back, stopped and
--- restarted by the program.
local argument = require("operations.base.argument")
local members = require("operations.base.members")
local scheduler = require("operations.task.scheduler")
local sessions = require("operations.mcp.client.session")
local single_flight = require("operations.task.single_flight")
local task = require("operations.task")
local task_wait = require("operations.task.wait")
local waits = require("operations.mcp.client.waits")

--- "lost": nothing is planned, the next call may connect; "retrying": an attempt has failed, and others follow;
--- "stopped": by the program; "disabled": a server of a file that is not to start.
---@alias operations.mcp.State "connecting"|"connected"|"lost"|"retrying"|"stopped"|"disabled"

---@class operations.mcp.Client
local lifecycle = {}

-- Changes the state and notifies listeners.
function lifecycle:_enter(state, err)
  local is_new = self.state ~= state or (self.reason and self.reason.message) ~= (err and err.message)
  self.state, self.reason = state, err
  if is_new then
    if state ~= "connecting" then
      local waiting = self._waiting
      self._waiting = {}
      task_wait.wake(waiting)
    end
    self:_tell(self._observers, state, err)
  end
end

local function nothing() end

-- A new session for a client, which it does not keep alive. Events of the client's previous sessions are ignored.
local function new_session(self)
  local name, owner, session = self.name, setmetatable({ client = self }, { __mode = "v" }), nil
  local function current()
    local found = owner.client
    return found and found._session == session and found or nil
  end
  session = sessions.new(self._config, self._open, {
    owner = owner,
    -- Few stack frames: LuaJIT does not collect what they leave on the stack of a waiting listener.
    notified = function(method, params)
      local found = owner.client
      if found then
        (found._notified[method] or nothing)(found, params)
        found:_tell(found._listeners, method, params)
      end
    end,
    log = function(level, text, details)
      local found = owner.client
      if found then
        found._config.log(level, ("%s: %s"):format(name, text), details)
      end
    end,
    restarted = function()
      local found = current()
      if found then
        found._cache:forget()
        found:_resume()
        found:_refresh_later()
      end
    end,
    renew = function()
      local found = owner.client
      if found and found._renew then
        local again = found._renew()
        found._config = members.merged(found._config, again)
        return again
      end
    end,
    state = function(state, err)
      local found = current()
      if found and not found._closed and (state ~= "connected" or found._has_list) then
        found:_enter(state, err)
      end
    end,
  })
  return session
end

-- Ends the listeners of a collected client. A child process then ends by itself.
local function when_dropped(session)
  return scheduler.finalizer(function()
    if not session._ended then
      task.detach(session.close, session)
    end
  end)
end

--- Makes a session that is not connected yet.
function lifecycle:_prepare()
  self._closed, self._refreshing = false, single_flight.new() -- lists of another session are useless
  self._session, self._has_list = new_session(self), false
  self._sentinel = self._config.url and when_dropped(self._session)
  self._is_fresh = true
end

--- Connects and lists the server's tools.
---@return true?
---@return operations.Error? err
function lifecycle:_begin()
  if not self._is_fresh then
    self:_prepare()
  end
  self._is_fresh = false
  local ok, err = self._session:begin()
  if ok then
    ok, err = self:refresh()
  end
  if ok then
    self:_resume()
  end
  return ok and true, err
end

--- As `_begin`; after a failure the supervisor makes further attempts.
function lifecycle:_start()
  local ok, err = self:_begin()
  if not ok and not self._closed then
    self._session:expire(err) -- if only the list failed
  end
  return ok, err
end

local function restart(self)
  self._session:close()
  self._cache:forget()
  if self._renew then
    self._config = members.merged(self._config, self._renew())
  end
  return self:_start()
end

--- Connects again, after ending the connection if there is one; also for a closed client. Running calls fail, unless
--- they may be repeated; those that had not begun wait for the new connection.
--- Registries keep the server's operations meanwhile, and follow the new list; after a failure the operations fail with
--- its error until an attempt succeeds.
---@return true?
---@return operations.Error? err  as from `from_mcp.connect`
function lifecycle:restart()
  return self._restarting:run(function()
    return restart(self)
  end)
end

--- Calls a function when `client.state` changes. It must not wait.
---@param fn fun(state: operations.mcp.State, err: operations.Error?)  err: the reason for "lost" and "retrying"
function lifecycle:on_state(fn)
  argument.expect(fn, "function", 1, "on_state")
  table.insert(self._observers, fn)
end

--- Waits while the client is connecting: until its tools are listed, or the attempt has failed. Tools that are known
--- of an earlier list are enough.
---@param timeout? number  ms
---@param fresh? boolean  they are not: the server's own list is needed
---@return operations.mcp.State state  now
---@return operations.Error? err  the reason for "lost" and "retrying", or why the wait ended
function lifecycle:wait(timeout, fresh)
  argument.optional(timeout, "number", 1, "wait")
  if self.state ~= "connecting" or self.operations[1] and not fresh or timeout and timeout <= 0 then
    return self.state, self.reason
  end
  local failure = waits.woken(self._waiting, timeout)
  return self.state, failure or self.reason
end

local close_options = { keep = "boolean" }

-- Ends the connection; the client is in the given state then.
function lifecycle:_end(state, keeps)
  local was_closed = self._closed
  self._closed = true
  if not keeps then
    self:_publish({})
  end
  if not was_closed or self.state ~= state then
    self:_enter(state)
  end
  if not was_closed and self._session then
    self._session:close()
  end
  if self._stay then
    self._stay()
    self._stay = nil
  end
end

--- Ends the connection, and the server if it is a child process, and removes its operations from all registries; a
--- dropped client is closed when it is collected. Closing twice does nothing.
---@param options? { keep?: boolean }  keep: the operations stay registered, and fail
function lifecycle:close(options)
  argument.optional(options, "table", 1, "close")
  argument.options(options or {}, close_options, "close")
  self:_end("stopped", options and options.keep)
end

return lifecycle

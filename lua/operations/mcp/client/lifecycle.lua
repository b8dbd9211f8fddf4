--- The life of a client: connected, disconnected when the server ends, closed and restarted by the program.
local argument = require("operations.base.argument")
local members = require("operations.base.members")
local scheduler = require("operations.task.scheduler")
local sessions = require("operations.mcp.client.session")
local single_flight = require("operations.task.single_flight")
local task = require("operations.task")

---@alias operations.mcp.State "connecting"|"connected"|"disconnected"|"closed"

---@class operations.mcp.Client
local lifecycle = {}

-- Changes the state and notifies listeners.
function lifecycle:_enter(state, err)
  if self.state ~= state then
    self.state = state
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
    state = function(state, err)
      local found = current()
      if found and not found._closed then
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

--- Connects and lists the server's tools.
---@return true?
---@return operations.Error? err
function lifecycle:_begin()
  self._closed, self._refreshing = false, single_flight.new() -- lists of another session are useless
  self._session = new_session(self)
  self._sentinel = self._config.url and when_dropped(self._session)
  local ok, err = self._session:start()
  if ok then
    ok, err = self:refresh()
  end
  if ok then
    self:_resume()
  end
  return ok and true, err
end

local function restart(self)
  self._session:close()
  self._cache:forget()
  if self._renew then
    self._config = members.merged(self._config, self._renew())
  end
  local ok, err = self:_begin()
  if not ok and not self._closed then
    self._session:close(err)
    self:_enter("disconnected", err)
  end
  return ok, err
end

--- Connects again, after ending the connection if there is one; also for a closed client. Running calls fail.
--- Registries keep the server's operations meanwhile, and follow the new list; after a failure the operations fail with
--- its error until the next `restart`.
---@return true?
---@return operations.Error? err  as from `from_mcp.connect`
function lifecycle:restart()
  return self._restarting:run(function()
    return restart(self)
  end)
end

--- Calls a function when `client.state` changes. It must not wait.
---@param fn fun(state: operations.mcp.State, err: operations.Error?)  err: the reason for "disconnected"
function lifecycle:on_state(fn)
  argument.expect(fn, "function", 1, "on_state")
  table.insert(self._observers, fn)
end

local close_options = { keep = "boolean" }

--- Ends the connection, and the server if it is a child process, and removes its operations from all registries; a
--- dropped client is closed when it is collected. Closing twice does nothing.
---@param options? { keep?: boolean }  keep: the operations stay registered, and fail
function lifecycle:close(options)
  argument.optional(options, "table", 1, "close")
  argument.options(options or {}, close_options, "close")
  local was_closed = self._closed
  self._closed = true
  if not (options and options.keep) then
    self:_publish({})
  end
  if not was_closed then
    self:_enter("closed")
    self._session:close()
  end
end

return lifecycle

--- A connection on which messages go both ways in any order: requests wait for the answer with their id. The carrier of
--- the bytes (a process, an event stream) adds `_write`, which may wait, and `_offer` and `_post`, which may not; it
--- calls `take` and `lost`. What `_write` returns is "unread" when the peer cannot have read the text.
local errors = require("operations.base.error")
local mcp_failure = require("operations.mcp.protocol.failure")
local members = require("operations.base.members")
local message = require("operations.mcp.protocol.message")
local reader = require("operations.mcp.protocol.reader")
local scheduler = require("operations.task.scheduler")
local task_wait = require("operations.task.wait")
local waits = require("operations.mcp.client.waits")

local settle = task_wait.settle

local duplex = {}

---@class operations.mcp.LinkEvents
---@field message fun(message: operations.mcp.Message, kind: "request"|"notification")
---@field noise fun(what: string, came?: any)  invalid input, or an answer to no request
---@field watch? fun(way: "in"|"out", message: any)  called with all messages
---@field mended fun(warning: string)  a received text was repaired
---@field refused fun(answer: operations.mcp.Message)  the answer to an invalid request
---@field closed fun(err: operations.Error)
---@field expired? fun(err: operations.Error)  the server has ended the session

---@class operations.mcp.Duplex
---@field pending operations.mcp.Pending
---@field closed operations.Error|false
---@field expired boolean  the server has ended the session
---@field _over? boolean  the input has ended
local Duplex = {}
Duplex.__index = Duplex
duplex.methods = Duplex

--- Makes a class of connections with all common methods.
---@return table class
function duplex.class()
  local class = members.merged(Duplex)
  class.__index = class
  return class
end

--- Sets the fields of a connection in an object.
---@param self table
---@param events operations.mcp.LinkEvents
function duplex.init(self, events)
  local pending = waits.new()
  self.pending, self._events, self.closed, self.expired = pending, events, false, false
  self._deadlines = task_wait.deadlines(pending.entries, function(entry)
    pending:fail(entry.id, mcp_failure.new("timeout", "no answer in time"))
  end)
  return self
end

local function malformed(problem)
  return mcp_failure.new("malformed", "malformed response: " .. problem)
end

--- Shows a message to the program, if it watches.
---@param way "in"|"out"
---@param what any
function Duplex:show(way, what)
  if self._events.watch then
    self._events.watch(way, what)
  end
end

--- Handles one message.
---@param value any
function Duplex:accept(value)
  self:show("in", value)
  local kind, problem = message.kind(value)
  if kind == "answer" then
    local failure = value.error and message.id_of(value.id) == nil and mcp_failure.of_answer(value.error, "the server")
    if not (failure and self.pending:fail(nil, failure)) and not self.pending:answer(value) then
      self._events.noise("an answer without a waiting request")
    end
  elseif kind then
    self._events.message(value, kind)
  elseif message.is_noise(value) or value.method ~= nil or not self.pending:fail(value.id, malformed(problem)) then
    self._events.noise("no message: " .. problem, value)
    local refusal = message.refusal(value, problem)
    if refusal then
      self._events.refused(refusal)
    end
  end
end

-- A truncated text at the end answers nothing: the end fails the waiting requests.
function Duplex:_misread(err, text)
  local id = reader.id(text)
  if self._over or not (id and self.pending:fail(id, malformed(err.message))) then
    self._events.noise("no JSON: " .. err.message, text)
  end
end

--- Handles a received text: one message, or a batch.
---@param value any
---@param err? operations.Error  it is not JSON
---@param text? string  then
---@param warning? string  what was repaired
function Duplex:take(value, err, text, warning)
  if err then
    return self:_misread(err, text)
  elseif warning then
    self._events.mended(warning)
  end
  message.each(value, self.accept, self)
end

--- The connection is lost: fails the waiting requests. Later messages are ignored.
---@param err operations.Error
function Duplex:lost(err)
  if self.closed then
    return
  end
  self.closed = err
  self._events.closed(err)
  self.pending:fail_all(err)
  self._deadlines:stop()
end

-- Waits until the entry, which is its own wait, is answered; returns the error that interrupted the wait, if any.
local function follow(entry, on_progress)
  entry.wake = settle -- no effect while nothing waits
  while not entry.answered do
    entry.done = false
    local raised = scheduler.wait(entry)
    if raised ~= nil then
      return errors.is_error(raised) and raised or error(raised, 0)
    end
    local progress = entry.progress
    if progress then
      entry.progress = nil
      if on_progress then
        on_progress(progress)
      end
    end
  end
end

local function write(_, self, text)
  return self:_write(text)
end

--- Sends a request and waits for its answer.
---@param id integer
---@param method string
---@param params? table
---@param timeout number  ms, restarted by progress
---@param max number  ms, regardless of progress
---@param options operations.mcp.RequestOptions  `on_progress` is called in the waiting task
---@return operations.mcp.Message? answer
---@return operations.Error? err  TIMEOUT and ABORTED: the caller's time is up
function Duplex:exchange(id, method, params, timeout, max, options)
  if self.closed then
    return nil, mcp_failure.unsent(self.closed)
  end
  local text, err = message.request_text(id, method, params)
  if not text then
    return nil, err
  end
  self:show("out", text)
  local now, entry = scheduler.now(), self.pending:open(id, timeout, max)
  entry.last = now + max
  self._deadlines:watch(entry, now + (timeout < max and timeout or max))
  local sent = self:_offer(text)
  if not sent then
    sent, err = waits.within(entry, write, self, text)
  end
  if sent then
    err = follow(entry, options.on_progress)
  end
  local answer, failure = self.pending:close(entry, err)
  if sent == "unread" and failure == self.closed then
    return nil, mcp_failure.unsent(failure)
  end
  return answer, failure
end

--- Passes progress to its request; unread reports are replaced by the latest.
---@param token any
---@param params table
function Duplex:progress(token, params)
  local entry = self.pending:find(token)
  if not entry then
    return
  end
  entry.progress = params
  entry.limit = math.min(scheduler.now() + entry.timeout, entry.last)
  if entry.wake then
    entry:wake()
  end
end

--- Sends a text if that is possible without waiting.
---@return boolean sent
function Duplex._offer()
  return false
end

-- Encodes a message without an answer, and passes the text to a function of the connection.
local function hand(self, value, take)
  if self.closed then
    return nil, self.closed
  end
  local text, err = message.encode(value)
  if not text then
    return nil, err
  end
  self:show("out", text)
  return take(self, text)
end

--- Sends a message without an answer. Does not wait.
---@param value operations.mcp.Message
---@return true?
---@return operations.Error? err
function Duplex:send(value)
  return hand(self, value, self._post)
end

--- Sets the era and revision from here on; only some connections need it.
function Duplex.speak() end

--- Called when the handshake is over.
function Duplex.started() end

--- As `send`, but waits until the message is sent.
function Duplex:deliver(value)
  return hand(self, value, self._write)
end

--- Cancels a request and tells the server.
---@param id integer  the request's
---@param reason string
function Duplex:abandon(id, reason)
  self:send(message.notification("notifications/cancelled", { requestId = id, reason = reason }))
end

return duplex

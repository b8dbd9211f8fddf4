--- The Streamable HTTP transport (2025-03-26 to 2026-07-28): each message is a POST; the legacy era also has sessions,
--- and a stream for messages of the server.
local duplex = require("operations.mcp.client.duplex")
local errors = require("operations.base.error")
local mcp_failure = require("operations.mcp.protocol.failure")
local message = require("operations.mcp.protocol.message")
local outgoing = require("operations.mcp.client.outgoing")
local reply = require("operations.mcp.client.reply")
local requester = require("operations.mcp.client.requester")
local scheduler = require("operations.task.scheduler")
local task = require("operations.task")
local waits = require("operations.mcp.client.waits")

local http = {}

local ACCEPT = "application/json, text/event-stream"
local DELETE_TIMEOUT = 5000
local LISTEN_TIMEOUT = 1000

---@class operations.mcp.Http : operations.mcp.Duplex
local Http = duplex.class()

--- Makes a connection without sending anything.
---@param config operations.mcp.Config
---@param events operations.mcp.LinkEvents
---@return operations.mcp.Http
function http.open(config, events)
  return duplex.init(setmetatable({
    _config = config, _modern = true, _outgoing = outgoing.new(),
  }, Http), events)
end

--- Sets the era and revision from here on; none: the handshake begins.
function Http:speak(modern, version)
  self._modern, self._version = modern, version
  if modern or not version then
    self._session = nil
  end
end

-- Waits until the server's own stream is open, or some time has passed.
local function wait_for_listener(self)
  local stop
  scheduler.await(function(wake)
    self._on_listening = wake
    stop = scheduler.host().timer(LISTEN_TIMEOUT, wake)
    return stop
  end)
  self._on_listening = nil
  stop()
end

--- The handshake is over: listens for messages of the server. A server may drop a question without a stream for it, so
--- if questions can be answered, the stream is opened first.
function Http:started()
  local config = self._config
  self.expired = false
  if config.stream ~= false and not self._listener then
    self._listener = task.detach(reply.listen, self)
    if config.has_answers then
      wait_for_listener(self)
    end
  end
end

--- The headers that all requests share.
function Http:headers(accept)
  return {
    ["Accept"] = accept or ACCEPT, ["Content-Type"] = "application/json", ["Mcp-Session-Id"] = self._session,
    ["MCP-Protocol-Version"] = self._version,
  }
end

-- Interrupts a waiting request that was answered elsewhere, or failed.
local function interrupt(entry)
  local err = entry.err or errors.new("ABORTED", "the request was answered on another stream")
  scheduler.interrupt_strand(entry.strand, err)
end

local function exchange(extend, self, post, text)
  post.request = self._outgoing:request(self, post.method, post.params, post.options)
  local stream, err = requester.open(self._config, post.request, text)
  if stream then
    if post.method == "initialize" then
      self._session = stream.headers["mcp-session-id"]
    end
    post.stream, post.extend = stream, extend
    err = reply.take(self, post)
  end
  return nil, err
end

--- Sends a request and waits for its answer.
---@param id integer
---@param method string
---@param params? table
---@param timeout number  ms, restarted by progress
---@param max number  ms, regardless of progress
---@param options operations.mcp.RequestOptions
---@return operations.mcp.Message? answer
---@return operations.Error? err
function Http:exchange(id, method, params, timeout, max, options)
  if self.closed then
    return nil, mcp_failure.unsent(self.closed)
  end
  local text, failure = message.request_text(id, method, params)
  if not text then
    return nil, failure
  end
  self:show("out", text)
  local entry = self.pending:open(id, timeout, max)
  entry.wake = interrupt
  local post = { method = method, params = params, options = options, entry = entry }
  local _, err = waits.within(entry, exchange, self, post, text)
  return self.pending:close(entry, err)
end

local function accept(self, value, entry)
  if entry and type(value) == "table" and value.error ~= nil and message.id_of(value.id) == nil then
    value.id, entry.was_nameless = entry.id, true
  end
  self:accept(value)
end

--- Handles a text that answers a request, or precedes its answer. An error without an id belongs to that request.
---@param text string
---@param entry? operations.mcp.Entry
---@param status? integer
---@param headers? table  of an error status
function Http:receive(text, entry, status, headers)
  local decoded, err, warning = message.decode(text)
  if err then
    if entry and not headers then
      self.pending:fail(entry.id, mcp_failure.new("malformed", "malformed response: " .. err.message,
        { statusCode = status }))
    end
    return
  elseif warning then
    self._events.mended(warning)
  end
  message.each(decoded, accept, self, entry)
  if entry and entry.answer then
    entry.answer.status, entry.answer.headers = status, headers
  end
end

--- Progress is read in the waiting task.
function Http:progress(token, params)
  local entry = self.pending:find(token)
  if entry then
    entry.progress = params
  end
end

--- Sends a message without an answer, and waits until the server has it.
---@param value operations.mcp.Message
---@return true?
---@return operations.Error? err
function Http:deliver(value)
  local text, err = message.encode(value)
  if not text then
    return nil, err
  end
  self:show("out", text)
  local request = self._outgoing:request(self, value.method, value.params, {})
  return waits.at_most(self._config.timeout, requester.deliver, self._config, request, text, reply.LINGER)
end

--- As `deliver`, without waiting.
function Http:send(value)
  if self.closed then
    return nil, self.closed
  end
  task.detach(function()
    local ok, err = self:deliver(value)
    if not ok then
      self._events.noise(("%s was not delivered: %s"):format(value.method or "an answer", err.message))
    end
  end)
  return true
end

--- Cancels a request. In the modern era the server notices that its stream was closed.
function Http:abandon(id, reason)
  if not self._modern then
    duplex.methods.abandon(self, id, reason)
  end
end

-- Tells the server that the session is over; ignores failures.
local function delete_session(self)
  local request = { url = self._config.url, method = "DELETE", headers = self:headers() }
  local stream = waits.at_most(DELETE_TIMEOUT, requester.open, self._config, request)
  if stream then
    stream:close()
  end
end

--- Ends the connection and tells the server.
function Http:close()
  if self.closed then
    return
  end
  self.closed = mcp_failure.closed("the connection was closed")
  self.pending:fail_all(self.closed)
  if self._listener then
    self._listener:cancel("the connection was closed")
  end
  if self._session and not self._modern then
    local deleting = task.detach(delete_session, self)
    local ok, raised = pcall(deleting.wait, deleting)
    if not ok and not errors.is_error(raised) then -- a cancelled task does not wait for the server
      error(raised, 0)
    end
  end
end

return http

--- Reads the requests of a connection: heads, and bodies as their handlers ask for them.
local errors = require("operations.base.error")
local scheduler = require("operations.task.scheduler")
local waiting = require("operations.server.waiting")

local request_reader = {}

local unset = nil -- keeps room in a constructor; LuaJIT keeps none where `nil` is written
local DISCARDED = 65536 -- bytes of an unread body that are read and dropped to keep the connection

-- The parser's result for the bytes that have arrived; nil if it needs more.
local function read(self)
  if self._from > #self._bytes then
    return nil
  end
  local event, a, b
  event, self._from, a, b = self._parser:read(self._bytes, self._from)
  return event, a, b
end

local function fail(self, code, status, message)
  self._body_err = errors.new(code, message, { statusCode = status })
  return nil, self._body_err
end

-- The next piece of a body that has arrived, nil at the end of the body, false if more is needed.
local function piece_here(self)
  local event, a, b = read(self)
  if event == "body" then
    self._unread = not b
    return a ~= "" and a or b and nil
  elseif event == "end" then
    self._unread = false
    return nil
  elseif event == "error" then
    return fail(self, "VALIDATION_ERROR", a, b)
  end
  return false
end

-- Waits for more of a body; answers `Expect: 100-continue` first.
local function wait_for_body(self)
  if self._head.expects then
    self._head.expects = false
    self._stream:offer("HTTP/1.1 100 Continue\r\n\r\n", true)
  end
  self._now = false
  waiting.watch(self, self._options.body_timeout)
  local failure = waiting.await(self)
  waiting.unwatch(self)
  if self._ended then
    waiting.leave(self, "left")
  end
  if failure ~= nil then
    return (errors.from(failure))
  elseif self._expired then
    return select(2, fail(self, "TIMEOUT", 408, "the body of the request came too slowly"))
  end
end

-- The next piece of the body, nil at its end, nil and an error if it cannot be read.
local function read_body(self)
  local piece = self._piece
  if piece then
    self._piece = nil
    return piece
  end
  while self._unread and not self._body_err do
    local bytes, err = piece_here(self)
    if bytes ~= false then
      return bytes, err
    elseif self._ended then
      return fail(self, "ABORTED", 499, "the caller left before the end of the body")
    end
    err = wait_for_body(self)
    if err then
      return nil, err
    end
  end
  return nil, self._body_err
end

local function body_reader(self, request)
  return function()
    if self._request ~= request then
      return nil, errors.new("ABORTED", "the request was answered: its body cannot be read any more")
    end
    return read_body(self)
  end
end

--- Reads and drops the rest of a body that the handler did not read. Returns false if it is too long, takes longer than
--- `body_timeout`, or cannot be read.
---@param self operations.HttpConnection
---@return boolean
function request_reader.discard(self)
  local size, stop = 0, scheduler.host().now() + self._options.body_timeout
  repeat
    local piece, err = read_body(self)
    size = size + #(piece or "")
    if err or size > DISCARDED or scheduler.host().now() > stop then
      return false
    end
  until not piece
  return true
end

---@class operations.RequestHead  as the parser makes it
---@field method string
---@field target string
---@field headers table<string, string>
---@field keep_alive boolean  the sender wants to go on
---@field minor integer  of its version of HTTP/1
---@field expects boolean  the sender waits for "100 Continue"
---@field body string  what has come of it
---@field ended boolean  that is the whole body

local function make(self, head)
  if not self._met then
    self._met, self.peer.tls = true, self._stream:tls() or false
  end
  local request = {
    method = head.method, target = head.target, headers = head.headers, body = head.body, peer = self.peer,
    left = self.register,
    path = unset, is_local = unset, -- room for fields that are set later: growing a table costs more than a new one
  }
  self._request, self._head, self._unread, self._piece, self._body_err = request, head, false, nil, nil
  if not head.ended then
    self._unread, self._piece = true, head.body ~= "" and head.body or nil
    request.body = body_reader(self, request)
  end
  return request
end

-- A part of a head has arrived.
local function begin(self)
  if not self._begun then
    self._begun, self.idle = true, false
    if self._count > 0 then -- the limit of the first one began with the connection
      waiting.watch(self, self._options.head_timeout)
    end
  end
end

--- The next request, if its head has arrived.
---@param self operations.HttpConnection
---@return operations.ServerRequest?
---@return integer? status  of the answer to one that cannot be read
---@return string? reason
function request_reader.next(self)
  if self._from <= #self._bytes then
    local event, head, reason = read(self)
    if event == "head" and not self._ended then -- otherwise the caller has left
      self._begun, self._expired, self.idle, self.limit = false, false, false, false
      return make(self, head)
    elseif event == "error" then
      return nil, head, reason -- the status
    end
    begin(self)
  end
  if self._expired and self._begun then
    return nil, 408, "the head of the request came too slowly"
  end
end

--- Will there be no further request?
---@param self operations.HttpConnection
---@return boolean
function request_reader.is_over(self)
  return self._ended or self._expired or self._draining and not self._begun or false
end

return request_reader

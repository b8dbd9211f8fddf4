--- One exchange of request and answer, without redirects and retries: suspends the running task until an answer comes.
local core = require("operations.core")
local http_failure = require("operations.net.http.failure")
local http_stream = require("operations.net.http.stream")
local scheduler = require("operations.task.scheduler")
local task_wait = require("operations.task.wait")

local exchange = {}

local MAX_IDLE = 64 -- finished waits that are kept for reuse

local failure = http_failure.new

local function start(request, on_event)
  local host = scheduler.host()
  if not host.start then
    error(("the host '%s' has no HTTP"):format(host.name), 0)
  end
  return host.start("http", request, on_event)
end

local function begin(request)
  local self = http_stream.new(request)
  local kind, why
  self._handle, kind, why = start(request, function(...)
    http_stream.on_event(self, ...)
  end)
  if not self._handle then
    return nil, failure(request, kind, why)
  end
  return self
end

-- Sets the phases of a timed request.
local function note(request, handle)
  if request.timed and handle then
    request.phases = { handle:phases() }
  end
end

-- Sends a request whose body comes in pieces, until the head of its answer, or the whole answer, has come.
local function send_pieces(request, whole)
  local self, err = begin(request)
  while self and not self._ended and (whole or not self.status) do
    err = http_stream.advance(self)
    if err then
      return nil, err
    end
  end
  if self then
    note(request, self._handle)
  end
  if not self or self._failure and (whole or not self.status) then
    return nil, err or self._failure
  end
  return self
end

-- Waits of finished requests, kept with their fields for reuse.
local idle, idle_count = {}, 0

-- Starts the request of a wait; the reactor limits the time left.
local function begin_wait(wait, left)
  local request = wait.request
  request.handle, request.deadline = wait.handle, left
  local handle, kind, why = start(request, wait.on_event)
  if handle then
    wait.handle = handle
  else
    wait[1], wait[2], wait[3], wait[4], wait[5], wait.done = "error", kind, why, nil, nil, true
  end
end

local function cancel(wait)
  wait.handle:cancel()
end

local function new_wait()
  local wait = task_wait.new()
  wait.start, wait.cancel = begin_wait, cancel
  wait.on_event = function(kind, a, b, c, d)
    if wait.stream then
      return http_stream.on_event(wait.stream, kind, a, b, c) -- of a stream that was returned, or will be
    elseif kind == "head" then
      local stream = http_stream.new(wait.request)
      stream.status, stream.headers, stream._handle, wait.stream = a, core.http_fields(b), wait.handle, stream
    end
    wait[1], wait[2], wait[3], wait[4], wait[5] = kind, a, b, c, d
    if not wait.done then
      task_wait.settle(wait)
    end
  end
  return wait
end

local function give_back(wait)
  wait[3], wait[4] = nil, nil
  if idle_count < MAX_IDLE then
    wait.request = nil
    idle_count = idle_count + 1
    idle[idle_count] = wait
  end
end

-- Waits for the first event of a request; returns the wait, or nil and the error.
local function send(request)
  local wait = idle[idle_count]
  if wait then
    idle[idle_count], idle_count = nil, idle_count - 1
  else
    wait = new_wait()
  end
  wait.request, wait.done, wait.task = request, false, nil
  local raised = scheduler.wait(wait)
  note(request, wait.handle)
  if raised ~= nil then
    return nil, http_failure.interrupted(request, raised)
  elseif wait[1] == "error" then
    return nil, failure(request, wait[2], wait[3], wait[4])
  end
  return wait
end

--- Sends a request and waits for the whole answer.
---@param request table
---@return operations.HttpResponse?
---@return operations.Error? err
function exchange.run(request)
  if request.source then
    local answer, err = send_pieces(request, true)
    return answer and { status = answer.status, headers = answer.headers, body = answer._body, url = request.url }, err
  end
  local wait, err = send(request)
  if not wait then
    return nil, err
  end
  local response = { status = wait[2], headers = core.http_fields(wait[3]), body = wait[4], url = request.url }
  give_back(wait)
  return response
end

--- Sends a request and waits for the head of its answer.
---@param request table  as `http_message.prepare` makes it
---@return operations.HttpStream?
---@return operations.Error? err
function exchange.open(request)
  if request.source then
    return send_pieces(request, false)
  end
  local wait, err = send(request)
  if not wait then
    return nil, err
  end
  local stream = wait.stream
  if not stream then
    stream = http_stream.whole(request.url, wait[2], wait[3], wait[4], wait[5])
    give_back(wait)
  end
  return stream
end

return exchange

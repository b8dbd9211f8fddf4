--- Sends requests: suspends the running task until an answer comes, follows redirects, retries, handles the cookies of
--- a jar. Requests that share most of their options share a sender, which checks these once.
local core = require("operations.core")
local http_failure = require("operations.net.http.failure")
local http_stream = require("operations.net.http.stream")
local members = require("operations.base.members")
local message = require("operations.net.http.message")
local number_text = require("operations.base.number_text")
local redirect = require("operations.net.http.redirect")
local retry = require("operations.net.http.retry")
local scheduler = require("operations.task.scheduler")
local task_wait = require("operations.task.wait")
local trace = require("operations.net.http.trace")

local sender = {}

local failure = http_failure.new

local MAX_IDLE = 64 -- finished waits that are kept for reuse

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

-- The two ways of one exchange, without redirects and retries: until the whole answer has come, or its head.

local whole = trace.step(function(request)
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
end)

local head = trace.step(function(request)
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
end)

-- The time left for a request; nil without a limit of its own.
local function left(deadline)
  return deadline and deadline - scheduler.now()
end

-- Runs `step` again, on a connection of its own, for a request that was lost with a shared one and may be sent twice.
local function step_again(request, step, deadline, err)
  request.timeout, request.fresh = left(deadline), true
  if deadline and request.timeout <= 0 then
    return nil, err
  end
  local again, problem = step(request)
  -- A server that speaks only HTTP/2 ends the handshake of the second connection.
  if problem and problem.details and problem.details.kind == "tls" then
    return nil, err
  end
  return again, problem
end

-- Runs `step`, stores the answer's cookies in the jar, and follows redirects.
local function follow(request, step, deadline)
  local redirected = 0
  while true do
    local answer, err = step(request)
    if not answer and not request.once and http_failure.is_stale(err) then
      answer, err = step_again(request, step, deadline, err)
    end
    if not answer then
      return nil, err
    end
    local cookies = request.options.jar
    if cookies then
      cookies:store(request.url, answer.headers.setCookie)
    end
    local target = answer.status >= 300 and redirect.target(request, answer)
    if not target then
      return answer
    elseif answer.close then
      answer:close()
    end
    local problem
    if redirected >= redirect.most(request) then
      return nil, failure(request, "redirect", ("more than %s redirects"):format(number_text.of(redirected)))
    end
    redirected, request.timeout = redirected + 1, left(deadline)
    request, problem = redirect.follow(request, answer.status, target)
    if problem then
      return nil, failure(request, "redirect", problem)
    elseif deadline and request.timeout <= 0 then
      return nil, failure(request, "timeout", "the time expired after a redirect", "total")
    end
  end
end

-- Waits, unless the time of the request or task would expire first.
local function pause(request, delay, deadline)
  local host = scheduler.host()
  local limit = scheduler.deadline_of(scheduler.here())
  local wake_at = host.now() + delay
  if (deadline and wake_at >= deadline) or (limit and wake_at >= limit) then
    return false
  end
  local raised = scheduler.try_await(function(wake)
    return host.timer(delay, wake)
  end)
  if raised ~= nil then
    return false, http_failure.interrupted(request, raised)
  end
  return true
end

local function try(request, step, policy, deadline, before)
  local tries = 0
  while true do
    local answer, err = follow(request, step, deadline)
    tries = tries + 1
    local delay = retry.delay(policy, tries, request, answer, err)
    if not delay then
      if answer then
        answer.attempts = tries
      end
      return answer, err
    end
    trace.retry(request, delay, tries)
    local waited, interruption = pause(request, delay, deadline)
    if interruption then
      return nil, interruption
    elseif not waited then
      return answer, err
    elseif answer and answer.close then
      answer:close()
    end
    local refusal = before and before()
    if refusal then
      return nil, refusal
    end
    request.timeout = left(deadline)
  end
end

local function run(request, policy, step, before)
  local deadline = request.timeout and scheduler.now() + request.timeout
  if policy then
    return try(request, step, policy, deadline, before)
  end
  return follow(request, step, deadline)
end

--- Sends a request and waits for its answer.
---@param options operations.HttpRequest
---@param stream boolean  waits for the head only
---@return operations.HttpResponse|operations.HttpStream|nil
---@return operations.Error? err
function sender.send(options, stream)
  local request, problem = message.prepare(options, stream)
  if problem then
    return nil, failure(request, "request", problem)
  end
  return run(request, retry.policy(options.retry), stream and head or whole)
end

---@class operations.HttpSender
---@field send fun(self, own: operations.HttpOwn): operations.HttpResponse|operations.HttpStream|nil, operations.Error?
local Sender = {}
Sender.__index = Sender

---@class operations.HttpOwn  the request's own parts; must not be changed afterwards
---@field url? string
---@field headers? table<string, string|number|string[]>  instead of all headers of the sender
---@field body? string|fun(): string?|{ read: function }
---@field body_size? integer
---@field cert_file? string  likewise `key_file`, `key_password`
---@field before? fun(): operations.Error?  called before the request is repeated; an error ends it

function Sender:send(own)
  local before = own.before
  own.before = nil
  if self._problem or own.cert_file then
    return sender.send(members.merged(self._options, own), self._stream)
  end
  local request, problem = message.vary(self._request, self._names, own)
  if problem then
    return nil, failure(request, "request", problem)
  end
  return run(request, self._policy, self._step, before)
end

-- A sender with a program's own HTTP client.
local Foreign = {}
Foreign.__index = Foreign

function Foreign:send(own)
  own.before = nil -- the program's client has its own way to repeat
  local options = members.merged(self._options, own)
  options.headers = members.merged(options.headers)
  return self._client[self._method](options)
end

--- Makes a sender. `send` reports errors in its options; misuse raises.
---@param options operations.HttpRequest  without a body; must not be changed afterwards
---@param stream boolean  waits for heads only
---@param client? table  `request(options)`, `open(options)`; default: ours
---@return operations.HttpSender
function sender.new(options, stream, client)
  if client and client ~= package.loaded["operations.net.http"] then
    return setmetatable({ _client = client, _method = stream and "open" or "request", _options = options }, Foreign)
  end
  local request, problem = message.prepare(options, stream)
  return setmetatable({
    _options = options, _request = request, _names = members.names(request), _problem = problem,
    _policy = retry.policy(options.retry), _stream = stream, _step = stream and head or whole,
  }, Sender)
end

return sender

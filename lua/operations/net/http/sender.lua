--- Sends requests: follows redirects, retries, handles the cookies of a jar. Requests that share most of their options
--- share a sender, which checks these once.
local exchange = require("operations.net.http.exchange")
local http_failure = require("operations.net.http.failure")
local members = require("operations.base.members")
local message = require("operations.net.http.message")
local number_text = require("operations.base.number_text")
local redirect = require("operations.net.http.redirect")
local retry = require("operations.net.http.retry")
local scheduler = require("operations.task.scheduler")
local trace = require("operations.net.http.trace")

local sender = {}

local failure = http_failure.new

-- The time left for a request; nil without a limit of its own.
local function left(deadline)
  return deadline and deadline - scheduler.host().now()
end

-- Returns the results of `step`. If the request was lost with a shared connection and may be sent twice, runs `step`
-- again, on a connection of its own.
local function step_again(request, step, deadline, answer, err)
  if answer or request.once or not http_failure.is_stale(err) then
    return answer, err
  end
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

-- As `step_again`; also stores the answer's cookies in the jar.
local function keep(request, step, deadline, ...)
  local answer, err = step_again(request, step, deadline, ...)
  local cookies = request.options.jar
  if answer and cookies then
    cookies:store(request.url, answer.headers.setCookie)
  end
  return answer, err
end

-- Takes the results of `step`, and follows redirects.
local function follow(request, step, deadline, answer, err)
  local redirects = message.redirects(request)
  for hop = 0, redirects do
    answer, err = keep(request, step, deadline, answer, err)
    if not answer then
      return nil, err
    end
    local target = redirect.target(request, answer)
    if not target then
      return answer
    elseif answer.close then
      answer:close()
    end
    if hop == redirects then
      break
    end
    local problem
    request.timeout = left(deadline)
    request, problem = redirect.follow(request, answer.status, target)
    if problem then
      return nil, failure(request, "redirect", problem)
    elseif deadline and request.timeout <= 0 then
      return nil, failure(request, "timeout", "the time expired after a redirect", "total")
    end
    answer, err = step(request)
  end
  return nil, failure(request, "redirect", ("more than %s redirects"):format(number_text.of(redirects)))
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
    local answer, err = follow(request, step, deadline, step(request))
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
  step = trace.step(step)
  local deadline = request.timeout and scheduler.host().now() + request.timeout
  if policy then
    return try(request, step, policy, deadline, before)
  end
  return follow(request, step, deadline, step(request))
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
  return run(request, retry.policy(options.retry), stream and exchange.open or exchange.run)
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
  local request, problem = message.vary(self._request, own)
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
    _options = options, _request = request, _problem = problem, _policy = retry.policy(options.retry),
    _stream = stream, _step = stream and exchange.open or exchange.run,
  }, Sender)
end

return sender

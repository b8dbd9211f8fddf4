--- An HTTP client in direct style: a call suspends the running task until the answer is there. libcurl does the work
--- in the reactor; what it must never see (broken headers, other schemes) is refused here.
local exchange = require("operations.net.http.exchange")
local http_failure = require("operations.net.http.failure")
local jar = require("operations.net.http.jar")
local limits = require("operations.base.limits")
local message = require("operations.net.http.message")
local redirect = require("operations.net.http.redirect")
local retry = require("operations.net.http.retry")
local scheduler = require("operations.task.scheduler")

---@class operations.http
local http = { jar = jar.new, retry_after = retry.after, limits = limits }

local failure = http_failure.new

---@class operations.HttpRequest
---@field url string  http or https
---@field method? string  "GET" when absent
---@field headers? table<string, string|number|string[]>
---@field body? string|fun(): string?|{ read: function }  a function is called, a reader read, whenever the connection
---  takes more, until nil; such a body cannot be sent a second time
---@field body_size? integer  bytes that a function or reader will give; without it they go in chunks
---@field timeout? number  ms for everything, redirects and retries included; 0 or absent: none
---@field connect_timeout? number  ms
---@field first_byte_timeout? number  ms until the headers are there, from when the body is on its way
---@field idle_timeout? number  ms between two pieces of the answer's body, while somebody reads; 0: any; of a stream:
---  any when absent
---@field max_body? integer  bytes, after decompression; of a stream: no limit when absent
---@field max_headers? integer  bytes
---@field redirects? integer  how many to follow; 0: none
---@field redirect_all? boolean  follow for other methods than GET and HEAD: 301 and 302 make a POST a GET, 303 makes
---  all one, 307 and 308 send method and body again
---@field credentials? string[]  headers that, like Authorization and Cookie, stay at the origin they were meant for
---@field query_credentials? string[]  parameters of the query that do so too, when a server redirects with them
---@field idempotent? boolean  may be sent twice, whatever its method: over another connection when one that served
---  others is lost; by `retry`
---@field retry? boolean|operations.RetryPolicy  try idempotent requests again; off when absent
---@field jar? operations.CookieJar  from `http.jar()`; cookies are ignored without one
---@field ca_file? string  certificates to trust instead of the system's
---@field cert_file? string  our own certificate, PEM; with the key in it, or in `key_file`, which `key_password` opens
---@field key_file? string
---@field key_password? string
---@field proxy? string|false  URL; false: none; when absent the environment's (`http_proxy`, `https_proxy`, `no_proxy`)
---@field public_only? boolean  connect to addresses of the public internet only, on every redirect too
---@field window? integer  unread bytes at which a stream's sender is held back
---@field userinfo? boolean  accept a user and password in the URL

---@class operations.HttpResponse
---@field status integer
---@field headers table  lower-case names, joined by ", "; cookies are an array under `setCookie`
---@field body string
---@field url string  the last one, after redirects

-- The time that is left for a request; nil when it has none to itself.
local function left(deadline)
  return deadline and deadline - scheduler.host().now()
end

-- What `step` gave; when the request was lost with a connection that served others too, and may be sent twice, what it
-- gives a second time, over one of its own.
local function step_again(request, step, deadline, answer, err)
  if answer or request.once or not http_failure.is_stale(err) then
    return answer, err
  end
  request.timeout, request.fresh = left(deadline), true
  if deadline and request.timeout <= 0 then
    return nil, err
  end
  return step(request)
end

-- The same, and what the jar wants of its answer.
local function keep(request, step, deadline, ...)
  local answer, err = step_again(request, step, deadline, ...)
  local cookies = request.options.jar
  if answer and cookies then
    cookies:store(request.url, answer.headers.setCookie)
  end
  return answer, err
end

-- Takes what `step` gave of the request, and goes on where answers redirect to.
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
      return nil, failure(request, "timeout", "the time was up after a redirect", "total")
    end
    answer, err = step(request)
  end
  return nil, failure(request, "redirect", ("more than %g redirects"):format(redirects))
end

-- Runs `step` on the request and on where its answers redirect to.
local function complete(request, step, deadline)
  local answer, err = step(request)
  if answer and not redirect.statuses[answer.status] and not request.options.jar then
    return answer -- as most are
  end
  return follow(request, step, deadline, answer, err)
end

-- Waits, unless the request's or the task's time would be up by then.
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

local function try(request, step, policy, deadline)
  local tries = 0
  while true do
    local answer, err = complete(request, step, deadline)
    tries = tries + 1
    local delay = retry.delay(policy, tries, answer, err)
    if not delay then
      return answer, err
    end
    local waited, interruption = pause(request, delay, deadline)
    if interruption then
      return nil, interruption
    elseif not waited then
      return answer, err
    elseif answer and answer.close then
      answer:close()
    end
    request.timeout = left(deadline)
  end
end

local function run(options, step, stream)
  local request, problem = message.prepare(options, stream)
  if problem then
    return nil, failure(request, "request", problem)
  end
  local policy = options.retry and retry.policy(options.retry)
  local deadline = request.timeout and scheduler.host().now() + request.timeout
  if policy and not request.once then
    return try(request, step, policy, deadline)
  end
  return complete(request, step, deadline)
end

--- Sends a request and waits for the whole answer. Any status is an answer; a failure is one of the exchange itself:
--- TIMEOUT, ABORTED or EXECUTION_ERROR with `details.kind` "dns", "connect", "tls", "timeout", "reset", "truncated",
--- "size", "encoding", "protocol", "redirect", "request", "body", "memory" or "aborted"; a timeout's `details.phase`
--- is "connect", "first_byte", "idle", "total" or "deadline" (the task's), a reset's "reused" when the connection was.
---@param options operations.HttpRequest
---@return operations.HttpResponse?
---@return operations.Error? err
function http.request(options)
  return run(options, exchange.run, false)
end

--- Sends a request and waits for the head of the answer; the body is read with `stream:read()` as it comes.
---@param options operations.HttpRequest
---@return operations.HttpStream?  dropping it closes it
---@return operations.Error? err  as of `request`
function http.open(options)
  return run(options, exchange.open, true)
end

return http

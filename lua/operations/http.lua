--- An HTTP client in direct style: a call suspends the running task until the answer is there. libcurl does the work
--- in the reactor; what it must never see (broken headers, other schemes) is refused here.
local errors = require("operations.error")
local limits = require("operations.limits")
local message = require("operations.http_message")
local scheduler = require("operations.scheduler")
local url = require("operations.url")

local http = {}

---@class operations.HttpRequest
---@field url string  http or https
---@field method? string  "GET" when absent
---@field headers? table<string, string|number|string[]>
---@field body? string
---@field timeout? number  ms for everything; none when absent
---@field connect_timeout? number  ms
---@field first_byte_timeout? number  ms until the headers are there
---@field max_body? integer  bytes, after decompression; of a stream: no limit when absent
---@field max_headers? integer  bytes
---@field redirects? integer  how many to follow (GET and HEAD only); 0: none
---@field credentials? string[]  headers that, like Authorization and Cookie, stay at the origin they were meant for
---@field ca_file? string  certificates to trust instead of the system's
---@field window? integer  unread bytes at which a stream's sender is held back
---@field userinfo? boolean  accept a user and password in the URL

---@class operations.HttpResponse
---@field status integer
---@field headers table  lower-case names, joined by ", "; cookies are an array under `setCookie`
---@field body string
---@field url string  the last one, after redirects

local function failure(request, kind, text)
  local code = kind == "timeout" and "TIMEOUT" or kind == "aborted" and "ABORTED" or "EXECUTION_ERROR"
  local shown = url.redact(request.url)
  return errors.new(code, ("%s %s: %s"):format(request.method, shown, text), {
    kind = kind,
    method = request.method,
    url = shown,
  })
end

-- What interrupted a wait, as the request's failure; an error that is not ours stays itself.
local function interrupted(request, raised)
  if not errors.is_error(raised) then
    error(raised, 0)
  elseif raised.code == "TIMEOUT" then
    return failure(request, "timeout", raised.message)
  elseif raised.code == "ABORTED" then
    return failure(request, "aborted", raised.message)
  end
  return raised
end

local function start(request, on_event)
  local host = scheduler.host()
  if not host.start then
    error(("the host '%s' has no HTTP"):format(host.name), 0)
  end
  return host.start("http", request, on_event)
end

-- One exchange, without redirects: the answer or nil and the failure.
local function exchange(request)
  local raised, kind, a, b, c = scheduler.try_await(function(wake)
    local handle, refused, why = start(request, wake)
    if not handle then
      wake("error", refused, why)
      return
    end
    return function()
      handle:cancel()
    end
  end)
  if raised ~= nil then
    return nil, interrupted(request, raised)
  elseif kind == "error" then
    return nil, failure(request, a, b)
  end
  return { status = a, headers = b, body = c, url = request.url }
end

---@class operations.HttpStream
---@field status integer
---@field headers table
---@field url string
local Stream = {}
Stream.__index = Stream
Stream.__name = "operations.http_stream"

local function on_event(self, kind, a, b)
  if kind == "head" then
    self.status, self.headers = a, b
  elseif kind == "done" then
    self._ended = true
  elseif kind == "error" then
    self._ended, self._failure = true, failure(self._request, a, b)
  end
  local wake = self._wake
  self._wake = nil
  if wake then
    wake()
  end
end

-- Waits for the next event; nil, or what interrupted.
local function next_event(self)
  local raised = scheduler.try_await(function(wake)
    self._wake = wake
    return function()
      self._wake = nil
      self:close()
    end
  end)
  if raised ~= nil then
    self:close()
    return interrupted(self._request, raised)
  end
end

local function open(request)
  local self = setmetatable({ _request = request, url = request.url }, Stream)
  local kind, why
  self._handle, kind, why = start(request, function(...)
    on_event(self, ...)
  end)
  if not self._handle then
    return nil, failure(request, kind, why)
  end
  while not self.status and not self._ended do
    local err = next_event(self)
    if err then
      return nil, err
    end
  end
  if self._failure and not self.status then
    return nil, self._failure
  end
  return self
end

--- The next bytes of the body, as soon as some are there. What is not read holds the sender back.
---@return string? chunk  never empty; nil at the end
---@return operations.Error? err
function Stream:read()
  if self._wake then
    error("stream:read() is already waiting", 2)
  end
  while true do
    local chunk = self._handle:read()
    if chunk then
      return chunk
    elseif self._ended then
      return nil, self._failure
    end
    local err = next_event(self)
    if err then
      return nil, err
    end
  end
end

--- Closes the connection unless the body was read to its end. Closing twice does nothing.
function Stream:close()
  if not self._ended then
    self._ended, self._failure = true, failure(self._request, "aborted", "the stream was closed")
  end
  self._handle:cancel()
  local wake = self._wake
  self._wake = nil
  if wake then
    wake()
  end
end

-- Runs `step` on the request and on where its answers redirect to.
local function follow(request, step)
  local deadline = request.timeout and scheduler.host().now() + request.timeout
  for hop = 0, request.redirects do
    local answer, err = step(request)
    if not answer then
      return nil, err
    end
    local target = message.redirect_target(request, answer)
    if not target or request.redirects == 0 then
      return answer
    elseif answer.close then
      answer:close()
    end
    if hop == request.redirects then
      break
    end
    local problem
    request, problem = message.redirected(request, target)
    if problem then
      return nil, failure(request, "redirect", problem)
    elseif deadline then
      request.timeout = deadline - scheduler.host().now()
      if request.timeout <= 0 then
        return nil, failure(request, "timeout", "the time was up after a redirect")
      end
    end
  end
  return nil, failure(request, "redirect", ("more than %d redirects"):format(request.redirects))
end

local function run(options, step, stream)
  local request, problem = message.prepare(options, stream)
  if problem then
    return nil, failure(request, "request", problem)
  end
  return follow(request, step)
end

--- Sends a request and waits for the whole answer. Any status is an answer; a failure is one of the exchange itself:
--- TIMEOUT, ABORTED or EXECUTION_ERROR with `details.kind` "dns", "connect", "tls", "timeout", "reset", "truncated",
--- "size", "encoding", "protocol", "redirect", "request", "memory" or "aborted".
---@param options operations.HttpRequest
---@return operations.HttpResponse?
---@return operations.Error? err
function http.request(options)
  return run(options, exchange, false)
end

--- Sends a request and waits for the head of the answer; the body is read with `stream:read()` as it comes.
---@param options operations.HttpRequest
---@return operations.HttpStream?  dropping it closes it
---@return operations.Error? err  as of `request`
function http.open(options)
  return run(options, open, true)
end

http.limits = limits

return http

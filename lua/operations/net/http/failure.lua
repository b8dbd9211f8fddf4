--- Failures of HTTP exchanges as error objects. Decides about retries: `retryable`, `mayHaveRun` and `retryAfter`.
local errors = require("operations.base.error")
local header_field = require("operations.net.http.header_field")
local url = require("operations.base.url")

local http_failure = {}

-- `retryable` and `mayHaveRun` by kind of failure. Without a connection nothing was sent; in phase "deadline" the
-- caller has no time left.
local kinds = {
  dns = { true, false }, connect = { true, false }, request = { false, false }, tls = { false, nil },
  ["timeout connect"] = { true, false }, ["timeout deadline"] = { nil, true }, timeout = { true, true },
  reset = { true, true }, truncated = { true, true }, size = { false, true }, encoding = { false, true },
  protocol = { false, true }, redirect = { false, true }, body = { false, true }, aborted = { nil, true },
}

-- The same by status (RFC 9110, 15; RFC 6585; RFC 8470). A request that a server refuses before it processes it did not
-- run.
local passing, refused, unclear = { true, true }, { false, false }, { nil, true }
local statuses = {
  [401] = refused, [407] = refused, [411] = refused, [412] = refused, [413] = refused, [414] = refused,
  [415] = refused, [417] = refused, [426] = refused, [428] = refused, [431] = refused, [501] = refused,
  [505] = refused, [511] = refused, [408] = { true, false }, [421] = { nil, false }, [425] = { true, false },
  [429] = { true, false }, [502] = passing, [503] = passing, [504] = passing,
  [409] = unclear, [423] = unclear, [424] = unclear,
}
local classes = { [3] = { false, true }, [4] = { false, true }, [5] = unclear }

--- Sets what an error status says about retries.
---@generic T
---@param err T  the error object, or any table
---@param status integer
---@param headers table
---@return T err
function http_failure.judge(err, status, headers)
  local known = statuses[status] or classes[math.floor(status / 100)]
  if known then
    err.retryable, err.mayHaveRun, err.retryAfter = known[1], known[2], header_field.retry_after(headers)
  end
  return err
end

--- The error of a request.
---@param request table
---@param kind string
---@param text string
---@param phase? string  of a timeout: "connect", "first_byte", "idle" or "total"; of a reset: "reused"
---@return operations.Error
function http_failure.new(request, kind, text, phase)
  local code = kind == "timeout" and "TIMEOUT" or kind == "aborted" and "ABORTED" or "EXECUTION_ERROR"
  local shown = url.redact(request.url)
  text = text:gsub("(%a[%w+.-]*://)[^%s/]*@", "%1") -- a proxy's password in libcurl's message
  local err = errors.new(code, ("%s %s: %s"):format(request.method, shown, text),
    { kind = kind, phase = phase, method = request.method, url = shown })
  local known = phase and kinds[kind .. " " .. phase] or kinds[kind]
  if known then
    err.retryable, err.mayHaveRun = known[1], known[2]
  end
  return err
end

--- The failure for an error that interrupted a wait; foreign errors are returned unchanged.
---@param request table
---@param raised any
---@return operations.Error
function http_failure.interrupted(request, raised)
  if not errors.is_error(raised) then
    error(raised, 0)
  elseif raised.code == "TIMEOUT" then
    return http_failure.new(request, "timeout", raised.message, "deadline")
  elseif raised.code == "ABORTED" then
    return http_failure.new(request, "aborted", raised.message)
  end
  return raised
end

--- Was the request lost with a connection shared by others, before any of its answer was returned?
---@param err operations.Error
---@return boolean
function http_failure.is_stale(err)
  return type(err.details) == "table" and err.details.phase == "reused"
end

return http_failure

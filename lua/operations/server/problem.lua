--- Failures as HTTP answers: `application/problem+json` (RFC 9457). Programs look at its `code`. Details that only
--- concern the server stay in its log.
local disclosure = require("operations.base.disclosure")
local errors = require("operations.base.error")
local json = require("operations.base.json")
local members = require("operations.base.members")

local problem = {}

local titles = {
  [400] = "Bad Request", [401] = "Unauthorized", [403] = "Forbidden", [404] = "Not Found",
  [405] = "Method Not Allowed", [406] = "Not Acceptable", [408] = "Request Timeout", [409] = "Conflict",
  [410] = "Gone", [412] = "Precondition Failed", [413] = "Content Too Large", [414] = "URI Too Long",
  [415] = "Unsupported Media Type", [417] = "Expectation Failed", [421] = "Misdirected Request",
  [422] = "Unprocessable Content", [426] = "Upgrade Required", [428] = "Precondition Required",
  [429] = "Too Many Requests", [431] = "Request Header Fields Too Large", [499] = "Client Closed Request",
  [500] = "Internal Server Error", [501] = "Not Implemented", [502] = "Bad Gateway", [503] = "Service Unavailable",
  [504] = "Gateway Timeout", [505] = "HTTP Version Not Supported",
}

local statuses = {
  VALIDATION_ERROR = 422, OPERATION_NOT_FOUND = 404, ACCESS_DENIED = 403, APPROVAL_REQUIRED = 403,
  TIMEOUT = 504, ABORTED = 499, BUSY = 503,
  DRAINING = 503, UNAVAILABLE = 503, TRANSPORT_LOST = 502, WORKER_LOST = 502, TOOL_ERROR = 422, RATE_LIMITED = 429,
  ["MCP_-32602"] = 422, ["MCP_-32002"] = 404,
}

-- The status of an exchange with an upstream that failed.
local failures = { unreachable = 503, broken = 502, late = 504, stopped = 499, inner = 500 }

local hidden = {
  [500] = "the operation failed", [502] = "a server behind this one failed", [503] = "the operation is not available",
  [504] = "a server behind this one took too long",
}

--- The status of an error.
---@param err operations.Error
---@param route? operations.Route
---@return integer
function problem.status(err, route)
  local failure, upstream = disclosure.failure(err), tonumber(err.code:match("^HTTP_(%d%d%d)$"))
  local declared = disclosure.declared(route and route.spec, err.code)
  if failure then
    return failures[failure]
  elseif upstream then
    return (disclosure.is_callers(upstream) or upstream == 504) and upstream or 502
  elseif declared then
    return declared.statusCode or 422
  elseif err.code == "OUTPUT_INVALID" and route and route.imported then
    return 502
  end
  local is_graphql = type(err.details) == "table" and err.details.kind == "graphql"
  return statuses[err.code] or is_graphql and (err.retryable and 503 or 502) or err.code:find("^MCP_") and 502 or 500
end

---@class operations.ProblemOptions
---@field route? operations.Route
---@field expose? boolean  tell every message
---@field upstream_errors? operations.UpstreamErrors
---@field request_id? string
---@field status? integer
---@field headers? table

-- The message of a handler may contain any bytes; a problem is JSON.
local function readable(text)
  text = tostring(text)
  return json.encode(text) and text or (text:gsub("[\128-\255]", "?"))
end

local function boolean(value)
  if type(value) == "boolean" then
    return value
  end
end

--- The problem object of an error.
---@param err operations.Error
---@param options operations.ProblemOptions
---@return table body
---@return integer status
function problem.of(err, options)
  local route, expose = options.route, options.expose
  local status = options.status or problem.status(err, route)
  local seen, told = disclosure.read(err, expose and "all" or options.upstream_errors, route and route.spec)
  local message = expose and err.message or told and seen.message or hidden[status] or titles[status]
  return {
    type = "about:blank", title = titles[status] or "Error", status = status,
    detail = message and readable(message), code = readable(seen.code),
    details = told and json.encode(seen.details) and seen.details or nil, requestId = options.request_id,
    retryable = boolean(err.retryable), mayHaveRun = boolean(err.mayHaveRun),
  }, status
end

-- Converts to seconds, the unit of Retry-After.
local function retry_after(err, status)
  local wait = type(err.retryAfter) == "number" and err.retryAfter
  if wait and wait < math.huge then -- false for NaN, too
    return ("%.0f"):format(math.max(1, math.ceil(math.min(wait, 2 ^ 53) / 1000)))
  end
  return status == 503 and "1" or nil
end

local function whole(value)
  return type(value) == "number" and value >= 0 and value < 1e12 and ("%d"):format(math.ceil(value)) or nil
end

-- The policy of the middleware `rate_limit` as header fields (draft-ietf-httpapi-ratelimit-headers-10). The fields are
-- in seconds, the policy is in ms.
local function rate_limit(err)
  local details = err.code == "RATE_LIMITED" and type(err.details) == "table" and err.details or {}
  local name = type(details.policy) == "string" and not details.policy:find("[^%w_. -]") and details.policy
  local quota, left = whole(details.quota), whole(details.remaining)
  local window = type(details.window) == "number" and whole(details.window / 1000)
  local reset = type(details.reset) == "number" and whole(details.reset / 1000)
  if name and quota and left and window and reset then
    return { ["ratelimit-policy"] = ('"%s";q=%s;w=%s'):format(name, quota, window),
      ratelimit = ('"%s";r=%s;t=%s'):format(name, left, reset) }
  end
end

--- The answer to a request that failed.
---@param err operations.Error
---@param options operations.ProblemOptions
---@return operations.ServerResponse
function problem.response(err, options)
  local body, status = problem.of(err, options)
  local headers = members.merged({ ["content-type"] = "application/problem+json", ["cache-control"] = "no-store",
    ["retry-after"] = retry_after(err, status) }, rate_limit(err), options.headers)
  return { status = status, headers = headers, body = assert(json.encode(body, { sort_keys = true })) }
end

-- Failures that need not be logged. Nor need the refusals of a breaker: its state is a metric, and what opened it was
-- logged.
local ordinary = { ABORTED = true, BUSY = true, DRAINING = true }

--- The answer to a failed call. Errors with status 500 and above are logged, ordinary ones excepted.
---@param call operations.ServerCall
---@param err operations.Error
---@param status? integer
---@param headers? table
---@return operations.ServerResponse
function problem.answer(call, err, status, headers)
  local options = call.server.options
  call.code = err.code
  local is_refused = err.mayHaveRun == false and type(err.details) == "table" and err.details.breaker
  if (status or problem.status(err, call.route)) >= 500 and not ordinary[err.code] and not is_refused then
    options.log("error", ("%s: %s (request %s)"):format(call.route and call.route.id or call.path, tostring(err),
      call.id))
  end
  return problem.response(err, { route = call.route, expose = options.expose_errors, request_id = call.id,
    upstream_errors = options.upstream_errors, status = status, headers = headers })
end

--- The answer that refuses a request.
---@param call operations.ServerCall
---@param status integer
---@param code string
---@param message string
---@param headers? table
---@return operations.ServerResponse
function problem.refuse(call, status, code, message, headers)
  return problem.answer(call, errors.new(code, message), status, headers)
end

return problem

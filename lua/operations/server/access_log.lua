--- The access log: one entry for each answer, when it has ended; those that the listener gives itself, too.
local core = require("operations.core")
local errors = require("operations.base.error")
local hosts = require("operations.hosts")
local request_head = require("operations.server.request_head")

local access_log = {}

---@class operations.AccessLogEntry
---@field time integer  ms since the epoch, when the request came
---@field requestId string
---@field traceparent? string
---@field method? string  nil: the request could not be read
---@field path? string  without the query
---@field mcp? string  the method of the MCP message
---@field operation? string
---@field identity? string  its id
---@field address? string
---@field status integer
---@field code? string  of the error
---@field ms integer
---@field bytes integer  of the body

-- An error raised by the program's log function does not affect the answer.
local function tell(write, call, request, status, bytes)
  local ok, raised = pcall(write, {
    time = call.time, requestId = call.id, traceparent = request_head.traceparent(request.headers),
    method = request.method, path = call.path, mcp = call.mcp,
    operation = call.operation or call.route and call.route.id,
    identity = call.identity and call.identity.id, address = request.peer and request.peer.address, status = status,
    code = call.code, ms = core.now() - call.time, bytes = bytes,
  })
  if not ok then
    call.log("error", "access_log failed: " .. errors.text(raised))
  end
end

--- Logs a request that its connection refused before there was anything to handle.
---@param write fun(entry: operations.AccessLogEntry)
---@param log fun(level: string, message: string)
---@param refused operations.RefusedRequest
function access_log.refused(write, log, refused)
  tell(write, { time = core.now(), id = core.random_id(), log = log, code = refused.code },
    { headers = {}, peer = refused.peer }, refused.status, refused.bytes)
end

--- Logs an answer when it has ended: at once, when its streamed body has ended, or when its reader has left.
---@param write fun(entry: operations.AccessLogEntry)
---@param call operations.ServerCall
---@param request operations.ServerRequest
---@param response operations.ServerResponse
function access_log.follow(write, call, request, response)
  local body = response.body
  if type(body) == "string" then
    tell(write, call, request, response.status, #body)
    return
  end
  local bytes, told = 0, false
  local function once()
    if not told then
      told = true
      tell(write, call, request, response.status, bytes)
    end
  end
  if request.left then
    request.left(once)
  end
  response.body = function()
    local piece, err = body()
    bytes = bytes + (piece and #piece or 0)
    if not piece then
      once()
    end
    return piece, err
  end
end

--- Answers a request and logs it.
---@param write fun(entry: operations.AccessLogEntry)
---@param log fun(level: string, message: string)
---@param request operations.ServerRequest
---@param handle fun(request: operations.ServerRequest): operations.ServerResponse
---@return operations.ServerResponse
function access_log.serve(write, log, request, handle)
  local call = { id = request_head.request_id(request.headers), path = request_head.split(request.target),
    time = core.now(), log = log }
  request.call = call
  local response = handle(request)
  response.headers["x-request-id"] = call.id
  access_log.follow(write, call, request, response)
  return response
end

-- Variables of nginx by field. The others have variables of nginx's own.
local variables = { requestId = "operations_request_id", operation = "operations_operation",
  identity = "operations_identity", code = "operations_code", mcp = "operations_mcp" }

--- Reads the option `access_log`: a function, or "nginx" for variables of nginx that its `log_format` reads.
---@param given? function|"nginx"
---@param name string  of the public function
---@param level integer  as of `error`
---@return fun(entry: operations.AccessLogEntry)?
function access_log.writer(given, name, level)
  if given == nil or type(given) == "function" then
    return given
  end
  local set = given == "nginx" and hosts.current().set_variable
  if not set then
    error(("bad option 'access_log' to '%s' (%s)"):format(name, given == "nginx"
      and '"nginx": nginx does not run this program' or 'function or "nginx" expected'), level + 1)
  end
  return function(entry)
    for field, variable in pairs(variables) do
      set(variable, entry[field] or "")
    end
  end
end

return access_log

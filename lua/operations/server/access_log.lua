--- The access log: one entry for each request, when its answer has ended.
local core = require("operations.core")
local errors = require("operations.base.error")
local request_head = require("operations.server.request_head")

local access_log = {}

---@class operations.AccessLogEntry
---@field time integer  ms since the epoch, when the request came
---@field requestId string
---@field traceparent? string
---@field method string
---@field path string  without the query
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
    method = request.method, path = call.path, operation = call.route and call.route.id,
    identity = call.identity and call.identity.id, address = request.peer and request.peer.address, status = status,
    code = call.code, ms = core.now() - call.time, bytes = bytes,
  })
  if not ok then
    call.server.options.log("error", "access_log failed: " .. errors.text(raised))
  end
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

return access_log

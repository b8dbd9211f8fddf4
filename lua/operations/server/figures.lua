--- /metrics: the figures of the middleware `metrics`, for Prometheus.
local caller = require("operations.server.caller")
local problem = require("operations.server.problem")

local figures = {}

-- The refusal of a caller without credentials.
local function refusal(call, request, options)
  local identity, err, status, headers = caller.identify(request, options)
  if identity then
    return nil
  end
  return problem.refuse(call, status or 401, err and err.code or "ACCESS_DENIED",
    err and err.message or "credentials are required", headers or not err and
    { ["www-authenticate"] = caller.challenge(options.authorize) } or nil)
end

--- Answers a request for the figures; nil for other methods.
---@param call operations.ServerCall
---@param request operations.ServerRequest
---@return operations.ServerResponse?
function figures.answer(call, request)
  local options = call.server.options
  local source = options.metrics
  if request.method ~= "GET" and request.method ~= "HEAD" then
    return nil
  end
  local refused = options.authorize and not source.public and refusal(call, request, options)
  return refused or { status = 200, body = source:text(), headers = { ["cache-control"] = "no-store",
    ["content-type"] = "text/plain; version=0.0.4; charset=utf-8" } }
end

return figures

--- /metrics: the figures of the middleware `metrics`, for Prometheus.
local caller = require("operations.server.caller")
local problem = require("operations.server.problem")

local figures = {}

-- The caller; or the refusal of one without credentials.
local function identify(call, request, options)
  local identity, err, status, headers = caller.identify(request, options)
  if identity or options.metrics.public then
    return identity
  end
  return nil, problem.refuse(call, status or 401, err and err.code or "ACCESS_DENIED",
    err and err.message or "credentials are required", headers or not err and
    { ["www-authenticate"] = caller.challenge(options.authorize) } or nil)
end

-- Tells which operations are not hidden from a caller. Mounted ones count under the ids of their own registry.
local function sight(server, identity)
  local registry, options, seen = server.registry, server.options, {}
  local function is_seen(spec)
    local found = registry:visible(spec, identity, options.filter)
    return found == "yes" or found == "denied" and not options.hide_denied
  end
  for _, spec in ipairs(registry:specs({ schemas = false })) do
    local id = spec.namespace .. "." .. spec.name
    if is_seen(id) then
      for at in id:gmatch("()[^.]+") do
        seen[id:sub(at)] = true
      end
    end
  end
  return function(id)
    if registry:type_of(id) then
      return is_seen(id)
    end
    return seen[id] or false
  end
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
  local identity, refused
  if options.authorize then
    identity, refused = identify(call, request, options)
  end
  return refused or { status = 200, body = source:text(sight(call.server, identity)), headers = {
    ["cache-control"] = "no-store", ["content-type"] = "text/plain; version=0.0.4; charset=utf-8" } }
end

return figures

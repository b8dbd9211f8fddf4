--- Admission: which caller may call the operations at a path. Unknown and hidden operations get the same answer, 404; a
--- method that is not served gets 405 with those that are.
local caller = require("operations.server.caller")
local problem = require("operations.server.problem")
local routes = require("operations.server.route")

local admission = {}

--- The answer where nothing is.
---@param call operations.ServerCall
---@return operations.ServerResponse
function admission.not_found(call)
  return problem.refuse(call, 404, "OPERATION_NOT_FOUND", ("nothing is at %s"):format(call.path))
end

local function sight_of(call, route)
  local server = call.server
  local sight = server.registry:visible(route.id, call.identity, server.options.filter)
  return sight == "denied" and server.options.hide_denied and "hidden" or sight
end

-- The value of Allow with the methods that this caller may know of; nil: there are none.
local function allowed(call, place)
  if place.public then
    return place.allow
  end
  local seen = {}
  for method, route in pairs(place.methods) do
    seen[method] = sight_of(call, route) ~= "hidden" and route or nil
  end
  return next(seen) and routes.allow(seen)
end

-- The answer to a method that this caller cannot use at a place.
local function tell_methods(call, request, place)
  local allow = allowed(call, place)
  if not allow then
    return admission.not_found(call)
  elseif request.method == "OPTIONS" then
    return { status = 204, body = "", headers = { allow = allow,
      ["accept-query"] = allow:find("QUERY", 1, true) and "application/json" or nil } }
  end
  return problem.refuse(call, 405, "VALIDATION_ERROR", ("%s expected, got %s"):format(allow, request.method),
    { allow = allow })
end

--- Decides whether a caller may use this method of a path.
---@param call operations.ServerCall  gets its route
---@param request operations.ServerRequest
---@param place operations.Place
---@param route? operations.Route  of the method
---@return operations.ServerResponse? refusal  nil: it may
function admission.admit(call, request, place, route)
  local sight = route and (place.public and "yes" or sight_of(call, route))
  if not route or sight == "hidden" then
    return tell_methods(call, request, place)
  end
  call.route = route
  if sight == "denied" then
    local _, err, status, headers = caller.deny(route.spec, call.identity, call.server.options.authorize)
    return problem.answer(call, err, status, headers)
  end
end

return admission

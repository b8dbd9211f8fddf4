--- The answers of a server about itself, for supervisors: /healthz, /readyz, and /metrics for Prometheus.
local callers = require("operations.server.caller")
local members = require("operations.base.members")
local problem = require("operations.server.problem")

local monitoring = {}

local TEXT = { ["content-type"] = "text/plain", ["cache-control"] = "no-store" }

local function alive()
  return { status = 200, headers = members.copy(TEXT), body = "ok\n" }
end

-- Calls `fn(name, state, client)` for each client of other servers; one that is disabled has no client.
local function each_upstream(upstreams, fn)
  for _, upstream in ipairs(upstreams or {}) do
    if upstream.names then
      for _, name in ipairs(upstream.names) do
        fn(name, upstream:state(name), upstream.clients[name])
      end
    else
      fn(upstream.name, upstream.state, upstream)
    end
  end
end

-- How many of them are in each state: { state, count }, sorted.
local function states_of(upstreams)
  local counts, list = {}, {}
  each_upstream(upstreams, function(_, state)
    counts[state] = (counts[state] or 0) + 1
  end)
  for i, state in ipairs(members.names(counts)) do
    list[i] = { state, counts[state] }
  end
  return list
end

-- Is it ready for requests? Lost servers behind it are shown and do not matter: the others can be called.
local function readiness(call)
  local self = call.server
  local ok, ready = true, not self.draining
  if ready and self.options.ready then
    ok, ready = pcall(self.options.ready)
  end
  ready = ok and ready
  local lines = { ready and "ready" or "not ready" }
  for _, state in ipairs(states_of(self.options.upstreams)) do
    lines[#lines + 1] = ("upstreams %s: %d"):format(state[1], state[2])
  end
  return { status = ready and 200 or 503, headers = members.copy(TEXT), body = table.concat(lines, "\n") .. "\n" }
end

-- The caller of /metrics; or the refusal of one without credentials.
local function identify(call, request, options)
  local identity, err, status, headers = callers.identify(request, options)
  if identity or options.metrics.public then
    return identity
  end
  return nil, problem.refuse(call, status or 401, err and err.code or "ACCESS_DENIED",
    err and err.message or "credentials are required", headers or not err and
    { ["www-authenticate"] = callers.challenge(options.authorize) } or nil)
end

-- Tells which operations are not hidden from a caller. Mounted ones count under the ids of their own registry.
local function sight(self, identity)
  local registry, options, seen = self.registry, self.options, {}
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

local function count(list, field)
  local sum = 0
  for _, each in pairs(list) do
    sum = sum + (field and each[field] or 1)
  end
  return sum
end

-- May a caller know of a server? Who may know of one of its operations does.
local function knows(client, is_seen)
  for _, definition in ipairs(client and client.operations or {}) do
    if is_seen(definition.namespace .. "." .. definition.name) then
      return true
    end
  end
  return false
end

-- What runs now, of a server and those that are mounted, for Prometheus.
local function gauges_of(self, is_seen)
  local lines = {}
  local function add(name, help, value, labels)
    if not lines[name] then
      lines[name], lines[#lines + 1] = true, ("# HELP %s %s\n# TYPE %s gauge"):format(name, help, name)
    end
    lines[#lines + 1] = ("%s%s %d"):format(name, labels or "", value)
  end
  add("operations_http_requests_running", "Requests that this process handles.", self.running)
  add("operations_http_streams_open", "Streams of subscriptions that are open in this process.", count(self.streams))
  if self._listeners[1] then
    add("operations_http_connections", "Connections that are open.", count(self._listeners, "connections"))
  end
  local running, sessions = 0, 0
  for _, mount in ipairs(self._mounts) do
    if mount.handler.part == "mcp" then
      running, sessions = running + mount.handler.running, sessions + mount.handler.sessions.count
    end
  end
  if self._mounts[1] then
    add("operations_mcp_requests_running", "MCP requests that this process handles.", running)
    add("operations_mcp_sessions", "Sessions of MCP clients in this process.", sessions)
  end
  for _, state in ipairs(states_of(self.options.upstreams)) do
    add("operations_upstreams", "MCP servers behind this one, by state.", state[2], ("{state=%q}"):format(state[1]))
  end
  each_upstream(self.options.upstreams, function(name, state, client)
    if knows(client, is_seen) then
      add("operations_upstream_connected", "Is the MCP server connected?", state == "connected" and 1 or 0,
        ('{upstream="%s"}'):format(name:gsub('[\\"]', "\\%0"):gsub("\n", "\\n")))
    end
  end)
  return table.concat(lines, "\n") .. "\n"
end

-- Answers a request for /metrics, the figures of the middleware `metrics`, for Prometheus; nil for other methods.
local function show_figures(call, request)
  local options = call.server.options
  local source = options.metrics
  if request.method ~= "GET" and request.method ~= "HEAD" then
    return nil
  end
  local identity, refused
  if options.authorize then
    identity, refused = identify(call, request, options)
  end
  local is_seen = not refused and sight(call.server, identity)
  return refused or { status = 200, body = source:text(is_seen) .. gauges_of(call.server, is_seen),
    headers = { ["cache-control"] = "no-store", ["content-type"] = "text/plain; version=0.0.4; charset=utf-8" } }
end

--- The answers of a server about itself: path below the prefix -> function of the call and the request.
---@param options operations.HttpOptions
---@return table<string, fun(call: operations.ServerCall, request: operations.ServerRequest): table?>  responses
function monitoring.answers(options)
  local own = { ["/metrics"] = options.metrics and show_figures or nil }
  if options.health ~= false then -- for supervisors
    own["/healthz"], own["/readyz"] = alive, readiness
  end
  return own
end

return monitoring

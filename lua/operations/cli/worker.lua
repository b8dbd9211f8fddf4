--- `operations worker`: serves operations to other processes until it is interrupted.
local arguments = require("operations.cli.arguments")
local exposure = require("operations.cli.exposure")
local operations = require("operations")
local members = require("operations.base.members")
local output = require("operations.cli.output")
local redis = require("operations.cli.redis")
local rules = require("operations.cli.rules")
local sources = require("operations.cli.sources")
local system = require("operations.system")

local worker = {
  usage = "operations worker --redis URL [SOURCE...] [OPTIONS]",
  summary = "Serves the operations of its sources to all processes that share a Redis, until\n"
    .. "Ctrl-C. `operations call --redis URL OPERATION` calls them. Logs a line for\n"
    .. "each call to stderr, and when Redis is lost and back.",
  options = members.joined({
    exposure.option, exposure.upstream_errors,
    rules.policy, rules.read_only, rules.audit, rules.transform,
    { name = "--max-requests", value = "N", help = "requests at once (1024)" },
    { name = "--grace", value = "SECONDS", help = "time for running requests after Ctrl-C (10)" },
    { name = "--health", value = "PORT", help = "ADDRESS:PORT, too: /healthz, /readyz, /metrics" },
    output.log_option,
  }, redis.options, redis.worker_options),
}

-- Serves until it is interrupted, then lets running requests end, and raises the interruption. `tell` is called when
-- the others have been told.
local function serve(transport, registry, options, grace, state, tell)
  local map = operations.call_map(transport)
  local handler = operations.call_handler(registry, map, options)
  transport:settle()
  tell()
  local _, raised = pcall(operations.sleep, math.huge) -- only an error ends it
  if system.interrupted() then
    state.ready = false
    handler:drain(grace * 1000)
  end
  map:close()
  operations.sleep(0.05) -- for the last answers to leave
  error(raised, 0)
end

-- Reads `--health`: where supervisors ask; nil and a message when it is wrong.
local function read_health(parsed)
  local given = parsed.options.health
  if not given then
    return nil
  end
  local host, port = given:match("^(.*):(%d+)$")
  port = tonumber(port or given:match("^%d+$"))
  if not port or port > 65535 then
    return nil, ("--health: PORT or ADDRESS:PORT expected, got %q"):format(given)
  end
  return { host = (host or "127.0.0.1"):gsub("^%[(.*)%]$", "%1"), port = port }
end

-- Serves the state of this process and figures of its calls. They are for everybody who reaches the port.
local function answer_supervisors(at, state, metrics)
  local server = assert(operations.to_http(operations.registry(), { authorize = false, openapi = false,
    metrics = { text = function()
      return metrics:text() -- of all operations: they are not those of this server
    end }, ready = function()
      return state.ready
    end }))
  local listener, err = server:listen(at)
  if not listener then
    return output.usage("worker: --health: %s", err.message)
  end
  output.complain("health: http://%s:%d/readyz", at.host:find(":", 1, true) and "[" .. at.host .. "]" or at.host,
    listener.port)
  output.at_end(server)
end

-- Tells on stderr that Redis was lost, and that it is back.
local function follow(state, name, err)
  state.ready = name == "connected"
  output.complain("%s", state.ready and "Redis is back" or "Redis is lost: " .. tostring(err))
end

local function is_redis(option)
  return option.name == "redis"
end

---@param parsed operations.cli.Arguments
---@return integer code
function worker.run(parsed)
  local urls = parsed.options.redis or {}
  local max_requests, message = arguments.number(parsed, "max-requests", 1024)
  local grace, flaw = arguments.number(parsed, "grace", 10)
  local health, no_health = read_health(parsed)
  local write, no_format = output.log_writer(parsed)
  local connection, no_connection = redis.read(parsed)
  message = message or flaw or no_connection or exposure.flaw(parsed.options) or no_health or no_format
  if message then
    return output.usage("%s", message)
  elseif #urls ~= 1 then
    return output.usage("worker: expected one --redis URL, got %d", #urls)
  end
  local opened, metrics = exposure.new(parsed), health and operations.middleware.metrics() or nil
  local registry, code = sources.registry(parsed, { but = is_redis, exposure = opened, names = parsed.rest,
    is_reported = false, starts = sources.start, middleware = { metrics } })
  if not registry then
    return code
  end
  local state = { ready = true }
  connection.mode = parsed.options.reliable and "reliable" or "fast"
  function connection.on_state(...)
    follow(state, ...)
  end
  local transport
  transport, code = redis.connect(urls[1], connection)
  if not transport then
    return code
  end
  code = health and answer_supervisors(health, state, metrics)
  if code then
    return code
  end
  local options = { max_requests = max_requests, upstream_errors = parsed.options["upstream-errors"],
    access_log = write }
  return serve(transport, registry, options, grace, state, function()
    opened:tell(registry)
  end)
end

return worker

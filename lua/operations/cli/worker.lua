--- `operations worker`: serves operations to other processes until it is interrupted.
local arguments = require("operations.cli.arguments")
local errors = require("operations.base.error")
local exposure = require("operations.cli.exposure")
local operations = require("operations")
local output = require("operations.cli.output")
local rules = require("operations.cli.rules")
local sources = require("operations.cli.sources")
local system = require("operations.system")

local worker = {
  usage = "operations worker --redis URL [SOURCE...] [OPTIONS]",
  summary = "Serves the operations of its sources to all processes that share a Redis, until\n"
    .. "Ctrl-C. `operations call --redis URL OPERATION` calls them.",
  options = {
    exposure.option, exposure.upstream_errors,
    rules.policy, rules.audit,
    { name = "--max-requests", value = "N", help = "requests at once (1024)" },
    { name = "--grace", value = "SECONDS", help = "time for running requests after Ctrl-C (10)" },
  },
}

-- Serves until it is interrupted, then lets running requests end, and raises the interruption. `tell` is called when
-- the others have been told.
local function serve(transport, registry, options, grace, tell)
  local map = operations.call_map(transport)
  local handler = operations.call_handler(registry, map, options)
  transport:settle()
  tell()
  local _, raised = pcall(operations.sleep, math.huge) -- only an error ends it
  if system.interrupted() then
    handler:drain(grace * 1000)
  end
  map:close()
  operations.sleep(0.05) -- for the last answers to leave
  error(raised, 0)
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
  message = message or flaw or exposure.flaw(parsed.options)
  if message then
    return output.usage("%s", message)
  elseif #urls ~= 1 then
    return output.usage("worker: expected one --redis URL, got %d", #urls)
  end
  local opened = exposure.new(parsed)
  local registry, code = sources.registry(parsed, { but = is_redis, exposure = opened, names = parsed.rest,
    is_reported = false })
  if not registry then
    return code
  end
  local mode = parsed.options.reliable and "reliable" or "fast"
  local ok, transport, err = pcall(operations.transports.redis, urls[1], { mode = mode })
  if not ok or not transport then
    local failure = ok and err or errors.from(transport)
    output.failure(failure)
    return output.is_unreachable(failure) and output.codes.UNREACHABLE or output.codes.SOURCE
  end
  local options = { max_requests = max_requests, upstream_errors = parsed.options["upstream-errors"] }
  return serve(transport, registry, options, grace, function()
    opened:tell(registry)
  end)
end

return worker

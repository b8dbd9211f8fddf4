--- The connections of the commands to a Redis: options, and the transport that they mean.
local arguments = require("operations.cli.arguments")
local errors = require("operations.base.error")
local operations = require("operations")
local output = require("operations.cli.output")

local redis = {}

--- Options of every command that connects to a Redis itself.
---@type operations.cli.Option[]
redis.options = {
  { name = "--prefix", value = "NAME", help = "of all keys and channels (ops)" },
  { name = "--secret", value = "WORD", help = "env:NAME, file:PATH or cmd:COMMAND: signs messages" },
}

--- Options of commands that run jobs.
---@type operations.cli.Option[]
redis.worker_options = {
  { name = "--lease", value = "MS", help = "--reliable: a silent worker loses its jobs (5000)" },
  { name = "--attempts", value = "N", help = "--reliable: workers that may lose a job (5)" },
  { name = "--vouches", help = "believe the identities in requests" },
}

-- Reads a whole number from 1 on.
local function count(parsed, name)
  local value, message = arguments.number(parsed, name)
  if not message and value and (value < 1 or value % 1 ~= 0) then
    message = ("--%s: a whole number from 1 on expected"):format(name)
  end
  return value, message
end

--- Reads the options.
---@param parsed operations.cli.Arguments
---@return operations.RedisOptions? options
---@return string? message  what is wrong
function redis.read(parsed)
  local given = parsed.options
  local lease, flaw = count(parsed, "lease")
  local attempts, problem = count(parsed, "attempts")
  if flaw or problem then
    return nil, flaw or problem
  elseif (lease or attempts) and not given.reliable then
    return nil, ("--%s: only with --reliable"):format(lease and "lease" or "attempts")
  elseif given.secret and not given.secret:find("^%l+:") then
    return nil, "--secret: env:NAME, file:PATH or cmd:COMMAND expected"
  end
  local ok, secret = true, nil
  if given.secret then
    ok, secret = pcall(function()
      return operations.secret(given.secret)()
    end)
  end
  if not ok then
    return nil, "--secret: " .. errors.from(secret).message
  elseif secret and #secret < 16 then
    return nil, "--secret: at least 16 bytes expected"
  end
  return { prefix = given.prefix, secret = secret, lease = lease, attempts = attempts, vouches = given.vouches }
end

--- Connects.
---@param url string
---@param options operations.RedisOptions
---@return operations.Redis? transport
---@return integer? code  the exit code, when it has told what failed
function redis.connect(url, options)
  local ok, transport, err = pcall(operations.transports.redis, url, options)
  if ok and transport then
    return transport
  end
  local failure = ok and err or errors.from(transport)
  output.failure(failure)
  return nil, output.is_unreachable(failure) and output.codes.UNREACHABLE or output.codes.SOURCE
end

return redis

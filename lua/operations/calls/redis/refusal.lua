--- Maps the errors of Redis to ours; reads MOVED and ASK, by which a Redis Cluster redirects to another node.
local errors = require("operations.base.error")
local members = require("operations.base.members")

local redis_refusal = {}

-- Codes for temporary refusals: another connection may reach a server that accepts us.
local codes = {
  NOAUTH = "ACCESS_DENIED", WRONGPASS = "ACCESS_DENIED", NOPERM = "ACCESS_DENIED", OOM = "BUSY",
  LOADING = "TRANSPORT_LOST", MASTERDOWN = "TRANSPORT_LOST", READONLY = "TRANSPORT_LOST",
  DENIED = "ACCESS_DENIED",
  CLUSTERDOWN = "TRANSPORT_LOST", MOVED = "TRANSPORT_LOST", ASK = "TRANSPORT_LOST", TRYAGAIN = "TRANSPORT_LOST",
}

-- Explanations for errors that Redis does not explain.
local remarks = {
  ASK = " (the keys of this prefix are being moved to another node of the cluster; it works again after that)",
  READONLY = " (the URL of the primary is needed)",
}
remarks.TRYAGAIN = remarks.ASK

--- The error object for an error of Redis. `details.moved`, `{ host, port }`: the node to ask instead.
---@param message string
---@return operations.Error
function redis_refusal.error(message)
  local word = message:match("^%u+")
  local code = codes[word] or message:find("^ERR max number of clients") and "BUSY" or "EXECUTION_ERROR"
  local err = errors.new(code, ("Redis: %s%s"):format(message, remarks[word] or ""), { kind = "redis" })
  err.retryable = code == "TRANSPORT_LOST" or code == "BUSY" or nil
  local host, port = message:match("^MOVED %d+ (.*):(%d+)$")
  if host then
    err.details.moved = { host = host, port = tonumber(port) }
  end
  return err
end

-- Temporary errors: Redis is starting, or a cluster is being reconfigured.
local passing = { LOADING = true, MASTERDOWN = true, CLUSTERDOWN = true, MOVED = true, ASK = true, TRYAGAIN = true }

--- Does Redis itself refuse us until its configuration changes, or is it something else?
---@param err operations.Error
---@return boolean
function redis_refusal.lasts(err)
  local kind = type(err.details) == "table" and err.details.kind
  local word = kind == "redis" and err.message:match("Redis: (%u+)")
  return kind == "protocol" or word and not passing[word] or false
end

--- The address of the node that an error redirects to.
---@param address operations.RedisAddress  of the node that answered
---@param moved { host: string, port: integer }
---@return operations.RedisAddress
function redis_refusal.elsewhere(address, moved)
  local there = members.merged(address, { port = moved.port })
  if moved.host ~= "" and moved.host ~= "?" then -- otherwise it does not know its own name: keeps ours
    there.host = moved.host
  end
  return there
end

--- A readable failure to reach a node that another one redirected to.
---@param err operations.Error
---@param at operations.RedisAddress  of that node
---@param key string  a key that it has
---@return operations.Error
function redis_refusal.unreached(err, at, key)
  local told = ("Redis Cluster has the keys like '%s' on %s:%d, which every process that uses them must reach: %s")
    :format(key, at.host, at.port, err.message)
  local failure = errors.new(err.code, told, err.details)
  failure.retryable = err.retryable
  return failure
end

return redis_refusal

--- Reads the replies of Redis. Errors are mapped to ours, MOVED and ASK, by which a Redis Cluster redirects to another
--- node, among them. Other replies have one shape for each command: a Redis that answers something else is not one, or
--- lies, and its connection ends.
---
--- A shape is a text of alternatives ("string", "integer", "entry" for the id of one, "nil", "=OK" for that text);
--- `{ each = shape }`, a list; or `{ shape, ... }`, a list that begins so.
local errors = require("operations.base.error")

local redis_reply = {}

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
local SENTINEL = " (a Redis Sentinel? It is not asked: the URL of the primary, or of a proxy that follows it, is "
  .. "needed)"

--- The error object for an error of Redis. `details.moved`, `{ host, port }`: the node to ask instead.
---@param message string
---@return operations.Error
function redis_reply.error(message)
  local word = message:match("^%u+")
  local code = codes[word] or message:find("^ERR max number of clients") and "BUSY" or "EXECUTION_ERROR"
  local remark = message:find("^ERR unknown command") and SENTINEL or remarks[word] or ""
  local err = errors.new(code, ("Redis: %s%s"):format(message, remark), { kind = "redis" })
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
function redis_reply.lasts(err)
  local kind = type(err.details) == "table" and err.details.kind
  local word = kind == "redis" and err.message:match("Redis: (%u+)")
  return kind == "protocol" or word and not passing[word] or false
end

--- A readable failure to reach a node that another one redirected to.
---@param err operations.Error
---@param at operations.RedisAddress  of that node
---@param key string  a key that it has
---@return operations.Error
function redis_reply.unreached(err, at, key)
  local told = ("Redis Cluster has the keys like '%s' on %s:%d, which every process that uses them must reach: %s")
    :format(key, at.host, at.port, err.message)
  local failure = errors.new(err.code, told, err.details)
  failure.retryable = err.retryable
  return failure
end

local kinds = { string = "string", integer = "number" }

-- What texts of alternatives allow: types and values in Lua, and the ids of entries.
local alternatives = setmetatable({}, { __index = function(known, text)
  local allowed = { types = {}, values = {}, entries = false }
  for kind in text:gmatch("[^|]+") do
    if kind == "entry" then
      allowed.entries = true
    elseif kinds[kind] then
      allowed.types[kinds[kind]] = true
    else
      allowed.values[kind ~= "nil" and kind:sub(2)] = true
    end
  end
  known[text] = allowed
  return allowed
end })

local function is_one_of(allowed, value)
  return allowed.types[type(value)] or allowed.values[value]
    or allowed.entries and type(value) == "string" and value:find("^%d+%-%d+$") ~= nil or false
end

local function are_all(list, kind)
  for i = 1, #list do
    if type(list[i]) ~= kind then
      return false
    end
  end
  return true
end

--- Has a reply a shape?
---@param wanted string|table
---@param value any
---@return boolean
function redis_reply.fits(wanted, value)
  if type(wanted) == "string" then
    return is_one_of(alternatives[wanted], value)
  elseif type(value) ~= "table" or value.err ~= nil then
    return wanted.optional == true and value == false
  elseif wanted.pairs and #value % 2 == 1 then
    return false
  elseif kinds[wanted.each] then
    return are_all(value, kinds[wanted.each])
  end
  for i = 1, wanted.each and #value or #wanted do
    if not redis_reply.fits(wanted.each or wanted[i], value[i]) then
      return false
    end
  end
  return true
end

local texts = { each = "string" }
local fields = { each = "string", pairs = true }
local entries = { each = { "entry", fields } }

--- By command. The replies to other commands are not read.
redis_reply.shapes = {
  AUTH = "=OK", SELECT = "=OK", PING = "=PONG", GET = "string|nil", UNLINK = "integer", PUBLISH = "integer",
  SUBSCRIBE = { "=subscribe", "string", "integer" }, TIME = { "string", "string" },
  PUBSUB = { "string", "integer" }, SMEMBERS = texts, XRANGE = entries, XREVRANGE = entries,
  ZRANGE = texts, ZRANGEBYSCORE = texts, XPENDING = { each = { "entry", "string", "integer", "integer" } },
  XREADGROUP = { each = { "string", entries }, optional = true },
}

--- Lists of texts, and of the fields of an entry.
redis_reply.texts, redis_reply.fields = texts, fields

return redis_reply

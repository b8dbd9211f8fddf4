--- The Redis scripts of mode `reliable`, each one atomic step, and the keys they work on. The keys of one system
--- share a slot of Redis Cluster, by the hash tag in their names.
---
--- | key                          | type   | is                                                               |
--- |------------------------------|--------|------------------------------------------------------------------|
--- | `ops:{ops}:q:<operation>`    | stream | requests: `i` id, `f` caller, `p` payload, `a` when asked again, |
--- |                              |        | "revived" after a takeover                                       |
--- | `ops:{ops}:r:<request id>`   | string | its record: the entry in the queue, then the outcome as an event |
--- | `ops:{ops}:dead:<operation>` | stream | requests that no worker survived, after `n` attempts             |
--- | `ops:{ops}:dead`             | set    | the operations that have dead letters                            |
local compat = require("operations.base.compat")
local redis_reply = require("operations.calls.redis.reply")
local resp = require("operations.redis")
local task = require("operations.task")

local redis_scripts = {}

---@class operations.RedisKeys
local Keys = {}
Keys.__index = Keys

---@param prefix string
---@return operations.RedisKeys
function redis_scripts.keys(prefix)
  return setmetatable({ _prefix = ("%s:{%s}:"):format(prefix, prefix) }, Keys)
end

function Keys:queue(operation)
  return self._prefix .. "q:" .. operation
end

function Keys:record(request_id)
  return self._prefix .. "r:" .. request_id
end

function Keys:dead(operation)
  return self._prefix .. "dead:" .. operation
end

--- A key without data: the cluster node that owns it owns all keys of the system.
function Keys:any()
  return self._prefix .. "any"
end

--- The key of the set of operations with dead letters.
function Keys:dead_operations()
  return self._prefix .. "dead"
end

---@class operations.RedisScript
---@field text string
---@field id string  for EVALSHA
---@field sent operations.RedisSent
local Script = {}
Script.__index = Script

--- Makes a script from its text.
---@param text string
---@param shape? string|table  of its answer; nil: any
---@return operations.RedisScript
function redis_scripts.new(text, shape)
  return setmetatable({ text = text, id = resp.script_id(text), sent = { name = "a script", shape = shape } }, Script)
end

local script = redis_scripts.new

--- Runs it; calls `fn(reply)` or `fn(nil, err)` with its answer; `fn` must not wait.
---@param link operations.RedisLink
---@param fn fun(reply: any, err: operations.Error?)
---@param keys integer  the number of keys among the words
---@param words (string|number)[]  the keys, then the arguments
function Script:send(link, fn, keys, words)
  link:evaluate(function(reply, err)
    if err and err.message:find("^Redis: NOSCRIPT") then
      return link:evaluate(fn, self.sent, "EVAL", self.text, keys, compat.unpack(words))
    end
    fn(reply, err)
  end, self.sent, "EVALSHA", self.id, keys, compat.unpack(words))
end

--- Runs it and waits for its answer.
---@param link operations.RedisLink
---@param keys integer  the number of keys among the words
---@param words (string|number)[]  the keys, then the arguments
---@return any reply
---@return operations.Error? err
function Script:call(link, keys, words)
  return link:await(function(wake)
    self:send(link, wake, keys, words)
  end)
end

--- Queue, records | caller, maximum length; for each request: id, payload, lifetime of its record (ms), "1" if
--- submitted again. Returns for each: 1, it is queued; 2, it was queued before; its outcome if there is one; 0, the
--- queue is full; false, no process has ever served the operation.
redis_scripts.submit = script([[
local caller, room, answers = ARGV[1], tonumber(ARGV[2]) - redis.call("XLEN", KEYS[1]), {}
for i = 2, #KEYS do
  local at = 4 * i - 5
  local known = redis.call("GET", KEYS[i])
  if known then
    answers[i - 1] = string.sub(known, 1, 1) == "{" and known or 2
  elseif room <= 0 then
    answers[i - 1] = 0
  else
    local id
    if ARGV[at + 3] == "1" then
      id = redis.call("XADD", KEYS[1], "*", "i", ARGV[at], "f", caller, "p", ARGV[at + 1], "a", "1")
    else
      id = redis.call("XADD", KEYS[1], "NOMKSTREAM", "*", "i", ARGV[at], "f", caller, "p", ARGV[at + 1])
    end
    if id then
      redis.call("SET", KEYS[i], id, "PX", ARGV[at + 2])
      room = room - 1
    end
    answers[i - 1] = id and 1
  end
end
return answers]], { each = "nil|integer|string" })

--- Queue, records | worker, lifetime of outcomes (ms); for each request: entry, outcome, its caller's channel. Only the
--- holder of the entry may end it. Returns for each: 1, or 0 when another worker holds it or it is gone.
redis_scripts.finish = script([[
local worker, kept, answers, ended, channels, told = ARGV[1], ARGV[2], {}, {}, {}, {}
for i = 2, #KEYS do
  local entry, outcome, channel = ARGV[3 * i - 3], ARGV[3 * i - 2], ARGV[3 * i - 1]
  local held = redis.pcall("XPENDING", KEYS[1], "w", entry, entry, 1, worker)
  if held[1] then
    ended[#ended + 1] = entry
    redis.call("SET", KEYS[i], outcome, "PX", kept)
    if not told[channel] then
      told[channel], channels[#channels + 1] = {}, channel
    end
    table.insert(told[channel], outcome)
  end
  answers[i - 1] = held[1] and 1 or 0
end
if #ended > 0 then
  redis.call("XACK", KEYS[1], "w", unpack(ended))
  redis.call("XDEL", KEYS[1], unpack(ended))
end
for _, channel in ipairs(channels) do
  redis.call("PUBLISH", channel, table.concat(told[channel], "\n"))
end
return answers]], { each = "integer" })

--- Queue, record, dead letters, operations with dead letters | entry, worker, outcome, its lifetime (ms), the caller's
--- channel, maximum number of letters, attempts, request, caller, payload, operation. As `finish`, for a request that
--- no worker survived.
redis_scripts.bury = script([[
local held = redis.pcall("XPENDING", KEYS[1], "w", ARGV[1], ARGV[1], 1, ARGV[2])
if not held[1] or redis.call("XACK", KEYS[1], "w", ARGV[1]) == 0 then return 0 end
redis.call("XDEL", KEYS[1], ARGV[1])
redis.call("XADD", KEYS[3], "MAXLEN", "~", ARGV[6], "*", "n", ARGV[7], "i", ARGV[8], "f", ARGV[9], "p", ARGV[10])
redis.call("SADD", KEYS[4], ARGV[11])
redis.call("SET", KEYS[2], ARGV[3], "PX", ARGV[4])
redis.call("PUBLISH", ARGV[5], ARGV[3])
return 1]])

--- Dead letters, operations with dead letters, queue, records | operation, maximum length; for each letter: its id,
--- lifetime of its record (ms). Queues them again, unless their requests are queued already, while there is room.
--- Returns their number, and 1 when there was no more room.
redis_scripts.revive = script([=[
local count, room, full = 0, tonumber(ARGV[2]) - redis.call("XLEN", KEYS[3]), 0
for i = 4, #KEYS do
  local id, kept = ARGV[2 * i - 5], ARGV[2 * i - 4]
  local letter = redis.call("XRANGE", KEYS[1], id, id)[1]
  if letter then
    local fields, known = {}, redis.call("GET", KEYS[i])
    for j = 1, #letter[2], 2 do fields[letter[2][j]] = letter[2][j + 1] end
    local queued = known and string.sub(known, 1, 1) ~= "{"
    if not queued and room <= 0 then
      full = 1
      break
    elseif not queued then
      local entry = redis.call("XADD", KEYS[3], "*", "i", fields.i, "f", fields.f, "p", fields.p, "a", "revived")
      redis.call("SET", KEYS[i], entry, "PX", kept)
      room = room - 1
    end
    count = count + redis.call("XDEL", KEYS[1], id)
  end
end
if redis.call("XLEN", KEYS[1]) == 0 then
  redis.call("UNLINK", KEYS[1])
  redis.call("SREM", KEYS[2], ARGV[1])
end
return { count, full }]=], { "integer", "integer" })

--- Dead letters, operations with dead letters | operation, a letter's id or nothing. Returns the number of removed
--- letters.
redis_scripts.drop = script([[
local count = ARGV[2] and redis.call("XDEL", KEYS[1], ARGV[2]) or redis.call("XLEN", KEYS[1])
if not ARGV[2] or redis.call("XLEN", KEYS[1]) == 0 then
  redis.call("UNLINK", KEYS[1])
  redis.call("SREM", KEYS[2], ARGV[1])
end
return count]], "integer")

--- Queue, record | event, prefix of the processes' channels. Takes a request back that has not ended, and tells its
--- worker.
redis_scripts.abort = script([[
local id = redis.call("GET", KEYS[2])
if not id or string.sub(id, 1, 1) == "{" then return 0 end
local held = redis.pcall("XPENDING", KEYS[1], "w", id, id, 1)[1]
redis.pcall("XACK", KEYS[1], "w", id)
redis.call("XDEL", KEYS[1], id)
redis.call("UNLINK", KEYS[2])
if held then redis.call("PUBLISH", ARGV[2] .. held[2], ARGV[1]) end
return 1]])

--- Queue | worker, idle time after which a consumer without requests is removed (ms).
redis_scripts.join = script([=[
redis.pcall("XGROUP", "CREATE", KEYS[1], "w", "0", "MKSTREAM")
for _, fields in ipairs(redis.call("XINFO", "CONSUMERS", KEYS[1], "w")) do
  local consumer = {}
  for i = 1, #fields, 2 do consumer[fields[i]] = fields[i + 1] end
  if consumer.pending == 0 and consumer.idle > tonumber(ARGV[2]) and consumer.name ~= ARGV[1] then
    redis.call("XGROUP", "DELCONSUMER", KEYS[1], "w", consumer.name)
  end
end]=])

--- Queue | worker, entries...: renews their leases; returns those that the worker no longer holds.
redis_scripts.renew = script([[
local lost = {}
for i = 2, #ARGV do
  local held = redis.pcall("XPENDING", KEYS[1], "w", ARGV[i], ARGV[i], 1, ARGV[1])
  if held[1] then
    redis.call("XCLAIM", KEYS[1], "w", ARGV[1], 0, ARGV[i], "JUSTID")
  else
    lost[#lost + 1] = ARGV[i]
  end
end
return lost]], redis_reply.texts)

--- Queue | worker, idle time (ms), entries, each followed by its number of deliveries: other workers may take them over
--- at once.
redis_scripts.release = script([[
for i = 3, #ARGV, 2 do
  local held = redis.pcall("XPENDING", KEYS[1], "w", ARGV[i], ARGV[i], 1, ARGV[1])
  if held[1] then
    redis.call("XCLAIM", KEYS[1], "w", ARGV[1], 0, ARGV[i], "IDLE", ARGV[2], "RETRYCOUNT", ARGV[i + 1], "JUSTID")
  end
end]])

--- Queue | worker, idle time (ms), count: releases what the worker holds and has not released.
redis_scripts.release_rest = script([[
for _, held in ipairs(redis.pcall("XPENDING", KEYS[1], "w", "-", "+", ARGV[3], ARGV[1])) do
  if held[3] < tonumber(ARGV[2]) then
    redis.call("XCLAIM", KEYS[1], "w", ARGV[1], 0, held[1], "IDLE", ARGV[2], "RETRYCOUNT", held[4] - 1, "JUSTID")
  end
end]])

--- Queue | worker, lease (ms), start, count: takes over requests whose lease has expired. Returns where to continue,
--- and the entries, each with its number of deliveries.
redis_scripts.claim = script([[
local found = redis.call("XAUTOCLAIM", KEYS[1], "w", ARGV[1], ARGV[2], ARGV[3], "COUNT", ARGV[4])
local entries = {}
for _, entry in ipairs(found[2]) do
  if entry and entry[2] then
    local held = redis.call("XPENDING", KEYS[1], "w", entry[1], entry[1], 1)[1]
    entry[3] = held and held[4] or 1
    entries[#entries + 1] = entry
  end
end
return { found[1], entries }]], { "string", { each = { "entry", redis_reply.fields, "integer" } } })

-- Further items go into another script: Redis does nothing else while one runs.
local MOST = 16

---@class operations.RedisBatchOptions
---@field link operations.RedisLink
---@field script operations.RedisScript  of a queue and the records of the items
---@field shared (string|number)[]  the first arguments of the script
---@field add fun(words: table, n: integer, item: any): integer  appends those of one item after the n-th; returns the
---  new n
---@field answered fun(item: any, reply: any, err: operations.Error?)

---@class operations.RedisBatch
local Batch = {}
Batch.__index = Batch

--- Gathers the commands of one turn for the same queue into one script, which is cheaper.
---@param options operations.RedisBatchOptions
---@return operations.RedisBatch
function redis_scripts.batch(options)
  return setmetatable({ _options = options, _by_queue = {} }, Batch)
end

local function send(self, queue, items)
  local options, words, n = self._options, { queue }, 1
  for i = 1, #items, 2 do
    n = n + 1
    words[n] = items[i]
  end
  local keys = n
  for _, word in ipairs(options.shared) do
    n = n + 1
    words[n] = word
  end
  for i = 2, #items, 2 do
    n = options.add(words, n, items[i])
  end
  options.script:send(options.link, function(replies, err)
    for i = 2, #items, 2 do
      options.answered(items[i], replies and replies[i / 2], err)
    end
  end, keys, words)
end

--- Sends the gathered items.
function Batch:flush()
  local by_queue = self._by_queue
  self._by_queue = {}
  for queue, items in pairs(by_queue) do
    send(self, queue, items)
  end
end

--- Adds an item; it is sent when all ready tasks have run.
---@param queue string  a key
---@param record string  a key
---@param item any
function Batch:add(queue, record, item)
  local by_queue = self._by_queue
  local items = by_queue[queue]
  if not items then
    if next(by_queue) == nil then
      task.detach(Batch.flush, self)
    end
    items = {}
    by_queue[queue] = items
  end
  local n = #items
  items[n + 1], items[n + 2] = record, item
  if n + 2 >= 2 * MOST then
    by_queue[queue] = nil
    send(self, queue, items)
  end
end

return redis_scripts

--- The Redis scripts of mode `reliable`, each one atomic step, and the keys they work on. The keys of one system
--- share a slot of Redis Cluster, by the hash tag in their names.
---
--- | key                          | type   | is                                                               |
--- |------------------------------|--------|------------------------------------------------------------------|
--- | `ops:{ops}:q:<operation>`    | stream | requests: `i` id, `f` caller, `p` payload, `a` when asked again, |
--- |                              |        | "revived" after a takeover; of a submitted job also `j`, for how |
--- |                              |        | long its outcome is kept (ms), and `w`, its owner                |
--- | `ops:{ops}:r:<request id>`   | string | its record: the entry in the queue, then the outcome as an event |
--- | `ops:{ops}:j:<request id>`   | hash   | of a submitted job: `o` operation, `c` created, `u` updated, `v` |
--- |                              |        | version, `a` attempt, `k` for how long its outcome is kept, `w`  |
--- |                              |        | owner, `n` what its worker notes, `q:<key>` an answer to a       |
--- |                              |        | question; while it is delayed `d` its time, `p` payload          |
--- | `ops:{ops}:later`            | zset   | delayed jobs by their time: operation, a space, request id       |
--- | `ops:{ops}:own:<owner>`      | zset   | an owner's jobs that have not ended, by the time they last       |
--- | `ops:{ops}:queues`           | set    | the operations that have a queue                                 |
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

function Keys:job(request_id)
  return self._prefix .. "j:" .. request_id
end

function Keys:owned(owner)
  return self._prefix .. "own:" .. owner
end

--- The key of the delayed jobs.
function Keys:later()
  return self._prefix .. "later"
end

--- The key of the set of operations with a queue.
function Keys:queues()
  return self._prefix .. "queues"
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
--- submitted again, "" if its random id cannot have been submitted before. Returns for each: 1, it is queued; 2, it
--- was queued before; its outcome if there is one; 0, the queue is full; false, no process has ever served the
--- operation.
redis_scripts.submit = script([[
local caller, room, answers = ARGV[1], tonumber(ARGV[2]) - redis.call("XLEN", KEYS[1]), {}
for i = 2, #KEYS do
  local at = 4 * i - 5
  local known = ARGV[at + 3] ~= "" and redis.call("GET", KEYS[i])
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

--- Queue, record, dead letters, operations with dead letters, job, its owner's jobs | entry, worker, outcome, its
--- lifetime (ms), the caller's channel ("" for a job), maximum number of letters, attempts, request, caller,
--- payload, operation, `j` and `w` of a submitted job. As `finish`, for a request that no worker survived.
redis_scripts.bury = script([[
local held = redis.pcall("XPENDING", KEYS[1], "w", ARGV[1], ARGV[1], 1, ARGV[2])
if not held[1] or redis.call("XACK", KEYS[1], "w", ARGV[1]) == 0 then return 0 end
redis.call("XDEL", KEYS[1], ARGV[1])
local letter = { "n", ARGV[7], "i", ARGV[8], "f", ARGV[9], "p", ARGV[10] }
if ARGV[12] then
  for _, word in ipairs({ "j", ARGV[12], "w", ARGV[13] }) do letter[#letter + 1] = word end
  redis.call("ZREM", KEYS[6], ARGV[8])
  if redis.call("EXISTS", KEYS[5]) == 1 then
    redis.call("HINCRBY", KEYS[5], "v", 1)
    redis.call("PEXPIRE", KEYS[5], ARGV[4])
  end
end
redis.call("XADD", KEYS[3], "MAXLEN", "~", ARGV[6], "*", unpack(letter))
redis.call("SADD", KEYS[4], ARGV[11])
redis.call("SET", KEYS[2], ARGV[3], "PX", ARGV[4])
if ARGV[5] ~= "" then redis.call("PUBLISH", ARGV[5], ARGV[3]) end
return 1]])

--- Queue, record, job, delayed jobs, its owner's jobs | id, payload, submitter, operation, delay (ms), for how long its
--- outcome is kept (ms), maximum length of the queue, maximum number of delayed jobs, owner, maximum number of its
--- jobs, for how long they count (ms). Returns the time (ms) when it is stored; 2, it was before; 0, the queue is full;
--- -1, its owner has too many; false, no process has ever served the operation.
redis_scripts.submit_job = script([[
if redis.call("EXISTS", KEYS[2]) == 1 then return 2 end
if redis.call("EXISTS", KEYS[1]) == 0 then return false end
local time, delay = redis.call("TIME"), tonumber(ARGV[5])
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local at = string.format("%.0f", now)
if delay > 0 and redis.call("ZCARD", KEYS[4]) >= tonumber(ARGV[8])
  or delay <= 0 and redis.call("XLEN", KEYS[1]) >= tonumber(ARGV[7]) then return 0 end
if ARGV[9] ~= "" then
  redis.call("ZREMRANGEBYSCORE", KEYS[5], "-inf", at)
  if redis.call("ZCARD", KEYS[5]) >= tonumber(ARGV[10]) then return -1 end
  redis.call("ZADD", KEYS[5], string.format("%.0f", now + ARGV[11]), ARGV[1])
  redis.call("PEXPIRE", KEYS[5], ARGV[11])
end
redis.call("HSET", KEYS[3], "o", ARGV[4], "c", at, "u", at, "v", 1, "a", 0, "k", ARGV[6], "w", ARGV[9])
if delay > 0 then
  local due = string.format("%.0f", now + delay)
  redis.call("HSET", KEYS[3], "d", due, "f", ARGV[3], "p", ARGV[2])
  redis.call("ZADD", KEYS[4], due, ARGV[4] .. " " .. ARGV[1])
  redis.call("SET", KEYS[2], "later")
else
  local entry = redis.call("XADD", KEYS[1], "*", "i", ARGV[1], "f", ARGV[3], "p", ARGV[2], "j", ARGV[6], "w", ARGV[9])
  redis.call("SET", KEYS[2], entry)
end
return at]], "nil|integer|string")

--- Delayed jobs, queue, record, job | its member of the first, its id: queues a delayed job.
redis_scripts.queue_delayed = script([[
if redis.call("ZREM", KEYS[1], ARGV[1]) == 0 then return 0 end
local kept = redis.call("HMGET", KEYS[4], "p", "f", "k", "w")
if not kept[1] then return 0 end
local entry = redis.call("XADD", KEYS[2], "*", "i", ARGV[2], "f", kept[2], "p", kept[1], "j", kept[3], "w", kept[4])
redis.call("SET", KEYS[3], entry)
redis.call("HDEL", KEYS[4], "p", "f", "d")
redis.call("HINCRBY", KEYS[4], "v", 1)
return 1]], "integer")

--- Queue, job | entry, worker, time, fields and values...: what the worker that holds a job notes of it.
redis_scripts.note = script([[
local held = redis.pcall("XPENDING", KEYS[1], "w", ARGV[1], ARGV[1], 1, ARGV[2])
if not held[1] or redis.call("EXISTS", KEYS[2]) == 0 then return 0 end
redis.call("HINCRBY", KEYS[2], "v", 1)
redis.call("HSET", KEYS[2], "u", unpack(ARGV, 3))
return 1]], "integer")

--- Queue, record, job, its owner's jobs | entry, worker, outcome, for how long it is kept (ms), id, time. As `finish`,
--- for a submitted job, without a message.
redis_scripts.finish_job = script([[
local held = redis.pcall("XPENDING", KEYS[1], "w", ARGV[1], ARGV[1], 1, ARGV[2])
if not held[1] then return 0 end
redis.call("XACK", KEYS[1], "w", ARGV[1])
redis.call("XDEL", KEYS[1], ARGV[1])
redis.call("SET", KEYS[2], ARGV[3], "PX", ARGV[4])
redis.call("ZREM", KEYS[4], ARGV[5])
if redis.call("EXISTS", KEYS[3]) == 1 then
  redis.call("HINCRBY", KEYS[3], "v", 1)
  redis.call("HSET", KEYS[3], "u", ARGV[6])
  redis.call("PEXPIRE", KEYS[3], ARGV[4])
end
return 1]], "integer")

--- Record, job: the state of a submitted job: its fields, its record, and the time in seconds.
redis_scripts.look = script([[
return { redis.call("HGETALL", KEYS[2]), redis.call("GET", KEYS[1]), redis.call("TIME")[1] }]],
  { redis_reply.fields, "nil|string", "string" })

--- Queue, record, job, delayed jobs, its owner's jobs | id, its member of the delayed jobs, outcome ("": it is removed
--- with its outcome), abort event, prefix of the processes' channels, time, for how long the outcome of a call is kept
--- (ms). Ends a job or call that has not ended, and tells its worker. Returns 1, or 0 when there was nothing to do.
redis_scripts.end_job = script([[
local at = redis.call("GET", KEYS[2])
local ended = at and string.sub(at, 1, 1) == "{"
local removes = ARGV[3] == ""
if not at or ended and not removes then return 0 end
if at == "later" then
  redis.call("ZREM", KEYS[4], ARGV[2])
elseif not ended then
  local held = redis.pcall("XPENDING", KEYS[1], "w", at, at, 1)[1]
  redis.pcall("XACK", KEYS[1], "w", at)
  redis.pcall("XDEL", KEYS[1], at)
  if held then redis.call("PUBLISH", ARGV[5] .. held[2], ARGV[4]) end
end
redis.call("ZREM", KEYS[5], ARGV[1])
if removes then return redis.call("UNLINK", KEYS[2], KEYS[3]) > 0 and 1 or 0 end
local kept = redis.call("HGET", KEYS[3], "k")
redis.call("SET", KEYS[2], ARGV[3], "PX", kept or ARGV[7])
if kept then
  redis.call("HDEL", KEYS[3], "p", "f", "d")
  redis.call("HINCRBY", KEYS[3], "v", 1)
  redis.call("HSET", KEYS[3], "u", ARGV[6])
  redis.call("PEXPIRE", KEYS[3], kept)
end
return 1]], "integer")

--- Record, job | fields and values...: stores answers to the questions of a job that has not ended.
redis_scripts.answer = script([[
local at = redis.call("GET", KEYS[1])
if not at or string.sub(at, 1, 1) == "{" then return 0 end
redis.call("HSET", KEYS[2], unpack(ARGV))
return 1]], "integer")

--- Dead letters, operations with dead letters, queue, a record and a job for each letter | operation, maximum length;
--- for each letter: its id, lifetime of its record (ms). Queues them again, unless their requests are queued already,
--- while there is room. Returns their number, and 1 when there was no more room.
redis_scripts.revive = script([=[
local count, room, full = 0, tonumber(ARGV[2]) - redis.call("XLEN", KEYS[3]), 0
for i = 1, (#KEYS - 3) / 2 do
  local record, job, id, kept = KEYS[2 * i + 2], KEYS[2 * i + 3], ARGV[2 * i + 1], ARGV[2 * i + 2]
  local letter = redis.call("XRANGE", KEYS[1], id, id)[1]
  if letter then
    local fields, known = {}, redis.call("GET", record)
    for j = 1, #letter[2], 2 do fields[letter[2][j]] = letter[2][j + 1] end
    local queued = known and string.sub(known, 1, 1) ~= "{"
    if not queued and room <= 0 then
      full = 1
      break
    elseif not queued then
      local words = { "i", fields.i, "f", fields.f, "p", fields.p, "a", "revived" }
      if fields.j then
        for _, word in ipairs({ "j", fields.j, "w", fields.w }) do words[#words + 1] = word end
        local time = redis.call("TIME")
        local now = string.format("%.0f", time[1] * 1000 + math.floor(time[2] / 1000))
        redis.call("HSETNX", job, "c", now)
        redis.call("HSET", job, "o", ARGV[1], "k", fields.j, "w", fields.w, "a", 0, "u", now)
        redis.call("HINCRBY", job, "v", 1)
        redis.call("PERSIST", job)
      end
      local entry = redis.call("XADD", KEYS[3], "*", unpack(words))
      redis.call("SET", record, entry, "PX", kept)
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

--- Queue, record, job | event, prefix of the processes' channels. Takes a call back that has not ended, and tells its
--- worker. A submitted job with its id does not end with the call.
redis_scripts.abort = script([[
local id = redis.call("GET", KEYS[2])
if not id or string.sub(id, 1, 1) == "{" or redis.call("EXISTS", KEYS[3]) == 1 then return 0 end
local held = redis.pcall("XPENDING", KEYS[1], "w", id, id, 1)[1]
redis.pcall("XACK", KEYS[1], "w", id)
redis.call("XDEL", KEYS[1], id)
redis.call("UNLINK", KEYS[2])
if held then redis.call("PUBLISH", ARGV[2] .. held[2], ARGV[1]) end
return 1]])

--- Queue, operations with a queue | worker, idle time after which a consumer without requests is removed (ms),
--- operation.
redis_scripts.join = script([=[
redis.pcall("XGROUP", "CREATE", KEYS[1], "w", "0", "MKSTREAM")
redis.call("SADD", KEYS[2], ARGV[3])
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

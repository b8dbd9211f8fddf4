--- The Redis scripts of mode `reliable`, each one atomic step, and the keys they work on. The keys of one system
--- share a slot of Redis Cluster, by the hash tag in their names.
---
--- | key                          | type   | is                                                               |
--- |------------------------------|--------|------------------------------------------------------------------|
--- | `ops:{ops}:q:<operation>`    | stream | requests: `i` id, `f` caller, `p` payload, `a` when asked again, |
--- |                              |        | "revived" after a takeover                                       |
--- | `ops:{ops}:r:<request id>`   | string | its record: the entry in the queue, then the outcome as an event |
--- | `ops:{ops}:dead:<operation>` | stream | requests that no worker survived, after `n` attempts             |
--- | `ops:{ops}:dead`             | set    | the operations that there are such of                            |
local compat = require("operations.base.compat")
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

--- A key that holds no data: the node of a cluster that owns it owns all keys of the system.
function Keys:any()
  return self._prefix .. "any"
end

--- The operations that have dead letters.
function Keys:dead_operations()
  return self._prefix .. "dead"
end

---@class operations.RedisScript
---@field text string
---@field id string  what EVALSHA calls it
local Script = {}
Script.__index = Script

local function script(text)
  return setmetatable({ text = text, id = resp.script_id(text) }, Script)
end

--- A script of somebody else.
---@param text string
---@return operations.RedisScript
function redis_scripts.new(text)
  return script(text)
end

--- Runs it; `fn(reply)` or `fn(nil, err)` is called with its answer and must not wait.
---@param link operations.RedisLink
---@param fn fun(reply: any, err: operations.Error?)
---@param keys integer  how many of the words are keys
---@param words (string|number)[]  the keys, then the arguments
function Script:send(link, fn, keys, words)
  link:post(function(reply, err)
    if err and err.message:find("^Redis: NOSCRIPT") then
      return link:post(fn, "EVAL", self.text, keys, compat.unpack(words))
    end
    fn(reply, err)
  end, "EVALSHA", self.id, keys, compat.unpack(words))
end

--- Runs it and waits for its answer.
---@param link operations.RedisLink
---@param keys integer  how many of the words are keys
---@param words (string|number)[]  the keys, then the arguments
---@return any reply
---@return operations.Error? err
function Script:call(link, keys, words)
  local reply, err = link:call("EVALSHA", self.id, keys, compat.unpack(words))
  if err and err.message:find("^Redis: NOSCRIPT") then
    return link:call("EVAL", self.text, keys, compat.unpack(words))
  end
  return reply, err
end

--- Queue, records | caller, longest queue; of each request: id, payload, how long its record lives (ms), "1" when given
--- again. Answers for each: 1, it is queued; 2, it was before; its outcome when there is one; 0, the queue is full;
--- false, nobody ever served the operation.
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
return answers]])

--- Queue, records | worker, how long outcomes are kept (ms); of each request: entry, outcome, its caller's channel.
--- Only the holder of the entry may end it. Answers for each: 1, or 0 when it is another's, or gone.
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
return answers]])

--- Queue, record, dead letters, the operations with such | entry, worker, outcome, how long it is kept (ms), the
--- caller's channel, how many letters are kept, attempts, request, caller, payload, operation. As `finish`, for one
--- that no worker survived.
redis_scripts.bury = script([[
local held = redis.pcall("XPENDING", KEYS[1], "w", ARGV[1], ARGV[1], 1, ARGV[2])
if not held[1] or redis.call("XACK", KEYS[1], "w", ARGV[1]) == 0 then return 0 end
redis.call("XDEL", KEYS[1], ARGV[1])
redis.call("XADD", KEYS[3], "MAXLEN", "~", ARGV[6], "*", "n", ARGV[7], "i", ARGV[8], "f", ARGV[9], "p", ARGV[10])
redis.call("SADD", KEYS[4], ARGV[11])
redis.call("SET", KEYS[2], ARGV[3], "PX", ARGV[4])
redis.call("PUBLISH", ARGV[5], ARGV[3])
return 1]])

--- Dead letters, the operations with such, queue, records | operation, longest queue; of each letter: its id, how long
--- its record lives (ms). Queues them again, where their requests are not queued yet, while there is room. Answers with
--- how many there were, and 1 when there was no room for more.
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
return { count, full }]=])

--- Dead letters, the operations with such | operation, a letter's id or nothing. Answers with how many there were.
redis_scripts.drop = script([[
local count = ARGV[2] and redis.call("XDEL", KEYS[1], ARGV[2]) or redis.call("XLEN", KEYS[1])
if not ARGV[2] or redis.call("XLEN", KEYS[1]) == 0 then
  redis.call("UNLINK", KEYS[1])
  redis.call("SREM", KEYS[2], ARGV[1])
end
return count]])

--- Queue, record | event, what the channels of processes begin with. Takes a request back that has not ended; who
--- works on it is told.
redis_scripts.abort = script([[
local id = redis.call("GET", KEYS[2])
if not id or string.sub(id, 1, 1) == "{" then return 0 end
local held = redis.pcall("XPENDING", KEYS[1], "w", id, id, 1)[1]
redis.pcall("XACK", KEYS[1], "w", id)
redis.call("XDEL", KEYS[1], id)
redis.call("UNLINK", KEYS[2])
if held then redis.call("PUBLISH", ARGV[2] .. held[2], ARGV[1]) end
return 1]])

--- Queue | worker, idle time after which a consumer that holds nothing is forgotten (ms).
redis_scripts.join = script([=[
redis.pcall("XGROUP", "CREATE", KEYS[1], "w", "0", "MKSTREAM")
for _, fields in ipairs(redis.call("XINFO", "CONSUMERS", KEYS[1], "w")) do
  local consumer = {}
  for i = 1, #fields, 2 do consumer[fields[i]] = fields[i + 1] end
  if consumer.pending == 0 and consumer.idle > tonumber(ARGV[2]) and consumer.name ~= ARGV[1] then
    redis.call("XGROUP", "DELCONSUMER", KEYS[1], "w", consumer.name)
  end
end]=])

--- Queue | worker, entries...: begins their leases anew; answers with those that are the worker's no more.
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
return lost]])

--- Queue | worker, idle time (ms), entries, each followed by how often it was begun: others may take them over at once.
redis_scripts.release = script([[
for i = 3, #ARGV, 2 do
  local held = redis.pcall("XPENDING", KEYS[1], "w", ARGV[i], ARGV[i], 1, ARGV[1])
  if held[1] then
    redis.call("XCLAIM", KEYS[1], "w", ARGV[1], 0, ARGV[i], "IDLE", ARGV[2], "RETRYCOUNT", ARGV[i + 1], "JUSTID")
  end
end]])

--- Queue | worker, lease (ms), where to begin, how many: takes over what others let lie. Answers with where to go on,
--- and the entries, each with how often it was given to a worker.
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
return { found[1], entries }]])

-- More items go in a script of their own: while one runs, nobody else is served.
local MOST = 16

---@class operations.RedisBatchOptions
---@field link operations.RedisLink
---@field script operations.RedisScript  of a queue and the records of the items
---@field shared (string|number)[]  its first arguments
---@field add fun(words: table, n: integer, item: any): integer  appends those of one item behind the n-th; the new n
---@field answered fun(item: any, reply: any, err: operations.Error?)

---@class operations.RedisBatch
local Batch = {}
Batch.__index = Batch

--- Gathers what one turn of the program asks of the same queue: it goes to Redis as one script, which costs less than
--- one for each.
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

--- Sends what was gathered.
function Batch:flush()
  local by_queue = self._by_queue
  self._by_queue = {}
  for queue, items in pairs(by_queue) do
    send(self, queue, items)
  end
end

--- Adds an item; it is sent when what runs now, and all that is ready to run, has had its turn.
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

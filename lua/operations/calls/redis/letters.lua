--- The dead letters of mode `reliable`, requests that no worker survived: lists, revives and removes them.
local argument = require("operations.base.argument")
local call_event = require("operations.calls.event")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local scripts = require("operations.calls.redis.scripts")

---@class operations.Redis
local redis_letters = {}

local LISTED = 100 -- the default limit

---@class operations.DeadLetter
---@field id string  of the letter
---@field operation string
---@field requestId string  of the call
---@field attempts integer  the number of workers that lost it
---@field buried integer  ms since the epoch
---@field input any
---@field payload? table  the whole request
---@field submitted boolean  it is a submitted job, not a call

local function letter_of(operation, entry)
  local fields = {}
  for i = 1, #entry[2], 2 do
    fields[entry[2][i]] = entry[2][i + 1]
  end
  local payload = json.decode(fields.p or "")
  payload = type(payload) == "table" and payload or nil
  if payload then
    payload.sig = nil
  end
  return { id = entry[1], operation = operation, requestId = fields.i, attempts = tonumber(fields.n),
    buried = tonumber(entry[1]:match("^%d+")), input = payload and payload.input, payload = payload,
    submitted = fields.j ~= nil }
end

--- Requests that no worker survived, in mode `reliable`: those of an operation, or all; the oldest first.
---@param operation? string
---@param options? { limit?: integer }  default 100
---@return operations.DeadLetter[]?
---@return operations.Error? err
function redis_letters:dead_letters(operation, options)
  local shared = self._shared
  argument.optional(operation, "string", 1, "dead_letters")
  argument.optional(options, "table", 2, "dead_letters")
  argument.options(options or {}, { limit = "number" }, "dead_letters")
  local limit, list = options and options.limit or LISTED, {}
  local operations, err
  if operation then
    operations = { operation }
  else
    operations, err = shared.link:call("SMEMBERS", shared.keys:dead_operations())
    if not operations then
      return nil, err
    end
    table.sort(operations)
  end
  for _, id in ipairs(operations) do
    local entries, problem = shared.link:call("XRANGE", shared.keys:dead(id), "-", "+", "COUNT", limit - #list)
    if not entries then
      return nil, problem
    end
    for _, entry in ipairs(entries) do
      list[#list + 1] = letter_of(id, entry)
    end
    if #list >= limit then
      break
    end
  end
  return list
end

-- Runs a script that gets the operation; returns its answer.
local function run(shared, script, operation, keys, words)
  local first = { shared.keys:dead(operation), shared.keys:dead_operations() }
  return script:call(shared.link, 2 + #keys, members.joined(first, keys, { operation }, words))
end

-- Letters without room in the queue stay dead letters.
local function full(shared, operation)
  return call_event.error({ code = "BUSY", details = {}, retryable = true,
    message = ("%d requests for '%s' are queued, no more are accepted"):format(shared.max_queue, operation) })
end

-- Revives the letters between two ids, as many as fit in one step: returns their number, why there were no more, and
-- the last one's id.
local function revive_batch(shared, operation, from, to)
  local entries, err = shared.link:call("XRANGE", shared.keys:dead(operation), from, to, "COUNT", limits.redis_batch)
  if not entries or #entries == 0 then
    return 0, err
  end
  local keys, words = { shared.keys:queue(operation) }, { shared.max_queue }
  for i, entry in ipairs(entries) do
    local letter = letter_of(operation, entry)
    keys[2 * i], keys[2 * i + 1] = shared.keys:record(letter.requestId or ""), shared.keys:job(letter.requestId or "")
    local ttl = letter.payload and tonumber(letter.payload.ttl) or 0
    words[2 * i] = entry[1]
    words[2 * i + 1] = math.floor(letter.submitted and limits.redis_ages
      or math.min(ttl + shared.retention, limits.redis_ages))
  end
  local reply, problem = run(shared, scripts.revive, operation, keys, words)
  if not reply then
    return 0, problem
  end
  return reply[1], reply[2] == 1 and full(shared, operation) or nil, entries[#entries][1]
end

-- The operation, and the id of a single letter; misuse raises two levels up.
local function subject(what, name)
  if type(what) == "string" then
    return what
  elseif type(what) == "table" and type(what.operation) == "string" and type(what.id) == "string" then
    return what.operation, what.id
  end
  error(("bad argument #1 to '%s' (an operation's id or a letter expected, got %s)"):format(name, type(what)), 3)
end

-- The id of the newest letter; letters that die again meanwhile are not revived.
local function newest_of(shared, operation)
  local entries, err = shared.link:call("XREVRANGE", shared.keys:dead(operation), "+", "-", "COUNT", 1)
  return entries and entries[1] and entries[1][1], err
end

--- Queues the dead letters of an operation, or one letter, again, with all attempts and their full time. A caller that
--- uses the same `requestId` gets the new outcome. Letters without room in the queue stay.
---@param what string|operations.DeadLetter  the operation, or a letter
---@return integer? count  the number of revived letters
---@return operations.Error? err  BUSY: the queue has no room for all; details.revived, how many are queued again
function redis_letters:revive_dead_letters(what)
  local shared = self._shared
  local operation, id = subject(what, "revive_dead_letters")
  local newest, err = id, nil
  if not id then
    newest, err = newest_of(shared, operation)
  end
  local total, from = 0, id or "-"
  while newest and not err do
    local count, last
    count, err, last = revive_batch(shared, operation, from, newest)
    total = total + (count or 0)
    if not last or last == newest then
      break
    end
    from = "(" .. last
  end
  if err and err.code == "BUSY" and err.details then
    err.details.revived = total
  end
  if err then
    return nil, err
  end
  return total
end

--- Removes the dead letters of an operation, or one letter.
---@param what string|operations.DeadLetter  the operation, or a letter
---@return integer? count  the number of removed letters
---@return operations.Error? err
function redis_letters:drop_dead_letters(what)
  local operation, id = subject(what, "drop_dead_letters")
  return run(self._shared, scripts.drop, operation, {}, { id })
end

return redis_letters

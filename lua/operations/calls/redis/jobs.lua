--- Submitted jobs of mode `reliable`: stores, shows, answers, ends and lists them. A job has the record of a call and,
--- beside it, what is known of it before and after its outcome.
local call_event = require("operations.calls.event")
local core = require("operations.core")
local delayed = require("operations.calls.redis.delayed")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local scripts = require("operations.calls.redis.scripts")
local task = require("operations.task")

---@class operations.Redis
local redis_jobs = {}

-- Whole milliseconds that Redis takes.
local function whole(ms)
  return ("%.0f"):format(math.floor(math.min(math.max(ms, 0), limits.redis_ages)))
end

-- Runs `step` until Redis has answered, or the time is over: a lost connection is not the end of it.
local function insist(self, timeout, step)
  local deadline = task.monotonic() + timeout
  while true do
    local reply, err = step()
    local lost = err and err.code == "TRANSPORT_LOST" and not self._closed and not self._shared.link:refusal()
    if not lost or task.monotonic() >= deadline then
      return reply, err
    end
    task.sleep(limits.reconnect_delay / 1000)
  end
end

---@class operations.RedisJobTerms
---@field delay number  ms
---@field keep number  ms for which its outcome is kept
---@field timeout number  ms: until then lost connections are made again
---@field owner? string
---@field owner_limit? integer  jobs of the owner that have not ended

--- Stores a job. Waits until Redis has it.
---@param payload table  of its call.requested
---@param options operations.RedisJobTerms
---@return number|false|nil created  ms since the epoch, by Redis' clock; false: there is a job or call with this id
---@return operations.Error? err  VALIDATION_ERROR, UNAVAILABLE, BUSY, TRANSPORT_LOST
function redis_jobs:submit(payload, options)
  local shared, id, operation = self._shared, payload.requestId, payload.operationId
  local keys = shared.keys
  local queue, owner = keys:queue(operation), options.owner or ""
  local text, problem = call_event.encode(payload, shared.max_message)
  if not text then
    return nil, problem
  end
  local keep = math.max(1, options.keep)
  local words = { queue, keys:record(id), keys:job(id), keys:later(), keys:owned(owner),
    id, shared.signature:seal(queue, text), shared.presence.id, operation, whole(options.delay), whole(keep),
    shared.max_queue, limits.redis_delayed, owner, options.owner_limit or 0, whole(keep) }
  local known_until, sent = task.monotonic() + limits.discovery, false
  local reply, err = insist(self, options.timeout, function()
    local answer, failure = scripts.submit_job:call(shared.link, 5, words)
    sent = sent or failure ~= nil and failure.mayHaveRun ~= false
    if answer == false and task.monotonic() < known_until then -- a worker may just be starting
      return nil, call_event.error({ code = "TRANSPORT_LOST", message = "no process serves it yet" })
    end
    return answer, failure
  end)
  if err and err.code == "TRANSPORT_LOST" and sent then
    err.mayHaveRun = true
  end
  if reply == nil then
    return nil, err
  elseif not reply then
    return nil, call_event.error({ code = "UNAVAILABLE", retryable = true, mayHaveRun = false,
      message = ("no process on this Redis serves '%s'%s"):format(operation, shared.signature:remark()) })
  elseif reply == 0 or reply == -1 then
    return nil, call_event.error({ code = "BUSY", retryable = true, mayHaveRun = false,
      message = reply == 0 and ("%d requests for '%s' are queued, no more are accepted"):format(shared.max_queue,
        operation) or ("%d jobs of this caller have not ended, no more are accepted"):format(options.owner_limit) })
  end
  return reply ~= 2 and tonumber(reply)
end

-- The fields of a job, by name.
local function read_fields(list)
  local fields = {}
  for i = 1, #list, 2 do
    fields[list[i]] = list[i + 1]
  end
  return fields
end

-- Puts the outcome of a job into its record.
local function add_outcome(shared, record, text)
  local event = shared.signature:fits(shared.keys:record(record.id), text) and json.decode(text)
  local name, payload = call_event.check(event or nil)
  record.ended = true
  if name == "call.responded" then
    record.state, record.envelope = "completed", payload.output
    return
  end
  local failure = name == "call.error" and payload
    or { code = name == "call.aborted" and "ABORTED" or "EXECUTION_ERROR",
      message = name == "call.aborted" and payload.reason or "its outcome is invalid", mayHaveRun = true }
  record.error = call_event.error(failure)
  record.state = type(failure.details) == "table" and failure.details.cancelled and "cancelled" or "failed"
  record.message = record.state == "cancelled" and failure.message or record.message
end

-- What its worker has noted, and the questions that have no answer yet.
local function add_note(shared, record, fields)
  local place = shared.keys:job(record.id)
  local note = fields.n and shared.signature:fits(place, fields.n) and json.decode(fields.n)
  if type(note) ~= "table" then
    return
  end
  local progress = type(note.progress) == "table" and type(note.progress.done) == "number" and note.progress or nil
  record.progress, record.message = progress, progress and progress.message
  for key, question in pairs(type(note.questions) == "table" and note.questions or {}) do
    local is_one = type(question) == "table" and type(question.method) == "string" and type(question.params) == "table"
    if is_one and not fields["q:" .. key] then
      record.questions = record.questions or {}
      record.questions[key] = question
    end
  end
  record.state = record.questions and "input_required" or record.state
end

-- The record of a job; `now` in seconds, by Redis' clock.
local function record_of(shared, id, list, at, now)
  local fields = read_fields(list)
  local record = { id = id, operation = fields.o, state = "working", version = tonumber(fields.v) or 0,
    attempt = tonumber(fields.a) or 0, created = tonumber(fields.c), updated = tonumber(fields.u),
    due = tonumber(fields.d), owner = fields.w, keep = tonumber(fields.k) }
  record.age = record.created and tonumber(now) and math.max(0, tonumber(now) * 1000 - record.created)
  add_note(shared, record, fields)
  if at:byte() == 0x7b then -- {
    record.questions = nil
    add_outcome(shared, record, at)
  end
  return record
end

--- The record of a job.
---@param id string
---@return operations.JobRecord?  with `owner` and `age`, ms by Redis' clock; nil without an error: there is none
---@return operations.Error? err
function redis_jobs:look(id)
  local shared = self._shared
  local keys = shared.keys
  local reply, err = scripts.look:call(shared.link, 2, { keys:record(id), keys:job(id) })
  if not reply then
    return nil, err
  elseif not reply[2] then
    return nil
  end
  return record_of(shared, id, reply[1], reply[2], reply[3])
end

--- Ends a job or call, or removes it with its outcome.
---@param record { id: string, operation: string, owner: string? }
---@param reason? string  nil: it is removed
---@return boolean? changed
---@return operations.Error? err
function redis_jobs:end_job(record, reason)
  local shared, id, operation = self._shared, record.id, record.operation or ""
  local keys, presence = shared.keys, shared.presence
  local queue, outcome = keys:queue(operation), ""
  if reason then
    outcome = shared.signature:seal(keys:record(id), (assert(presence:encode("call.error", { requestId = id,
      code = "ABORTED", message = reason, details = { cancelled = true }, retryable = false, mayHaveRun = true }))))
  end
  local abort = shared.signature:seal(queue,
    (assert(presence:encode("call.aborted", call_event.aborted(id, reason or "the job was removed")))))
  local reply, err = scripts.end_job:call(shared.link, 5, { queue, keys:record(id), keys:job(id), keys:later(),
    keys:owned(record.owner or ""), id, delayed.member(operation, id), outcome, abort, presence:channel(""),
    whole(core.now()), shared.retention })
  return reply and reply == 1, err
end

--- Stores answers to the questions of a job.
---@param id string
---@param answers table<string, table>
---@return boolean? ok
---@return operations.Error? err
function redis_jobs:answer(id, answers)
  local shared = self._shared
  local place, words = shared.keys:job(id), { shared.keys:record(id), shared.keys:job(id) }
  for key, answer in pairs(answers) do
    local text, err = call_event.encode({ key = key, answer = answer }, shared.max_message)
    if not text then
      return nil, err
    end
    words[#words + 1], words[#words + 2] = "q:" .. key, shared.signature:seal(place, text)
  end
  if #words == 2 then
    return true
  end
  local reply, err = scripts.answer:call(shared.link, 2, words)
  return reply and true or nil, err
end

---@class operations.QueuedJob
---@field id string  the requestId
---@field operation string
---@field state "waiting"|"delayed"|"running"|"dead"
---@field created integer  ms since the epoch: when it was queued, or died
---@field due? integer  ms since the epoch, of a delayed one
---@field attempt integer  workers that began it
---@field worker? string  that runs it
---@field submitted boolean  false: it is a call, whose caller waits
---@field input any
---@field letter? operations.DeadLetter  of a dead one

local function input_of(text)
  local payload = json.decode(text or "")
  return type(payload) == "table" and payload.input or nil
end

-- The requests in the queue of an operation.
local function queued(shared, operation, limit)
  local key, running, list = shared.keys:queue(operation), {}, {}
  local entries, err = shared.link:call("XRANGE", key, "-", "+", "COUNT", limit)
  if not entries then
    return nil, err
  end
  local held = shared.link:call("XPENDING", key, "w", "-", "+", limit)
  for _, each in ipairs(held or {}) do
    running[each[1]] = each
  end
  for i, entry in ipairs(entries) do
    local fields, holder = read_fields(entry[2]), running[entry[1]]
    list[i] = { id = fields.i, operation = operation, state = holder and "running" or "waiting",
      created = tonumber(entry[1]:match("^%d+")), attempt = holder and holder[4] or 0, worker = holder and holder[2],
      submitted = fields.j ~= nil, input = input_of(fields.p) }
  end
  return list
end

local function add_delayed(shared, list, operation, limit)
  local members, err = shared.link:call("ZRANGE", shared.keys:later(), 0, limit - 1, "WITHSCORES")
  for i = 1, members and #members or 0, 2 do
    local name, id = delayed.parts(members[i])
    if name and (not operation or name == operation) then
      list[#list + 1] = { id = id, operation = name, state = "delayed", due = tonumber(members[i + 1]), attempt = 0,
        submitted = true }
    end
  end
  return members ~= nil, err
end

--- The requests that have not ended, and the dead letters: of an operation, or of all.
---@param operation? string
---@param limit integer  of each kind and operation
---@return operations.QueuedJob[]?
---@return operations.Error? err
function redis_jobs:jobs(operation, limit)
  local shared, list = self._shared, {}
  local names, err = { operation }, nil
  if not operation then
    names, err = shared.link:call("SMEMBERS", shared.keys:queues())
  end
  for _, name in ipairs(names or {}) do
    local some, problem = queued(shared, name, limit)
    for _, each in ipairs(some or {}) do
      list[#list + 1] = each
    end
    err = err or problem
  end
  local ok, problem = add_delayed(shared, list, operation, limit)
  local letters, why = self:dead_letters(operation, { limit = limit })
  for _, letter in ipairs(letters or {}) do
    list[#list + 1] = { id = letter.requestId, operation = letter.operation, state = "dead", created = letter.buried,
      attempt = letter.attempts, submitted = letter.submitted, input = letter.input, letter = letter }
  end
  err = err or not ok and problem or why
  return not err and list or nil, err
end

return redis_jobs

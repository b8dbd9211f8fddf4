--- Jobs that a call map submits: the transport stores them, and they do not depend on this process. For transports
--- that keep requests, which is Redis in mode `reliable`.
local argument = require("operations.base.argument")
local call_event = require("operations.calls.event")
local core = require("operations.core")
local errors = require("operations.base.error")
local job = require("operations.registry.job")
local limits = require("operations.base.limits")
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local schemas = require("operations.calls.schemas")
local task = require("operations.task")

---@class operations.CallMap
local call_jobs = {}

---@class operations.SubmitOptions
---@field requestId? string  default: a random UUID. A second job or call with the same id is the same one: it runs once
---@field delay? number  ms, until a worker may begin it
---@field expires? number  ms from then: what has not ended by then ends with TIMEOUT; default: no limit
---@field keep? number  ms for which the outcome is kept, default 1 day
---@field timeout? number  ms, default 60,000: until then a lost Redis is waited for
---@field parentRequestId? string
---@field identity? operations.Identity  kept with the job
---@field metadata? table  kept with the job
---@field traceparent? string  W3C Trace Context
---@field capabilities? table  what the job can ask, as those of an MCP client
---@field owner? string  `owner_limit` of its jobs may run
---@field owner_limit? integer

local kinds = { requestId = "string", delay = "number", expires = "number", keep = "number", timeout = "number",
  parentRequestId = "string", identity = "table", metadata = "table", traceparent = "string",
  capabilities = "table", owner = "string", owner_limit = "number" }

local function check(id, options)
  argument.expect(id, "string", 1, "submit", 4)
  argument.optional(options, "table", 3, "submit", 4)
  argument.options(options or {}, kinds, "submit", 4)
  for name, kind in pairs(kinds) do
    local value = options and options[name]
    if kind == "number" and value and not (value >= 0 and value < math.huge) then
      error(("bad option '%s' to 'submit' (a number from 0 on expected)"):format(name), 3)
    end
  end
  if options and options.requestId and not call_event.is_id(options.requestId) then
    error("bad option 'requestId' to 'submit' (1 to 256 characters expected)", 3)
  end
end

-- The transport, if it keeps jobs.
local function keeper(self, name)
  local transport = type(self) == "table" and self._transport
  if not transport then
    error(("calling '%s' on bad self (call map expected, got %s)"):format(name, type(self)), 3)
  elseif not transport.keeps_jobs then
    error(("bad call map to '%s' (one over Redis in mode \"reliable\" expected)"):format(name), 3)
  end
  return transport
end

--- Stores a job, and returns once the transport has it: from then on it runs, whatever happens to this process. At
--- least once, with exactly one outcome.
---@param id string
---@param input? any  default: an empty object
---@param options? operations.SubmitOptions
---@return operations.JobRecord? record
---@return operations.Error? err  UNAVAILABLE: no process has ever served it; BUSY: too many are queued;
---  VALIDATION_ERROR: it cannot be encoded; TRANSPORT_LOST: `err.mayHaveRun` says whether it may be stored
function call_jobs:submit(id, input, options)
  local transport = keeper(self, "submit")
  check(id, options)
  if self._closed then
    return nil, call_event.closed()
  end
  options = options or {}
  local request_id = options.requestId or core.random_id()
  local metadata = options.metadata
  if options.traceparent then
    metadata = members.merged({ traceparent = options.traceparent }, metadata)
  end
  local payload = { requestId = request_id, operationId = id, input = input, ttl = options.expires,
    parentRequestId = options.parentRequestId, metadata = metadata, progress = true,
    identity = marked.value(options.identity, schemas.identity, schemas.identity),
    capabilities = options.capabilities }
  if input == nil then
    payload.input = {}
  end
  local created, err = transport:submit(payload, { delay = options.delay or 0, keep = options.keep or limits.redis_keep,
    timeout = options.timeout or limits.call_timeout, owner = options.owner,
    owner_limit = options.owner_limit })
  if created == nil then
    return nil, err
  elseif not created then
    return self:job(request_id)
  end
  return { id = request_id, operation = id, state = "working", version = 1, attempt = 0, created = created,
    updated = created }
end

local function unknown(id)
  return nil, errors.new("OPERATION_NOT_FOUND", ("no job '%s'"):format(id))
end

--- As `job`, with `owner` and `age` (ms, by the clock of the store), which are not for callers.
function call_jobs:_look(id)
  local record, err = self._transport:look(id)
  if not record and not err then
    return unknown(id)
  end
  return record, err
end

--- The record of a job.
---@param id string  its `requestId`
---@return operations.JobRecord? record
---@return operations.Error? err  OPERATION_NOT_FOUND: there is none, or its outcome is no longer kept
function call_jobs:job(id)
  keeper(self, "job")
  argument.expect(id, "string", 1, "job")
  local record, err = self:_look(id)
  if record then
    record.owner, record.age = nil, nil
  end
  return record, err
end

local FIRST = 20 -- ms of the first pause between two looks

--- Looks at a job until it is as wanted. Returns what it saw last.
---@param id string
---@param timeout number  ms
---@param suffices fun(record: operations.JobRecord): boolean
---@return operations.JobRecord?
---@return operations.Error?
function call_jobs:_await(id, timeout, suffices)
  local pause, deadline = FIRST, task.monotonic() + timeout
  while true do
    local record, err = self:_look(id)
    local left = deadline - task.monotonic()
    local lost = err and err.code == "TRANSPORT_LOST" and not self._closed
    if left <= 0 or record and suffices(record) or err and not lost then
      return record, err
    end
    task.sleep(math.min(pause, left) / 1000)
    pause = math.min(2 * pause, limits.redis_look)
  end
end

local function has_ended(record)
  return record.ended
end

--- The outcome of a job; waits for it up to `timeout`.
---@param id string  its `requestId`
---@param timeout? number  ms, default 0
---@return operations.Envelope? envelope
---@return operations.Error? err  the operation's; PENDING: it has not ended; POISON: no worker survived it; ABORTED: it
---  was cancelled; OPERATION_NOT_FOUND: there is none
function call_jobs:outcome(id, timeout)
  keeper(self, "outcome")
  argument.expect(id, "string", 1, "outcome")
  argument.optional(timeout, "number", 2, "outcome")
  local record, err = self:_await(id, timeout or 0, has_ended)
  if not record then
    return nil, err
  elseif not record.ended then
    return nil, job.pending(record)
  end
  return record.envelope, record.error
end

--- Cancels a job wherever it is; its outcome is ABORTED. Has no effect on one that has ended.
---@param id string
---@param reason? string
---@return operations.JobRecord? record
---@return operations.Error? err  OPERATION_NOT_FOUND
function call_jobs:cancel(id, reason)
  local transport = keeper(self, "cancel")
  argument.expect(id, "string", 1, "cancel")
  argument.optional(reason, "string", 2, "cancel")
  local record, err = self:_look(id)
  if not record or record.ended then
    return record, err
  end
  local _, failure = transport:end_job(record, reason or "the job was cancelled")
  if failure then
    return nil, failure
  end
  return self:job(id)
end

--- Removes a job and its outcome. One that has not ended is cancelled.
---@param id string
---@return boolean? ok
---@return operations.Error? err  OPERATION_NOT_FOUND
function call_jobs:forget(id)
  local transport = keeper(self, "forget")
  argument.expect(id, "string", 1, "forget")
  local record, err = self:_look(id)
  if not record then
    return nil, err
  end
  local _, failure = transport:end_job(record)
  return not failure or nil, failure
end

--- Answers questions of a job.
---@param id string
---@param answers table<string, table>
---@return boolean? ok
---@return operations.Error? err
function call_jobs:_answer(id, answers)
  return self._transport:answer(id, answers)
end

--- Requests that have not ended, calls too, and dead letters.
---@param operation? string  default: of all operations
---@param options? { limit: integer? }  of each kind and operation, default 100
---@return operations.QueuedJob[]?
---@return operations.Error? err
function call_jobs:jobs(operation, options)
  local transport = keeper(self, "jobs")
  argument.optional(operation, "string", 1, "jobs")
  argument.optional(options, "table", 2, "jobs")
  argument.options(options or {}, { limit = "number" }, "jobs")
  local limit = options and options.limit or 100
  if not (limit >= 1 and limit < 2 ^ 31) then
    error("bad option 'limit' to 'jobs' (a number from 1 on expected)", 2)
  end
  return transport:jobs(operation, math.floor(limit))
end

return call_jobs

--- Calls in the background: `registry:start` starts them, and the program that holds the job looks at it, waits for it
--- or cancels it. A job's record says the same in process, over MCP and over HTTP.
local argument = require("operations.base.argument")
local core = require("operations.core")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local question = require("operations.registry.question")
local scheduler = require("operations.task.scheduler")
local task = require("operations.task")
local task_wait = require("operations.task.wait")

local job = {}

---@class operations.JobRecord
---@field id string  cannot be guessed
---@field operation string
---@field state "working"|"input_required"|"completed"|"failed"|"cancelled"
---@field ended? boolean  it has its outcome: the last three states
---@field version integer  another one after each change
---@field attempt integer  workers that began it; 0: it waits; above 1: it may have run before
---@field created integer  ms since the epoch
---@field updated integer  ms since the epoch
---@field progress? { done: number, total: number?, message: string? }  the latest
---@field message? string  of the latest progress, or why it was cancelled
---@field questions? table<string, { method: string, params: table }>  in state "input_required": those without an
---  answer, by key
---@field envelope? operations.Envelope  of a completed job
---@field error? operations.Error  of a failed or cancelled job
---@field due? integer  of a delayed job: ms since the epoch
---@field keep? integer  of a submitted job: ms for which its outcome is kept
---@field ttl? integer  of a server's job: ms from `created` for which it is kept
---@field poll? integer  ms between two looks at it, as its store suggests

--- The questions of a running job. They wait for answers.
---@class operations.JobAsking
---@field questions table<string, operations.Question>  without an answer, by key
---@field _answers table<string, table>
---@field _waiting (fun()|false)[]
---@field _changed fun()
local Asking = {}
Asking.__index = Asking

local function put(self, asked)
  local key = asked.key
  local answer = self._answers[key]
  self.questions[key] = not answer and asked or nil
  return answer
end

-- Tells of the questions, and waits until one is answered.
local function pause(self)
  self._changed()
  scheduler.await(function(wake)
    return task_wait.add(self._waiting, wake)
  end)
end

--- Makes what asks for a job, and adds its functions to the job's context.
---@param context table
---@param capabilities table  what can be asked, as those of an MCP client
---@param changed fun()  called when there are other questions; must not wait
---@return operations.JobAsking
function job.asking(context, capabilities, changed)
  local self = setmetatable({ questions = {}, _answers = {}, _waiting = {}, _changed = changed }, Asking)
  question.add(context, capabilities, function(asked)
    return put(self, asked)
  end, function()
    pause(self)
  end)
  return self
end

--- Takes answers, and lets the handler continue. Those without a question are left out.
---@param answers table<string, table>
---@return boolean? ok
---@return operations.Error? err  VALIDATION_ERROR: one does not fit its question; none was taken
function Asking:answer(answers)
  local fitting, err = question.fitting(self.questions, answers)
  if not fitting then
    return nil, err
  elseif next(fitting) ~= nil then
    for key, answer in pairs(fitting) do
      self._answers[key], self.questions[key] = answer, nil
    end
    self._changed()
    local waiting = self._waiting
    self._waiting = {}
    task_wait.wake(waiting)
  end
  return true
end

--- The questions as records have them; nil: there are none.
---@return table<string, { method: string, params: table }>?
function Asking:asked()
  local found
  for key, asked in pairs(self.questions) do
    found = found or {}
    found[key] = { method = asked.method, params = asked.params }
  end
  return found
end

---@class operations.Job
---@field id string
---@field operation string
---@field _record operations.JobRecord
---@field _asking? operations.JobAsking
---@field _task operations.Task
---@field _waiting (fun()|false)[]  what waits for a change
local Job = {}
Job.__index = Job

function Job:__tostring()
  return ("job %s of %s: %s"):format(self.id, self.operation, self._record.state)
end

local function changed(self)
  local record = self._record
  record.version, record.updated = record.version + 1, math.floor(scheduler.now())
  local waiting = self._waiting
  self._waiting = {}
  task_wait.wake(waiting)
end

-- Its first outcome is the one.
local function finish(self, state, envelope, err)
  local record = self._record
  if not record.ended then
    record.state, record.ended, record.envelope, record.error, record.questions = state, true, envelope, err, nil
    changed(self)
    self._on_end(self)
  end
end

local function on_progress(self, tell)
  return function(done, total, message)
    local record = self._record
    if not record.ended and type(done) == "number" then
      record.progress = { done = done, total = tonumber(total), message = message ~= nil and tostring(message) or nil }
      record.message = record.progress.message or record.message
      changed(self)
    end
    if tell then
      tell(done, total, message)
    end
  end
end

local passed = { "identity", "metadata", "traceparent", "deadline", "timeout", "log", "elicit", "sample", "roots",
  "ask" }

-- The context of the call. That of a surrounding call ends before the job: its questions and deadline do not apply.
local function context_of(self, given, capabilities)
  local context = { requestId = self.id, attempt = 1, on_progress = on_progress(self, given.on_progress) }
  local nested = given._registry ~= nil
  for i = 1, nested and 3 or #passed do
    context[passed[i]] = given[passed[i]]
  end
  context.parentRequestId = nested and given.requestId or given.parentRequestId
  if capabilities then
    self._asking = job.asking(context, capabilities, function()
      local record = self._record
      record.questions = self._asking:asked()
      record.state = record.questions and "input_required" or "working"
      changed(self)
    end)
  end
  return context
end

local function returned(self)
  if self._on_return then
    self._on_return()
  end
end

local function run(self, registry, input, context)
  self._began = true
  local ok, envelope, err = pcall(registry.execute, registry, self.operation, input, context)
  if not ok then
    envelope, err = nil, errors.from(envelope)
  end
  finish(self, envelope and "completed" or "failed", envelope, err)
  returned(self)
end

---@class operations.JobCall
---@field operation string
---@field input any
---@field context? operations.GivenContext
---@field capabilities? table  what can be asked, as those of an MCP client; nil: only what `context` can ask
---@field on_end fun(job: operations.Job)  called once, when it has its outcome
---@field on_return? fun()  called once, when its handler has ended: that of a cancelled job may take its time

--- Starts a job that the registry has admitted.
---@param registry operations.Registry
---@param options operations.JobCall
---@return operations.Job
function job.start(registry, options)
  local now = math.floor(scheduler.now())
  local self = setmetatable({ id = core.random_id(), operation = options.operation, _waiting = {},
    _on_end = options.on_end, _on_return = options.on_return }, Job)
  self._record = { id = self.id, operation = options.operation, state = "working", version = 1, attempt = 1,
    created = now, updated = now }
  local context = context_of(self, options.context or {}, options.capabilities)
  self._task = task.detach(run, self, registry, options.input, context)
  return self
end

--- Where the job stands.
---@return "working"|"input_required"|"completed"|"failed"|"cancelled" state
---@return operations.JobRecord record  a copy
function Job:state()
  argument.self(self, Job, "job", "state")
  return self._record.state, members.copy(self._record)
end

--- Waits for a change.
---@param timeout? number  ms: then it returns without one
function Job:await_change(timeout)
  local host, woken, leave, stop = scheduler.host(), false, nil, nil
  local function tidy()
    if not woken then
      leave()
    end
    if stop then
      stop()
    end
  end
  scheduler.await(function(wake)
    leave = task_wait.add(self._waiting, function()
      woken = true
      wake()
    end)
    stop = timeout and timeout < math.huge and host.timer(math.max(0, timeout), wake)
    return tidy
  end)
  tidy()
end

--- The error of an outcome that is not there yet.
---@param record operations.JobRecord
---@return operations.Error
function job.pending(record)
  local err = errors.new("PENDING", ("job %s has not ended"):format(record.id), { state = record.state })
  err.retryable, err.mayHaveRun = true, record.attempt > 0
  return err
end

--- Waits for the outcome. The job continues when the wait ends before it.
---@param timeout? number  ms; default: no limit
---@return operations.Envelope? envelope
---@return operations.Error? err  the operation's; ABORTED: it was cancelled; PENDING: it has not ended in this time
function Job:wait(timeout)
  argument.self(self, Job, "job", "wait")
  argument.optional(timeout, "number", 1, "wait")
  local record = self._record
  local deadline = timeout and task.monotonic() + timeout
  while not record.ended do
    local left = deadline and deadline - task.monotonic()
    if left and left <= 0 then
      return nil, job.pending(record)
    end
    self:await_change(left)
  end
  return record.envelope, record.error
end

--- Cancels the job: its waits end with ABORTED. Has no effect on one that has ended.
---@param reason? string
function Job:cancel(reason)
  argument.self(self, Job, "job", "cancel")
  argument.optional(reason, "string", 1, "cancel")
  if not self._record.ended then
    local err = errors.new("ABORTED", reason or "the job was cancelled")
    self._record.message = err.message
    finish(self, "cancelled", nil, err)
    self._task:cancel(err)
    if not self._began then -- its task never runs
      returned(self)
    end
  end
end

--- Its result cannot be kept: the outcome is an error.
---@param err operations.Error
function Job:lose(err)
  local record = self._record
  record.state, record.envelope, record.error = "failed", nil, err
end

--- Answers questions of the job.
---@param answers table<string, table>
---@return boolean? ok
---@return operations.Error? err  VALIDATION_ERROR: one does not fit its question
function Job:answer(answers)
  if self._asking and not self._record.ended then
    return self._asking:answer(answers)
  end
  return true
end

---@class operations.JobList
---@field _running table<operations.Job, integer>  with their places in the order of their starts
---@field _ended operations.Job[]  the last ones
---@field _count integer  of all jobs
local List = {}
List.__index = List

--- Starts a job and lists it.
---@param registry operations.Registry
---@param options operations.JobCall
---@return operations.Job
function List:start(registry, options)
  options.on_end = function(ended)
    self._running[ended] = nil
    table.insert(self._ended, ended)
    if #self._ended > limits.ended_jobs then
      table.remove(self._ended, 1)
    end
  end
  local started = job.start(registry, options)
  self._count = self._count + 1
  self._running[started] = self._count
  return started
end

--- The last jobs that ended, then those that run, each in order.
---@return operations.Job[]
function List:all()
  local place, running = self._running, {}
  for each in pairs(place) do
    running[#running + 1] = each
  end
  table.sort(running, function(one, other)
    return place[one] < place[other]
  end)
  return members.joined(self._ended, running)
end

--- A list of jobs.
---@return operations.JobList
function job.list()
  return setmetatable({ _running = {}, _ended = {}, _count = 0 }, List)
end

return job

--- Calls that a server of this library answers before they are done (`Prefer: respond-async`, status 202): the job's
--- state is read until it has ended, then its result, which is the answer to the call.
local backoff = require("operations.base.backoff")
local call = require("operations.openapi.call")
local errors = require("operations.base.error")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local request = require("operations.openapi.request")
local scheduler = require("operations.task.scheduler")
local task = require("operations.task")
local url = require("operations.base.url")

local job = {}

-- Seconds: the server waits so long for the result of a call, and for the end of a job; the first and the longest pause
-- between two requests.
local FIRST_WAIT, WAIT, PAUSE, LONGEST = 10, 2, 1, 3600

--- The header field of a call that may be answered by a job.
---@param context any
---@return string
function job.preference(context)
  local leaves = type(context) == "table" and context.detach
  return leaves and "respond-async" or ("respond-async, wait=%d"):format(FIRST_WAIT)
end

-- The plan of requests about a job, with the address and the credentials of those of the call.
local function plan_of(plan, method, accept)
  local copy = members.copy(plan)
  copy.method, copy.parameters, copy.keys, copy.path, copy.body, copy.query = method, {}, {}, "/", nil, nil
  copy.path_keys, copy.task, copy.next_page, copy.links, copy.sender = nil, nil, nil, nil, nil
  copy.options = members.merged(plan.options, { method = method })
  copy.head = request.head({ Accept = accept }, plan.headers)
  return copy
end

---@class operations.openapi.JobPlans
---@field state operations.openapi.Plan
---@field result operations.openapi.Plan
---@field cancel operations.openapi.Plan

local function failure(message)
  local err = errors.new("EXECUTION_ERROR", message, { kind = "job" })
  err.retryable, err.mayHaveRun = false, true
  return err
end

-- The address of a job, which is one of the API; or nil and the error.
local function address_of(plan, place)
  local address = type(place) == "string" and url.resolve(plan.base .. "/", place)
  local parsed, base = address and url.parse(address), plan.base and url.parse(plan.base)
  if not parsed or not base or parsed.userinfo or address:find("[%c ]") or url.origin(parsed) ~= url.origin(base) then
    return nil, failure("the place of the job is not a URL of the API")
  end
  return address
end

local states = members.set({ "working", "input_required", "completed", "failed", "cancelled" })
local ended = members.set({ "completed", "failed", "cancelled" })

-- Reads the state of a job, which the server tells at its end or after `wait` seconds; again after failures of the
-- connection, which the job survives.
local function read(plan, address, context, wait)
  local failures = 0
  while true do
    local reply, err = call.exchange(plan, {}, context,
      { address = address, headers = { Prefer = ("wait=%d"):format(wait) } })
    if reply and reply.status == 200 then
      local state = json.decode(reply.body or "")
      if type(state) ~= "table" or not states[state.state] then
        return nil, failure("the state of the job is unreadable")
      end
      local pause = tonumber(reply.headers["retry-after"] or "")
      return state, pause and pause >= PAUSE and pause or PAUSE
    elseif reply then
      local _
      _, err = call.outcome(plan, reply, context, plan.configured)
      err = err or failure(("the state of the job was answered by status %d"):format(reply.status))
    end
    if not err.retryable or err.code == "ABORTED" or failures >= limits.reconnects then
      return nil, err
    end
    failures = failures + 1
    task.sleep(backoff.delay(PAUSE * 1000, failures, LONGEST * 1000) / 1000)
  end
end

local function tell(context, progress)
  if type(progress) == "table" and type(progress.done) == "number" and context.progress_wanted then
    local message, total = progress.message, progress.total
    context.progress(progress.done, type(total) == "number" and total or nil,
      type(message) == "string" and message or nil)
  end
end

-- Waits for the end of a job and reads its result. The third result: it has ended, or the server does not know it.
local function await(plans, address, context)
  local last = nil
  while true do
    local began = scheduler.now()
    local state, pause = read(plans.state, address, context, WAIT)
    if not state then
      return nil, pause, pause.code == "HTTP_404"
    elseif ended[state.state] then
      local envelope, err = call.run(plans.result, {}, context, { address = address .. "/result" })
      return envelope, err, true
    end
    local told = json.encode(state.progress or json.null, { sort_keys = true })
    if told ~= last then
      last = told
      tell(context, state.progress)
    end
    if scheduler.now() - began < PAUSE * 1000 then -- it has not waited
      task.sleep(math.min(pause, LONGEST))
    end
  end
end

--- Follows a job of the API to its result.
---@param plans operations.openapi.JobPlans
---@param place string  its URL, or the path of one
---@param context any
---@param keeps? boolean  it is not cancelled when this call ends before it
---@return operations.Envelope? envelope
---@return operations.Error? err
function job.follow(plans, place, context, keeps)
  local address, problem = address_of(plans.state, place)
  if not address then
    return nil, problem
  end
  local ok, envelope, err, is_over = pcall(await, plans, address, type(context) == "table" and context or {})
  if not (ok and is_over) and not keeps then
    task.detach(call.exchange, plans.cancel, {}, nil, { address = address })
  end
  if not ok then
    error(envelope, 0)
  elseif err then
    err.mayHaveRun = err.mayHaveRun ~= false or nil
  end
  return envelope, err
end

--- Cancels a job of the API. One that has ended is left as it is: DELETE would remove its result.
---@param plans operations.openapi.JobPlans
---@param place string
---@param context any
---@return true? ok
---@return operations.Error? err
function job.cancel(plans, place, context)
  local address, problem = address_of(plans.state, place)
  if not address then
    return nil, problem
  end
  local state, err = read(plans.state, address, context, 0)
  if not state then
    return nil, err
  elseif ended[state.state] then
    return true
  end
  local envelope
  envelope, err = call.run(plans.cancel, {}, context, { address = address })
  return envelope and true, err
end

--- The plans of requests about jobs of an operation.
---@param plan operations.openapi.Plan  of its calls
---@param accept string  of its results
---@return operations.openapi.JobPlans
function job.plans(plan, accept)
  return { state = plan_of(plan, "GET", "application/json"), result = plan_of(plan, "GET", accept),
    cancel = plan_of(plan, "DELETE", "application/json") }
end

--- Follows the job that a call was answered with, if it was.
---@param plans operations.openapi.JobPlans
---@param envelope operations.Envelope
---@param context any
---@return operations.Envelope? envelope
---@return operations.Error? err  DETACHED, with `details.task`: its URL, as the caller wished
function job.concluded(plans, envelope, context)
  local meta = envelope.meta
  local headers = meta.headers or {}
  if meta.statusCode ~= 202 or not (headers["preference-applied"] or ""):lower():find("respond-async", 1, true) then
    return envelope
  elseif type(context) == "table" and context.detach then
    local address, err = address_of(plans.state, headers.location)
    return nil, err or errors.detached(address, "the server runs the operation as a job")
  end
  return job.follow(plans, headers.location, context)
end

return job

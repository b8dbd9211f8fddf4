--- Calls that are answered before they are done (RFC 7240, `Prefer: respond-async`): status 202 and the place of a job.
--- The place tells the job's state, its result and, as an event stream, each change; DELETE cancels the job.
local errors = require("operations.base.error")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local problem = require("operations.server.problem")
local task = require("operations.task")
local timestamp = require("operations.base.timestamp")

local respond_async = {}

-- The end of ids: the last parts of a UUID.
local ID = "%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-" .. ("%x"):rep(12) .. "$"

local ALLOW = { state = "DELETE, GET, HEAD, OPTIONS", result = "GET, HEAD, OPTIONS" }

local function is_allowed(allow, method)
  for each in allow:gmatch("%u+") do
    if each == method then
      return true
    end
  end
  return false
end

--- The preferences of a request that concern its time (RFC 7240).
---@param request operations.ServerRequest
---@return boolean is_async
---@return integer? wait  ms
function respond_async.preferences(request)
  local is_async, wait = false, nil
  for preference in (request.headers.prefer or ""):gmatch("[^,]+") do
    local name, value = preference:match("^%s*([%w-]+)%s*=?%s*\"?([^;\"]*)")
    name = name and name:lower()
    if name == "respond-async" then
      is_async = true
    elseif name == "wait" and value:find("^%d+%s*$") then
      wait = wait or math.min(tonumber(value) * 1000, limits.job_wait)
    end
  end
  return is_async, wait
end

--- The job that a path is about; nil: it is another path.
---@param below string  the path below the server's prefix
---@return { id: string, part: "state"|"result" }?
function respond_async.place(below)
  local id, rest = below:match("^/jobs/([%w-]+)(.*)$")
  if id and id:find(ID) and (rest == "" or rest == "/result") then
    return { id = id, part = rest == "" and "state" or "result" }
  end
end

local function location_of(call, id)
  return (call.request.outer_prefix or "") .. call.server.options.prefix .. "/jobs/" .. id
end

-- The error of a job as a problem.
local function problem_of(call, err, route)
  local options = call.server.options
  return problem.of(err, { route = route, expose = options.expose_errors, upstream_errors = options.upstream_errors })
end

-- Data that JSON can say; bytes are at the place of the result.
local function result_of(record, route)
  local envelope = record.envelope
  if envelope and not (route and route.output_media) and json.encode(envelope.data) then
    return envelope.data
  end
end

-- The state of a job, as callers read it.
local function status_of(call, record, route)
  return {
    id = record.id, operation = record.operation, state = record.state, message = record.message,
    progress = record.progress, attempt = record.attempt, created = timestamp.of(record.created),
    updated = timestamp.of(record.updated), expires = timestamp.of(record.created + record.ttl),
    result = result_of(record, route), error = record.error and problem_of(call, record.error, route) or nil,
  }
end

local function text_of(call, record, route)
  return assert(json.encode(status_of(call, record, route), { sort_keys = true, max_depth = limits.document_depth }))
end

local function answer_of(call, record, route, status)
  return { status = status, body = text_of(call, record, route), headers = {
    ["content-type"] = "application/json", ["cache-control"] = "no-store", vary = "Prefer",
    location = status == 202 and location_of(call, record.id) or nil,
    ["preference-applied"] = status == 202 and "respond-async" or nil,
    ["retry-after"] = not record.ended and ("%d"):format(math.max(1, math.ceil(record.poll / 1000))) or nil } }
end

-- The metadata of a call without header fields: a store keeps it.
local function kept_metadata(metadata)
  local http = metadata and metadata.http
  return http and { http = { method = http.method, path = http.path, address = http.address, scheme = http.scheme,
    host = http.host } } or nil
end

--- Starts a call as a job, if it is to be one: its operation has to be a job, or may be one as the caller prefers.
---@param call operations.ServerCall
---@param value any  the input
---@param context table
---@param conclude fun(call: operations.ServerCall, envelope: operations.Envelope?, err: operations.Error?):
---  operations.ServerResponse  the answer to a call that has ended
---@return operations.ServerResponse?  nil: it is no job
function respond_async.start(call, value, context, conclude)
  local mode = call.route.task
  local is_async, wait = respond_async.preferences(call.request)
  if not (is_async or mode == "required") then
    return nil
  end
  local store, err = call.server._jobs()
  if not store and mode ~= "required" then
    return nil
  end
  local record
  if store then
    record, err = store:start(call.route.id, value, { identity = context.identity,
      metadata = kept_metadata(context.metadata), traceparent = context.traceparent })
  end
  if record and wait and wait > 0 then
    record, err = store:wait(record.id, context.identity, { ended = true, timeout = wait })
  end
  if not record then
    return conclude(call, nil, err)
  elseif not record.ended then
    return answer_of(call, record, call.route, 202)
  end
  store:forget(record.id, context.identity)
  return conclude(call, record.envelope, record.error)
end

-- The states of a job, as the events of a subscription.
local States = {}
States.__index = States

function States:next()
  if self._over then
    return nil
  end
  self._wait = task.spawn(self._store.wait, self._store, self._id, self._call.identity, { after = self._version })
  local ok, record, err = pcall(self._wait.wait, self._wait)
  self._wait = nil
  if self._over then
    return nil
  elseif not (ok and record) then
    return nil, ok and err or errors.from(record)
  end
  self._version, self._over = record.version, record.ended
  return { data = status_of(self._call, record, self._route), meta = { source = "http", event = "state" } }
end

function States:close()
  self._over = true
  if self._wait then
    self._wait:cancel("the stream has ended")
  end
end

---@class operations.JobAnswers  what the answers about jobs need of `answering`
---@field conclude fun(call: operations.ServerCall, envelope: operations.Envelope?, err: operations.Error?):
---  operations.ServerResponse
---@field stream fun(call: operations.ServerCall, events: table): operations.ServerResponse
---@field not_found fun(call: operations.ServerCall): operations.ServerResponse

-- The answer with a job's result: that of the call.
local function result(call, record, answers)
  if not record.ended then
    return problem.refuse(call, 409, "PENDING", "the job has not ended",
      { ["retry-after"] = ("%d"):format(math.max(1, math.ceil(record.poll / 1000))) })
  end
  return answers.conclude(call, record.envelope, record.error)
end

local function remove(call, store, id)
  local record, err = store:get(id, call.identity)
  if record and record.ended then
    record, err = store:forget(id, call.identity)
    return record and { status = 204, headers = {}, body = "" }, err
  elseif record then
    record, err = store:cancel(id, call.identity, "the caller cancelled it")
  end
  return record and answer_of(call, record, call.route, 200), err
end

local function read(call, store, job, answers)
  local _, wait = respond_async.preferences(call.request)
  local record, err = store:wait(job.id, call.identity, { ended = true, timeout = wait or 0 })
  if not record then
    return nil, err
  end
  call.route = call.server.routes:of(record.operation)
  if not call.route then
    return answers.not_found(call)
  elseif job.part == "result" then
    return result(call, record, answers)
  end
  local accept = call.request.headers.accept
  if accept and accept:lower():find("text/event-stream", 1, true) and call.request.method == "GET" then
    return answers.stream(call, setmetatable({ _store = store, _id = job.id, _call = call, _route = call.route },
      States))
  end
  return answer_of(call, record, call.route, 200)
end

--- Answers a request about a job. May wait.
---@param call operations.ServerCall
---@param job { id: string, part: "state"|"result" }
---@param answers operations.JobAnswers
---@return operations.ServerResponse
function respond_async.at(call, job, answers)
  local method, allow = call.request.method, ALLOW[job.part]
  if method == "OPTIONS" then
    return { status = 204, headers = { allow = allow }, body = "" }
  elseif not is_allowed(allow, method) then
    return problem.refuse(call, 405, "VALIDATION_ERROR", ("%s expected, got %s"):format(allow, method),
      { allow = allow })
  end
  local store, err = call.server._jobs()
  local response
  if store and method == "DELETE" then
    response, err = remove(call, store, job.id)
  elseif store then
    response, err = read(call, store, job, answers)
  end
  if response then
    return response
  elseif err.code == "OPERATION_NOT_FOUND" then
    return answers.not_found(call)
  end
  return problem.answer(call, err)
end

return respond_async

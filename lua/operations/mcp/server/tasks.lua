--- Calls of tools that run as tasks: the extension io.modelcontextprotocol/tasks of revision 2026-07-28. A call is
--- answered with a task; `tasks/get` tells its state, questions and result, `tasks/update` answers questions, and
--- `tasks/cancel` ends it. The server's store of jobs keeps them.
local core = require("operations.core")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local marks = require("operations.base.marked")
local message = require("operations.mcp.protocol.message")
local task = require("operations.task")
local timestamp = require("operations.base.timestamp")

local tasks = { methods = {} }

local codes = message.codes

-- What a job may ask its client.
local askable = { "elicitation", "sampling", "roots" }

local function missing_capability()
  return { code = codes.MISSING_CAPABILITY, status = 400,
    message = ("the client did not declare the extension %s"):format(message.TASKS),
    data = { requiredCapabilities = { extensions = { [message.TASKS] = marks.object() } } } }
end

-- Has the client declared in this request that it knows tasks?
local function is_declared(call)
  local extensions = call.modern and call.capabilities.extensions
  return core.kind(extensions) == "object" and core.kind(extensions[message.TASKS]) == "object"
end

--- The failure of a request about tasks whose client has not declared that it knows them; nil: it has.
---@param call operations.mcp.ServerCall
---@return operations.mcp.Failure?
function tasks.undeclared(call)
  return not is_declared(call) and missing_capability() or nil
end

-- The failure of a store, for the client.
local function failed(call, err)
  local code, text = codes.INTERNAL_ERROR, "the tasks cannot be reached now"
  if err.details and err.details.kind == "none" then
    text = err.message
  elseif err.code == "OPERATION_NOT_FOUND" then
    code, text = codes.INVALID_PARAMS, "no such task"
  elseif err.code == "VALIDATION_ERROR" then
    code, text = codes.INVALID_PARAMS, err.message
  else
    call.server.options.log("error", ("%s: %s"):format(call.method, tostring(err)))
  end
  return nil, { code = code, message = ("%s: %s"):format(call.method, text) }
end

-- How far a job is, as a text.
local function text_of(record)
  local progress = record.progress
  if record.message or not progress then
    return record.message
  end
  return progress.total and ("%s of %s"):format(progress.done, progress.total) or tostring(progress.done)
end

-- The members that all tasks have.
local function seed(record)
  local progress, attempt = record.progress, (record.attempt or 0) > 1 and record.attempt or nil
  return {
    taskId = record.id, status = record.state, statusMessage = text_of(record), ttlMs = record.ttl,
    pollIntervalMs = record.poll, createdAt = timestamp.of(record.created),
    lastUpdatedAt = timestamp.of(record.updated),
    _meta = (progress or attempt) and { ["operations/attempt"] = attempt,
      ["operations/progress"] = progress and { progress = progress.done, total = progress.total,
        message = progress.message } } or nil,
  }
end

-- As `tool_result.answer`.
local function answer(call, id, envelope, err)
  return require("operations.mcp.server.tool_result").answer(call, id, envelope, err)
end

--- A task as `tasks/get` tells it (`DetailedTask`).
---@param call operations.mcp.ServerCall
---@param record operations.JobRecord
---@return table
function tasks.detailed(call, record)
  local told = seed(record)
  told.inputRequests = record.questions and marks.object(record.questions)
  if record.state == "completed" or record.state == "failed" then
    local result, failure = answer(call, record.operation, record.envelope, record.error)
    told.status = result and "completed" or "failed"
    if result then
      result.resultType = "complete"
      told.result = result
    else
      told.error = { code = failure.code, message = failure.message, data = failure.data }
      told.statusMessage = failure.message
    end
  end
  return told
end

-- Starts a job for a call.
local function job_of(call, store, id, input)
  local capabilities, traceparent = {}, call.meta.traceparent
  for _, name in ipairs(askable) do
    capabilities[name] = call.capabilities[name]
  end
  local caller = call.http and call.http.peer
  return store:start(id, input, { identity = call.identity, capabilities = capabilities,
    metadata = { mcp = { method = call.method, version = call.version, client = call.client },
      http = caller and { address = caller.address } or nil },
    traceparent = type(traceparent) == "string" and traceparent or nil })
end

-- The answer to `tools/call` that is a task.
local function created(record)
  local told = seed(record)
  told.resultType = "task"
  return told
end

--- Starts the call of a tool as a task, if it is to be one.
---@param call operations.mcp.ServerCall
---@param id string  of the operation
---@param input table
---@param mode "optional"|"required"|"late"
---@return boolean is_task  false: it is to be called without a task, or its handler decides
---@return table? result
---@return operations.mcp.Failure? failure
function tasks.start(call, id, input, mode)
  if not is_declared(call) then
    return mode == "required", nil, missing_capability()
  end
  local store, problem = call.server._jobs()
  if not store then
    return mode == "required", failed(call, problem)
  elseif mode == "late" then
    call.may_be_task = true
    return false
  end
  local record, err = job_of(call, store, id, input)
  if not record then
    return true, answer(call, id, nil, err)
  elseif mode == "optional" then
    local later = store:wait(record.id, call.identity, { ended = true, timeout = limits.task_grace })
    if later and (later.state == "completed" or later.state == "failed") then
      store:forget(record.id, call.identity)
      return true, answer(call, id, later.envelope, later.error)
    end
    record = later or record
  end
  return true, created(record)
end

-- Gives a job the answers that its handler had before it was one, when it asks again.
local function feed(store, id, identity, answers)
  local version
  for _ = 1, limits.mcp_rounds do
    local record, known = store:wait(id, identity, { ended = true, after = version }), {}
    for key in pairs(record and record.questions or {}) do
      known[key] = answers[key]
    end
    if next(known) == nil or not store:answer(id, identity, known) then
      return
    end
    version = record.version
  end
end

--- Starts a call as a task whose handler has said so (`context.as_task`).
---@param call operations.mcp.ServerCall
---@param id string  of the operation
---@param input table
---@return table? result
---@return operations.mcp.Failure? failure
function tasks.continue(call, id, input)
  local store = call.server._jobs()
  local record, err = job_of(call, store, id, input)
  if not record then
    return answer(call, id, nil, err)
  elseif next(call.round.used) ~= nil then
    task.detach(feed, store, record.id, call.identity, call.round.used)
  end
  return created(record)
end

-- A method that concerns a task: `fn(store, call, id)` returns its record, or nil and an error.
local function method(fn, result_of)
  return { era = "modern", named_by = "taskId", run = function(call)
    local id = call.params.taskId
    local missing = tasks.undeclared(call)
    if missing then
      return nil, missing
    elseif type(id) ~= "string" then
      return nil, { code = codes.INVALID_PARAMS, message = call.method .. ": taskId: string expected" }
    end
    local store, err = call.server._jobs()
    local record
    if store then
      record, err = fn(store, call, id)
    end
    if not record then
      return failed(call, err)
    end
    return result_of(call, record)
  end }
end

local function acknowledged()
  return marks.object()
end

tasks.methods["tasks/get"] = method(function(store, call, id)
  return store:get(id, call.identity)
end, tasks.detailed)

tasks.methods["tasks/cancel"] = method(function(store, call, id)
  return store:cancel(id, call.identity, "the client cancelled it")
end, acknowledged)

tasks.methods["tasks/update"] = method(function(store, call, id)
  local answers = call.params.inputResponses
  if core.kind(answers) ~= "object" then
    return nil, errors.new("VALIDATION_ERROR", "inputResponses: object expected")
  end
  return store:answer(id, call.identity, answers)
end, acknowledged)

--- Tasks belong to the modern era.
---@param server operations.McpServer
---@param modern boolean
function tasks.capabilities(server, modern)
  return modern and server.options.tasks ~= false and { extensions = { [message.TASKS] = marks.object() } } or {}
end

return tasks

--- Tasks: calls of tools that a server answers with an id before they are done. Since 2026-07-28 (extension
--- io.modelcontextprotocol/tasks) the server decides which, and its task has questions and the result; in 2025-11-25
--- the client asks for a task and fetches the result.
local argument = require("operations.base.argument")
local backoff = require("operations.base.backoff")
local core = require("operations.core")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local marks = require("operations.base.marked")
local mcp_failure = require("operations.mcp.protocol.failure")
local members = require("operations.base.members")
local result = require("operations.mcp.protocol.result")
local rounds = require("operations.mcp.client.rounds")
local task = require("operations.task")
local waits = require("operations.mcp.client.waits")

local tasks = {}

-- Polling intervals in ms: the default, the longest and the shortest.
local POLL, LONGEST, SHORTEST = 1000, 3600000, 10

-- States of 2025-11-25 in which the result may be fetched; for the last one it contains the questions.
local fetchable = { completed = true, failed = true, input_required = true }

--- A task of a server.
---@class operations.mcp.Task
---@field id string
local Task = {}
Task.__index = Task
Task.__name = "operations.mcp_task"

---@class operations.mcp.TaskOptions
---@field timeout? number  ms, default the client's `max_timeout`
---@field on_progress? fun(progress: { progress: number, total: number?, message: string? })
---@field traceparent? string
---@field asker? operations.mcp.Asker

--- A task with an id that the server gave.
---@param client operations.mcp.Client
---@param id string
---@param plan { tool: string, output?: table }
---@param seed? table  what the server said of it when it created it
---@return operations.mcp.Task
function tasks.of(client, id, plan, seed)
  return setmetatable({ id = id, _client = client, _plan = plan, _seed = seed, _answered = {} }, Task)
end

-- Sends a request about the task; again after failures of the connection, which the task survives.
local function request(self, method, more, options)
  local params, failures = members.merged({ taskId = self.id }, more), 0
  while true do
    local value, err = self._client:request(method, params, options)
    if value or not err.retryable or err.code == "ABORTED" or (err.details or {}).rpcCode
      or failures >= limits.reconnects then
      return value, err
    end
    failures = failures + 1
    task.sleep(backoff.delay(POLL, failures, LONGEST) / 1000)
  end
end

local function pause_of(state)
  local pause = state.pollIntervalMs or state.pollInterval
  return type(pause) == "number" and math.max(math.min(pause, LONGEST), SHORTEST) or POLL
end

local function text_or_nil(value)
  return type(value) == "string" and value or nil
end

local function malformed(text)
  return nil, mcp_failure.new("malformed", "tasks/get: malformed result: " .. text)
end

-- The error of a task that has ended without a result.
local function ended(state)
  local message = text_or_nil(state.statusMessage)
  return nil, mcp_failure.new("task", ("the server's task is %s%s"):format(tostring(state.status),
    message and ": " .. message or ""), { status = state.status })
end

-- Answers the questions of a task that are not answered yet.
local function answer(self, state, options)
  local new = {}
  if core.kind(state.inputRequests) ~= "object" then
    return malformed("/inputRequests: an object expected")
  end
  for key, asked in pairs(state.inputRequests) do
    new[key] = not self._answered[key] and asked or nil
  end
  if next(new) == nil then
    return true
  end
  self._rounds = (self._rounds or 0) + 1
  if self._rounds > limits.mcp_rounds then
    return nil, mcp_failure.new("rounds",
      ("tools/call: no result after %d rounds of input"):format(limits.mcp_rounds))
  end
  local responses, err = rounds.responses(self._client._session, new, "tasks/get", options.asker)
  if not responses then
    return nil, err
  end
  local done
  done, err = request(self, "tasks/update", { inputResponses = marks.object(responses) }, options)
  if not done then
    return nil, err
  end
  for key in pairs(new) do
    self._answered[key] = true
  end
  return true
end

-- What comes of a state of the revision 2026-07-28: a result, nil and an error, or neither; "failed" is for all others.
local states = {
  working = function() end,
  completed = function(_, state)
    if core.kind(state.result) ~= "object" then
      return malformed("/result: an object expected")
    end
    local problem = result.problem("tools/call", state.result)
    return not problem and state.result or nil, problem
  end,
  failed = function(_, state)
    local failure = state.status == "failed" and state.error
    if core.kind(failure) == "object" and type(failure.code) == "number" and type(failure.message) == "string" then
      return nil, mcp_failure.of_answer(failure, "tools/call", { method = "tools/call", status = "failed" })
    end
    return ended(state)
  end,
  input_required = function(self, state, options)
    local ok, err = answer(self, state, options)
    return nil, not ok and err or nil
  end,
}

-- The same for 2025-11-25: the result is fetched by a request that may wait for it.
local function judge_legacy(self, state, options)
  if fetchable[state.status] then
    return request(self, "tasks/result", nil, members.merged(options, { timeout = self._client._session.longest }))
  elseif state.status ~= "working" then
    return ended(state)
  end
end

-- Polls until the result is there. `watch(state)` is called with each state.
local function await(self, options, watch)
  local pause, seed = 0, self._seed
  if seed then
    pause = pause_of(seed)
    watch(seed)
  end
  while true do
    task.sleep(pause / 1000)
    local state, err = request(self, "tasks/get", nil, options)
    if not state then
      return nil, err
    end
    watch(state)
    local value
    if self._client._session.modern then
      value, err = (states[state.status] or states.failed)(self, state, options)
    else
      value, err = judge_legacy(self, state, options)
    end
    if value or err then
      return value, err
    end
    pause = pause_of(state)
  end
end

-- How far a state says the task is: the words for people, and the numbers of a server that adds them.
local function progress_of(state)
  local meta = core.kind(state._meta) == "object" and state._meta["operations/progress"]
  if core.kind(meta) == "object" and type(meta.progress) == "number" then
    return text_or_nil(meta.message), meta.progress, type(meta.total) == "number" and meta.total or nil
  end
  return text_or_nil(state.statusMessage)
end

-- Reports it, when it is new; without numbers the count of reports is the progress.
local function reporter(on_progress)
  local count, last, last_done = 0, nil, nil
  return function(state)
    local message, done, total = progress_of(state)
    if on_progress and (message or done) and (message ~= last or done ~= last_done) then
      count, last, last_done = count + 1, message, done
      on_progress({ progress = done or count, total = total, message = message })
    end
  end
end

-- An error of a task: it has run, wholly or in part.
local function of_task(err)
  local copy = errors.new(err.code, err.message, err.details)
  copy.retryable, copy.mayHaveRun, copy.retryAfter = err.retryable, true, err.retryAfter
  return copy
end

-- Waits for the result; a CallToolResult. The second error says that the task may still be running.
local function await_result(self, options, watch)
  local quick = { traceparent = options.traceparent, repeatable = true, asker = options.asker }
  local value, err = waits.at_most(options.timeout or self._client._session.longest, await, self, quick, watch)
  if value then
    return value
  end
  local details = err.details or {}
  local runs = details.kind == "input" or details.kind ~= "task" and details.rpcCode == nil
  if err.code == "TIMEOUT" then
    err = mcp_failure.new("timeout", "tools/call: the server's task was not done in time", { method = "tools/call" })
  end
  return nil, of_task(err), runs
end

--- The state of the task, as the server tells it now.
---@return { status: string, message?: string, createdAt?: string, lastUpdatedAt?: string, ttlMs?: integer }? state
---@return operations.Error? err  MCP_-32602: the server does not know the task, or not any more
function Task:state()
  local state, err = request(self, "tasks/get", nil, { repeatable = true })
  if not state then
    return nil, err
  elseif type(state.status) ~= "string" then
    return malformed("/status: a string expected")
  end
  return { status = state.status, message = text_or_nil(state.statusMessage), createdAt = state.createdAt,
    lastUpdatedAt = state.lastUpdatedAt, ttlMs = state.ttlMs ~= core.null and state.ttlMs or nil }
end

--- Waits until the task is done, and answers its questions meanwhile. A task that is not done in time continues.
---@param options? operations.mcp.TaskOptions
---@return operations.Envelope? envelope
---@return operations.Error? err  TIMEOUT; MCP_<code> of a task that failed; EXECUTION_ERROR of kind "task", with its
---  `status`
function Task:wait(options)
  argument.optional(options, "table", 1, "wait")
  options = options or {}
  local value, err = await_result(self, options, reporter(options.on_progress))
  if not value then
    return nil, err
  end
  return result.of_tool(value, self._plan, self._client._config, self._client._session.modern)
end

--- Asks the server to end the task. The server decides whether it still can.
---@return true?
---@return operations.Error? err
function Task:cancel()
  local value, err = request(self, "tasks/cancel", nil, { repeatable = true })
  return value and true, err
end

-- Has the server of 2025-11-25 declared that it supports this for tasks?
local function offers(session, ...)
  local value = session.capabilities.tasks
  for _, key in ipairs({ ... }) do
    value = type(value) == "table" and value[key]
  end
  return value and value ~= core.null
end

--- The result of a call that the server runs as a task: polls until it is done, up to the longest time of a request.
--- The server is asked to end the task when the caller gives up. With the option `detach` the task is left running.
---@param client operations.mcp.Client
---@param created any  the server's description of the task
---@param plan operations.mcp.Plan
---@param options operations.mcp.RequestOptions
---@param watch? fun(state: table)  called after each request
---@return table? result  CallToolResult
---@return operations.Error? err  DETACHED, with `details.task`: the id; those of `Task:wait`
function tasks.follow(client, created, plan, options, watch)
  if type(created) ~= "table" or type(created.taskId) ~= "string" then
    return nil, mcp_failure.new("malformed", "tools/call: malformed result: /taskId: a string expected")
  elseif options.detach then
    return nil, errors.detached(created.taskId, "the server runs the tool as a task")
  end
  local followed = tasks.of(client, created.taskId, plan, created)
  local value, err, runs = await_result(followed, { traceparent = options.traceparent, asker = options.asker },
    watch or reporter(options.on_progress))
  local session = client._session
  if runs and (session.modern or offers(session, "cancel")) then
    task.detach(session.request, session, "tasks/cancel", { taskId = created.taskId }, { attached = true })
  end
  return value, err
end

-- A task of 2025-11-25 reports progress for its lifetime, under a token that outlives the request that created it.
local count = 0

local function new_token(session)
  count = count + 1
  local token = "task-" .. count
  session._incoming.reports[token] = false
  return token
end

-- Reports the latest progress once.
local function tell(session, token, on_progress)
  local report = token and session._incoming.reports[token]
  if report then
    session._incoming.reports[token] = false
    on_progress(report)
  end
end

--- Calls a tool of a server of 2025-11-25 that only runs as a task, and waits until it is done: the server is asked to
--- keep the task that long (`ttl`).
---@param session operations.mcp.Session
---@param method "tools/call"
---@param params table
---@param options operations.mcp.RequestOptions
---@return table? result  CallToolResult
---@return operations.Error? err
function tasks.call(session, method, params, options)
  if not offers(session, "requests", "tools", "call") then
    return session:request(method, params, options)
  end
  local all = members.merged(params, { task = { ttl = session.longest } })
  local first, token = members.merged(options), options.on_progress and new_token(session)
  if token then
    first.meta, first.on_progress = members.merged(options.meta, { progressToken = token }), nil
  end
  local value, err = session:request(method, all, first)
  if value and value.task ~= nil then
    value, err = tasks.follow(session.owner.client, value.task, { tool = params.name }, options, function()
      tell(session, token, options.on_progress)
    end)
  end
  if token then
    session._incoming.reports[token] = nil
  end
  return value, err
end

return tasks

--- Calls that a server runs as tasks (revision 2025-11-25): created, polled, their result fetched.
local core = require("operations.core")
local mcp_failure = require("operations.mcp.protocol.failure")
local members = require("operations.base.members")
local task = require("operations.task")
local waits = require("operations.mcp.client.waits")

local tasks = {}

-- Polling intervals in ms: the default, the longest and the shortest.
local POLL, LONGEST, SHORTEST = 1000, 30000, 10

-- States in which the result may be fetched; for the last one it contains the questions.
local fetchable = { completed = true, failed = true, input_required = true }

-- Has the server declared that it supports this for tasks?
local function offers(session, ...)
  local value = session.capabilities.tasks
  for _, key in ipairs({ ... }) do
    value = type(value) == "table" and value[key]
  end
  return value and value ~= core.null
end

-- A task reports progress for its lifetime, under a token that outlives the request that created it.
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

-- Polls the state of a task until its result may be fetched, and fetches it.
local function await(session, created, options, watch)
  local id, pause = { taskId = created.taskId }, created.pollInterval
  while true do
    task.sleep(math.max(math.min(type(pause) == "number" and pause or POLL, LONGEST), SHORTEST) / 1000)
    local state, err = session:request("tasks/get", id, options)
    watch()
    if not state then
      return nil, err
    elseif fetchable[state.status] then
      return session:request("tasks/result", id, members.merged(options, { timeout = session.longest }))
    elseif state.status ~= "working" then
      return nil, mcp_failure.new("task", ("the server's task is %s%s"):format(tostring(state.status),
        type(state.statusMessage) == "string" and ": " .. state.statusMessage or ""),
        { status = state.status })
    end
    pause = state.pollInterval
  end
end

local function follow(session, created, options, token)
  if type(created) ~= "table" or type(created.taskId) ~= "string" then
    return nil, mcp_failure.new("malformed", "tools/call: malformed result: /task: a task expected")
  end
  local quick = { traceparent = options.traceparent, repeatable = true }
  local result, err = waits.at_most(session.longest, await, session, created, quick, function()
    tell(session, token, options.on_progress)
  end)
  if result then
    return result
  end
  local details = err.details or {}
  if details.kind ~= "task" and details.rpcCode == nil and offers(session, "cancel") then -- it may still be running
    task.detach(session.request, session, "tasks/cancel", { taskId = created.taskId }, { attached = true })
  end
  if err.code == "TIMEOUT" then
    err = mcp_failure.new("timeout", "tools/call: the server's task was not done in time", { method = "tools/call" })
  end
  return nil, err
end

--- Calls a tool as a task, if the server supports it, and waits until it is done, up to the longest time of a request:
--- the server is asked to keep the task that long (`ttl`), and to end it when the caller gives up.
---@param session operations.mcp.Session
---@param method "tools/call"
---@param params table
---@param options operations.mcp.RequestOptions
---@return table? result  CallToolResult
---@return operations.Error? err  those of a request, and EXECUTION_ERROR with `details.kind` "task" and its `status`
function tasks.call(session, method, params, options)
  if not offers(session, "requests", "tools", "call") then
    return session:request(method, params, options)
  end
  local all = members.merged(params, { task = { ttl = session.longest } })
  local first, token = members.merged(options), options.on_progress and new_token(session)
  if token then
    first.meta, first.on_progress = members.merged(options.meta, { progressToken = token }), nil
  end
  local result, err = session:request(method, all, first)
  if result and result.task ~= nil then
    result, err = follow(session, result.task, options, token)
  end
  if token then
    session._incoming.reports[token] = nil
  end
  return result, err
end

return tasks

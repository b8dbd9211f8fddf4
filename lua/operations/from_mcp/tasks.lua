--- Calls that a server works on as tasks (revision 2025-11-25): created, asked after, their result fetched.
local errors = require("operations.error")
local task = require("operations.task")

local tasks = {}

-- Between two questions when the server does not say, at most, and at least, ms.
local POLL, LONGEST, SHORTEST = 1000, 30000, 10

-- States in which the result may be fetched: of the last one, too, because it brings what is asked for.
local fetchable = { completed = true, failed = true, input_required = true }

local function poll(session, id, pause, options)
  while true do
    task.sleep(math.max(math.min(type(pause) == "number" and pause or POLL, LONGEST), SHORTEST) / 1000)
    local state, err = session:request("tasks/get", { taskId = id }, options)
    if not state then
      return nil, err
    elseif fetchable[state.status] then
      return state
    elseif state.status ~= "working" then
      return nil, errors.new("EXECUTION_ERROR", ("the server's task is %s%s"):format(tostring(state.status),
        type(state.statusMessage) == "string" and ": " .. state.statusMessage or ""),
        { kind = "task", status = state.status })
    end
    pause = state.pollInterval
  end
end

local function follow(session, created, options)
  local value = created.task
  if type(value) ~= "table" or type(value.taskId) ~= "string" then
    return nil, errors.new("EXECUTION_ERROR", "tools/call: malformed result: /task: a task expected",
      { kind = "malformed" })
  end
  local quick = { traceparent = options.traceparent }
  local ok, state, err = pcall(poll, session, value.taskId, value.pollInterval, quick)
  if ok and state then
    return session:request("tasks/result", { taskId = value.taskId }, { timeout = session.longest })
  end
  err = ok and err or state
  if errors.is_error(err) and (err.code == "ABORTED" or err.code == "TIMEOUT") then
    task.detach(session.request, session, "tasks/cancel", { taskId = value.taskId })
  end
  if not ok and not errors.is_error(err) then
    error(err, 0)
  end
  return nil, err
end

--- Calls a tool that wants to be a task, and waits until it is done.
---@param session operations.mcp.Session
---@param _ "tools/call"
---@param params table
---@param options operations.mcp.RequestOptions
---@return table? result  CallToolResult
---@return operations.Error? err
function tasks.call(session, _, params, options)
  local all = { task = {} }
  for key, value in pairs(params) do
    all[key] = value
  end
  local created, err = session:request("tools/call", all, options)
  if not created or created.task == nil then
    return created, err
  end
  return follow(session, created, options)
end

return tasks

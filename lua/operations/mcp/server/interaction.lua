--- Messages between a running handler and the client: progress, log messages, input of its user or model. In the legacy
--- era a question is a request to the client, and the handler waits for the answer. In the modern era (revision
--- 2026-07-28) it is the result of the round: the client calls again with the answers, and the handler runs again from
--- its beginning; answered questions return at once.
local contexts = require("operations.registry.context")
local errors = require("operations.base.error")
local marks = require("operations.base.marked")
local message = require("operations.mcp.protocol.message")
local turn = require("operations.task.turn")

local interaction = {}

local levels = { debug = "debug", info = "info", warn = "warning", error = "error" }

local function notify(call, method, params)
  if not call.over and not call.cancelled then
    call.send(message.notification(method, params))
    turn.spend(call, turn.PIECE)
  end
end

-- `context.on_progress`; nil when the client did not request it.
local function progress_of(call)
  local token, last = call.meta.progressToken, nil
  if type(token) ~= "string" and type(token) ~= "number" then
    return nil
  end
  return function(done, total, text)
    if type(done) ~= "number" or done ~= done or last and done <= last then
      return
    end
    last = done
    notify(call, "notifications/progress", { progressToken = token, progress = done, total = total, message = text })
  end
end

-- Does the client want messages of this level? In the modern era only if requested.
local function wants(call, level)
  local least = message.severity[call.log_level] or not call.modern and 1
  return least and message.severity[level] >= least
end

-- `context.log`.
local function log_of(call)
  local write = call.server.options.log
  return function(level, text, details)
    write(level, text, details)
    local name = levels[level]
    if name and wants(call, name) then
      local data = details ~= nil and { message = text, details = details } or text
      notify(call, "notifications/message", { level = name, logger = call.params.name,
        data = message.encode(data) and data or text })
    end
  end
end

local function legacy_asks(call)
  return function(request)
    local result, failure = call.peer:request(request.method, request.params, call.send)
    if result then
      return result
    elseif errors.is_error(failure) then
      return nil, failure
    end
    return nil, errors.new("EXECUTION_ERROR", ("%s: %s"):format(request.method, failure.message), failure)
  end
end

-- The answers of all rounds so far, by key; and the questions of this round.
local function modern_asks(call)
  local round = call.round
  return function(request)
    local given = round.answers[request.key]
    if given ~= nil and require("operations.registry.question").accepts(request, given) then
      round.used[request.key] = given
      return given
    end
    round.asked[request.key] = { method = request.method, params = request.params }
    return nil
  end
end

-- Members of a context that are made on first use, which is rare.
local made = { on_progress = progress_of, log = log_of }

function made.hang_up(call)
  return call.hang_up
end

-- Ends a handler that runs again as a task.
function made.as_task(call)
  return call.may_be_task and function()
    call.is_task = true
    error(errors.new("INPUT_REQUIRED", "the operation runs again as a task"), 0)
  end or nil
end

function made.metadata(call)
  local caller = call.http and call.http.peer
  return { mcp = { method = call.method, version = call.version, client = call.client, _meta = call.meta,
    connection = call.connection }, http = caller and { address = caller.address } }
end

local asks = { ask = true, elicit = true, sample = true, roots = true }

local Context = contexts.adapter({})

function Context.__index(self, key)
  local make = made[key]
  if make then
    local value = make(self._call)
    rawset(self, key, value)
    return value
  elseif asks[key] then
    local call = self._call
    local question = require("operations.registry.question")
    question.add(self, call.capabilities, call.modern and modern_asks(call) or legacy_asks(call))
    return rawget(self, key)
  end
end

--- The context of a call by its handler's.
---@param call operations.mcp.ServerCall
---@return table
function interaction.context(call)
  local traceparent = call.meta.traceparent
  return setmetatable({ requestId = call.request_id, identity = call.identity, timeout = call.server.options.timeout,
    traceparent = type(traceparent) == "string" and traceparent or nil, _call = call }, Context)
end

--- The result of a round with questions.
---@param call operations.mcp.ServerCall
---@param round operations.mcp.Round
---@return table
function interaction.input_required(call, round)
  return { resultType = "input_required", inputRequests = marks.object(round.asked),
    requestState = require("operations.mcp.server.state").seal(call, round) }
end

--- Runs a function that may ask the client for input.
---@param call operations.mcp.ServerCall
---@param fn fun(context: table): table?, operations.mcp.Failure?  makes the result of the method
---@return table? result
---@return operations.mcp.Failure? failure
function interaction.run(call, fn)
  if call.modern then
    local round, failure = require("operations.mcp.server.state").open(call)
    if not round then
      return nil, failure
    end
    call.round = round
  end
  local result, failure = fn(interaction.context(call))
  if call.round and next(call.round.asked) ~= nil then
    return interaction.input_required(call, call.round)
  end
  return result, failure
end

return interaction

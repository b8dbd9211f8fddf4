--- The requests of a session: sent, repeated when their answer was lost, and followed over several rounds (revision
--- 2026-07-28), in which the server's result asks for input and the request is repeated with the answers.
local core = require("operations.core")
local http_failure = require("operations.net.http.failure")
local incoming = require("operations.mcp.client.incoming")
local limits = require("operations.base.limits")
local marks = require("operations.base.marked")
local mcp_failure = require("operations.mcp.protocol.failure")
local members = require("operations.base.members")
local message = require("operations.mcp.protocol.message")
local metadata = require("operations.mcp.protocol.metadata")
local negotiation = require("operations.mcp.protocol.negotiation")
local questions = require("operations.mcp.client.questions")
local results = require("operations.mcp.protocol.result")
local task = require("operations.task")

local rounds = {}

-- The pause when a server only asks to repeat the request, ms; grows with every round.
local PAUSE, LONGEST = 50, 5000

local function invalid(method, text)
  return nil, mcp_failure.new("malformed", ("%s: malformed result: %s"):format(method, text))
end

-- Asks the caller when the program has no function for a question.
local function ask_caller(config, asked, asker)
  local relayed = {}
  for key, request in pairs(asker and asked or {}) do
    local need = core.kind(request) == "object" and questions.methods[request.method]
    if need and not config[need] and not incoming.refusal(request.method, request.params) then
      local params = core.kind(request.params) == "object" and request.params or nil
      relayed[key] = { method = request.method, params = params }
    end
  end
  if next(relayed) == nil then
    return {}, {}
  end
  return asker:ask(relayed)
end

--- Answers a server's questions, with the functions that answer requests of legacy servers.
---@param session operations.mcp.Session
---@param asked table<string, any>  requests, by key
---@param method string  that they came with
---@param asker? operations.mcp.Asker
---@return table<string, table>? responses  by key
---@return operations.Error? err  kind "input": a question was not answered
function rounds.responses(session, asked, method, asker)
  local responses, client = marks.object(), session.owner.client
  if not client then
    return nil, mcp_failure.closed(method .. ": the client was dropped")
  end
  local answers, failures = ask_caller(client._config, asked, asker)
  for _, key in ipairs(members.names(asked)) do -- in a stable order
    local request = asked[key]
    if type(request) ~= "table" or type(request.method) ~= "string" then
      return invalid(method, ("/inputRequests/%s: a request expected"):format(key))
    end
    local result, failure = answers[key], failures[key] and { code = message.codes.INTERNAL_ERROR,
      message = failures[key].message }
    if not result and not failure then
      result, failure = incoming.answer(client._config, request.method, request.params or {},
        { client = client, requestId = key })
    end
    if not result then
      return nil, mcp_failure.of_answer(failure, method .. ": the server's " .. request.method, { kind = "input" })
    end
    responses[key] = result
  end
  return responses
end

-- The params of the next round: the first ones and the answers. The state is opaque.
local function next_params(session, params, result, method, asker)
  local all = members.merged(params)
  local asked, state = message.present(result.inputRequests), message.present(result.requestState)
  if asked == nil and state == nil then
    return invalid(method, "/resultType: input_required with neither inputRequests nor requestState")
  end
  all.requestState, all.inputResponses = state, nil
  if asked ~= nil then
    if core.kind(asked) ~= "object" then
      return invalid(method, "/inputRequests: an object expected")
    end
    local responses, err = rounds.responses(session, asked, method, asker)
    if not responses then
      return nil, err
    end
    all.inputResponses = responses
  end
  return all
end

-- A revision that the server named instead of ours, if there is one.
local function other_version(session, failure)
  local data = failure.code == message.codes.UNSUPPORTED_VERSION and session.modern and failure.data
  return core.kind(data) == "object" and negotiation.common(data.supported, true) or nil
end

-- Is the first answer the result? A tool's may be a task.
local function is_over(session, reply, method)
  if reply.error ~= nil or not session.modern then
    return reply.error == nil
  end
  local kind = message.present(reply.result.resultType)
  return kind == nil or kind == "complete" or kind == "task" and method == "tools/call"
end

-- The server's error. If it may have run the request, the HTTP status is more precise.
local function refusal(reply, method)
  local err = mcp_failure.of_answer(reply.error, method, { method = method, statusCode = reply.status })
  if reply.headers and err.mayHaveRun then
    http_failure.judge(err, reply.status, reply.headers)
  end
  return err
end

-- The outcome of one round: a result, or nil and an error, or nil, nil and the params of the next round.
local function judge(session, reply, method, params, asker)
  local result = reply.result
  if reply.error then
    return nil, refusal(reply, method)
  elseif is_over(session, reply, method) then
    return result
  elseif result.resultType ~= "input_required" then
    return invalid(method, ("/resultType: %q is unknown"):format(tostring(result.resultType)))
  end
  local all, err = next_params(session, params, result, method, asker)
  return nil, err, all
end

---@class operations.mcp.RequestOptions
---@field timeout? number  ms, restarted by progress
---@field on_progress? fun(progress: { progress: number, total: number?, message: string? })
---@field traceparent? string
---@field meta? table  further keys of `_meta`
---@field mirrored? operations.mcp.Mirrored[]  arguments repeated in headers
---@field asker? operations.mcp.Asker  the caller, who may be asked
---@field detach? boolean  a task is left running: DETACHED
---@field repeatable? boolean  may be repeated when the answer was lost
---@field attached? boolean  concerns this connection only: does not reconnect

local none = {}

-- Failures by which a connection was lost before the server had the request.
local unsent = { closed = true, connect = true, dns = true }

-- May the request be repeated: the server does not have it, or the answer was lost and the request is repeatable?
local function may_repeat(self, err, options)
  local kind = err.details and err.details.kind
  if unsent[kind] then
    return err.mayHaveRun == false and self._config.restart ~= false and not self._ended
  end
  return kind == "session" or kind == "lost" and options.repeatable
end

-- Sends a request, at most twice.
local function exchange(self, method, params, options, again)
  local link, err = self:_ensure(options)
  if not link then
    return nil, err
  end
  local id = link.pending:next_id()
  local all = metadata.params(self._self, params, options, options.on_progress and id or nil)
  local reply
  reply, err = self:_ask(id, method, all, options.timeout or self._config.timeout, options)
  if reply then
    return reply
  elseif not again and may_repeat(self, err, options) then
    return exchange(self, method, params, options, true)
  elseif again and err.details and err.details.kind == "session" and err.details.cause then
    return nil, err.details.cause -- a new session is refused, too: it was not the session
  end
  return nil, err
end

-- Follows a request until its result.
local function follow(session, method, params, reply, options)
  local current, pause, adopted = params, PAUSE, false
  for round = 1, limits.mcp_rounds do
    local version = not adopted and reply.error and other_version(session, reply.error)
    if version then
      adopted = true
      session:adopt(version)
    else
      local result, failure, following = judge(session, reply, method, params, options.asker)
      if not following then
        return result, failure
      elseif not following.inputResponses then
        task.sleep(pause / 1000)
        pause = math.min(pause * 2, LONGEST)
      end
      current = following
    end
    if round < limits.mcp_rounds then
      local err
      reply, err = exchange(session, method, current, options)
      if not reply then
        return nil, err
      end
    end
  end
  return nil, mcp_failure.new("rounds",
    ("%s: no result after %d rounds of input"):format(method, limits.mcp_rounds))
end

--- Sends a request and waits for its result. A call that the server runs as a task has the task as its result
--- (`resultType` "task").
---@param self operations.mcp.Session
---@param method string
---@param params? table
---@param options? operations.mcp.RequestOptions
---@return table? result
---@return operations.Error? err  MCP_<code> for the server's errors, TIMEOUT, ABORTED, EXECUTION_ERROR with a
---  `details.kind`: "closed", "lost", "malformed", "size", ...
---@return boolean? in_rounds  was more than one request needed?
function rounds.request(self, method, params, options)
  options = options or none
  local reply, err = exchange(self, method, params, options)
  if not reply then
    return nil, err
  end
  local result, in_rounds = reply.result, nil
  if reply.error ~= nil or self.modern and not is_over(self, reply, method) then
    in_rounds = true
    result, err = follow(self, method, params, reply, options)
    if not result then
      return nil, err
    end
  end
  local problem = results.problem(method, result)
  if problem then
    return nil, problem
  end
  return result, nil, in_rounds
end

return rounds

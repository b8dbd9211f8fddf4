--- Passes elicitation and sampling, which a server requests during a tool call, to the caller: the option `questions =
--- "caller"`. A modern server asks in the rounds of the call. A legacy server asks in requests that do not name the
--- call: they are answered if exactly one call is running, else refused, as the wrong caller could be asked.
local errors = require("operations.base.error")
local task = require("operations.task")

local questions = {}

--- The methods that a caller can answer, and their capabilities.
questions.methods = { ["elicitation/create"] = "elicitation", ["sampling/createMessage"] = "sampling" }

---@class operations.mcp.Asker
---@field ask fun(requests: table): table, table  `ask` of the call's context
---@field count integer  the number of questions so far
---@field worker? operations.Task  the task that calls the tool
local Asker = {}
Asker.__index = Asker

-- The answer when there is no caller to ask: the user has declined.
local function refusal(method)
  if method == "elicitation/create" then
    return { action = "decline" }
  end
end

--- Asks several questions at once. Raises INPUT_REQUIRED when the answers come with another call. A repeated call asks
--- the same questions in the same order, which identifies the answers.
---@param requests table<string, { method: string, params: table }>
---@return table<string, table> answers
---@return table<string, operations.Error> failures
function Asker:ask(requests)
  self.count = self.count + 1
  local named = {}
  for key, request in pairs(requests) do
    named[("%d.%s"):format(self.count, key)] = { method = request.method, params = request.params }
  end
  local given, refused = self._ask(named)
  local answers, failures = {}, {}
  for key, request in pairs(requests) do
    local name = ("%d.%s"):format(self.count, key)
    answers[key] = given[name] or refusal(request.method)
    failures[key] = not answers[key] and (refused[name] or errors.new("ABORTED", "there was no answer")) or nil
  end
  return answers, failures
end

--- Calls a tool for a caller who can be asked.
---@param client operations.mcp.Client
---@param context? table  of the call
---@param call fun(asker: operations.mcp.Asker?): operations.Envelope?, operations.Error?
---@return operations.Envelope?
---@return operations.Error? err
function questions.during(client, context, call)
  if client._config.questions ~= "caller" or not context then
    return call()
  end
  local asker = setmetatable({ _ask = context.ask, count = 0 }, Asker)
  client._askers[asker] = true
  asker.worker = task.spawn(call, asker)
  local ok, envelope, err = pcall(asker.worker.wait, asker.worker)
  client._askers[asker] = nil
  if not ok then
    error(envelope, 0)
  end
  return envelope, err
end

-- The only running caller; nil if there is none or more than one.
local function only(askers)
  local asker = next(askers)
  return asker and next(askers, asker) == nil and asker or nil
end

--- Answers a request of a legacy server.
---@param client operations.mcp.Client
---@param method string
---@param params table
---@return table? result
---@return operations.Error? err
function questions.answer(client, method, params)
  local asker = only(client._askers)
  if not asker then
    return nil, errors.new("ABORTED", method .. ": there is not exactly one running call, so no caller can be asked")
  end
  local ok, answers, failures = pcall(asker.ask, asker, { asked = { method = method, params = params } })
  if ok then
    return answers.asked, failures.asked
  elseif errors.is_error(answers) and answers.code == "INPUT_REQUIRED" then
    asker.worker:cancel("the caller is asked first, and calls again")
  end
  error(answers, 0)
end

return questions

--- The tool `run_lua`: programs of models, their progress and their questions. A program runs in a task of its own. In
--- the modern era a question ends the round, and the program waits, with its process: the next round finds it by the id
--- in `requestState`. Nothing runs twice.
local code = require("operations.offer.code")
local errors = require("operations.base.error")
local interaction = require("operations.mcp.server.interaction")
local limits = require("operations.base.limits")
local marks = require("operations.base.marked")
local members = require("operations.base.members")
local question = require("operations.registry.question")
local scheduler = require("operations.task.scheduler")
local sessions = require("operations.mcp.server.session")
local states = require("operations.mcp.server.state")
local task = require("operations.task")
local told = require("operations.mcp.server.told")
local tool_result = require("operations.mcp.server.tool_result")
local utf8 = require("operations.base.utf8")

local program = {}

---@class operations.mcp.Program
---@field id string
---@field call operations.mcp.ServerCall  of the running round, or of the last one
---@field deadline integer
---@field task operations.Task
---@field over boolean
---@field result? operations.SandboxResult
---@field err? operations.Error
---@field ran { id: string, outcome: string }[]
---@field pending table<string, operations.mcp.Asking>  questions that the client has to answer, by key (modern era)
---@field wake? fun()  of the round that waits
local Program = {}
Program.__index = Program

-- Questions.

--- One request to the client, and those whose questions it has.
---@class operations.mcp.Asking
---@field method string
---@field params table
---@field entries { asked: operations.Question, wake: function, left?: boolean }[]
---@field answer fun(given: table?, err: operations.Error?)

-- Approvals that are wanted at the same time are one form with a field for each.
local function form_of(entries)
  local texts, properties, names = {}, {}, marks.array()
  for i, entry in ipairs(entries) do
    local params, name = entry.asked.params, ("call_%02d"):format(i)
    texts[i] = ("%d. %s"):format(i, params.message)
    names[i], properties[name] = name, members.merged(params.requestedSchema.properties.answer,
      { title = ("%d. %s"):format(i, params.message:match("^[^:]*")) })
  end
  local message = ("%d calls need an approval:\n%s"):format(#entries, table.concat(texts, "\n"))
  return { method = "elicitation/create", entries = entries, params = { message = message,
    requestedSchema = { type = "object", required = names, properties = properties } },
    answer = function(given, err)
      for i, entry in ipairs(entries) do
        local content = given and given.content and { answer = given.content[names[i]] }
        entry.wake(given and { action = given.action, content = content }, err)
      end
    end }
end

-- Is this the question of a policy whether a call may run? It has one field.
local function is_approval(asked)
  local properties = (asked.params.requestedSchema or {}).properties or {}
  return asked.key:find("^approval_") ~= nil and next(properties) == "answer" and next(properties, "answer") == nil
end

local function question_of(entry)
  return { method = entry.asked.method, params = entry.asked.params, answer = entry.wake, entries = { entry } }
end

-- What is asked of the client for a list of questions.
local function askings(entries)
  local list, approvals = {}, {}
  for _, entry in ipairs(entries) do
    if is_approval(entry.asked) then
      approvals[#approvals + 1] = entry
    else
      list[#list + 1] = question_of(entry)
    end
  end
  if approvals[1] then
    list[#list + 1] = approvals[2] and form_of(approvals) or question_of(approvals[1])
  end
  return list
end

-- Are there questions for the client? Those of calls that have ended meanwhile are dropped.
local function asks(self)
  for key, asking in pairs(members.copy(self.pending)) do
    local waits = false
    for _, entry in ipairs(asking.entries) do
      waits = waits or not entry.left
    end
    self.pending[key] = waits and asking or nil
  end
  return next(self.pending) ~= nil
end

-- Legacy era: a request to the client on the stream of the call.
local function request(self, asking)
  local call = self.call
  local result, failure = call.peer:request(asking.method, asking.params, call.send)
  if not result and not errors.is_error(failure) then
    failure = errors.new("EXECUTION_ERROR", ("%s: %s"):format(asking.method, failure.message), failure)
  end
  asking.answer(result, failure)
end

local function send(self)
  task.sleep(limits.code_gather / 1000)
  local entries = {}
  for _, entry in ipairs(self.gathered) do
    entries[#entries + 1] = not entry.left and entry or nil
  end
  self.gathered, self.sender = {}, false
  for _, asking in ipairs(askings(entries)) do
    if self.call.modern then
      self.count = self.count + 1
      self.pending["question_" .. self.count] = asking
    else
      self.requests[#self.requests + 1] = task.detach(request, self, asking)
    end
  end
  if self.wake and asks(self) then
    self.wake()
  end
end

-- Asks the client, together with what other calls of the program ask at the same time, and waits for the answer.
local function put(self)
  return function(asked)
    local entry = { asked = asked }
    self.gathered[#self.gathered + 1] = entry
    return task.await(function(wake)
      entry.wake = wake
      self.sender = self.sender or task.detach(send, self)
      return function()
        entry.left = true
      end
    end)
  end
end

-- Gives the answers of a new round to those who wait for them.
local function take_answers(self, answers)
  for key, asking in pairs(members.copy(self.pending)) do
    local given = answers[key]
    if given ~= nil and question.accepts(asking, given) then
      self.pending[key] = nil
      asking.answer(given)
    end
  end
end

-- Calls.

-- Reports a step of the program to the client.
local function step(self, text)
  self.steps = self.steps + 1
  if self.report then
    self.report(self.steps, nil, text)
  end
end

-- The context of a call of the program. Its deadline is that of the program; its progress and logs go to the request of
-- the round that runs.
local function context_of(self, id)
  local context = interaction.context(self.current)
  context.requestId, context.parentRequestId, context.timeout, context.deadline = nil, self.id, nil, self.deadline
  context.on_progress = self.report and function(done, total, text)
    step(self, ("%s: %s%s%s"):format(id, tostring(done), total and "/" .. tostring(total) or "",
      text and " " .. tostring(text) or ""))
  end or nil
  return question.add(context, self.call.capabilities, put(self))
end

-- A failure of a call as the client may read it.
local function tell(self, err, id)
  local seen, is_told = told.read(self.call, err, id, self.call.server.registry:get_spec(id))
  if is_told then
    return seen
  end
  local other = errors.new(seen.code, "the operation failed")
  other.retryable, other.mayHaveRun = seen.retryable, seen.mayHaveRun
  return other
end

local function run(self, asked)
  local ok, result, err = pcall(code.run, asked)
  self.over, self.result, self.err = true, ok and result or nil, not ok and errors.from(result) or err
  for _, one in ipairs(members.joined(self.requests, { self.sender or nil })) do
    one:cancel("the program has ended")
  end
  local programs = self.call.server.programs
  if self.wake then
    self.wake()
  elseif #members.names(programs) > limits.sandbox_max_programs then -- results take memory until they are fetched
    self.stop()
    programs[self.id] = nil
  end
end

-- Callers without an identity share by their address.
local function sharer_of(call)
  return call.identity == nil and call.http and { id = sessions.owner(call.http) } or nil
end

local function start(call, input, tools)
  local server = call.server
  local self = setmetatable({ id = server.sessions.new_id(), call = call, over = false, ran = {}, gathered = {},
    sender = false, requests = {}, pending = {}, count = 0, steps = 0,
    deadline = scheduler.now() + server.options.timeout }, Program)
  self.current = setmetatable({}, { __index = function(_, key)
    return self.call[key]
  end })
  self.task = task.detach(run, self, { registry = server.registry, guide = tools.guide(server),
    sight = program.sight(call, tools), options = server.code, code = input.code, dry_run = input.dry_run == true,
    id = self.id, identity = call.identity, sharer = sharer_of(call), deadline = self.deadline,
    metadata = interaction.context(call).metadata,
    context = function(id)
      return context_of(self, id)
    end, tell = function(err, id)
      return tell(self, err, id)
    end, done = function(id, outcome)
      self.ran[#self.ran + 1] = { id = utf8.cut(id, 200), outcome = outcome }
      step(self, ("%s: %s"):format(id, outcome))
    end })
  return self
end

-- Rounds.

local function text_block(text)
  return { type = "text", text = text }
end

-- What clients, not models, read of a program.
local function meta_of(result)
  return { ["operations/program"] = { calls = code.calls(result), processor = result.processor } }
end

-- The result of a program that has ended.
local function result_of(self, call)
  local result = self.result
  if not result then
    local err, is_told = told.read(call, self.err, code.name)
    if not is_told and err.code == "UNAVAILABLE" then
      err, is_told = errors.new(err.code, "no program can run on this server, whose log says why"), true
    end
    return tool_result.of_error(err, is_told)
  elseif not result.ok then
    local err, meta = result.error, meta_of(result)
    meta["operations/error"] = { code = err.code, details = err.details, line = err.line }
    return { content = marks.array({ text_block(code.failure(result)) }), isError = true, _meta = meta }
  end
  local made, err = tool_result.of(code.envelope(result), { id = code.name, modern = call.modern,
    version = call.version })
  if not made then
    return tool_result.of_error(err, true)
  end
  local printed = code.printed(result)
  made.content[#made.content + 1] = printed and text_block(printed) or nil
  made._meta = meta_of(result)
  return made
end

local function give_up(self)
  self.task:cancel(errors.new("TIMEOUT", "the program waited too long for an answer"))
end

-- Ends the round with the questions that wait.
local function input_required(self, call)
  local asked = {}
  for key, asking in pairs(self.pending) do
    asked[key] = { method = asking.method, params = asking.params }
  end
  local programs, wait = call.server.programs, call.server.code.wait or limits.code_wait
  programs[self.id] = self
  self.stop = scheduler.host().timer(wait, function()
    programs[self.id] = nil
    give_up(self)
  end)
  return interaction.input_required(call, { asked = asked, used = {}, program = { id = self.id,
    ran = marks.array(members.joined(self.ran)) } })
end

-- Waits for the end of the program, for questions, or for another request that continues it.
local function wait(self, call)
  while self.call == call and not self.over and not asks(self) do
    task.await(function(wake)
      self.wake = wake
    end)
  end
end

-- The result of a round; the program ends with a call that is cancelled.
local function attend(self, call)
  self.call, self.report = call, interaction.context(call).on_progress
  if self.wake then
    self.wake() -- a request that was sent twice
  end
  local ok, raised = pcall(wait, self, call)
  if not ok then
    call.server.programs[self.id] = nil
    self.task:cancel(errors.is_error(raised) and raised or errors.text(raised))
    error(raised, 0)
  elseif self.call ~= call then
    return tool_result.of_error(errors.new("ABORTED", "another request continues the program"), true)
  end
  self.wake = nil
  if self.over then
    call.server.programs[self.id] = nil
    return result_of(self, call)
  end
  return input_required(self, call)
end

-- The result where the program of a state is no more: what it did.
local function gone(state)
  local lines = {}
  for i, made in ipairs(type(state.ran) == "table" and state.ran or {}) do
    lines[i] = ("- %s: %s"):format(tostring(made.id), tostring(made.outcome))
  end
  local err = errors.new("ABORTED", "the program has ended: it was answered before, waited too long, or the server was "
    .. "started again. Nothing runs twice." .. (lines[1] and "\nCalls that it made:\n" .. table.concat(lines, "\n")
    or " It had made no call."), { ran = state.ran })
  err.mayHaveRun = lines[1] ~= nil
  return tool_result.of_error(err, true)
end

local function resume(call, round)
  local self = call.server.programs[round.program.id]
  if not self then
    return gone(round.program)
  end
  self.stop()
  self.call = call
  take_answers(self, round.answers)
  return attend(self, call)
end

--- What programs of a caller may call: what it sees.
---@param call operations.mcp.ServerCall
---@param tools table
---@return operations.offer.Sight
function program.sight(call, tools)
  return code.sight(call.server.registry, call.server.code, { identity = call.identity, sees = function(id, kind)
    return (kind == "subscription" or tools.name_of(call, id) ~= nil) and tools.sight_of(call, id) == "yes"
  end, id_of = function(name)
    return tools.id_of(call, name)
  end })
end

--- Runs a program, or continues one that waited for answers.
---@param call operations.mcp.ServerCall
---@param input table
---@param tools table  of `tools`: what it knows of names and sight
---@return table? result
---@return operations.mcp.Failure?
function program.run(call, input, tools)
  local round, failure
  if call.modern then
    round, failure = states.open(call)
    if not round then
      return nil, failure
    end
  end
  local noted = call.http and call.http.call -- of the access log
  if noted then
    noted.operation = code.name
  end
  if round and round.program then
    return resume(call, round)
  end
  local flaws = code.flaws(input)
  if flaws then
    return tool_result.of_error(errors.new("VALIDATION_ERROR", "input", flaws), true)
  end
  return attend(start(call, input, tools), call)
end

--- Ends the programs that wait for answers.
---@param server operations.McpServer
---@param reason string
function program.cancel_all(server, reason)
  for id, self in pairs(members.copy(server.programs)) do
    server.programs[id] = nil
    self.stop()
    self.task:cancel(reason)
  end
end

return program

--- The functions of a handler's context that ask the client: `elicit`, `sample`, `roots`, and `ask` for several at
--- once. Questions and answers have the form of MCP. Other files transport them; if that is impossible, `elicit`
--- answers "decline".
local argument = require("operations.base.argument")
local core = require("operations.core")
local errors = require("operations.base.error")
local marks = require("operations.base.marked")
local members = require("operations.base.members")
local schema = require("operations.schema")
local url = require("operations.base.url")

local question = {}

---@class operations.Question
---@field key string  identifies its answer
---@field method string
---@field params table

local needs = { ["elicitation/create"] = "elicitation", ["sampling/createMessage"] = "sampling",
  ["roots/list"] = "roots" }

local actions = { accept = true, decline = true, cancel = true }

local function elicitation_fits(params, given)
  if not actions[given.action] then
    return false
  elseif given.action ~= "accept" or params.requestedSchema == nil then
    return true
  end
  local compiled = schema.compile(params.requestedSchema)
  return core.kind(given.content) == "object" and (not compiled or compiled:check(given.content))
end

--- Is this a valid answer to the question?
---@param asked operations.Question
---@param given any
---@return boolean
function question.accepts(asked, given)
  if core.kind(given) ~= "object" then
    return false
  elseif asked.method == "elicitation/create" then
    return elicitation_fits(asked.params, given)
  elseif asked.method == "sampling/createMessage" then
    return type(given.role) == "string" and type(given.content) == "table"
  end
  return core.kind(given.roots) == "array"
end

-- The mode of an elicitation: "form" or "url"; nil: another question.
local function mode_of(asked)
  return asked.method == "elicitation/create" and (asked.params.mode or "form") or nil
end

--- The answers that have a question, if each fits.
---@param questions table<string, { method: string, params: table }>  by key
---@param answers table<string, table>  by key
---@return table<string, table>? fitting
---@return operations.Error? err  VALIDATION_ERROR: one does not fit; details.key
function question.fitting(questions, answers)
  local found = {}
  for key, asked in pairs(questions) do
    if answers[key] ~= nil and not question.accepts(asked, answers[key]) then
      return nil, errors.new("VALIDATION_ERROR", ("the answer '%s' does not fit its question"):format(key),
        { key = key })
    end
    found[key] = answers[key]
  end
  return found
end

-- The error of a question that the client does not support.
local function incapable(asked)
  local name, mode = needs[asked.method], mode_of(asked)
  local shown = mode == "url" and name .. ".url" or name
  local err = errors.new("CAPABILITY_MISSING", ("the client did not declare the capability '%s'"):format(shown),
    { requiredCapabilities = { [name] = mode == "url" and { url = marks.object() } or marks.object() } })
  err.retryable = false
  return err
end

-- A client that declares no mode has forms; one that has URLs says so.
local function declares(capabilities, asked)
  local declared, mode = capabilities[needs[asked.method]], mode_of(asked)
  if core.kind(declared) ~= "object" then
    return false
  elseif mode == "url" then
    return core.kind(declared.url) == "object"
  end
  return mode == nil or core.kind(declared.form) == "object" or core.kind(declared.url) ~= "object"
end

-- The answer, if it is one to an elicitation: the content of a form must fit what was asked.
local function fitting(asked, answer, err)
  if answer and mode_of(asked) and not question.accepts(asked, answer) then
    return nil, errors.new("VALIDATION_ERROR", asked.method .. ": the client's answer does not fit the question")
  end
  return answer, err
end

-- Checks a question of a handler.
local function checked(key, given)
  if type(given) ~= "table" or not needs[given.method] then
    error(("bad argument #1 to 'ask' (%s: { method = \"elicitation/create\", \"sampling/createMessage\" or "
      .. "\"roots/list\", params } expected)"):format(tostring(key)), 3)
  end
  return { key = tostring(key), method = given.method, params = given.params or marks.object() }
end

local page_options = { url = "string", message = "string", id = "string", key = "string" }

-- The params of a question that leads the user to a page. Only addresses that are safe to open are sent.
local function page_of(given)
  argument.options(given, page_options, "elicit")
  local problem = url.untrusted(given.url)
  if problem then
    error(("bad argument #1 to 'elicit' (url: %s)"):format(problem), 3)
  end
  return { mode = "url", url = given.url, message = given.message or "", elicitationId = given.id }
end

local function waiting()
  return errors.new("INPUT_REQUIRED", "the client is asked for input; the operation runs again with the answer")
end

-- The answer to a question, or its failure; neither: it comes later.
local function put_one(asked, capabilities, put)
  if not declares(capabilities, asked) then
    return nil, incapable(asked)
  end
  return fitting(asked, put(asked))
end

-- Puts questions until each has its answer or its failure, both by key.
local function answers_to(list, capabilities, put, pause)
  local answers, failures = {}, {}
  local waits
  repeat
    waits = false
    for _, asked in ipairs(list) do
      local key = asked.key
      if not answers[key] and not failures[key] then
        answers[key], failures[key] = put_one(asked, capabilities, put)
        waits = waits or not answers[key] and not failures[key]
      end
    end
    if waits and not pause then
      error(waiting(), 0)
    elseif waits then
      pause()
    end
  until not waits
  return answers, failures
end

--- Adds the functions to the context of a call.
---@param context table
---@param capabilities table  the client's
---@param put fun(asked: operations.Question): table?, operations.Error?  the answer; nil: it comes later
---@param pause? fun()  waits for an answer to what was put, which is then put again; nil: the handler ends with
---  INPUT_REQUIRED and runs again with the answers
---@return table context
function question.add(context, capabilities, put, pause)
  local count = {}
  local function key_of(kind)
    count[kind] = (count[kind] or 0) + 1
    return ("%s_%d"):format(kind, count[kind])
  end
  local function ask_one(asked)
    local answers, failures = answers_to({ asked }, capabilities, put, pause)
    return answers[asked.key], failures[asked.key]
  end
  function context.ask(requests)
    argument.expect(requests, "table", 1, "ask")
    local list = {}
    for i, key in ipairs(members.names(requests)) do
      list[i] = checked(key, requests[key])
    end
    return answers_to(list, capabilities, put, pause)
  end
  function context.elicit(text, requested, key)
    local params
    if type(text) == "table" then
      params, key = page_of(text), text.key
    else
      argument.expect(text, "string", 1, "elicit")
      argument.optional(requested, "table", 2, "elicit")
      params = { message = text, requestedSchema = requested or { type = "object", properties = marks.object() } }
    end
    key = key or key_of("elicit")
    params.elicitationId = params.mode == "url" and (params.elicitationId or core.random_id()) or nil
    local answer = ask_one({ key = key, method = "elicitation/create", params = params })
    if not answer or not actions[answer.action] then
      return "decline"
    end
    return answer.action, answer.action == "accept" and answer.content or nil
  end
  function context.sample(request, key)
    argument.expect(request, "table", 1, "sample")
    return ask_one({ key = key or key_of("sample"), method = "sampling/createMessage", params = request })
  end
  function context.roots(key)
    local answer, err = ask_one({ key = key or key_of("roots"), method = "roots/list", params = marks.object() })
    return answer and answer.roots, err
  end
  return context
end

return question

--- One way to ask a person: yes or no, a choice, a form, a text, a visit to a page. Where the question appears is a
--- face: the editor (`nvim/form`, `nvim/serve/question`), a terminal (`cli/output`), or the user of an MCP client
--- (`through`). Whether a file is trusted is a question of `people/trust`, by the same faces.
local json = require("operations.base.json")
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local schemas = require("operations.schema")

local asking = {}

---@class operations.people.Choice
---@field word string  the answer
---@field label? string  default: the word

---@class operations.people.Question
---@field title string  who asks
---@field text string
---@field choices? operations.people.Choice[]  the answer is the word of one; the one that changes nothing first
---@field schema? operations.JsonSchema  of an object: the answer is one that fits
---@field all? boolean  also asks for its optional properties

--- Waits for the user. Nil: the user gave no answer. A face has the functions for the questions that it gets.
---@class operations.people.Face
---@field select? fun(items: any[], prompt: string, label: fun(item: any): string): any
---@field input? fun(prompt: string, default?: string): string?
---@field fill? fun(question: operations.people.Question): table?, string?  shows a form as a whole
---@field confirm? fun(question: string): boolean?  yes or no
---@field trust? fun(subject: operations.people.Subject, changed: string[]): boolean?  shows what it would run first
---@field approve? fun(call: operations.ApprovalCall): string?, string?  the word of one of `approvals`, and a reason;
---  default: `select`
---@field open? fun(address: string, text: string)  leads the user to a page; does not wait for the end of the visit

local function literal(value)
  return type(value) == "string" and value or json.encode(value)
end

local function choices_of(schema)
  if schema.type == "boolean" then
    return { true, false }
  end
  return type(schema.enum) == "table" and schema.enum or nil
end

local function prompt_of(name, schema, is_required)
  local text = schema.title or name
  if type(schema.description) == "string" then
    text = text .. " (" .. schema.description:match("^[^\n]*") .. ")"
  end
  return text .. (is_required and ": " or ", optional: ")
end

-- Reads a text as a value: values other than strings are written as JSON.
local function read(text, schema)
  if schema.type ~= "string" and schema.type ~= nil or schema.type == nil and text:find("^[%[{]") then
    local value = json.decode(text)
    if value ~= nil then
      return value
    end
  end
  return text
end

local function problem_of(schema, value)
  local compiled = schemas.compile(schema)
  local ok, issues = true, nil
  if compiled then
    ok, issues = compiled:check(value)
  end
  return not ok and issues[1].message or nil
end

-- The value of a property; nil: left out; false as second result: the user cancelled the form.
local function answer(face, name, schema, is_required)
  local prompt, default = prompt_of(name, schema, is_required), schema.default
  local choices = choices_of(schema)
  if choices then
    local chosen = face.select(choices, prompt, literal)
    return chosen, chosen ~= nil or not is_required
  end
  local text = default ~= nil and literal(default) or nil
  while true do
    text = face.input(prompt, text)
    if text == nil then
      return nil, false
    elseif text == "" and not is_required then
      return nil, true
    end
    local value = read(text, schema)
    local problem = problem_of(schema, value)
    if not problem then
      return value, true
    end
    prompt = ("%s: %s: "):format(name, problem)
  end
end

local function fill(face, question)
  local schema, values = question.schema, {}
  local required = members.set(schema.required or {})
  for _, name in ipairs(schemas.properties(schema)) do
    local property = type(schema.properties[name]) == "table" and schema.properties[name] or {}
    if question.all or required[name] then
      local value, goes_on = answer(face, name, property, required[name] == true)
      if not goes_on then
        return nil, "cancel"
      end
      values[name] = value
    end
  end
  return marked.object(values)
end

--- Asks a question, and waits for the answer.
---@param face operations.people.Face
---@param question operations.people.Question
---@return any answer  nil: none
---@return string? reason  "cancel", or "decline" where the face can tell
function asking.ask(face, question)
  if question.schema then
    return (face.fill or function()
      return fill(face, question)
    end)(question)
  end
  local words, labels = {}, {}
  for i, choice in ipairs(question.choices) do
    words[i], labels[choice.word] = choice.word, choice.label or choice.word
  end
  local word = face.select(words, ("%s: %s"):format(question.title, question.text), function(of)
    return labels[of]
  end)
  return word, word == nil and "cancel" or nil
end

local function agreed(face, title, text, word)
  local chosen, reason = asking.ask(face, { title = title, text = text,
    choices = { { word = word }, { word = "decline" } } })
  return chosen == word, chosen or reason
end

--- Answers a server that asks the user to fill in a form (elicitation).
---@param face operations.people.Face
---@param title string  the server
---@param params { message: string, requestedSchema?: table }
---@return { action: string, content?: table }
function asking.elicit(face, title, params)
  local agrees, reason = agreed(face, title, params.message, "answer")
  if not agrees then
    return { action = reason }
  end
  local content
  content, reason = asking.ask(face, { title = title, text = params.message, schema = params.requestedSchema or {},
    all = true })
  return { action = content and "accept" or reason, content = content }
end

--- Answers a server that asks the user to visit a page.
---@param face operations.people.Face
---@param title string  the server
---@param params { message: string, url: string }
---@return { action: string }
function asking.visit(face, title, params)
  local agrees, reason = agreed(face, title, params.message .. " " .. params.url, "open")
  if agrees then
    face.open(params.url, title .. ": open in a browser")
  end
  return { action = agrees and "accept" or reason }
end

-- What may be answered about a call.
local approvals = {
  { word = "no", label = "No" },
  { word = "once", label = "Yes, once" },
  { word = "arguments", label = "Yes, always with these arguments" },
  { word = "always", label = "Yes, always" },
}

--- The answers to the question whether a call may run, the one that changes nothing first.
asking.approvals = approvals

local function choose(face, call)
  local arguments = json.encode(call.input == nil and {} or call.input, { sort_keys = true })
  if not arguments then
    return nil, "the arguments cannot be shown"
  end
  return asking.ask(face, { title = call.operationId, text = arguments, choices = approvals })
end

--- Asks whether a call may run, as `confirm` of `operations.approvals`.
---@param face operations.people.Face
---@param call operations.ApprovalCall
---@return boolean approved
---@return string? scope_or_reason
function asking.approve(face, call)
  local word, reason
  if face.approve then
    word, reason = face.approve(call)
  else
    word, reason = choose(face, call)
  end
  if word == nil or word == "no" then
    return false, reason or "the user said no"
  end
  return true, word
end

--- The face of the user of the client that called, for handlers: their context asks (`context.elicit`).
---@param context operations.Context
---@return operations.people.Face
function asking.through(context)
  local function elicit(prompt, schema)
    local action, content = context.elicit(prompt, schema)
    return action == "accept" and content or nil, action
  end
  return {
    select = function(items, prompt, label)
      local words, by_label = marked.array(), {}
      for i, item in ipairs(items) do
        words[i], by_label[label(item)] = label(item), item
      end
      local content = elicit(prompt, { type = "object", required = marked.array({ "answer" }),
        properties = { answer = { type = "string", enum = words } } })
      return content and by_label[content.answer]
    end,
    fill = function(question)
      return elicit(("%s: %s"):format(question.title, question.text), question.schema)
    end,
  }
end

return asking

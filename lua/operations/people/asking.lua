--- One way to ask a person: yes or no, a choice, a form, a text, a visit to a page. Where the question appears is a
--- face: the editor (`nvim/form`, `nvim/serve/question`), a terminal (`cli/person`), or the user of an MCP client
--- (`through`). Whether a file is trusted is a question of `people/trust`, by the same faces.
local core = require("operations.core")
local input = require("operations.people.input")
local json = require("operations.base.json")
local json_pointer = require("operations.base.json_pointer")
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local schema_text = require("operations.people.schema_text")
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
---@field value? table  what is known of the object; only what it lacks is asked for
---@field all? boolean  also asks for its optional properties

--- Waits for the user. Nil: the user gave no answer. A face has the functions for the questions that it gets.
---@class operations.people.Face
---@field select? fun(items: any[], prompt: string, label: fun(item: any): string, default?: any): any  one of the
---  items; default: for no answer, at a face that tells it from cancelling
---@field several? fun(items: { label: string }[], prompt: string, chosen: table<any, true>): table<any, true>?  some of
---  the items; default: by `select`
---@field input? fun(prompt: string, default?: string): string?
---@field fill? fun(question: operations.people.Question): table?, string?  shows a form as a whole
---@field confirm? fun(question: string): boolean?  yes or no
---@field trust? fun(subject: operations.people.Subject, changed: string[]): boolean?  shows what it would run first
---@field approve? fun(call: operations.ApprovalCall): string?, string?  the word of one of `approvals`, and a reason;
---  default: `select`
---@field open? fun(address: string, text: string)  leads the user to a page; does not wait for the end of the visit

-- Forms: the properties of an object, one question after the other.

local LEAVE, DONE = "leave it out", "done"
local DEEPEST = 6 -- objects in objects; deeper ones are written as JSON

---@class operations.people.Form  the value so far, and the schema that it has to fit
---@field face operations.people.Face
---@field title string
---@field all boolean
---@field root table
---@field compiled? operations.Schema
---@field value table
local Form = {}
Form.__index = Form

local function literal(value)
  return type(value) == "string" and value or json.encode(value)
end

-- A place in the form: where the value is, its schema, and what a person calls it.
local function place_of(name, node, pointer, schema, is_required)
  local title = schema.title
  return { name = name, node = node, pointer = pointer .. "/" .. json_pointer.escape(name), schema = schema,
    is_required = is_required, label = type(title) == "string" and title:match("^[^\n]+") or name }
end

-- The first complaint about the value at a place.
function Form:problem(place)
  local ok, issues = true, nil
  if self.compiled then
    ok, issues = self.compiled:check(self.value)
  end
  for _, issue in ipairs(not ok and issues or {}) do
    if issue.path == place.pointer or issue.path:sub(1, #place.pointer + 1) == place.pointer .. "/" then
      return issue.message
    end
  end
end

-- The same with another value there, which is kept only if it fits.
function Form:try(place, value)
  local before = place.node[place.name]
  place.node[place.name] = value
  local problem = self:problem(place)
  if problem then
    place.node[place.name] = before
  end
  return problem
end

-- The question for a place, with what the answer has to be.
function Form:prompt(place, hint)
  local schema = place.schema
  local text = (self.title ~= "" and self.title .. ": " or "") .. place.label
  if type(schema.description) == "string" then
    text = text .. " (" .. schema.description:match("^[^\n]*") .. ")"
  end
  text = (hint or "") == "" and text or text .. ", " .. hint
  return text .. (place.is_required and ": " or ", optional: ")
end

-- Puts the text of a person there: JSON where it is a list or an object, otherwise as on a command line.
function Form:put(place, text)
  local value = text:find("^%s*[%[{]") and json.decode(text) or nil
  if value ~= nil and not self:try(place, value) then
    return nil
  end
  place.node[place.name] = text
  if self.compiled then
    input.convert(self.value, { [place.pointer] = { text } }, self.compiled)
  end
  return self:problem(place)
end

-- False: the user cancelled the form.
function Form:ask_text(place)
  local schema = place.schema
  local prompt = self:prompt(place, schema_text.hint(self.root, schema))
  local text = schema.default ~= nil and literal(schema.default) or nil
  while true do
    text = self.face.input(prompt, text)
    if text == nil or text == "" and not place.is_required then
      place.node[place.name] = nil
      return text ~= nil
    end
    local problem = self:put(place, text)
    if not problem then
      return true
    end
    prompt = ("%s: %s: "):format(place.label, problem)
  end
end

local function has_constants(list)
  for _, branch in ipairs(type(list) == "table" and list or {}) do
    if type(branch) ~= "table" or branch.const == nil then
      return false
    end
  end
  return type(list) == "table" and list[1] ~= nil
end

-- The values that a schema names, with the words for people of `title` or `enumNames`; nil: it names none.
local function choices_of(schema)
  local choices, titles = {}, {}
  local branches = has_constants(schema.oneOf) and schema.oneOf or has_constants(schema.anyOf) and schema.anyOf
  if schema.type == "boolean" then
    return { { value = true, label = "yes" }, { value = false, label = "no" } }
  elseif schema.const ~= nil then
    return { { value = schema.const, label = literal(schema.const) } }
  end
  local names = type(schema.enumNames) == "table" and schema.enumNames or {}
  for i, item in ipairs(branches or type(schema.enum) == "table" and schema.enum or {}) do
    local value, title = item, names[i]
    if branches then
      value, title = item.const, item.title
    end
    local label = type(title) == "string" and title ~= "" and title or literal(value)
    choices[i] = { value = value, label = label }
    titles[label] = (titles[label] or 0) + 1
  end
  for _, choice in ipairs(choices) do
    if titles[choice.label] > 1 then
      choice.label = ("%s (%s)"):format(choice.label, literal(choice.value))
    end
  end
  return choices[1] and choices
end

local function label_of(choice)
  return choice.label
end

-- One of the values; a default comes first.
function Form:ask_choice(place, choices)
  local items, first = members.joined(choices), nil
  for i, choice in ipairs(choices) do
    if place.schema.default == choice.value then
      first = table.remove(items, i)
      table.insert(items, 1, first)
      break
    end
  end
  if not place.is_required then
    items[#items + 1] = { label = LEAVE }
  end
  local chosen = self.face.select(items, self:prompt(place), label_of, first or items[#choices + 1])
  if chosen then
    place.node[place.name] = chosen.value
  end
  return chosen ~= nil
end

-- Several of the values where a face has no way of its own: each choice adds or removes one.
local function toggle(face, choices, prompt, chosen)
  local done = { label = DONE }
  while true do
    local picked = face.select(members.joined({ done }, choices), prompt, function(item)
      return item == done and DONE or (chosen[item] and "[x] " or "[ ] ") .. item.label
    end, done)
    if not picked or picked == done then
      return picked and chosen
    end
    chosen[picked] = not chosen[picked] or nil
  end
end

-- Some of the values, in their order.
function Form:ask_several(place, choices)
  local chosen, schema = {}, place.schema
  local default = type(schema.default) == "table" and schema.default
  local prompt = self:prompt(place, table.concat(schema_text.limits(schema), ", "))
  for _, choice in ipairs(choices) do
    chosen[choice] = default and members.contains(default, choice.value) or nil
  end
  repeat
    chosen = (self.face.several or function(...)
      return toggle(self.face, ...)
    end)(choices, prompt, chosen)
    if not chosen then
      return false
    end
    local values = marked.array()
    for _, choice in ipairs(choices) do
      values[#values + 1] = chosen[choice] and choice.value or nil
    end
    if #values == 0 and not place.is_required and not default then
      return true
    end
    local problem = self:try(place, values)
    prompt = problem and ("%s: %s: "):format(place.label, problem)
  until not problem
  return true
end

function Form:ask(place)
  local schema = place.schema
  local choices = choices_of(schema)
  if choices then
    return self:ask_choice(place, choices)
  end
  choices = schema.type == "array" and choices_of(schema_text.target(self.root, schema.items))
  if choices then
    return self:ask_several(place, choices)
  end
  return self:ask_text(place)
end

-- Asks for what an object lacks; for the members of an object in it, too.
function Form:fill(node, schema, pointer)
  local found = schema_text.members(self.root, schema)
  for _, name in ipairs(found.names) do
    local is_required = found.required[name] == true
    local place = place_of(name, node, pointer, schema_text.target(self.root, found.properties[name]), is_required)
    local has_members = select(2, place.pointer:gsub("/", "")) < DEEPEST
      and #schema_text.members(self.root, place.schema).names > 0
    if node[name] == nil and is_required and has_members then
      node[name] = marked.object()
    end
    if node[name] == nil then
      if (is_required or self.all) and not self:ask(place) then
        return false
      end
    elseif core.kind(node[name]) == "object" and has_members then
      node[name] = marked.object(members.merged(node[name]))
      if not self:fill(node[name], place.schema, place.pointer) then
        return false
      end
    end
  end
  return true
end

local function fill(face, question)
  local root = question.schema
  local form = setmetatable({ face = face, title = question.title or "", all = question.all == true, root = root,
    compiled = schemas.compile(root, { formats = true }), value = marked.object(members.merged(question.value or {})) },
    Form)
  if not form:fill(form.value, root, "") then
    return nil, "cancel"
  end
  return form.value
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

--- The answers that a question about a call offers: a rule may not let an approval cover more calls.
---@param call operations.ApprovalCall
---@return operations.people.Choice[]
function asking.choices(call)
  local list = {}
  for i, choice in ipairs(approvals) do
    list[i] = choice
    if choice.word == call.remember then
      break
    end
  end
  return list
end

--- The rule that asks about a call, with its reason; nil where none does.
---@param call operations.ApprovalCall
---@return string?
function asking.rule(call)
  if call.rule then
    return call.rule .. (call.reason and call.reason ~= "" and ": " .. call.reason or "")
  end
end

local function choose(face, call)
  local arguments = json.encode(call.input == nil and {} or call.input, { sort_keys = true })
  if not arguments then
    return nil, "the arguments cannot be shown"
  end
  local rule = asking.rule(call)
  return asking.ask(face, { title = call.operationId, text = rule and ("%s (%s)"):format(arguments, rule) or arguments,
    choices = asking.choices(call) })
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
---@param key? string  identifies the question
---@return operations.people.Face
function asking.through(context, key)
  local function elicit(prompt, schema)
    if context:can_be_asked() ~= "ask" then
      local action, content = context.elicit(prompt, schema, key)
      return action == "accept" and content or nil, action
    end
    -- `ask` tells a client without forms from a user who declines.
    local name, params = key or "approval", { message = prompt, requestedSchema = schema }
    local answers, failures = context.ask({ [name] = { method = "elicitation/create", params = params } })
    local given = answers[name] or error(failures[name], 0)
    return given.action == "accept" and given.content or nil, given.action
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

--- Asks the user of the client that called, as `confirm` of `operations.approvals`. Callers without an identity are one
--- for a memory of approvals, so an answer of theirs covers one call.
---@param context operations.Context
---@param key? string  identifies the question
---@return operations.Confirm
function asking.by_caller(context, key)
  return function(call)
    local approved, scope = asking.approve(asking.through(context, key), call)
    return approved, approved and call.identity == nil and "once" or scope
  end
end

return asking

--- `:Operations call` and `watch`: a call in its own window. The window shows its progress; closing it, or Ctrl-C in
--- it, cancels the call.
local asking = require("operations.people.asking")
local core = require("operations.core")
local errors = require("operations.base.error")
local fields = require("operations.people.fields")
local form = require("operations.nvim.form")
local json = require("operations.base.json")
local input = require("operations.people.input")
local log = require("operations.nvim.log")
local number_text = require("operations.base.number_text")
local schema_place = require("operations.people.schema_place")
local schemas = require("operations.schema")
local suggestion = require("operations.base.suggestion")
local task = require("operations.task")
local view = require("operations.nvim.view")

local call = {}

local LONG = 20000 -- lines of a result that the editor could not colour in time

local function block_text(block)
  if block.type == "text" then
    return block.text
  elseif type(block.data) == "string" then
    return ("[%s, %s, %d bytes]"):format(block.type, block.mimeType or "?", math.floor(#block.data * 3 / 4))
  end
  local resource = type(block.resource) == "table" and block.resource or block
  return type(resource.text) == "string" and resource.text
    or ("[%s %s]"):format(block.type, resource.uri or resource.name or "")
end

-- The text of a tool result's content for people; nil: show its data instead.
local function content_text(envelope)
  local meta = envelope.meta
  if meta.source == "mcp" and meta.structuredContent == nil and type(meta.content) == "table" then
    local parts = {}
    for i, block in ipairs(meta.content) do
      parts[i] = block_text(block)
    end
    if #parts > 0 then
      return table.concat(parts, "\n")
    end
  end
end

--- The text of a result for people: the blocks of a tool's answer, otherwise its data as JSON.
---@param envelope operations.Envelope
---@return string text
---@return "markdown"|"json" filetype
function call.text(envelope)
  local text = content_text(envelope)
  if text then
    return text, "markdown"
  end
  return assert(json.encode(envelope.data, { indent = 2, sort_keys = true })), "json"
end

local function breathe()
  task.sleep(0)
end

-- The members of a table in JSON's order, and its brackets; nil if it is not such a table.
local function members_of(value)
  if type(value) ~= "table" or next(value) == nil then
    return nil
  elseif core.kind(value) == "array" then
    return value, "[", "]"
  end
  local keys = {}
  for key in pairs(value) do
    keys[#keys + 1] = key
  end
  table.sort(keys)
  return keys, "{", "}"
end

-- Adds the lines of a value, one member after the other down to a depth, so that the editor runs in between.
local function add_json(lines, value, before, behind, indent, depth)
  local list, opening, closing = members_of(value)
  if depth == 0 or not list then
    local text = assert(json.encode(value, { indent = 2, sort_keys = true }))
    for i, line in ipairs(view.split(before .. text .. behind)) do
      lines[#lines + 1] = (i == 1 and "" or indent) .. line
    end
    return
  end
  lines[#lines + 1] = before .. opening
  local inner = indent .. "  "
  for i, item in ipairs(list) do
    local name = opening == "{" and json.encode(item) .. ": " or ""
    local member = item
    if opening == "{" then
      member = value[item]
    end
    add_json(lines, member, inner .. name, i < #list and "," or "", inner, depth - 1)
    if i % 20 == 0 then
      breathe()
    end
  end
  lines[#lines + 1] = indent .. closing .. behind
end

--- Shows the result of a call in its window.
---@param window operations.nvim.View
---@param id string
---@param envelope operations.Envelope
function call.show(window, id, envelope)
  local text, filetype = content_text(envelope), "markdown"
  local lines = {}
  if text then
    lines = view.split(text)
  else
    filetype = "json"
    add_json(lines, envelope.data, "", "", "", 2)
  end
  window:set(lines, breathe)
  if #lines < LONG then
    window:filetype(filetype)
  end
  window:title(id .. (envelope.meta.isError and ": the tool failed" or ""))
end

--- Shows the failure of a call in its window.
---@param window operations.nvim.View
---@param id string
---@param err operations.Error
function call.show_failure(window, id, err)
  local lines = view.split(tostring(err))
  for _, issue in ipairs(type(err.details) == "table" and err.details or {}) do
    if type(issue) == "table" and issue.message then
      lines[#lines + 1] = ("  %s: %s"):format(issue.path == "" and "/" or issue.path, issue.message)
    end
  end
  window:set(lines)
  window:title(id .. ": failed")
end

local function refuse(message)
  error(errors.new("VALIDATION_ERROR", message))
end

-- Does the argument name standard input: "-", "@-", "key=@-" or "key:=@-"?
local function wants_stdin(argument)
  return argument == "-" or argument == "@-" or argument:find("^[^=]+=@%-$") ~= nil
end

local function takes_body(spec)
  local _, known = schema_place.names(spec.inputSchema, {})
  return spec._meta ~= nil and spec._meta.source == "openapi" and known.body ~= nil
end

-- Answers no question: a form that needs no answer is complete.
local nobody = { select = function() end, input = function() end }

-- The input given after the id, with what the user is asked for; nil: the user cancelled the form.
local function read(given, spec)
  local arguments = given.rest:find("^%s*[%[{]") and { given.rest } or given.words
  for _, argument in ipairs(arguments) do
    if wants_stdin(argument) then
      refuse("input: standard input is not available here")
    end
  end
  local items, message = input.read(arguments)
  local schema = spec.inputSchema
  local value, texts = nil, message
  if items then
    value, texts = fields.build(items, schema, takes_body(spec))
  end
  if value == nil then
    refuse(texts)
  end
  local compiled = schemas.compile(schema)
  value = compiled and input.convert(value, texts, compiled) or value
  if core.kind(value) == "object" and type(schema) == "table"
    and not asking.ask(nobody, { title = "", schema = schema, value = value }) then
    return form.ask(given.id, schema, false, value)
  end
  return value
end

--- Progress as a text.
---@param done number
---@param total? number
---@param message? string
---@return string
function call.percent(done, total, message)
  local text = number_text.of(done)
  text = total and ("%s of %s"):format(text, number_text.of(total)) or text
  return message and text .. ", " .. message or text
end

--- The message for an unknown id, with the nearest ids and the problem of the file of servers.
---@param sources operations.nvim.Sources
---@param id string
---@return string
function call.unknown(sources, id)
  local near = suggestion.of(id, (sources.registry:specs({ schemas = false })))
  local problem = sources:problem()
  return ("no operation '%s'%s%s"):format(id, #near > 0 and ": did you mean " .. table.concat(near, ", ") .. "?" or "",
    problem and "; " .. problem.message or "")
end

local function find(sources, id)
  return sources:spec(id) or error(errors.new("OPERATION_NOT_FOUND", call.unknown(sources, id)))
end

-- Opens the window of a call and runs `work(window)` in a task that ends with the window.
local function in_window(id, work)
  local running
  local function cancel(reason)
    if running then
      running:cancel(reason)
    end
  end
  local window = view.open(id .. ": starting, <C-c> cancels", function()
    cancel("its window was closed")
  end)
  window:on_key("<C-c>", function()
    cancel("cancelled")
  end)
  running = task.detach(function()
    local ok, raised = pcall(work, window)
    running = nil
    if not ok then
      local err = errors.from(raised)
      if err.code ~= "ABORTED" then
        log.write("error", ("%s: %s"):format(id, tostring(err)))
      end
      if window:is_open() then
        call.show_failure(window, id, err)
      end
    end
  end)
end

--- Calls an operation and shows its result.
---@param sources operations.nvim.Sources
---@param given { id: string, words: string[], rest: string }
function call.run(sources, given)
  local id = given.id
  in_window(id, function(window)
    local spec = find(sources, id)
    if spec.type == "subscription" then
      return call.follow(sources, given, spec, window)
    end
    local value = read(given, spec)
    if value == nil then
      return window:close()
    end
    window:title(id .. ": running, <C-c> cancels")
    local envelope, err = sources.registry:execute(id, value, { on_progress = function(done, total, message)
      window:title(("%s: %s"):format(id, call.percent(done, total, message)))
    end })
    if not envelope then
      error(err, 0)
    end
    call.show(window, id, envelope)
  end)
end

--- Starts a call as a job, which continues without a window.
---@param sources operations.nvim.Sources
---@param given { id: string, words: string[], rest: string }
---@param started fun()  called once it has started
function call.start(sources, given, started)
  task.detach(function()
    local ok, raised = pcall(function()
      local value = read(given, find(sources, given.id))
      if value ~= nil then
        assert(sources.registry:start(given.id, value))
        started()
      end
    end)
    if not ok then
      log.write("error", ("%s: %s"):format(given.id, tostring(errors.from(raised))))
    end
  end)
end

-- Adds a line for each event.
function call.follow(sources, given, spec, window)
  local id, count = given.id, 0
  local value = read(given, spec)
  if value == nil then
    return window:close()
  end
  window:title(id .. ": watching, <C-c> ends")
  local subscription = assert(sources.registry:subscribe(id, value))
  local ok, raised = pcall(function()
    for envelope in subscription do
      window:append(assert(json.encode(envelope.data, { sort_keys = true })))
      count = count + 1
      if count % 50 == 0 then
        window:title(("%s: %d events, <C-c> ends"):format(id, count))
        breathe()
      end
    end
  end)
  subscription:close()
  window:title(("%s: ended after %d events%s"):format(id, count, ok and "" or ": " .. tostring(raised)))
  if not ok and errors.from(raised).code ~= "ABORTED" then
    log.write("error", ("%s: %s"):format(id, tostring(raised)))
  end
end

--- Follows a subscription.
---@param sources operations.nvim.Sources
---@param given { id: string, words: string[], rest: string }
function call.watch(sources, given)
  in_window(given.id, function(window)
    local spec = find(sources, given.id)
    if spec.type ~= "subscription" then
      error(errors.new("VALIDATION_ERROR", ("%s is a %s: use :Operations call"):format(given.id, spec.type)))
    end
    call.follow(sources, given, spec, window)
  end)
end

return call

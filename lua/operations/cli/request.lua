--- Reads and checks the call that a command line names: registry, operation, input and context.
local answers = require("operations.cli.answer")
local arguments = require("operations.cli.arguments")
local core = require("operations.core")
local entry = require("operations.sources.entry")
local errors = require("operations.base.error")
local exchange = require("operations.cli.exchange")
local fields = require("operations.people.fields")
local file_input = require("operations.people.file_input")
local input = require("operations.people.input")
local json_pointer = require("operations.base.json_pointer")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local operations = require("operations")
local number_text = require("operations.base.number_text")
local output = require("operations.cli.output")
local schema_place = require("operations.people.schema_place")
local sources = require("operations.cli.sources")
local stdin = require("operations.cli.stdin")
local suggestion = require("operations.base.suggestion")
local system = require("operations.system")
local task = require("operations.task")

local request = {}

local STDIN = 0

---@class operations.cli.Request
---@field registry operations.Registry
---@field id string
---@field spec operations.Spec
---@field kind string  of the source: "openapi", "mcp", ...
---@field is_http boolean  an operation of an OpenAPI document
---@field sends_http boolean  a call sends a request of HTTP: also an operation of a GraphQL service
---@field sources operations.sources.Source[]
---@field references table[]  the members of remembered sources
---@field input any
---@field items operations.people.InputItem[]  of the input
---@field has_body boolean  keys other than parameters belong to `body`
---@field reads_stdin boolean  an argument names standard input
---@field schema? table    of the input, compiled; nil where it accepts everything
---@field context table
---@field answer operations.cli.Answer
---@field exchange operations.cli.Exchange

--- The context from the options, or nil and a message.
local function context_of(options)
  local context = {}
  if options.timeout then
    local seconds = tonumber(options.timeout)
    if not seconds or seconds <= 0 or seconds ~= seconds or seconds == math.huge then
      return nil, ("--timeout: expected a number of seconds above 0, got %q"):format(options.timeout)
    end
    context.deadline = core.now() + math.ceil(seconds * 1000)
  end
  local message
  context.identity, message = arguments.identity(options)
  if message then
    return nil, message
  end
  return context
end

-- Reports an answer that differs from its schema in one line for all pages and events, unless more is requested.
local function warner(options)
  local told = {}
  return function(warning)
    local issues = warning.issues or {}
    local subject = warning.code and "the details of " .. warning.code
      or (warning.input and "the input of " or "the answer of ") .. warning.operationId
    if told[subject] and not options.verbose then
      return
    end
    told[subject] = true
    output.notice("warning: %s differ%s from %s schema in %s%s", subject, warning.code and "" or "s",
      warning.code and "their" or "its", #issues == 1 and "one place" or #issues .. " places",
      options.verbose and ":" or (options.cast or warning.input) and " (--verbose shows where)"
        or " (--verbose shows where, --cast converts it)")
    if options.verbose then
      output.issues(issues)
    end
  end
end

-- Suggestions for unknown keys of an input.

local unknown = members.set({ "additionalProperties", "unevaluatedProperties" })

local function tokens_of(pointer)
  local tokens = {}
  for token in pointer:gmatch("/([^/]*)") do
    tokens[#tokens + 1] = token:find("^%d+$") and tonumber(token) or json_pointer.unescape(token)
  end
  return tokens
end

local function hint_of(schema, pointer)
  local tokens = tokens_of(pointer)
  local key = tostring(table.remove(tokens))
  local names = schema_place.names(schema, tokens)
  return suggestion.behind(key, names)
end

-- The message of an issue of an input, with a hint behind it: the key of another branch that may be meant, or the
-- fields of a body that was not given.
local function hinted_message(issue, schema)
  local message = issue.message
  if unknown[issue.keyword] then
    return message:find("did you mean", 1, true) and message or message .. hint_of(schema, issue.path)
  elseif issue.keyword == "required" and issue.path == "/body" then
    local fields_of = {}
    for _, body in ipairs(schema_place.find(schema, { "body" })) do
      for _, name in ipairs(type(body.required) == "table" and body.required or {}) do
        fields_of[#fields_of + 1] = name .. "=..."
      end
    end
    return message .. (fields_of[1] and "; its fields are given as " .. table.concat(fields_of, " ") or "")
  end
  return message
end

--- Adds hints to the issues in an input's error.
---@param err operations.Error
---@param schema any  of the input
---@return operations.Error
function request.hinted(err, schema)
  if type(err) ~= "table" or err.code ~= "VALIDATION_ERROR" or core.kind(err.details) ~= "array" then
    return err
  end
  local issues = {}
  for i, issue in ipairs(err.details) do
    if type(issue) == "table" and type(issue.path) == "string" then
      local message = hinted_message(issue, schema)
      local is_changed = unknown[issue.keyword] or message ~= issue.message
      issue = is_changed and members.merged(issue, { message = message }) or issue
    end
    issues[i] = issue
  end
  local first = issues[1]
  local message = type(first) == "table" and first ~= err.details[1] and ("%s: %s"):format(first.path, first.message)
  return errors.new(err.code, message or err.message, issues)
end

--- A key that is not in the schema (which allows any) but similar to one that is: probably a typing error.
---@param value any   the input
---@param schema any
---@param issues table[]  of the input: the keys that it tells are left out
---@return string[] messages
function request.near(value, schema, issues)
  local names, known = schema_place.names(schema, {})
  local list = {}
  for _, issue in ipairs(issues) do
    local tokens = unknown[issue.keyword] and tokens_of(issue.path) or {}
    if #tokens == 1 then
      known[tokens[1]] = true
    end
  end
  for _, key in ipairs(core.kind(value) == "object" and members.names(value) or {}) do
    local near = not known[key] and suggestion.behind(key, names) or ""
    if near ~= "" then
      list[#list + 1] = ("the input has no %q by its schema%s"):format(key, near)
    end
  end
  return list
end

-- Does an argument name standard input?
local function is_asked_for(words)
  for _, word in ipairs(words) do
    if word == "-" or word == "@-" or word:find("=@%-$") then
      return true
    end
  end
  return false
end

-- Redirected standard input is the body if the operation takes one and none was given.
local function add_stdin(asked)
  if system.is_terminal(STDIN) then
    return nil
  end
  output.progress("reading standard input")
  stdin.current.unasked = true
  local value, message = file_input.body(schema_place.find(asked.spec.inputSchema, { "body" }))
  output.settle()
  asked.input.body = value
  return message
end

-- Does the input only lack something? A misspelt name is told before anything is asked.
local function only_lacks(asked)
  local _, issues = asked.schema:check(asked.input)
  for _, issue in ipairs(issues or {}) do
    if issue.keyword ~= "required" then
      return false
    end
  end
  return true
end

-- The input with what it lacks, requires and a person gave.
local function complete(asked, schema)
  if core.kind(asked.input) == "object" and asked.schema and only_lacks(asked) then
    local asking = require("operations.people.asking") -- late: scripts are not asked
    asked.input = asking.ask(require("operations.cli.person"), { title = "", schema = schema, value = asked.input })
      or asked.input
  end
end

--- Makes an input from items.
---@param asked operations.cli.Request
---@param items operations.people.InputItem[]
---@return any value
---@return string? message
function request.build(asked, items)
  local schema = asked.spec.inputSchema
  local value, texts = fields.build(items, schema, asked.has_body)
  if value == nil then
    return nil, texts --[[@as string]]
  end
  return asked.schema and input.convert(value, texts, asked.schema) or value
end

-- Prepares what every input of the operation needs.
local function prepare(asked)
  local schema = asked.spec.inputSchema
  asked.has_body = asked.is_http and select(2, schema_place.names(schema, {})).body ~= nil
  if type(schema) == "table" and next(schema) ~= nil then
    asked.schema = assert(operations.schema.compile(schema))
  end
end

-- Makes the input of a call; returns an error message.
local function read_input(asked, items, asks)
  local schema, has_body = asked.spec.inputSchema, asked.has_body
  local value, problem = request.build(asked, items)
  if value == nil then
    return problem
  end
  asked.input = value
  if asks and output.can_ask() and not asked.reads_stdin then
    complete(asked, schema)
  end
  local is_body_given = core.kind(asked.input) ~= "object" or asked.input.body ~= nil
  local message
  if has_body and not is_body_given then
    message = add_stdin(asked)
  elseif not asked.reads_stdin then
    stdin.tell_unread(has_body and "the body is given" or asked.id .. " takes no body")
  end
  if asked.schema and not message and not asked.is_http then
    local _, issues = asked.schema:check(asked.input) -- the call reports them
    for _, near in ipairs(request.near(value, schema, issues or {})) do
      output.notice("warning: %s", near)
    end
  end
  return message
end

-- The items of the input with those of a request like "GET /repos/octo/hello" before them, unless they are given again.
local function with_path(asked, word, items)
  local meta = type(asked.spec._meta) == "table" and asked.spec._meta or {}
  local filled = asked.is_http and meta.method and entry.filled(word, meta.method, meta.path)
  if not filled then
    return items
  end
  local given, all = {}, {}
  for _, item in ipairs(items) do
    given[item.key or 0] = true
  end
  for _, item in ipairs(filled) do
    all[#all + 1] = not given[item.key] and item or nil
  end
  return members.joined(all, items)
end

-- Shows how far a call is; transfers of HTTP show themselves, with their rate.
local function show_progress(asked)
  function asked.context.on_progress(done, total, message)
    output.progress(("%s: %s%s %s"):format(asked.id, number_text.of(done), total and "/" .. number_text.of(total) or "",
      message or ""))
  end
end

local function load(asked, parsed)
  local kinds, is_rehearsal = {}, parsed.options["dry-run"] or parsed.options.curl
  local deadline = asked.context.deadline -- it also limits loading the sources
  if deadline then
    task.deadline(deadline)
  end
  local registry, code = sources.registry(parsed, {
    starts = not is_rehearsal and sources.start or nil,
    id = not parsed.added and asked.id or nil, identity = asked.context.identity, is_rehearsal = is_rehearsal,
    normalize = parsed.options.cast and "cast" or "off", on_warning = warner(parsed.options),
    http = asked.exchange.client, kinds = kinds, references = asked.references, sources = asked.sources,
    on_message = asked.exchange.listener, plain_headers = asked.exchange.plain,
    decode_text = asked.answer:is_for_people(), max_body = limits.answer,
    added = parsed.added, names = parsed.names, asks = not asked.reads_stdin,
    person = not asked.reads_stdin and output.can_ask() and require("operations.cli.person") or nil,
  })
  if deadline then
    task.deadline(nil)
  end
  if not registry then
    return code
  end
  asked.registry = registry
  if parsed.added then
    asked.spec = registry:specs()[1]
  else
    asked.spec, code = sources.find(registry, asked.id)
  end
  if asked.spec then
    asked.id = asked.spec.namespace .. "." .. asked.spec.name
    asked.kind = kinds[asked.id]
    asked.is_http = asked.kind == "openapi"
    asked.sends_http = asked.is_http or asked.kind == "graphql"
    local may_last = type(asked.spec._meta) == "table" and asked.spec._meta.task ~= nil
    if may_last or not (asked.sends_http or parsed.options.each) then
      show_progress(asked)
    end
  end
  return code
end

--- Reads everything that a call needs, or reports the error.
---@param parsed operations.cli.Arguments
---@return operations.cli.Request?
---@return integer? code  the exit code of an error
function request.read(parsed)
  local id = table.remove(parsed.rest, 1)
  if not id then
    return nil, output.usage("expected an OPERATION")
  end
  local options = parsed.options
  local context, wrong_context = context_of(options)
  local answer, wrong_answer = answers.new(options)
  stdin.current.deadline = context and context.deadline
  local reads_stdin = is_asked_for(parsed.rest)
  local items, wrong_input = input.read(parsed.rest)
  local first = parsed.rest[1] or ""
  if not items and id:find("^[%w_-]+$") and first:find("^[%a_][%w_-]*$") then
    wrong_input = ("%s; did you mean the operation %s.%s?"):format(wrong_input, id, first)
  end
  if not (context and answer and items) then
    return nil, output.usage("%s", wrong_context or wrong_answer or wrong_input)
  end
  local asked = { id = id, context = context, answer = answer, references = {}, sources = {},
    reads_stdin = reads_stdin }
  asked.exchange = exchange.new({ show = options.verbose, hold = options["dry-run"] or options.curl })
  local code = load(asked, parsed)
  if code then
    return nil, code
  end
  prepare(asked)
  asked.items = with_path(asked, id, items)
  local message = not (options.each or parsed.resumes) and read_input(asked, asked.items, not options["no-input"])
  if message then
    return nil, output.usage("%s", message)
  end
  asked.answer.schema = asked.spec.outputSchema
  asked.exchange.armed = true
  return asked
end

return request

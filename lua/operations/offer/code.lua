--- Programs of models (code mode): which operations they may call, how their calls are made, and what is told and
--- recorded of them. `operations.sandbox` runs them; a sink adds how it asks people and words failures.
local argument = require("operations.base.argument")
local base64 = require("operations.base.base64")
local core = require("operations.core")
local errors = require("operations.base.error")
local first_events = require("operations.offer.first_events")
local guard = require("operations.registry.guard")
local guide = require("operations.offer.guide")
local hexadecimal = require("operations.base.hexadecimal")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local sandbox = require("operations.sandbox")
local task = require("operations.task")

local code = {}

---@class operations.CodeOptions
---@field mutations? boolean  false: programs call queries and subscriptions only
---@field wait? integer  ms that a program waits for a person, default 300,000
---@field interpreter? string  these are options of `operations.sandbox.run`
---@field max_code? integer
---@field max_calls? integer
---@field at_once? integer
---@field max_value? integer
---@field max_memory? integer
---@field max_processor? integer
---@field max_output? integer
---@field max_result? integer
---@field max_programs? integer
---@field max_identity_programs? integer
---@field timeout? integer

local MOST = 2 ^ 40

local own_kinds = { mutations = "boolean", wait = "number" }
local sandbox_kinds = { interpreter = "string", max_code = "number", max_calls = "number", at_once = "number",
  max_value = "number", max_memory = "number", max_processor = "number", max_output = "number", max_result = "number",
  max_programs = "number", max_identity_programs = "number", timeout = "number" }
local kinds = members.merged(own_kinds, sandbox_kinds)

--- Reads the option `code` of a sink.
---@param given true|operations.CodeOptions
---@param level integer  as for `error`: the program that gave it
---@return operations.CodeOptions
function code.options(given, level)
  given = given == true and {} or given
  argument.options(given, kinds, "code", level + 1)
  for name, kind in pairs(kinds) do
    local value = given[name]
    if kind == "number" and value ~= nil and (value < 1 or value > MOST or value ~= value) then
      error(("bad option '%s' to 'code' (a number from 1 to 2^40 expected, got %s)"):format(name, tostring(value)),
        level)
    end
  end
  return given
end

-- The tool.

code.name = "run_lua"

local inputs = {
  type = "object", required = marked.array({ "code" }), additionalProperties = false,
  properties = { code = { type = "string", description = "The program" }, dry_run = { type = "boolean",
    description = "Mutations are not called: call returns { dryRun = true, id, input }, what would be sent" } },
}

local checked = { inputSchema = inputs }

local text_of_tool = table.concat({
  "Runs a program in %s, in a sandbox without files or network. Write one program for several steps: what it reads on",
  "the way stays inside, and what it returns is the result. Find operations with search_operations first.",
  "\ncall(id, input) returns the data, or nil and err (err.code, err.message, err.details); check for nil.",
  "stream(id, input, max) returns the first events of a subscription as a list.",
  "map(list, fn, { at_once = 8 }) calls fn(item, index) for each, several at once; returns results and errors, each by",
  "place: the results of calls that failed are nil.",
  "search(words, { namespace =, limit =, offset = }) and describe(id) are as the tools.",
  "print(...) is shown beside the result. null is JSON's null (a missing value is nil); array(t) and object(t) mark",
  "empty tables; json.encode, json.decode; string, table, math, coroutine.",
  '\nExample: local list, err = call("tasks.list", { state = "open" }); if not list then return nil, err end;',
  "return #list",
}, " "):gsub(" \n", "\n")

--- The tools of code mode: search, describe and `run_lua`.
---@param visible { mutation: boolean, destructive: boolean }  what there is among the operations that the caller sees
---@return table[]
function code.tools(visible)
  return guide.tools("id", { name = code.name, title = "Run a program", inputSchema = inputs,
    description = text_of_tool:format(sandbox.language),
    annotations = { readOnlyHint = not visible.mutation, openWorldHint = true,
      destructiveHint = visible.mutation and visible.destructive or nil } })
end

--- The issues of the input of `run_lua`.
---@param input table
---@return table[]? issues
function code.flaws(input)
  return guide.flaws(checked, input)
end

--- A caller whose programs may call something.
---@class operations.offer.Caller
---@field identity? operations.Identity
---@field sees fun(id: string, kind: string): boolean
---@field id_of fun(name: string): string?  the operation of a tool

--- What programs may call: what is offered, by id, or by the name of a tool.
---@param registry operations.Registry
---@param options operations.CodeOptions
---@param caller operations.offer.Caller
---@return operations.offer.Sight
function code.sight(registry, options, caller)
  local function offered(id)
    local kind = id and registry:type_of(id)
    return kind and (kind ~= "mutation" or options.mutations ~= false) and caller.sees(id, kind) and id or nil
  end
  return { identity = caller.identity, word = "id", name_of = offered, id_of = function(name)
    return offered(name) or offered(caller.id_of(name))
  end }
end

-- Calls.

--- A program that is to run, for a caller.
---@class operations.offer.Program
---@field registry operations.Registry
---@field guide operations.offer.Guide
---@field sight operations.offer.Sight  what it may call
---@field options operations.CodeOptions
---@field code any
---@field dry_run? boolean
---@field id string  its request id: the parent of its calls
---@field identity? operations.Identity
---@field sharer? operations.Identity  whose share of the programs at once it takes; default: `identity`
---@field metadata? table
---@field deadline? integer  ms since the epoch
---@field context fun(id: string): table  the context of one of its calls
---@field tell fun(err: operations.Error, id: string): operations.Error  the failure of a call as the caller may read it
---@field approve? fun(id: string, input: any, context: table): operations.Error?  asks before a call
---@field done? fun(id: string, outcome: string)  after each call

local function refused(err)
  err.retryable, err.mayHaveRun = false, false
  return nil, err
end

-- The id of an operation that the program may call; or nil and an error.
local function find(self, name)
  local id = type(name) == "string" and self.sight.id_of(name)
  if id then
    return id
  elseif type(name) == "string" then
    guard.hidden(self.registry, name, { identity = self.identity, metadata = self.metadata })
  end
  return refused(errors.new("OPERATION_NOT_FOUND", ("unknown operation %q%s"):format(guide.shown(name),
    self.guide:near(name, self.sight))))
end

-- The text of an error that a tool of an MCP server answered.
local function tool_error(envelope)
  local texts = {}
  for _, block in ipairs(type(envelope.meta.content) == "table" and envelope.meta.content or {}) do
    texts[#texts + 1] = type(block) == "table" and type(block.text) == "string" and block.text or nil
  end
  local message = table.concat(texts, "\n")
  return errors.new("TOOL_ERROR", message ~= "" and message or "the tool answered with an error", envelope.data)
end

local function data_of(envelope)
  if envelope.meta.source == "mcp" and envelope.meta.isError then
    return nil, tool_error(envelope)
  elseif envelope.data == nil then
    return core.null
  elseif type(envelope.data) == "string" and not json.encode(envelope.data) then -- bytes
    return { base64 = base64.encode(envelope.data) }
  end
  return envelope.data
end

-- What a call would send, after all checks.
local function rehearse(self, id, input, context)
  local ok, admitted = self.registry:admit(id, input, context)
  if not ok then
    return nil, admitted
  end
  local spec = self.registry:get_spec(id)
  local meta = spec and type(spec._meta) == "table" and spec._meta.source == "openapi" and spec._meta or {}
  return { dryRun = true, id = id, input = admitted, method = meta.method, path = meta.path }
end

local function perform(self, id, input)
  local kind, context = self.registry:type_of(id), self.context(id)
  if kind == "subscription" then
    return refused(errors.new("VALIDATION_ERROR", ("%s is a subscription: use stream(id, input, max)"):format(id)))
  elseif kind ~= "query" and self.dry_run then
    return rehearse(self, id, input, context)
  end
  local err = kind ~= "query" and self.approve and self.approve(id, input, context)
  if err then
    return nil, err
  end
  local envelope
  envelope, err = self.registry:execute(id, input, context)
  if not envelope then
    return nil, self.tell(err, id)
  end
  return data_of(envelope)
end

local function events(self, id, input, most)
  if self.registry:type_of(id) ~= "subscription" then
    return refused(errors.new("VALIDATION_ERROR", ("%s is no subscription: use call(id, input)"):format(id)))
  end
  local stream, err = self.registry:subscribe(id, input, self.context(id))
  if not stream then
    return nil, self.tell(err, id)
  end
  local list
  list, err = first_events.read(stream, most)
  return list, err and self.tell(err, id)
end

-- A call of an operation by a function of the program.
local function calling(self, fn)
  return function(name, input, most)
    local id, err = find(self, name)
    local value
    if id then
      value, err = fn(self, id, input, most)
    end
    if self.done then
      self.done(id or guide.shown(name), err and err.code or "ok")
    end
    return value, err
  end
end

local function told(value, problem)
  if not value then
    return refused(errors.new("VALIDATION_ERROR", problem))
  end
  return value
end

local function functions_of(self)
  return {
    call = calling(self, function(_, id, input)
      return perform(self, id, input)
    end),
    stream = calling(self, function(_, id, input, most)
      local count = type(most) == "number" and most >= 1 and math.floor(most) or limits.code_events
      return events(self, id, input, math.min(count, limits.code_events))
    end),
    search = function(query, more)
      more = type(more) == "table" and more or {}
      return told(self.guide:search({ query = query == nil and "" or query, namespace = more.namespace,
        limit = more.limit, offset = more.offset }, self.sight))
    end,
    describe = function(name, of_type)
      return told(self.guide:describe({ id = name, type = of_type }, self.sight))
    end,
  }
end

local function sandbox_options(options)
  local kept = {}
  for name in pairs(sandbox_kinds) do
    kept[name] = options[name]
  end
  return kept
end

--- The calls of operations by a program that has ended.
---@param result? operations.SandboxResult
---@return { operation?: string, outcome: string, duration: integer }[]  in ms
function code.calls(result)
  local calls = marked.array()
  for _, made in ipairs(result and result.calls or {}) do
    if made.name == "call" or made.name == "stream" then
      calls[#calls + 1] = { operation = made.id, outcome = made.outcome, duration = math.floor(made.duration + 0.5) }
    end
  end
  return calls
end

local function record(self, start, result, err)
  guard.program(self.registry, { id = code.name, requestId = self.id, identity = self.identity,
    metadata = self.metadata, start = start, finish = task.now(), input = { code = self.code },
    program = hexadecimal.of(core.sha256(self.code)), calls = code.calls(result) },
    err or result and result.error)
end

--- Runs a program.
---@param self operations.offer.Program
---@return operations.SandboxResult? result
---@return operations.Error? err  VALIDATION_ERROR; BUSY, UNAVAILABLE, ACCESS_DENIED: no program ran
function code.run(self)
  if type(self.code) ~= "string" then
    return refused(errors.new("VALIDATION_ERROR", "code: string expected"))
  end
  local start = task.now()
  local ok, result, err = pcall(sandbox.run, self.code, functions_of(self), sandbox_options(self.options),
    { identity = self.sharer or self.identity, deadline = self.deadline })
  if not ok then
    record(self, start, nil, (errors.from(result)))
    error(result, 0)
  end
  record(self, start, result, err)
  return result, err
end

-- What the model reads.

--- The text for what a program printed; nil: it printed nothing.
---@param result operations.SandboxResult
---@return string?
function code.printed(result)
  return result.output ~= "" and "It printed:\n" .. result.output:gsub("\n$", "") or nil
end

local function line_of_call(made)
  return ("%s %s: %s (%.0f ms)"):format(made.name, made.id or "", made.outcome, made.duration or 0)
end

-- The program may have made it.
local function line_of_issue(value)
  local is_issue = type(value) == "table" and type(value.path) == "string" and type(value.message) == "string"
  return is_issue and ("%s: %s"):format(value.path, value.message) or nil
end

--- The text of a failed program: why and where, and what it did before.
---@param result operations.SandboxResult  with an error
---@return string
function code.failure(result)
  local err = result.error
  local parts = { ("%s: %s%s"):format(err.code, err.line and ("line %d: "):format(err.line) or "", err.message) }
  local issues = err.code == "VALIDATION_ERROR" and type(err.details) == "table" and err.details or {}
  local lines = guide.lines(issues, line_of_issue)
  parts[#parts + 1] = lines ~= "" and lines or nil
  parts[#parts + 1] = err.hint and "hint: " .. err.hint or nil
  if result.calls[1] then
    parts[#parts + 1] = "Calls that it made; nothing of them is undone:\n" .. guide.lines(result.calls, line_of_call)
  end
  parts[#parts + 1] = code.printed(result)
  return table.concat(parts, "\n")
end

--- The value of a program as an envelope.
---@param result operations.SandboxResult
---@return operations.Envelope
function code.envelope(result)
  return core.local_envelope(result.value, code.name)
end

--- The value as JSON text; what was printed before it.
---@param result operations.SandboxResult
---@return string
function code.text(result)
  local text = result.value ~= nil and assert(json.encode(result.value, { keep_order = true })) or "(no result)"
  local printed = code.printed(result)
  return printed and text .. "\n" .. printed or text
end

return code

--- A registry as tools of a language model: makes the definitions for the request, and runs the model's calls.
---
--- Four formats: OpenAI's chat completions ("openai") and responses ("openai-responses"), Anthropic's messages
--- ("anthropic") and Gemini's generateContent ("gemini"); each with the vendor's strict mode.
local anthropic = require("operations.tools.anthropic")
local approvals = require("operations.people.approvals")
local argument = require("operations.base.argument")
local call = require("operations.tools.call")
local core = require("operations.core")
local gemini = require("operations.tools.gemini")
local limits = require("operations.base.limits")
local log = require("operations.task.log")
local members = require("operations.base.members")
local names = require("operations.offer.names")
local openai = require("operations.tools.openai")
local openai_responses = require("operations.tools.openai_responses")
local parameters = require("operations.tools.parameters")
local runner = require("operations.tools.runner")
local searching = require("operations.tools.searching")
local streaming = require("operations.tools.streaming")

local tools = {}

local formats = { openai = openai, ["openai-responses"] = openai_responses, anthropic = anthropic, gemini = gemini }

---@class operations.ToolsOptions
---@field format "openai"|"openai-responses"|"anthropic"|"gemini"
---@field strict? boolean  definitions for the vendor's strict mode
---@field filter? operations.Filter|fun(spec: operations.Spec, identity: operations.Identity?): boolean
---@field identity? operations.Identity  the caller: operations that it may not call are not offered
---@field outputs? boolean  definitions include output schemas, if the vendor accepts them
---@field subscriptions? integer  offers subscriptions; the result is a list of their first events, at most this many
---@field search? boolean  offers three tools that find, describe and call the others, beside the pinned ones
---@field code? boolean|operations.CodeOptions  offers search, describe and `run_lua`: the model writes programs
---@field pinned? string[]  with `search` or `code`: ids that are offered directly, as with `_meta.tool.pinned`
---@field confirm? operations.Confirm  asks before each call of an operation other than a query
---@field approvals? operations.Approvals  approved calls; default: a new memory for these tools
---@field parallel? integer  calls at a time, default 16
---@field max_result? integer  bytes of text of a result, default 100,000
---@field max_image? integer  bytes of an image in base64, default 5,000,000
---@field log? fun(level: string, message: string)  default: warnings to stderr

local option_kinds = {
  format = "string", strict = "boolean", filter = "table or function", identity = "table", outputs = "boolean",
  subscriptions = "number", search = "boolean", code = "boolean or table", pinned = "table", confirm = "function",
  approvals = "table", parallel = "number", max_result = "number", max_image = "number", log = "function",
}

--- One operation as a tool.
---@class operations.Tool
---@field name string
---@field description? string
---@field parameters operations.ToolParameters
---@field output? any
---@field spec operations.Spec
---@field original any  the operation's input schema

---@class operations.Tools
---@field definitions table[]  for the request's `tools`; updated when the registry has changed
---@field _options operations.ToolsOptions
local Tools = {}

-- Is it offered? Subscriptions only with option `subscriptions`.
local function is_offered(self, spec)
  local options = self._options
  local id = spec.namespace .. "." .. spec.name
  return (spec.type ~= "subscription" or options.subscriptions ~= nil)
    and self._registry:visible(id, options.identity, options.filter) == "yes"
end

-- Says how many operations are left out because they are not exposed; warns if none is left.
local function tell_hidden(self, count, shown)
  if count > 0 and count ~= self._told then
    self._options.log(shown > 0 and "info" or "warn", ("to_tools: %d operation%s not exposed: imported ones need "
      .. "accessControl, in the options of their source; others have _meta.exposed = false"):format(count,
      count == 1 and " is" or "s are"))
  end
  self._told = count
end

-- Names the operations that are offered now.
local function refresh(self)
  local revision = self._registry:revision()
  if revision == self._revision then
    return
  end
  local again = self._revision ~= false
  local specs = self._registry:specs({ schemas = false })
  local shown = {}
  for _, spec in ipairs(specs) do
    shown[#shown + 1] = not (type(spec._meta) == "table" and spec._meta.exposed == false) and spec or nil
  end
  tell_hidden(self, #specs - #shown, #shown)
  local flaws
  self._names, flaws = names.assign(shown, searching.names(self._options))
  self._specs, self._made, self._definitions, self._revision = shown, {}, false, revision
  for _, flaw in ipairs(again and flaws or {}) do
    self._options.log("warn", "name of a tool: " .. flaw.message)
  end
  return flaws
end

local function description_of(spec)
  local title, text = spec.title, spec.description
  if text == nil or text == "" then
    return title
  end
  return text
end

--- The tool of an operation that is offered now; nil if it is not.
function Tools:_tool(id)
  refresh(self)
  local made = self._made[id]
  if made ~= nil then
    return made or nil
  end
  local name = self._names.of_id[id]
  local spec = name and self._registry:get_spec(id)
  if not spec or not is_offered(self, spec) then
    self._made[id] = false
    return nil
  end
  local options = self._options
  local output = options.outputs and type(spec.outputSchema) == "table" and spec.type ~= "subscription"
    and spec.outputSchema or nil
  made = { name = name, description = description_of(spec), spec = spec, original = spec.inputSchema, output = output,
    parameters = parameters.of(spec.inputSchema, options.format, options.strict) }
  self._made[id] = made
  return made
end

--- The target of a call: `{ id, spec, parameters, arguments }`, or `own`, a function of the search.
function Tools:_target(name, arguments)
  refresh(self)
  if self._search_tools and self._search_tools[name] then
    return searching.target(self, self._search_tools[name], arguments)
  end
  local id = self._names.of_name[name]
  local tool = id and self:_tool(id)
  return tool and { id = id, spec = tool.spec, parameters = tool.parameters, arguments = arguments }
end

local function definitions(self)
  refresh(self)
  if self._definitions then
    return self._definitions
  end
  local list, options = setmetatable({}, core.array_mt), self._options
  for _, spec in ipairs(self._specs) do
    if not self._search_tools or names.is_pinned(spec, options.pinned) then
      local tool = self:_tool(spec.namespace .. "." .. spec.name)
      list[#list + 1] = tool and self._format.definition(tool)
    end
  end
  for _, name in ipairs(self._search_order or {}) do
    list[#list + 1] = self._format.definition(self._search_tools[name])
  end
  self._definitions = self._format.definitions(list)
  return self._definitions
end

function Tools.__index(self, key)
  if key == "definitions" then
    return definitions(self)
  end
  return Tools[key]
end

--- The name of the tool of an operation; nil if it is not offered.
---@param id string
---@return string?
function Tools:name_of(id)
  argument.expect(id, "string", 1, "name_of")
  local tool = self:_tool(id)
  return tool and tool.name
end

--- The operation of a tool.
---@param name string
---@return string?
function Tools:id_of(name)
  argument.expect(name, "string", 1, "id_of")
  refresh(self)
  local id = self._names.of_name[name]
  return id and self:_tool(id) and id
end

--- The calls in a model's answer, in order. A call that cannot be made has `error`. Never raises because of the answer.
---@param response table  the vendor's answer as decoded JSON, complete or only its message; or a result of `stream`
---@return operations.ToolCall[]
function Tools:calls(response)
  return call.all(self, response)
end

--- Runs the calls in a model's answer, several at a time. Every call gets a result, in order; nothing is raised.
---@param response table  as for `calls`
---@param context? operations.GivenContext  of the calls: identity, deadline, metadata, progress...
---@return table[] messages  to be appended to the conversation: the model's own, then the results
---@return operations.ToolResult[] results  empty when the model made no call
function Tools:run(response, context)
  local results = runner.run(self, self:calls(response), context)
  return self._format.messages(type(response) == "table" and response or {}, results), results
end

--- Assembles a streamed answer.
---@param source string[]|fun(): any  pieces of the stream, nil at the end: raw bytes, events of
---  `operations.sse_parser`, or values of their data; or a subscription
---@param on_event? fun(value: any)  called with the data of each event, to show a text while it arrives
---@return table? response  for `calls` and `run`
---@return operations.Error? err  TRANSPORT_LOST: the stream failed or ended early
function Tools:stream(source, on_event)
  argument.optional(on_event, "function", 2, "stream")
  return streaming.assemble(self._format, source, on_event)
end

local function check(options)
  if not formats[options.format] then
    error(("bad option 'format' to 'to_tools' (\"openai\", \"openai-responses\", \"anthropic\" or \"gemini\" expected, "
      .. "got %s)"):format(tostring(options.format)), 3)
  end
  for _, name in ipairs({ "subscriptions", "parallel", "max_result", "max_image" }) do
    local value = options[name]
    if value ~= nil and (value ~= value or value < 1 or value % 1 ~= 0) then
      error(("bad option '%s' to 'to_tools' (an integer from 1 expected)"):format(name), 3)
    end
  end
end

--- Makes tools of the operations of a registry.
---@param registry operations.Registry
---@param options operations.ToolsOptions
---@return operations.Tools?
---@return operations.Error? err  VALIDATION_ERROR: a name in `_meta.tool.name` is taken or invalid
function tools.new(registry, options)
  argument.object(registry, "visible", "registry", 1, "to_tools")
  argument.expect(options, "table", 2, "to_tools")
  argument.options(options, option_kinds, "to_tools")
  check(options)
  local format = formats[options.format]
  local kept = members.merged({ strict = false, parallel = limits.concurrency, max_result = limits.tool_result,
    max_image = limits.tool_image, log = log.write, approvals = approvals.new() }, options, { shows = format.shows })
  kept.code = kept.code and searching.code(kept.code)
  local self = setmetatable({ _registry = registry, _options = kept, _format = format, _revision = false,
    _definitions = false, _search_tools = false, _search_order = false, _told = 0 }, Tools)
  local err = names.error(refresh(self))
  if err then
    return nil, err
  end
  if kept.search or kept.code then
    self._search_tools, self._search_order = searching.tools(self)
  end
  return self
end

return tools

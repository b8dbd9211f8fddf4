--- Makes definitions of a server's tools (`Tool`, 2024-11-05 to 2026-07-28), and of operations for its resources and
--- prompts; computes the changes of a list, and applies them to a registry.
local config = require("operations.mcp.client.config")
local core = require("operations.core")
local errors = require("operations.base.error")
local flawed_schema = require("operations.mcp.client.flawed_schema")
local importing = require("operations.registry.importing")
local json = require("operations.base.json")
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local outgoing = require("operations.mcp.client.outgoing")
local printable = require("operations.base.printable")
local questions = require("operations.mcp.client.questions")
local result = require("operations.mcp.protocol.result")

local definitions = {}

-- Specs of tools.

local function text_or_nil(value)
  return type(value) == "string" and value ~= "" and value or nil
end

local function object_or_nil(value)
  return core.kind(value) == "object" and value or nil
end

-- The schema as far as it is usable, and what is not.
local function usable(value)
  if core.kind(value) ~= "object" then
    return nil, " is not a JSON Schema object"
  end
  local whole, flaws = flawed_schema.usable(value)
  return whole, flaws and (" is not checked: %s"):format(flaws)
end

-- The reason why an entry of tools/list is not a tool, or nil.
local function problem_of(value)
  if core.kind(value) ~= "object" then
    return "a tool is an object"
  elseif type(value.name) ~= "string" or printable.name(value.name) == "" then
    return "a tool has a name"
  end
end

-- Members of a tool that the spec has elsewhere.
local known = members.set({ "name", "title", "description", "inputSchema", "outputSchema", "annotations", "icons",
  "execution", "_meta" })

-- The members of a tool that no revision defines, or nil.
local function unknown_of(value)
  local unknown
  for name, member in pairs(value) do
    if not known[name] then
      unknown = unknown or {}
      unknown[name] = member
    end
  end
  return unknown
end

-- A hint of a tool, or what a tool that only reads is in any case; nil: the server does not say.
local function promised(reads, of_reading, hint)
  if reads then
    return of_reading
  elseif type(hint) == "boolean" then
    return hint
  end
end

-- The spec of a tool's operation. What cannot be checked of a schema is reported and not checked; callers see the
-- unchanged schema (`_meta.schemas`).
local function spec_of(namespace, value, report)
  local hints = object_or_nil(value.annotations) or {}
  local reads = hints.readOnlyHint == true
  local spec = {
    namespace = namespace,
    name = printable.name(value.name),
    type = reads and "query" or "mutation",
    title = text_or_nil(value.title) or text_or_nil(hints.title),
    description = text_or_nil(value.description) or text_or_nil(value.title) or value.name,
    _meta = {
      destructive = promised(reads, false, hints.destructiveHint),
      idempotent = promised(reads, true, hints.idempotentHint),
      source = "mcp", tool = value.name, title = value.title, annotations = value.annotations, icons = value.icons,
      execution = value.execution, _meta = value._meta, unknown = unknown_of(value),
    },
  }
  for _, key in ipairs({ "inputSchema", "outputSchema" }) do
    local given, problem = value[key], nil
    if given ~= nil or key == "inputSchema" then
      spec[key], problem = usable(given)
    end
    if problem then
      report(key .. problem)
      spec._meta.schemas = spec._meta.schemas or {}
      spec._meta.schemas[key] = core.kind(given) == "object" and given or nil
    end
  end
  return spec
end

-- May a call be repeated when its answer was lost?
local function is_repeatable(value)
  local hints = object_or_nil(value.annotations) or {}
  return hints.readOnlyHint == true or hints.idempotentHint == true
end

-- Definitions.

-- The options that a call's context adds to its request, and who can be asked; nil: none.
local function options_of(context, asker)
  local traceparent, on_progress = context and context.traceparent, nil
  if context and context.progress_wanted then
    function on_progress(report)
      context.progress(report.progress, report.total, report.message)
    end
  end
  local detach = context and context.detach
  return (traceparent or on_progress or asker or detach)
    and { traceparent = traceparent, on_progress = on_progress, asker = asker, detach = detach } or nil
end

--- How a tool is called: the argument of `client:_call`.
---@class operations.mcp.Plan
---@field tool string
---@field schema? table  of its arguments, if it contains arrays
---@field output? table  its outputSchema
---@field options operations.mcp.RequestOptions  of every call
---@field definition operations.Definition

local function plan_of(client, tool, report)
  local problem, mirrored = problem_of(tool), nil
  if not problem and client._session.modern and client._config.url then
    mirrored, problem = outgoing.mirrored(tool.inputSchema)
  end
  if problem then
    return nil, problem
  end
  local definition = spec_of(client._config.namespace, tool, function(text)
    report(tool.name, text)
  end)
  return {
    tool = tool.name, definition = definition,
    schema = marked.concerns(definition.inputSchema) and definition.inputSchema or nil,
    options = { mirrored = mirrored, repeatable = client._config.retry ~= false and is_repeatable(tool) },
    output = definition.outputSchema,
    task = type(tool.execution) == "table" and tool.execution.taskSupport == "required",
  }
end

local function finish(client, definition)
  definition._meta.server = client.name
  local access = importing.finish(definition, client._config)
  definition.accessControl, definition._meta.exposed = access, access ~= nil
  return definition
end

-- The names that tools have as they are: no changed name may be one of these.
local function exact_names(tools)
  local names = {}
  for _, tool in ipairs(tools) do
    local name = core.kind(tool) == "object" and tool.name
    if type(name) == "string" and printable.name(name) == name then
      names[name] = true
    end
  end
  return names
end

-- The name for a tool's operation: its own, or a changed one, with a number if that is another tool's.
local function free_name(tool, name, taken, exact)
  if name == tool.name then
    return name
  end
  local free, n = name, 1
  while taken[free] or exact[free] do
    n = n + 1
    free = name .. "_" .. n
  end
  return free
end

--- The definitions of a list of tools. An unusable tool is reported and does not affect the others.
---@param client operations.mcp.Client
---@param tools any[]
---@param report fun(tool: string, problem: string)
---@return operations.Definition[]
---@return table<string, operations.mcp.Plan> plans  by the tool's own name
function definitions.of_tools(client, tools, report)
  local list, plans, taken, exact = {}, {}, {}, exact_names(tools)
  for i, tool in ipairs(tools) do
    local plan, problem = plan_of(client, tool, report)
    local name = plan and not plans[plan.tool] and free_name(tool, plan.definition.name, taken, exact)
      or plan and plan.definition.name or ("tools/list[%d]"):format(i)
    if not plan then
      report(core.kind(tool) == "object" and type(tool.name) == "string" and tool.name or name, problem)
    elseif taken[name] or plans[plan.tool] then
      report(name, "the name is already used: this tool cannot be called")
    elseif importing.wants(client._config, tool, { [tool.name] = true }) then
      taken[name], plans[plan.tool], plan.definition.name = true, plan, name
      plan.definition.handler = errors.relay(importing.resumable(function(input, context)
        return questions.during(client, context, function(asker)
          return client:_call(client._plans[plan.tool] or plan, input, options_of(context, asker))
        end)
      end, {
        wait = function(id, context)
          return client:task(id, plan.tool):wait(options_of(context))
        end,
        cancel = function(id)
          return client:task(id, plan.tool):cancel()
        end,
      }), nil, config.destination(client._config))
      list[#list + 1] = finish(client, plan.definition)
    end
  end
  return list, plans
end

local text = { type = "string" }
local objects = { type = "array", items = { type = "object" } }

local function object(properties, required)
  return { type = "object", properties = properties, required = required }
end

local none = object({})
none.additionalProperties = false

-- Operations beside the tools; those with a `key` are lists that come in pages.
local offered = {
  { needs = "resources", name = "resources.list", method = "resources/list", key = "resources",
    description = "The resources of the server", input = none },
  { needs = "resources", name = "resources.templates", method = "resources/templates/list", key = "resourceTemplates",
    description = "The templates of the server's resources", input = none },
  { needs = "resources", name = "resources.read", method = "resources/read",
    description = "Read a resource of the server", input = object({ uri = text }, { "uri" }),
    output = object({ contents = objects }, { "contents" }) },
  { needs = "prompts", name = "prompts.list", method = "prompts/list", key = "prompts",
    description = "The prompts of the server", input = none },
  { needs = "prompts", name = "prompts.get", method = "prompts/get",
    description = "A prompt of the server, filled in",
    input = object({ name = text, arguments = { type = "object", additionalProperties = text } }, { "name" }),
    output = object({ description = text, messages = objects }, { "messages" }) },
}

local function handler_of(client, method, key)
  return errors.relay(function(input, context)
    if key then
      local items, err = client:_list(method, key, options_of(context))
      return items and result.of_object({ [key] = items }), err
    end
    local value, err = client:request(method, input, options_of(context))
    return value and result.of_object(value), err
  end)
end

--- The definitions for resources and prompts, if the server has any.
---@param client operations.mcp.Client
---@return operations.Definition[]
function definitions.of_server(client)
  local list = {}
  for _, entry in ipairs(offered) do
    if client:has(entry.needs) then
      list[#list + 1] = finish(client, {
        namespace = client._config.namespace, name = entry.name, type = "query", description = entry.description,
        inputSchema = entry.input, outputSchema = entry.output or object({ [entry.key] = objects }, { entry.key }),
        _meta = { source = "mcp", method = entry.method, destructive = false, idempotent = true },
        handler = handler_of(client, entry.method, entry.key),
      })
    end
  end
  return list
end

-- Changes.

-- The content of a definition as comparable text.
local function words_of(definition)
  local spec = members.merged(definition)
  spec.handler = nil
  return json.encode(spec, { sort_keys = true })
end

---@class operations.mcp.Changes
---@field added operations.Definition[]
---@field removed operations.Definition[]
---@field changed operations.Definition[]  in their new form

--- The differences of two lists: added, removed, changed.
---@param before operations.Definition[]
---@param after operations.Definition[]
---@return operations.mcp.Changes
function definitions.changes(before, after)
  local old, found = {}, { added = {}, removed = {}, changed = {} }
  for _, definition in ipairs(before) do
    old[definition.name] = definition
  end
  for _, definition in ipairs(after) do
    local other = old[definition.name]
    old[definition.name] = nil
    if not other then
      table.insert(found.added, definition)
    elseif words_of(other) ~= words_of(definition) then
      table.insert(found.changed, definition)
    end
  end
  for _, definition in ipairs(before) do
    if old[definition.name] then
      table.insert(found.removed, definition)
    end
  end
  return found
end

-- Is the operation with this id the server's, and not another one registered by the program?
local function is_ours(registry, id, definition)
  local spec = registry:get_spec(id)
  local meta = spec and spec._meta
  return meta ~= nil and meta.source == "mcp" and meta.server == definition._meta.server
end

--- Updates a registry. Refused operations do not affect the others.
---@param registry operations.Registry
---@param found operations.mcp.Changes
---@return true?
---@return operations.Error? err  the first
function definitions.apply(registry, found)
  for _, definition in ipairs(found.removed) do
    local id = definition.namespace .. "." .. definition.name
    if is_ours(registry, id, definition) then
      registry:unregister(id)
    end
  end
  local problem
  for _, list in ipairs({ found.added, found.changed }) do
    for _, definition in ipairs(list) do
      local replace = is_ours(registry, definition.namespace .. "." .. definition.name, definition)
      local _, err = registry:register(definition, { replace = replace })
      problem = problem or err
    end
  end
  return not problem or nil, problem
end

return definitions

--- What a server offers as definitions of operations: its tools, and its resources and prompts as operations too.
local config = require("operations.mcp.client.config")
local core = require("operations.core")
local headers = require("operations.mcp.protocol.headers")
local marked = require("operations.base.marked")
local result = require("operations.mcp.protocol.result")
local tool_spec = require("operations.mcp.protocol.tool")

local definitions = {}

-- What a call's context says of its request; nil: nothing.
local function options_of(context)
  local traceparent, metadata = context and context.traceparent, context and context.metadata
  local on_progress = metadata and metadata.on_progress
  return (traceparent or on_progress) and { traceparent = traceparent, on_progress = on_progress } or nil
end

local function call_handler(client, plan)
  return function(input, context)
    return client:_call(plan, input, options_of(context))
  end
end

--- How a tool is called: what `client:_call` takes.
---@class operations.mcp.Plan
---@field tool string
---@field schema? table  of its arguments, when some of them are arrays
---@field structured boolean  it declares an outputSchema, so a result must have structuredContent
---@field options operations.mcp.RequestOptions  of every call
---@field definition operations.Definition

local function plan_of(client, tool, report)
  local ok, problem = tool_spec.check(tool)
  if not ok then
    return nil, problem
  end
  local mirrored
  if client:_mirrors() then
    mirrored, problem = headers.mirrored(tool.inputSchema)
    if problem then
      return nil, problem
    end
  end
  local definition = tool_spec.spec(client._config.namespace, tool, function(text)
    report(tool.name, text)
  end)
  return {
    tool = tool.name, definition = definition,
    schema = marked.concerns(definition.inputSchema) and definition.inputSchema or nil,
    options = { mirrored = mirrored, repeatable = client._config.retry ~= false and tool_spec.is_repeatable(tool) },
    structured = definition.outputSchema ~= nil and client._config.output == "error",
    task = type(tool.execution) == "table" and tool.execution.taskSupport == "required",
  }
end

local function finish(client, definition)
  local access = client._config.accessControl
  definition._meta.server, definition._meta.exposed = client.name, access ~= nil
  if type(access) == "function" then
    access = access(definition)
  end
  definition.accessControl = access
  return definition
end

--- The definitions of a list of tools. One that cannot be used is told of, and costs the others nothing.
---@param client operations.mcp.Client
---@param tools any[]
---@param report fun(tool: string, problem: string)
---@return operations.Definition[]
---@return table<string, operations.mcp.Plan> plans  by the tool's own name
function definitions.of_tools(client, tools, report)
  local list, plans, taken = {}, {}, {}
  for i, tool in ipairs(tools) do
    local plan, problem = plan_of(client, tool, report)
    local name = plan and plan.definition.name or ("tools/list[%d]"):format(i)
    if not plan then
      report(core.kind(tool) == "object" and type(tool.name) == "string" and tool.name or name, problem)
    elseif taken[name] then
      report(name, "the name is taken: this tool cannot be called")
    elseif config.wants(client._config, tool) then
      taken[name], plans[plan.tool] = true, plan
      plan.definition.handler = call_handler(client, plan)
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

-- Operations beside the tools; those with a `key` are lists, asked for page by page.
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

local function list_handler(client, method, key)
  return function(_, context)
    local items, err = client:_list(method, key, options_of(context))
    return items and result.of_object({ [key] = items }), err
  end
end

local function request_handler(client, method)
  return function(input, context)
    local value, err = client:request(method, input, options_of(context))
    return value and result.of_object(value), err
  end
end

--- The definitions of resources and prompts, where the server has some.
---@param client operations.mcp.Client
---@return operations.Definition[]
function definitions.of_server(client)
  local list = {}
  for _, entry in ipairs(offered) do
    if client:has(entry.needs) then
      list[#list + 1] = finish(client, {
        namespace = client._config.namespace, name = entry.name, type = "query", description = entry.description,
        inputSchema = entry.input, outputSchema = entry.output or object({ [entry.key] = objects }, { entry.key }),
        _meta = { source = "mcp", method = entry.method },
        handler = entry.key and list_handler(client, entry.method, entry.key) or request_handler(client, entry.method),
      })
    end
  end
  return list
end

return definitions

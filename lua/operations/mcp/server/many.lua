--- Many tools: a model sees the pinned ones, and three by which it finds, describes and calls the others.
local core = require("operations.core")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local marks = require("operations.base.marked")
local members = require("operations.base.members")
local message = require("operations.mcp.protocol.message")

local many = {}

local text, name_schema = { type = "string" }, { type = "string", description = "Name of the operation" }

local read_only = { readOnlyHint = true, openWorldHint = false }

-- The three tools, in the order of their use.
local definitions = {
  { name = "search_operations", title = "Search operations", annotations = read_only,
    description = "Finds operations by words. Search before you conclude that something cannot be done; then read the "
      .. "input of one with describe_operation and call it with call_operation.",
    inputSchema = { type = "object", required = { "query" }, properties = {
      query = { type = "string", description = "What the operation is about, in a few words" },
      limit = { type = "integer", minimum = 1, maximum = 100, description = "How many at most" } } },
    outputSchema = { type = "object", required = { "operations" }, properties = { operations = { type = "array",
      items = { type = "object", required = { "name" }, properties = { name = text, title = text,
        description = text } } } } } },
  { name = "describe_operation", title = "Describe an operation", annotations = read_only,
    description = "Tells what an operation does and the JSON Schema of its input.",
    inputSchema = { type = "object", required = { "name" }, properties = { name = name_schema } } },
  { name = "call_operation", title = "Call an operation",
    description = "Calls an operation that search_operations found.",
    inputSchema = { type = "object", required = { "name" }, properties = { name = name_schema,
      arguments = { type = "object", description = "Its input, as describe_operation tells it" } } } },
}

--- Reserved names.
---@type table<string, true>
many.reserved = members.set({ "search_operations", "describe_operation", "call_operation" })

--- Must this many tools be searched instead of listed?
---@param options operations.McpOptions
---@param count integer  of the tools that the caller sees
---@return boolean
function many.applies(options, count)
  if options.search ~= nil and options.search ~= "auto" then
    return options.search
  end
  return count > limits.mcp_tools
end

--- Adds the three tools to a list.
---@param list table[]
---@return table[]
function many.add(list)
  for _, definition in ipairs(definitions) do
    list[#list + 1] = members.copy(definition)
  end
  return list
end

--- Leaves out long schemas of results in a list: every call pays for what models read.
---@param options operations.McpOptions
---@param list table[]
---@return table[]
function many.trim(options, list)
  local budget, size = options.schema_bytes or limits.mcp_schema_bytes, 0
  for _, definition in ipairs(list) do
    if definition.outputSchema then
      size = size + #(json.encode(definition.outputSchema) or "")
    end
    if size > budget then
      break
    end
  end
  for _, definition in ipairs(size > budget and list or {}) do
    definition.outputSchema = nil
  end
  return list
end

local function result_of(data)
  return { content = marks.array({ { type = "text", text = assert(json.encode(data, { keep_order = true })) } }),
    structuredContent = data }
end

local function refused(text_of_it)
  return { content = marks.array({ { type = "text", text = text_of_it } }), isError = true }
end

local function find(call, input, tools)
  local server = call.server
  local limit = core.kind(input.limit) == "integer" and math.min(math.max(input.limit, 1), 100) or limits.search_hits
  if type(input.query) ~= "string" then
    return refused("search_operations: query: string expected")
  end
  server._search = server._search
    or require("operations.offer.search").new(server.registry, { filter = server.options.filter })
  local found = marks.array()
  local hits = server._search:find(input.query, { identity = call.identity, limit = limit, accept = function(spec)
    return tools.name_of(call, spec) ~= nil
  end })
  for i, hit in ipairs(hits) do
    found[i] = { name = tools.name_of(call, hit.spec), title = hit.spec.title, description = hit.spec.description }
  end
  return result_of({ operations = found })
end

local function describe(call, input, tools)
  local definition = type(input.name) == "string" and tools.definition_of(call, input.name)
  if not definition then
    return refused(("unknown operation %q%s: search_operations finds operations"):format(
      tostring(input.name), type(input.name) == "string" and tools.hint(call, input.name) or ""))
  end
  definition.outputSchema = nil
  return result_of(definition)
end

local function call_named(call, input, tools)
  local given = message.object(input.arguments) or marks.object()
  if type(input.name) ~= "string" then
    return refused("call_operation: name: string expected")
  elseif core.kind(given) ~= "object" then
    return refused("call_operation: arguments: object expected")
  end
  return tools.invoke(call, input.name, given)
end

local runs = { search_operations = find, describe_operation = describe, call_operation = call_named }

--- Runs one of the three tools.
---@param call operations.mcp.ServerCall
---@param name string
---@param input table
---@param tools { name_of: function, definition_of: function, invoke: function }
---@return table? result
---@return operations.mcp.Failure?
function many.run(call, name, input, tools)
  return runs[name](call, input, tools)
end

return many

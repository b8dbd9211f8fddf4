--- Many tools: a model sees the pinned ones, and three by which it finds, describes and calls the others.
local core = require("operations.core")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local marks = require("operations.base.marked")
local members = require("operations.base.members")
local message = require("operations.mcp.protocol.message")

local many = {}

local reserved = members.set({ "search_operations", "describe_operation", "call_operation" })
local of_code = members.set({ "search_operations", "describe_operation", "run_lua" })

--- The names of the tools, which no operation has.
---@param server operations.McpServer
---@return table<string, true>
function many.names(server)
  return server.code and of_code or reserved
end

--- Must this many tools be searched instead of listed?
---@param options operations.McpOptions
---@param count integer  of the tools that the caller sees
---@return boolean
function many.applies(options, count)
  if options.code then
    return true
  elseif options.search ~= nil and options.search ~= "auto" then
    return options.search
  end
  return count > limits.mcp_tools
end

-- What is among the operations that a caller sees.
local function kinds_of(server, seen)
  local kinds = { mutation = false, destructive = false }
  for _, bare in ipairs(server.code.mutations ~= false and seen or {}) do
    local meta = type(bare._meta) == "table" and bare._meta or {}
    local is_mutation = bare.type == "mutation"
    kinds.mutation = kinds.mutation or is_mutation
    kinds.destructive = kinds.destructive or is_mutation and meta.destructive == true
  end
  return kinds
end

--- Adds the three tools to a list.
---@param server operations.McpServer
---@param list table[]
---@param seen operations.Spec[]  the operations that the caller sees
---@return table[]
function many.add(server, list, seen)
  local definitions = server.code and require("operations.offer.code").tools(kinds_of(server, seen))
    or require("operations.offer.guide").tools("name")
  return members.joined(list, definitions)
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

-- What the caller knows of: tools, by their names.
local function sight_of(call, tools)
  if call.server.code then
    return require("operations.mcp.server.program").sight(call, tools)
  end
  return { identity = call.identity, word = "name", name_of = function(id)
    return tools.name_of(call, id)
  end, id_of = function(name)
    return (tools.find(call, name))
  end, definition = function(id)
    return tools.definition_of(call, id)
  end }
end

--- The search of a server.
---@param server operations.McpServer
---@return operations.offer.Guide
function many.guide(server)
  server._guide = server._guide or require("operations.offer.guide").new(server.registry, server.options.filter)
  return server._guide
end

-- Runs `search` or `describe` of the guide.
local function asked(method)
  return function(call, input, tools)
    local guide = many.guide(call.server)
    local result, problem = guide[method](guide, input, sight_of(call, tools))
    return result and result_of(result) or refused(problem)
  end
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

local runs = { search_operations = asked("search"), describe_operation = asked("describe"),
  call_operation = call_named, run_lua = function(call, input, tools)
    return require("operations.mcp.server.program").run(call, input, tools)
  end }

--- Runs one of the three tools.
---@param call operations.mcp.ServerCall
---@param name string
---@param input table
---@param tools table<string, function>  what `tools` knows of names, sight and calls
---@return table? result
---@return operations.mcp.Failure?
function many.run(call, name, input, tools)
  return runs[name](call, input, tools)
end

return many

--- Operations as tools: `tools/list` and `tools/call`. Queries and mutations that the caller may see, in the order of
--- registration.
local as_tools = require("operations.mcp.server.as_tools")
local bytes = require("operations.mcp.server.bytes")
local core = require("operations.core")
local guard = require("operations.registry.guard")
local interaction = require("operations.mcp.server.interaction")
local listing = require("operations.mcp.server.listing")
local many = require("operations.mcp.server.many")
local marks = require("operations.base.marked")
local members = require("operations.base.members")
local message = require("operations.mcp.protocol.message")
local names = require("operations.offer.names")
local suggestion = require("operations.base.suggestion")

local tools = { methods = {} }

local INVALID_PARAMS = message.codes.INVALID_PARAMS

-- The tools of the registry, and how they run as tasks (`_meta.task`), listed again when it changes.
local function offer_of(server)
  local revision = server.registry:revision()
  if server._offer_revision ~= revision then
    local specs, tasks = {}, {}
    for _, spec in ipairs(server.registry:specs({ schemas = false })) do
      local meta = type(spec._meta) == "table" and spec._meta or {}
      local relayed = meta.method and server.relayed[meta.server] -- `upstream` offers its resources and prompts
      if spec.type ~= "subscription" and not relayed then
        specs[#specs + 1] = spec
        tasks[spec.namespace .. "." .. spec.name] = meta.task
      end
    end
    local searched = many.applies(server.options, #specs)
    local reserved = members.merged(searched and many.names(server) or nil,
      server.options.as_tools and members.set(as_tools.names) or nil)
    local named, flaws = names.assign(specs, reserved)
    for _, flaw in ipairs(flaws) do
      server.options.log("warn", flaw.message)
    end
    server._offer_revision, server._offer = revision, { specs = specs, names = named, tasks = tasks }
    server.byte_schemas = {}
  end
  return server._offer
end

local function sight_of(call, id)
  local options = call.server.options
  local sight = call.server.registry:visible(id, call.identity, options.filter)
  return sight == "denied" and options.hide_denied and "hidden" or sight
end

-- The tools that a caller sees: specs without schemas, and whether they must be searched.
local function seen_by(call)
  local offer, seen = offer_of(call.server), {}
  for _, bare in ipairs(offer.specs) do
    local id = bare.namespace .. "." .. bare.name
    if offer.names.of_id[id] and sight_of(call, id) == "yes" then
      seen[#seen + 1] = bare
    end
  end
  return seen, many.applies(call.server.options, #seen)
end

local function name_of(call, id)
  return offer_of(call.server).names.of_id[id]
end

-- The input of a tool is an object, whatever else its schema allows.
local function input_schema(schema)
  if type(schema) ~= "table" or next(schema) == nil then
    return { type = "object", properties = marks.object() }
  end
  local properties = message.object(schema.properties)
  if schema.type == "object" and properties ~= nil then
    return schema
  end
  return members.merged(schema, { type = "object", properties = properties or marks.object() })
end

-- Can clients of this era be told the shape of the tool's result? Bytes are blocks, no structured content.
local function tells_output(schema, modern)
  return type(schema) == "table" and next(schema) ~= nil and (modern or schema.type == "object")
    and not bytes.says(schema)
end

local function boolean(value)
  if type(value) == "boolean" then
    return value
  end
end

-- Hints: queries change nothing; the specs of mutations say more.
local function annotations(spec, meta)
  local given = type(meta.annotations) == "table" and meta.annotations or {}
  if meta.source == "mcp" and meta.tool then
    return message.object(meta.annotations) -- from its server, unchanged
  end
  if spec.type == "query" then
    return members.merged({ readOnlyHint = true }, given)
  end
  return members.merged({ readOnlyHint = false, destructiveHint = boolean(meta.destructive),
    idempotentHint = boolean(meta.idempotent) }, given)
end

local function list_of(value)
  return core.kind(value) == "array" and value[1] ~= nil and value or nil
end

--- The definition of a tool.
---@param spec operations.Spec  whole
---@param name string
---@param modern boolean
---@return table  `Tool`
function tools.definition(spec, name, modern)
  local meta = type(spec._meta) == "table" and spec._meta or {}
  local imported = meta.source == "mcp" and meta.tool ~= nil
  local own = imported and meta.schemas or {} -- as its server has them, where not all of them can be checked
  local output = own.outputSchema or spec.outputSchema
  if not imported and bytes.concerns(output) then
    output = bytes.told(output)
  end
  return members.merged(imported and meta.unknown or nil, {
    name = name, title = type(meta.title) == "string" and meta.title or not imported and spec.title or nil,
    _meta = imported and message.object(meta._meta) or nil,
    description = spec.description ~= "" and spec.description or nil,
    inputSchema = input_schema(own.inputSchema or spec.inputSchema),
    outputSchema = tells_output(output, modern) and output or nil,
    annotations = annotations(spec, meta), icons = list_of(meta.icons),
  })
end

local function definition_of(call, id)
  local spec = call.server.registry:get_spec(id)
  return spec and tools.definition(spec, name_of(call, id), call.modern)
end

-- The definition of a tool that a caller sees.
local function made(call, bare)
  return definition_of(call, bare.namespace .. "." .. bare.name)
end

--- The tools listed for a caller.
---@param call operations.mcp.ServerCall
---@return table[]
function tools.listed(call)
  local server, list = call.server, {}
  local seen, searched = seen_by(call)
  for _, bare in ipairs(seen) do
    list[#list + 1] = (not searched or names.is_pinned(bare, server.options.pinned)) and made(call, bare) or nil
  end
  return many.trim(server.options, as_tools.add(call, searched and many.add(server, list, seen) or list))
end

-- A page of more tools than one page has: only that page is made, without schemas of results, which would be too long.
local function long_page(call, seen)
  return listing.paged(call, seen, "tools", function(bare)
    local definition = made(call, bare)
    if definition then
      definition.outputSchema = nil
    end
    return definition
  end)
end

tools.methods["tools/list"] = { cached = true, run = function(call)
  if call.server.awaited then
    call.server:_settle()
  end
  local seen, searched = seen_by(call)
  if not searched and #seen > listing.size then
    return long_page(call, seen)
  end
  return listing.paged(call, tools.listed(call), "tools")
end }

-- A tool that the caller sees and may have meant: by its operation's id, or by a similar name; "" without one.
local function hint(call, name)
  local tool = offer_of(call.server).names.of_id[name]
  if tool and sight_of(call, name) == "yes" then
    return (" (did you mean %s?)"):format(tool)
  end
  local seen = {}
  for i, bare in ipairs((seen_by(call))) do
    seen[i] = name_of(call, bare.namespace .. "." .. bare.name)
  end
  return suggestion.behind(name, seen)
end

local function unknown(call, name)
  return nil, { code = INVALID_PARAMS, message = ("unknown tool: %s%s"):format(name, hint(call, name)) }
end

-- The operation of a tool, if the caller may call it.
local function find(call, name)
  local id = offer_of(call.server).names.of_name[name]
  local sight = id and sight_of(call, id)
  if not id or sight == "hidden" then
    if id then
      guard.hidden(call.server.registry, id, { identity = call.identity,
        metadata = { mcp = { client = call.client } } })
    end
    return unknown(call, name)
  elseif sight == "denied" then
      local caller = require("operations.server.caller")
      local _, err, status, fields = caller.deny(call.server.registry:get_spec(id), call.identity,
        call.server.options.authorize)
    return nil, { code = message.codes.INVALID_REQUEST, message = err.message, data = err.details, status = status,
      headers = fields }
  end
  return id
end

-- Calls a tool by its name. The headers of a direct call repeat some of its input.
local function invoke(call, name, input, is_direct)
  local id, failure = find(call, name)
  if not id then
    return nil, failure
  end
  failure = is_direct and call.modern and call.http
    and require("operations.mcp.server.headers").params_flaw(call.http.headers,
      call.server.registry:get_spec(id).inputSchema, input)
  if failure then
    return nil, failure
  end
  local noted = call.http and call.http.call -- of the access log
  if noted then
    noted.operation = id
  end
  local mode = offer_of(call.server).tasks[id]
  local is_task, result
  if mode then
    is_task, result, failure = require("operations.mcp.server.tasks").start(call, id, input, mode)
  end
  if is_task then
    return result, failure
  end
  result, failure = interaction.run(call, function(context)
    local envelope, err = call.server.registry:execute(id, input, context)
    if noted and err then
      noted.code = err.code
    end
    return require("operations.mcp.server.tool_result").answer(call, id, envelope, err)
  end)
  if call.is_task then
    return require("operations.mcp.server.tasks").continue(call, id, input)
  end
  return result, failure
end

local function id_of(call, name)
  return offer_of(call.server).names.of_name[name]
end

local searched = { name_of = name_of, id_of = id_of, sight_of = sight_of, find = find, definition_of = definition_of,
  invoke = invoke, guide = many.guide }

tools.methods["tools/call"] = { named_by = "name", asks = true, run = function(call)
  local params = call.params
  local name, input = params.name, message.object(params.arguments)
  if type(name) ~= "string" then
    return nil, { code = INVALID_PARAMS, message = "tools/call: name: string expected" }
  elseif input == nil then
    input = marks.object()
  elseif core.kind(input) ~= "object" then
    return nil, { code = INVALID_PARAMS, message = "tools/call: arguments: object expected" }
  end
  if call.server.awaited and not offer_of(call.server).names.of_name[name] then
    call.server:_settle(true)
  end
  if as_tools.has(call, name) then
    return as_tools.run(call, name, input)
  elseif many.names(call.server)[name] and select(2, seen_by(call)) then
    return many.run(call, name, input, searched)
  end
  return invoke(call, name, input, true)
end }

--- Tools come and go with the registry's operations.
function tools.capabilities()
  return { tools = { listChanged = true } }
end

return tools

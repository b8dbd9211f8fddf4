--- One operation of a document: a path item and a method in, one definition out (two, when it answers with a value
--- or with a stream).
local config = require("operations.openapi.config")
local inputs = require("operations.openapi.inputs")
local name = require("operations.openapi.name")
local outputs = require("operations.openapi.outputs")
local pages = require("operations.openapi.pages")
local plan = require("operations.openapi.plan")
local stream = require("operations.openapi.stream")
local template = require("operations.openapi.template")

local operation = {}

local function text(value)
  return type(value) == "string" and value ~= "" and value or nil
end

local function tags_of(node)
  local tags = {}
  for _, tag in ipairs(type(node.tags) == "table" and node.tags or tags) do
    tags[#tags + 1] = text(tag)
  end
  return tags
end

--- What config.include and config.exclude see of an operation.
---@param method string
---@param path string
---@param node table  the Operation Object
---@return { method: string, path: string, operationId: string?, name: string, tags: string[] }
function operation.describe(method, path, node)
  local id = text(node.operationId)
  local wanted = id and name.sanitize(id) or ""
  if wanted == "" then
    wanted = name.of_path(method, path)
  end
  return { method = method, path = path, operationId = id, name = wanted, tags = tags_of(node) }
end

local function meta_of(build, info, node)
  return {
    source = "openapi", method = info.method, path = info.path, operationId = info.operationId,
    deprecated = node.deprecated == true or nil, exposed = build.config.accessControl ~= nil,
  }
end

local function new_definition(build, info, node, wanted, kind)
  local given, changed = build.next_name(wanted)
  if changed then
    build.report(build.pointer, ("the name %q is taken; this operation is called %q"):format(wanted, given))
  end
  return {
    namespace = build.namespace, name = given, version = build.version, type = kind,
    title = text(node.summary), tags = #info.tags > 0 and info.tags or nil,
    description = text(node.description) or text(node.summary) or info.method .. " " .. info.path,
    _meta = meta_of(build, info, node),
  }
end

local queries = { GET = true, HEAD = true, QUERY = true }

local function new_build(shared, place, info)
  local function report(pointer, message)
    shared.report(pointer, message, info.operationId or info.name)
  end
  return setmetatable({
    pointer = place.pointer, file = place.file, report = report, files_allowed = config.may_send_files(shared.config),
  }, { __index = shared })
end

--- Reads everything that a call needs: what the operation takes, what it answers, how its request is made.
local function read(shared, item, place, info)
  local build = new_build(shared, place, info)
  build.converter = shared.converter:reporting(build.report)
  build.segments, build.template_names, build.query = template.read(info.path)
  local input, output = inputs.read(build, item, place, info.method), outputs.read(build, place)
  return { input = input, output = output, plan = plan.new(build, item, place, info, input, output) }
end

--- What is to be reported of an error that reading a place raised.
---@param raised any
---@param place operations.openapi.Place
---@return { pointer: string, message: string }
function operation.flaw(raised, place)
  return type(raised) == "table" and raised.pointer and raised
    or { pointer = place.pointer, message = "cannot be read: " .. tostring(raised) }
end

--- Calls `read` once, when first asked. What makes the operation impossible is reported, and raised every time.
local function on_need(shared, item, place, method, path)
  local parts, message
  return function()
    if place then
      local info = operation.describe(method, path, place.node) -- not kept: it would be most of an idle operation
      local ok, result = pcall(read, shared, item, place, info)
      if ok then
        parts = result
      else
        local flaw = operation.flaw(result, place)
        shared.report(flaw.pointer, flaw.message, info.operationId or info.name)
        message = flaw.pointer .. ": " .. flaw.message
      end
      shared, item, place = nil, nil, nil
    end
    return parts or error(message, 0)
  end
end

--- Gives a definition its schemas and its handler, made on first need. `answer` is "value" or "stream".
local function finish(definition, build, parts, answer, new_handler)
  local handler
  function definition.inputSchema()
    return parts().input.schema
  end
  function definition.outputSchema()
    return parts().output[answer].schema
  end
  function definition.errorSchemas()
    return parts().output.errors
  end
  function definition.handler(input, context)
    if not handler then
      local all = parts()
      local output = all.output[answer]
      handler = new_handler(plan.accepting(all.plan, output.accept, output.json))
    end
    return handler(input, context)
  end
  local access = build.config.accessControl
  if type(access) == "function" then
    access = access(definition)
  end
  definition.accessControl = access
  return definition
end

--- Builds the definitions of one operation. Schemas and requests are made when they are needed.
---@param shared table  what all operations of the document share, see loader.lua
---@param item operations.openapi.Place  path item
---@param place operations.openapi.Place  the operation
---@param info table  from `describe`
---@return operations.Definition[]
function operation.build(shared, item, place, info)
  local build = new_build(shared, place, info)
  local has_value, has_stream = outputs.kinds(build, place)
  local parts, list = on_need(shared, item, place, info.method, info.path), {}
  if has_value then
    local kind = queries[info.method] and "query" or "mutation"
    local definition = new_definition(build, info, place.node, info.name, kind)
    list[1] = finish(definition, build, parts, "value", pages.handler)
  end
  if has_stream then
    local wanted = info.name .. (has_value and "_stream" or "")
    local definition = new_definition(build, info, place.node, wanted, "subscription")
    list[#list + 1] = finish(definition, build, parts, "stream", stream.handler)
  end
  return list
end

return operation

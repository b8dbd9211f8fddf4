--- One operation of a document: a path item and a method in, one definition out (two if it can answer with a value or
--- with a stream).
local call = require("operations.openapi.call")
local config = require("operations.openapi.config")
local credential = require("operations.openapi.credential")
local download = require("operations.openapi.download")
local errors = require("operations.base.error")
local extension = require("operations.openapi.extension")
local http = require("operations.net.http")
local importing = require("operations.registry.importing")
local inputs = require("operations.openapi.inputs")
local location = require("operations.openapi.location")
local members = require("operations.base.members")
local name = require("operations.openapi.name")
local outputs = require("operations.openapi.outputs")
local own = require("operations.openapi.own")
local pages = require("operations.openapi.pages")
local relay = require("operations.openapi.relay")
local request = require("operations.openapi.request")
local security = require("operations.openapi.security")
local spec = require("operations.registry.spec")
local stream = require("operations.openapi.stream")

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

--- The description of an operation for config.include and config.exclude.
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

-- The security requirements of the operation: its own, or the document's.
local function requirements_of(shared, node)
  if node.security ~= nil then
    return node.security
  end
  return shared.source.file.root.security
end

-- What the methods of HTTP promise (RFC 9110, 9.2). Others may destroy something or not.
local destructive = { GET = false, HEAD = false, QUERY = false, OPTIONS = false, TRACE = false, DELETE = true }
local idempotent = { GET = true, HEAD = true, QUERY = true, OPTIONS = true, TRACE = true, PUT = true, DELETE = true }

local function meta_of(shared, info, node)
  local requirements = requirements_of(shared, node)
  return {
    destructive = destructive[info.method], idempotent = idempotent[info.method] or false,
    security = requirements and security.names(requirements, shared.schemes) or nil, -- alternatives
    source = "openapi", method = info.method, path = info.path, operationId = info.operationId,
    deprecated = node.deprecated == true or nil, exposed = shared.config.accessControl ~= nil,
  }
end

-- `ours` is the operation's namespace in the document, if that is one of ours. The configured one replaces it.
local function new_definition(shared, place, info, wanted, kind, ours)
  local namespace = not shared.config.namespace and ours or shared.namespace
  local given, changed = shared.next_name(namespace .. "." .. wanted,
    ours and ours ~= namespace and ("%s.%s_%s"):format(namespace, ours, wanted) or nil)
  given = changed and given:sub(#namespace + 2) or wanted
  if changed then
    shared.report(place.pointer, ("the name %q is taken; this operation is called %q"):format(wanted, given),
      info.operationId or info.name)
  end
  local node = place.node
  return {
    namespace = namespace, name = given, version = shared.version, type = kind,
    title = text(node.summary), tags = #info.tags > 0 and info.tags or nil,
    description = text(node.description) or text(node.summary) or info.method .. " " .. info.path,
    _meta = meta_of(shared, info, node),
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

-- The possible keys of an input.
local function keys_of(input)
  local keys = { body = input.body and true or nil }
  if input.body and input.body.key then
    keys[input.body.key] = true
  end
  for _, param in ipairs(input.parameters) do
    keys[param.key] = true
  end
  return keys
end

local function base_of(build, item, place)
  local options = build.config
  if options.base_url then
    return options.base_url
  end
  return location.of_server({ place.node.servers, item.node.servers, build.source.file.root.servers },
    build.source.file.location, options)
end

local function document_url(build)
  local from = build.source.file.location
  return from and location.is_url(from) and from or nil
end

-- The credentials of all requests of an operation. Those that the input, configured headers or the program's own HTTP
-- client may give need not be configured.
local function credentials_of(build, item, place, base)
  local options = build.config
  local elsewhere = inputs.places(build.source, item, place)
  for header in pairs(options.headers or {}) do
    elsewhere["header " .. header:lower()] = true
  end
  elsewhere.jar, elsewhere.certificate = options.jar ~= nil, options.http ~= http
  return security.plan(requirements_of(build, place.node), build.schemes, {
    auth = options.auth, http = options.http, ca_file = options.ca_file, proxy = options.proxy,
    location = document_url(build) or base, elsewhere = elsewhere,
  })
end

--- The plan shared by all requests of an operation: made once.
---@return operations.openapi.Plan
local function new_plan(build, place, info, input, output)
  local options, steps = build.config, build.credentials
  local base, base_error = build.base, build.base_error
  if not base then
    build.report(place.pointer, base_error)
  end
  local bound_headers, bound_query = credential.bound(steps, options.headers)
  return {
    method = info.method, base = base, base_error = base_error, bases = options.bases,
    segments = build.segments, query = build.query, parameters = input.parameters, keys = keys_of(input),
    path = not build.template_names[1] and location.fill_path(build, {}, {}) or nil,
    body = input.body, input_schema = input.schema, validate = options.validate, headers = options.headers,
    redirects = output.redirects, declared_json = output.json, answer_headers = output.headers,
    security = steps, bound_query = bound_query, configured = credential.configured(options.headers),
    timeout = options.timeout, max_event = options.max_event, http = options.http,
    reconnect = options.reconnect, done = options.done,
    next_page = options.next_page, described = options.next_page and members.copy(info),
    links = pages.read_links(build, place, info.operationId, input.parameters),
    encoded_slashes = options.encoded_slashes, decode_text = options.decode_text,
    lenient = options.lenient,
    options = {
      url = base, method = info.method, credentials = bound_headers, query_credentials = bound_query,
      timeout = options.timeout, idle_timeout = options.idle_timeout, max_body = options.max_body,
      retry = options.retry, jar = options.jar, redirect_all = options.redirect_all,
      ca_file = options.ca_file, proxy = options.proxy, unix_socket = options.unix_socket,
    },
  }
end

-- A copy of a plan for these media types; for streams `is_json` says whether events are JSON.
local function accepting(base, accept, is_json)
  local copy = members.copy(base)
  copy.accept, copy.json, copy.head = accept, is_json, request.head({ Accept = accept }, base.headers)
  return copy
end

--- Reads everything that a call needs: inputs, outputs, the request.
local function read(shared, item, place, info)
  local build = new_build(shared, place, info)
  build.converter = shared.converter:reporting(build.report)
  build.segments, build.template_names, build.query = location.read_path(info.path)
  build.base, build.base_error = base_of(build, item, place)
  build.credentials = credentials_of(build, item, place, build.base)
  build.credential_places = security.places(build.credentials)
  local input, output = inputs.read(build, item, place, info.method), outputs.read(build, place)
  local plan = new_plan(build, place, info, input, output)
  return { input = input, output = output, plan = plan, handler = function(make)
    return make(plan)
  end }
end

-- As `read`, for an operation of a document made by this library: schemas from the extension, transport from the rest.
local function read_own(shared, item, place, info)
  local x = extension.of(place.node)
  return own.read(place, x, shared.schemas, { method = info.method, path = info.path, plan = function(bare, method)
    return read(shared, item, { node = bare, file = place.file, pointer = place.pointer },
      { method = method, path = info.path, operationId = info.operationId, name = info.name }).plan
  end })
end

--- The report entry of an error that was raised while reading a place.
---@param raised any
---@param place operations.openapi.Place
---@return { pointer: string, message: string }
function operation.flaw(raised, place)
  return type(raised) == "table" and raised.pointer and raised
    or { pointer = place.pointer, message = "cannot be read: " .. tostring(raised) }
end

--- Calls `read` once, on first use. An error that makes the operation impossible is reported, and raised at every call.
--- Before that, only names are known.
local function on_need(shared, item, place, method, path, reader)
  local parts, message
  return function(names)
    if names then
      return place and inputs.names(shared.source, item, place) or {}
    elseif place then
      local info = operation.describe(method, path, place.node) -- not kept: it would be most of an unused operation
      local ok, result = pcall(reader or read, shared, item, place, info)
      if ok then
        parts = result
        parts.destination = base_of(shared, item, place)
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

-- The handler of a query or mutation: its answer is relayed, passed to a sink, emitted page by page, or returned.
local function value_handler(plan)
  local relayed, downloaded
  return function(input, context)
    local get = call.reader(context)
    input = input or {}
    if get(context, "relay") then
      relayed = relayed or relay.handler(plan)
      return relayed(input, context)
    elseif get(context, "sink") then
      downloaded = downloaded or download.handler(plan)
      return downloaded(input, context)
    elseif type(context) == "table" and rawget(context, "emit") then
      return pages.run(plan, input, context)
    end
    local envelope, err = call.run(plan, input, context)
    return envelope, err
  end
end

-- The handler of an operation that was read, and its tasks.
local function handler_of(definition, parts, answer, new_handler)
  local output = parts.output[answer]
  return parts.handler(function(plan)
    local copy = accepting(plan, output.accept, output.json)
    copy.id = definition.namespace .. "." .. definition.name
    return new_handler(copy)
  end)
end

--- Sets the schemas and the handler of a definition, made on first use. `answer` is "value" or "stream".
local function finish(definition, options, parts, answer, new_handler)
  function definition.inputSchema()
    return parts().input.schema
  end
  spec.tell_parameters(definition.inputSchema, parts)
  function definition.outputSchema()
    return parts().output[answer].schema
  end
  function definition.errorSchemas()
    return parts().output.errors
  end
  local handler, tasks
  local function on_call(input, context)
    if not handler then
      handler, tasks = handler_of(definition, parts(), answer, new_handler)
    end
    return handler(input, context)
  end
  if definition._meta.task then
    on_call = importing.resumable(on_call, setmetatable({}, { __index = function(_, what)
      if not handler then
        handler, tasks = handler_of(definition, parts(), answer, new_handler)
      end
      return tasks[what]
    end }))
  end
  definition.handler = errors.relay(on_call, nil, function()
    return parts().destination
  end)
  relay.know(definition.handler, parts)
  local access = importing.finish(definition, options)
  if options.accessControl then
    definition.accessControl = access
  end
  return definition
end

-- The definition of an operation from a document of this library; nil for other documents.
local function build_own(shared, item, place, info)
  local x, issues = extension.of(place.node)
  if not x then
    return issues and shared.report(place.pointer .. "/x-operation" .. issues[1].path, issues[1].message, info.name)
  end
  local options = shared.config
  local definition = new_definition(shared, place, info, x.name, x.type, x.namespace)
  extension.describe(definition, x, place.node, options.trust_extension == true)
  local parts = on_need(shared, item, place, info.method, info.path, read_own)
  local is_stream = x.type == "subscription"
  return finish(definition, options, parts, is_stream and "stream" or "value",
    is_stream and stream.handler or value_handler)
end

--- Builds the definitions of one operation. Schemas and requests are made on first use.
---@param shared table  shared by all operations of the document, see loader.lua
---@param item operations.openapi.Place  path item
---@param place operations.openapi.Place  the operation
---@param info table  from `describe`
---@return operations.Definition[]
function operation.build(shared, item, place, info)
  -- The schemas of a document of 3.0 are not those that it was made of.
  local whole = place.node["x-operation"] ~= nil and not shared.converter.old and build_own(shared, item, place, info)
  if whole then
    return { whole }
  end
  local has_value, has_stream = true, false
  if outputs.may_stream(shared, place) then
    has_value, has_stream = outputs.kinds(new_build(shared, place, info), place)
  end
  local parts, list = on_need(shared, item, place, info.method, info.path), {}
  if has_value then
    local kind = queries[info.method] and "query" or "mutation"
    local definition = new_definition(shared, place, info, info.name, kind)
    list[1] = finish(definition, shared.config, parts, "value", value_handler)
  end
  if has_stream then
    local wanted = info.name .. (has_value and "_stream" or "")
    local definition = new_definition(shared, place, info, wanted, "subscription")
    list[#list + 1] = finish(definition, shared.config, parts, "stream", stream.handler)
  end
  return list
end

return operation

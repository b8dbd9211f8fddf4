--- Calls operations of a document made by this library (openapi/out): the input is sent completely, failures are the
--- problems' codes, streams end as the server declares.
local core = require("operations.core")
local errors = require("operations.base.error")
local job = require("operations.openapi.job")
local json = require("operations.base.json")
local members = require("operations.base.members")
local own_schemas = require("operations.openapi.own_schemas")
local url = require("operations.base.url")

local own = {}

local KEY = "Idempotency-Key"

local media_of = own_schemas.media

-- Parameters without schemas of their values, which the operation's schemas describe.
local function bare_parameters(list, location)
  local bare = {}
  for _, node in ipairs(list) do
    if not location or node["in"] == location then
      bare[#bare + 1] = { name = node.name, ["in"] = node["in"], required = node.required,
        schema = setmetatable({}, core.object_mt) }
    end
  end
  return bare
end

local function bare_content(media)
  return { [media] = setmetatable({}, core.object_mt) }
end

-- The operation with its transport and without its schemas: as in the document, or with a body for inputs that a query
-- string cannot carry.
local function bare_of(node, x, with_body)
  local parameters = bare_parameters(own_schemas.parameters(node), with_body and "path" or nil)
  if x.idempotencyKey then
    parameters[#parameters + 1] = { name = KEY, ["in"] = "header", schema = setmetatable({}, core.object_mt) }
  end
  local success, status = own_schemas.success(node)
  return {
    parameters = parameters,
    requestBody = with_body and { content = bare_content(media_of(node.requestBody)) } or nil,
    responses = { [status] = { description = "", content = bare_content(
      x.type == "subscription" and "text/event-stream" or media_of(success)) } },
    security = node.security, servers = node.servers,
  }
end

local simple = { string = "string", boolean = "boolean", number = "number", integer = "number" }

-- Will the server read the text of this value as the same value, by its schema?
local function is_textual(value, schema)
  if type(schema) ~= "table" or type(schema.type) ~= "string" then
    return false
  elseif schema.type == "array" then
    if core.kind(value) ~= "array" or value[1] == nil then
      return false
    end
    for _, item in ipairs(value) do
      if type(schema.items) ~= "table" or schema.items.type == "array" or not is_textual(item, schema.items) then
        return false
      end
    end
    return true
  end
  return simple[schema.type] == type(value)
end

-- Longer queries are sent as a body: servers and proxies limit the length of URLs.
local MAX_QUERY = 2048

-- Can the query string carry this input?
local function fits_query(input, schema)
  if core.kind(input) ~= "object" then
    return false
  end
  local properties = type(schema) == "table" and schema.properties or {}
  for name, value in pairs(input) do
    if not is_textual(value, properties[name]) then
      return false
    end
  end
  return #(json.encode(input) or "") <= MAX_QUERY
end

-- The input as path parameters and a body.
local function with_body(input, in_path)
  if not in_path[1] or core.kind(input) ~= "object" then
    return { body = input }
  end
  local shaped, rest = {}, members.copy(input)
  for _, node in ipairs(in_path) do
    shaped[node.name], rest[node.name] = input[node.name], nil
  end
  shaped.body = rest
  return shaped
end

local function boolean(value)
  if type(value) == "boolean" then
    return value
  end
end

-- The error object of a problem; retry fields that it lacks are unknown.
local function error_of(problem, retry_after)
  local message = type(problem.detail) == "string" and problem.detail or tostring(problem.title or problem.code)
  local err = errors.new(problem.code, message, problem.details)
  err.retryable, err.mayHaveRun, err.retryAfter = boolean(problem.retryable), boolean(problem.mayHaveRun), retry_after
  return err
end

-- Refusals of our own credentials are not errors of the operation.
local ours = { [401] = true, [403] = true, [407] = true }

--- The operation's error in an answer; other failures are unchanged.
---@param err operations.Error
---@param x operations.openapi.Extension
---@return operations.Error
local function failure(err, x)
  local details = type(err.details) == "table" and err.code:find("^HTTP_") and err.details or {}
  local problem, status = details.body, details.statusCode
  if type(problem) ~= "table" or type(problem.code) ~= "string"
    or ours[status] and not members.contains(x.errors and x.errors[tostring(status)], problem.code) then
    return err
  end
  return error_of(problem, err.retryAfter)
end

-- Does this event end a stream, and how?
local function ending(envelope)
  local event, problem = envelope.meta.event, envelope.data
  if event == "problem" and type(problem) == "table" and type(problem.code) == "string" then
    return true, error_of(problem)
  end
  return event == "end"
end

-- Strings that are bodies themselves, of any media type.
local function is_bytes(schema)
  return type(schema) == "table" and schema.type == "string" and schema.contentMediaType ~= nil
    and schema.contentEncoding == nil
end

local by_query = { GET = true, HEAD = true, DELETE = true }

local function refuse(place, message)
  error({ pointer = place.pointer, message = "x-operation: " .. message })
end

local function needed(schema, place, what)
  if schema == nil then
    refuse(place, ("the schema of the %s is not the document's own"):format(what))
  end
  return schema
end

-- How the operation is called: by query string, by body, or by the one that can carry the input.
local function plans_of(place, x, input_schema, read)
  local node, plans = place.node, {}
  local method, path = read.method, read.path
  if by_query[method] and node.requestBody == nil then
    plans.query = read.plan(bare_of(node, x, false), method)
    method = path == own.path(x) and x.type ~= "mutation" and "POST" or nil
  end
  if method then
    plans.body = read.plan(bare_of(node, x, true), method)
    if not plans.body.body then
      refuse(place, "its body cannot be sent")
    end
    local kind = plans.body.body.types[1]
    kind.kind = is_bytes(input_schema) and "bytes" or kind.kind
    plans.body.input_schema = { properties = { body = input_schema },
      ["$defs"] = type(input_schema) == "table" and input_schema["$defs"] or nil }
  end
  return plans
end

-- An empty body is the empty string for operations whose bodies are strings.
local function mend(envelope, output_schema)
  if envelope and envelope.data == nil and envelope.meta.statusCode ~= 204 and is_bytes(output_schema) then
    envelope.data = ""
  end
  return envelope
end

-- The handler of an operation, from those of its plans.
local function handler_of(plans, place, x, input_schema, answer)
  local output_schema = answer.schema
  local in_path = bare_parameters(own_schemas.parameters(place.node), "path")
  return function(make)
    local query, body = plans.query and make(plans.query), plans.body and make(plans.body)
    local followed = x.task and job.plans(plans.body or plans.query, answer.accept)
    local function concluded(envelope, err, context)
      if envelope and followed then
        envelope, err = job.concluded(followed, envelope, context)
      end
      return mend(envelope, output_schema), err and failure(err, x)
    end
    return function(input, context)
      local envelope, err
      if query and (not body or fits_query(input, input_schema)) then
        envelope, err = query(input, context)
      else
        local shaped = with_body(input, in_path)
        shaped[KEY] = x.idempotencyKey and context.requestId or nil
        envelope, err = body(shaped, context)
      end
      return concluded(envelope, err, context)
    end, followed and {
      wait = function(address, context)
        local envelope, err = job.follow(followed, address, context, true)
        return mend(envelope, output_schema), err and failure(err, x)
      end,
      cancel = function(address, context)
        return job.cancel(followed, address, context)
      end,
    }
  end
end

--- The default path of an operation on a server.
---@param x operations.openapi.Extension
---@return string
function own.path(x)
  return "/" .. url.encode(x.namespace) .. "/" .. url.encode(x.name)
end

---@class operations.openapi.OwnReader
---@field method string
---@field path string
---@field plan fun(node: table, method: string): operations.openapi.Plan  of an Operation Object

--- Reads everything that a call needs.
---@param place operations.openapi.Place  the operation
---@param x operations.openapi.Extension
---@param schemas operations.openapi.Verbatim
---@param read operations.openapi.OwnReader
---@return table parts  { input, output, handler }
function own.read(place, x, schemas, read)
  local node = place.node
  if not select(2, own_schemas.parameters(node)) then
    refuse(place, "its parameters are invalid")
  end
  local input = needed(own_schemas.input(schemas, node, x), place, "input")
  local output = needed(own_schemas.output(schemas, node, x), place, "output")
  local plans = plans_of(place, x, input, read)
  local answer = { accept = x.type == "subscription" and "text/event-stream" or media_of((own_schemas.success(node))),
    schema = output, json = x.type == "subscription" or nil }
  for _, plan in pairs(plans) do
    plan.ending = x.type == "subscription" and ending or nil
    plan.task = x.task and job.preference or nil
  end
  return { input = { schema = input }, output = { value = answer, stream = answer,
    errors = own_schemas.errors(schemas, node, x) }, handler = handler_of(plans, place, x, input, answer) }
end

return own

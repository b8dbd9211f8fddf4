--- What the requests of an operation have in common: decided once, used by every call.
local credential = require("operations.openapi.credential")
local links = require("operations.openapi.links")
local location = require("operations.openapi.location")
local members = require("operations.base.members")
local security = require("operations.openapi.security")
local server = require("operations.openapi.server")

local plan = {}

-- The keys that an input may have.
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
  return server.base({ place.node.servers, item.node.servers, build.source.file.root.servers },
    build.source.file.location, options)
end

local function document_url(build)
  local from = build.source.file.location
  return from and location.is_url(from) and from or nil
end

--- Makes the plan of an operation.
---@param build table
---@param item operations.openapi.Place  path item
---@param place operations.openapi.Place  the operation
---@param info table
---@param input table  from `inputs.read`
---@param output table  from `outputs.read`
---@return operations.openapi.Plan
function plan.new(build, item, place, info, input, output)
  local options = build.config
  local base, base_error = base_of(build, item, place)
  if not base then
    build.report(place.pointer, base_error)
  end
  local requirements = place.node.security
  if requirements == nil then
    requirements = build.source.file.root.security
  end
  local steps = security.plan(requirements, build.schemes, {
    auth = options.auth, http = options.http, ca_file = options.ca_file, proxy = options.proxy,
    location = document_url(build) or base,
  })
  local bound_headers, bound_query = credential.bound(steps, options.headers)
  return {
    method = info.method, base = base, base_error = base_error,
    segments = build.segments, query = build.query, parameters = input.parameters, keys = keys_of(input),
    body = input.body, input_schema = input.schema, headers = options.headers, redirects = output.redirects,
    security = steps, bound_headers = bound_headers, bound_query = bound_query,
    configured = credential.configured(options.headers),
    timeout = options.timeout, max_body = options.max_body, max_event = options.max_event, http = options.http,
    idle_timeout = options.idle_timeout, reconnect = options.reconnect, done = options.done, retry = options.retry,
    next_page = options.next_page, links = links.read(build, place, info.operationId, input.parameters),
    jar = options.jar, ca_file = options.ca_file, proxy = options.proxy, encoded_slashes = options.encoded_slashes,
  }
end

--- A copy of a plan that asks for these media types.
---@param base operations.openapi.Plan
---@param accept string
---@param is_json? boolean  of streams: events are JSON
---@return operations.openapi.Plan
function plan.accepting(base, accept, is_json)
  local copy = members.copy(base)
  copy.accept, copy.json = accept, is_json
  return copy
end

return plan

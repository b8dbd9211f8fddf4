--- Asks a GraphQL service for its schema (GraphQL, September 2025, section 4).
local errors = require("operations.base.error")
local exchange = require("operations.graphql.exchange")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local response = require("operations.openapi.response")

local introspection = {}

-- Types as deep as lists and non-null types can reasonably be nested.
local DEEPEST = 9

-- `parts`: what services of this age know.
local function query_of(parts)
  local reference = "name"
  for _ = 1, DEEPEST do
    reference = "kind name ofType { " .. reference .. " }"
  end
  return (([[
query IntrospectionQuery {
  __schema {
    DESCRIPTION
    queryType { name }
    mutationType { name }
    subscriptionType { name }
    types { ...FullType }
  }
}
fragment FullType on __Type {
  kind
  name
  description
  TYPE
  fields(includeDeprecated: true) {
    name
    description
    ARGUMENTS
    type { ...TypeRef }
    isDeprecated
    deprecationReason
  }
  INPUTS
  interfaces { ...TypeRef }
  enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason }
  possibleTypes { ...TypeRef }
}
fragment InputValue on __InputValue {
  name
  description
  type { ...TypeRef }
  defaultValue
  VALUE
}
fragment TypeRef on __Type { REFERENCE }
]]):gsub("%f[%u]%u%u+%f[^%u]", members.merged(parts, { REFERENCE = reference })))
end

local deprecated = "(includeDeprecated: true) { ...InputValue }"

-- First that of September 2025 (`isOneOf`, `specifiedByURL`, deprecated arguments), then that of June 2018.
local queries = {
  query_of({ DESCRIPTION = "description", TYPE = "specifiedByURL isOneOf", ARGUMENTS = "args" .. deprecated,
    INPUTS = "inputFields" .. deprecated, VALUE = "isDeprecated deprecationReason" }),
  query_of({ DESCRIPTION = "", TYPE = "", ARGUMENTS = "args { ...InputValue }",
    INPUTS = "inputFields { ...InputValue }", VALUE = "" }),
}

-- The errors by which the service answered; nil: it did not answer.
local function errors_of(err)
  return type(err.details) == "table" and err.details.errors or nil
end

local function refused(err)
  local list = errors_of(err)
  if not list or err.retryable then
    return err
  end
  local refusal = errors.new("EXECUTION_ERROR", ("the service does not tell its schema: %s; a file has it: "
    .. "from_graphql.file with config.endpoint, or operations add NAME --graphql FILE --base-url URL"):format(
    err.message), { kind = "introspection", errors = list })
  refusal.retryable, refusal.mayHaveRun = false, false
  return refusal
end

--- Is it the address of a file of types, rather than of a service?
---@param address string
---@return boolean
function introspection.is_file(address)
  local path = address:match("^[^?#]*")
  return path:find("%.graphqls?$") ~= nil or path:find("%.gql$") ~= nil
end

-- Fetches a file of types. It gets no credentials: these are for the service.
local function fetch_file(address, options)
  local reply, err = options.http.request({ url = address, max_body = limits.document, timeout = options.timeout,
    ca_file = options.ca_file, proxy = options.proxy })
  if not reply then
    return nil, err
  elseif reply.status ~= 200 then
    return nil, response.failure(reply)
  end
  return reply.body
end

--- Asks for the schema.
---@param address string  of the service, or of a file of types
---@param options operations.graphql.Config  checked
---@return table|string|nil result  { __schema = ... }, or the text of the file
---@return operations.Error? err  EXECUTION_ERROR with `details.kind` "introspection": a file is needed
function introspection.fetch(address, options)
  if introspection.is_file(address) then
    return fetch_file(address, options)
  end
  local endpoint = exchange.new(members.merged(options, { endpoint = address, method = "POST", persisted = false,
    max_body = limits.document, partial = "data" }))
  local envelope, err
  for _, query in ipairs(queries) do
    envelope, err = exchange.send(endpoint, { type = "query", query = query, operationName = "IntrospectionQuery" })
    if envelope or err.retryable or not errors_of(err) then
      break
    end
  end
  if not envelope then
    return nil, refused(err)
  elseif type(envelope.data) ~= "table" or type(envelope.data.__schema) ~= "table" then
    return nil, errors.new("EXECUTION_ERROR", "the answer to the introspection query has no __schema",
      { kind = "introspection" })
  end
  return envelope.data
end

return introspection

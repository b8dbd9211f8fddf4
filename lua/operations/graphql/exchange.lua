--- Sends requests to a GraphQL service and reads its answers (GraphQL over HTTP, draft of 2025).
---
--- The service is one operation of an HTTP API: credentials, TLS, retries, proxies and files are those of
--- `operations.openapi`. What is its own: persisted queries, the answer `{ data, errors, extensions }`.
local answers = require("operations.graphql.answer")
local call = require("operations.openapi.call")
local core = require("operations.core")
local errors = require("operations.base.error")
local from_openapi = require("operations.openapi")
local hexadecimal = require("operations.base.hexadecimal")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local property_order = require("operations.base.property_order")
local relay = require("operations.openapi.relay")
local requests = require("operations.openapi.request")
local retry = require("operations.net.http.retry")
local task = require("operations.task")
local url = require("operations.base.url")

local exchange = {}

---@class operations.graphql.Endpoint
---@field options operations.graphql.Config
---@field plans table<string, operations.openapi.Plan>  by way of sending, made on first use
---@field hashes boolean  queries are sent by their hash
---@field policy? operations.RetryPolicy
---@field streams? "websocket"|"sse"  how subscriptions are opened, once it is known

-- Options of a configuration that concern requests.
local passed_on = { "headers", "timeout", "max_body", "idle_timeout", "retry", "jar", "unix_socket", "ca_file", "proxy",
  "redirect_all", "http", "accessControl", "files" }

local RESPONSE = "application/graphql-response+json"
local ACCEPT = RESPONSE .. ", application/json;q=0.9"

local function query_parameters()
  local list = {}
  for i, name in ipairs({ "query", "operationName", "variables", "extensions" }) do
    list[i] = { name = name, ["in"] = "query", schema = { type = "string" } }
  end
  return list
end

-- Servers refuse requests that a web page could send to them unless one of their headers is there.
local preflight = { ["Apollo-Require-Preflight"] = "true", ["GraphQL-Require-Preflight"] = "1" }

-- The body of a request with files: two texts, then the files by number.
local files_schema = { type = "object", properties = { operations = { type = "string" }, map = { type = "string" } },
  additionalProperties = { type = "string", format = "binary" } }

local json_body = { content = { ["application/json"] = {} } }

-- The ways of sending a request, as operations of an OpenAPI document.
local ways = {
  post = { method = "post", accept = ACCEPT, operation = { requestBody = json_body } },
  stream = { method = "post", accept = "text/event-stream", operation = { requestBody = json_body } },
  get = { method = "get", accept = ACCEPT, headers = preflight, operation = { parameters = query_parameters() } },
  upload = { method = "post", accept = ACCEPT, headers = preflight, operation = { requestBody = { content = {
    ["multipart/form-data"] = { schema = files_schema } } } } },
}

-- The plan of a way for a type of operation: only queries may be sent twice.
local function plan_of(endpoint, name, is_query)
  local key = name .. (is_query and " again" or "")
  if endpoint.plans[key] then
    return endpoint.plans[key]
  end
  local way, options = ways[name], endpoint.options
  local given = { auth = options.auth, validate = "off" }
  for _, option in ipairs(passed_on) do
    given[option] = options[option]
  end
  local origin, rest = options.endpoint:match("^([^:]+://[^/?#]*)([^#]*)")
  given.base_url = origin
  local path = (rest:find("^/") and rest or "/" .. rest):gsub("[{}]", { ["{"] = "%7B", ["}"] = "%7D" })
  local operation = members.merged(way.operation, { operationId = "graphql", responses = { default = {
    description = "", content = { [RESPONSE] = {}, ["application/json"] = {} } } } })
  local document = { openapi = "3.1.0", info = { title = "graphql", version = "1" },
    paths = { [path] = { [way.method] = operation } } }
  local definitions = assert(from_openapi.document(document, given))
  local plan = relay.plan_of(definitions[1].handler)()
  plan.accept, plan.head = way.accept, requests.head({ Accept = way.accept }, way.headers, options.headers)
  plan.options = members.merged(plan.options, { idempotent = is_query or nil, cert_file = options.cert_file,
    key_file = options.key_file })
  if name == "stream" then
    call.open_ended(plan)
  end
  endpoint.plans[key] = plan
  return plan
end

--- Makes the endpoint of a service. It connects when the first request is sent.
---@param options operations.graphql.Config  checked
---@return operations.graphql.Endpoint
function exchange.new(options)
  return { options = options, plans = {}, hashes = options.persisted == true, policy = retry.policy(options.retry) }
end

--- The error of a service without an address; nil: it has one.
---@param endpoint operations.graphql.Endpoint
---@return operations.Error?
function exchange.unplaced(endpoint)
  if endpoint.options.endpoint then
    return nil
  end
  local err = errors.new("EXECUTION_ERROR", "the service has no address: config.endpoint (--base-url) names its URL",
    { kind = "configuration" })
  err.mayHaveRun = false
  return err
end

local message_order = { "operationName", "query", "variables", "extensions" }

-- The path in the input for one in a body: of variables, or of a file by its number.
local function input_path(path, files)
  local number, rest = path:match("^/body/(%d+)(.*)$")
  local file = number and files and files[tonumber(number) + 1]
  if file then
    return file.path:gsub("^variables", ""):gsub("%.", "/") .. rest
  end
  return (path:gsub("^/body", ""):gsub("^/variables", ""))
end

-- The error of a value that cannot be sent, at its place in the input.
local function at_input(err, request)
  local issue = type(err.details) == "table" and (err.details[1] or err.details)
  if err.code ~= "VALIDATION_ERROR" or type(issue.path) ~= "string" then
    return err
  end
  local path, text = input_path(issue.path, request.files), issue.message or err.message
  text = text:sub(1, #issue.path) == issue.path and text:sub(#issue.path + 3) or text
  local placed = errors.new(err.code, path .. ": " .. text, { { path = path, keyword = "serialization",
    message = text } })
  placed.mayHaveRun = false
  return placed
end

--- The error of variables that cannot be sent as JSON; nil: they can.
---@param request operations.graphql.Request
---@return operations.Error?
function exchange.misfit(request)
  local _, err = json.encode(request.variables or core.null)
  return err and at_input(err, request)
end

--- The message of a request, as every protocol sends it.
---@param endpoint operations.graphql.Endpoint
---@param request operations.graphql.Request
---@param by_hash? boolean  without the query
---@return table
function exchange.message(endpoint, request, by_hash)
  local message = marked.object({ query = not by_hash and request.query or nil, variables = request.variables,
    operationName = request.operationName })
  if endpoint.hashes then
    message.extensions = { persistedQuery = { version = 1, sha256Hash = hexadecimal.of(core.sha256(request.query)) } }
  end
  property_order.set(message, message_order)
  return message
end

-- Raises what cannot be encoded; `run` returns it.
local function encoded(value)
  return value ~= nil and assert(json.encode(value, { keep_order = true })) or nil
end

-- The input of the way `get`.
local function as_parameters(message)
  return { query = message.query, operationName = message.operationName, variables = encoded(message.variables),
    extensions = encoded(message.extensions) }
end

local function size_of(parameters)
  local size = 0
  for _, value in pairs(parameters) do
    size = size + #url.encode(value)
  end
  return size
end

-- A copy of a value with null at the end of the path that `names` has from `at` on.
local function without(value, names, at)
  local name = names[at]
  if not name then
    return core.null
  end
  local key = core.kind(value) == "array" and tonumber(name) + 1 or name
  local copy = property_order.carry(members.copy(value), value)
  copy[key] = without(value[key], names, at + 1)
  return copy
end

-- The body of a message whose variables hold files: the GraphQL multipart request specification.
local function upload(message, files)
  local body, map, numbers = {}, marked.object(), {}
  for i, file in ipairs(files) do
    local number, names = tostring(i - 1), {}
    for name in file.path:gmatch("[^.]+") do
      names[#names + 1] = name
    end
    message = without(message, names, 1)
    map[number], body[number], numbers[i] = marked.array({ file.path }), file.value, number
  end
  property_order.set(map, numbers)
  body.operations = assert(json.encode(message, { keep_order = true }))
  body.map = assert(json.encode(map, { keep_order = true }))
  property_order.set(body, members.joined({ "operations", "map" }, numbers)) -- the specification asks for this order
  return body
end

-- The way that fits a message, and its input there.
local function shaped(endpoint, request, message)
  if request.files and request.files[1] then
    return "upload", { body = upload(message, request.files) }
  elseif request.type == "query" and endpoint.options.method == "GET" then
    local parameters = as_parameters(message)
    if size_of(parameters) <= limits.graphql_query then
      return "get", parameters
    end
  end
  return "post", { body = message }
end

-- Sends a message. Returns as `call.run`.
local function run(endpoint, request, message, context)
  local ok, way, input = pcall(shaped, endpoint, request, message)
  if not ok then
    return nil, at_input((errors.from(way)), request)
  end
  local envelope, err = call.run(plan_of(endpoint, way, request.type == "query"), input, context)
  return envelope, err and at_input(err, request)
end

-- Sends a request; a persisted one by its hash first. The service says whether it knows the hash.
local function send(endpoint, request, context)
  local has_files = request.files and request.files[1]
  if endpoint.hashes and not has_files then
    local answer, err = answers.read(run(endpoint, request, exchange.message(endpoint, request, true), context))
    local refusal = answer and answers.hash_refusal(answer)
    if refusal == "unsupported" then
      endpoint.hashes = false
    elseif not refusal then
      return answer, err
    end
  end
  return answers.read(run(endpoint, request, exchange.message(endpoint, request), context))
end

-- ms after which a request is sent again that the service throttled in an answer of status 200; nil: it is not. Other
-- statuses are for the HTTP client, which repeats requests by the same policy.
local function delay_of(endpoint, request, tries, err)
  if endpoint.policy and err and type(err.details) == "table" and err.details.statusCode == 200 then
    local kind = { once = request.type ~= "query", upload = request.files ~= nil }
    return retry.delay(endpoint.policy, tries, kind, nil, err)
  end
end

--- Sends a query or mutation and waits for its answer.
---@param endpoint operations.graphql.Endpoint
---@param request operations.graphql.Request
---@param context any
---@return operations.Envelope? envelope  its data; `meta.errors` beside data, `meta.extensions`
---@return operations.Error? err
function exchange.send(endpoint, request, context)
  local unplaced = exchange.unplaced(endpoint)
  if unplaced then
    return nil, unplaced
  end
  local tries = 0
  while true do
    local answer, err = send(endpoint, request, context)
    local envelope
    if answer then
      envelope, err = answers.outcome(answer, request, endpoint.options, context)
    end
    tries = tries + 1
    local delay = delay_of(endpoint, request, tries, err)
    if not delay then
      return envelope, err
    end
    task.sleep(delay / 1000)
  end
end

--- Opens a request whose answer is a stream of server-sent events.
---@param endpoint operations.graphql.Endpoint
---@param request operations.graphql.Request
---@param context any
---@return operations.HttpStream? source
---@return operations.Error? err
---@return operations.openapi.Credential[]? credentials  which errors must not show
function exchange.open(endpoint, request, context)
  return call.exchange(plan_of(endpoint, "stream"), { body = exchange.message(endpoint, request) }, context)
end

--- The steps that make the credentials of a request.
---@param endpoint operations.graphql.Endpoint
---@return operations.openapi.CredentialStep[]
function exchange.security(endpoint)
  return plan_of(endpoint, "stream").security
end

return exchange

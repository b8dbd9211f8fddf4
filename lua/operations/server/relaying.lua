--- Requests for imported operations that are served as their own document says (`paths = "source"`): reads what the
--- pipeline has to see, and makes the answer of what the API said.
local disclosure = require("operations.base.disclosure")
local errors = require("operations.base.error")
local header_field = require("operations.net.http.header_field")
local input_reader = require("operations.server.input_reader")
local json = require("operations.base.json")
local media = require("operations.openapi.media")
local members = require("operations.base.members")
local relays = require("operations.openapi.relay")
local sink = require("operations.server.sink")
local wire = require("operations.openapi.wire")

local relaying = {}

-- Header fields of requests that are sent on, beside the operation's parameters. Credentials and cookies are for this
-- server; others concern the connection.
local sent_on = members.set({ "accept", "accept-encoding", "accept-language", "cache-control", "content-encoding",
  "content-language", "content-disposition", "content-md5", "digest", "content-digest", "if-match",
  "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "idempotency-key", "last-event-id",
  "pragma", "prefer", "range", "tracestate" })

-- Header fields of answers that are sent on, beside those that the document declares. Others concern the connection,
-- the cookies and the origin of the API.
local sent_back = members.set({ "accept-ranges", "age", "allow", "cache-control", "content-digest",
  "content-disposition", "content-encoding", "content-language", "content-location", "content-range", "content-type",
  "deprecation", "digest", "etag", "expires", "last-modified", "link", "location", "preference-applied", "retry-after",
  "sunset", "vary" })

-- Fields that the document may declare, and that are never sent back.
local never = members.set({ "connection", "content-length", "date", "keep-alive", "proxy-authenticate", "server",
  "set-cookie", "set-cookie2", "strict-transport-security", "te", "trailer", "transfer-encoding", "upgrade", "via",
  "www-authenticate", "x-request-id", "content-security-policy", "x-content-type-options", "alt-svc" })

local function refuse(status, message, issues)
  return nil, errors.new("VALIDATION_ERROR", message, issues), status
end

local function headers_of(call, request)
  local headers = {}
  for name, value in pairs(request.headers) do
    if sent_on[name] then
      headers[name] = value
    end
  end
  headers["accept"] = headers["accept"] or "*/*"
  headers["accept-encoding"] = headers["accept-encoding"] or "identity"
  headers["x-request-id"] = call.id
  return headers
end

local function is_in_range(essence, range)
  local prefix = range:match("^(.*)%*$")
  return prefix == "*/" or prefix ~= nil and essence:sub(1, #prefix) == prefix
end

-- The declared type of a body; nil if there is none.
local function type_of(plan, content_type)
  local essence = media.essence(content_type)
  for _, made in ipairs(plan.body.types) do
    if made.essence == essence then
      return made
    end
  end
  for _, made in ipairs(plan.body.types) do
    if is_in_range(essence, made.essence) then
      return made
    end
  end
end

-- Answers to the same request, but for the accepted types, are the same.
local function keeps(route, request)
  local headers = request.headers
  if request.method ~= "GET" or route.output_media or headers.range then
    return nil
  end
  for name in pairs(headers) do
    if name:find("^if%-") then
      return nil
    end
  end
  return (headers.accept or "") .. "\n" .. (headers["accept-encoding"] or "") .. "\n"
    .. (headers["accept-language"] or "")
end

local function has_body(request)
  local length = tonumber(request.headers["content-length"])
  if type(request.body) == "string" then
    return request.body ~= ""
  end
  return request.body ~= nil and length ~= 0
end

-- Checks what the head of a request says of its body. Returns whether the body is read here, or passes unread.
local function announced(plan, request, options)
  local headers = request.headers
  local length, content_type = tonumber(headers["content-length"]), headers["content-type"]
  if length and length > options.max_body then
    return refuse(413, ("the body is larger than max_body (%d bytes)"):format(options.max_body))
  elseif not content_type or not type_of(plan, content_type) then
    local names = {}
    for i, made in ipairs(plan.body.types) do
      names[i] = made.name
    end
    return refuse(415, ("Content-Type: %s expected, got %s"):format(table.concat(names, ", "), content_type or "none"))
  end
  local charset = media.charset(content_type)
  return media.is_json(media.essence(content_type)) and not headers["content-encoding"]
    and (not charset or charset:lower():find("^utf%-?8$") ~= nil) and "read" or "unread"
end

-- A body that passes in pieces; the failure of its reader is that of the call.
local function pieces_of(relay, body, max)
  local size = 0
  local function read()
    local piece, err = body()
    size = size + (piece and #piece or 0)
    if size > max then
      err = errors.new("VALIDATION_ERROR", ("the body is larger than max_body (%d bytes)"):format(max),
        { statusCode = 413 })
    end
    relay.failure = err or relay.failure
    return not err and piece or nil, err
  end
  return { read = read, close = function() end, again = false }
end

local function take_unread(relay, request, options)
  local body = request.body
  relay.unread, relay.content_type = true, request.headers["content-type"]
  if type(body) == "string" then
    relay.body, relay.size = body, #body
    return true
  end
  relay.body = pieces_of(relay, body, options.max_body)
  relay.size = tonumber(request.headers["content-length"])
  return true
end

-- Reads JSON, once the parameters are accepted.
local function take_json(call, relay, request)
  local options, route, plan = call.server.options, call.route, relay.plan
  local ok, err = call.server.registry:admit(route.id, relay.input, { identity = call.identity,
    relay = { unread = true } })
  if not ok then
    return nil, err
  end
  local body, status
  body, err, status = input_reader.body(request, options.max_body)
  if not body then
    return nil, err, status
  end
  local value
  value, err = json.decode(body, { max_depth = options.max_depth, unique = true }) -- the API may read another one
  if err then
    local message = "the body is not JSON: " .. err.message
    return refuse(400, message, { { path = "", keyword = "format", message = message } })
  end
  relay.body, relay.size, relay.content_type = body, #body, request.headers["content-type"]
  relay.input.body = value
  if plan.body.key then
    relay.input[plan.body.key] = type_of(plan, relay.content_type).name
  end
  return true
end

--- Reads a request. What can be refused by its head is refused before its body is read.
---@param call operations.ServerCall
---@param request operations.ServerRequest
---@param plan operations.openapi.Plan
---@param query? string  raw
---@return operations.Relay?
---@return operations.Error? err
---@return integer? status
function relaying.read(call, request, plan, query)
  if query and query:gsub("%%%x%x", ""):find("%", 1, true) then
    return refuse(400, "the query is malformed: percent-encoding expected")
  end
  local input, raw = wire.read(plan, call.below, query, request.headers)
  if not input then
    return refuse(422, ("%s: %s"):format(raw[1].path, raw[1].message), raw)
  end
  local relay = { method = request.method, headers = headers_of(call, request), input = input, raw = raw,
    plan = plan, keeps = keeps(call.route, request) }
  local ok, err, status = true, nil, nil
  if plan.body and has_body(request) then
    ok, err, status = announced(plan, request, call.server.options)
    if ok == "unread" then
      ok = take_unread(relay, request, call.server.options)
    elseif ok then
      ok, err, status = take_json(call, relay, request)
    end
  end
  if not ok then
    return nil, err, status
  end
  relay.given, relay.input = input, members.copy(input) -- the pipeline may change its own
  return relay
end

-- A reference to the API as one to this server.
local function local_reference(call, plan, target)
  local prefixes = members.joined(plan.bases or { plan.base })
  if target:find("^/[^/]") then
    prefixes[#prefixes + 1] = plan.base:match("^%a[%w+.-]*://[^/]*(.*)$") or ""
  end
  for _, prefix in ipairs(prefixes) do
    if target:sub(1, #prefix) == prefix and target:find("^[/?#]", #prefix + 1) then
      return (call.request.outer_prefix or "") .. call.server.options.prefix .. target:sub(#prefix + 1)
    end
  end
  return target
end

-- With credentials at this server, caches that many callers share must not keep an answer.
local function private(value)
  local kept = { "private" }
  for part in value:gmatch("[^,]+") do
    local directive = header_field.trim(part)
    local name = directive:match("^[^=]*"):lower()
    if name ~= "public" and name ~= "private" and name ~= "s-maxage" and name ~= "" then
      kept[#kept + 1] = directive
    end
  end
  return table.concat(kept, ", ")
end

local function answer_headers(call, plan, given)
  local headers = { ["cache-control"] = "no-store" }
  for name, value in pairs(given) do
    if (sent_back[name] or plan.answer_headers and plan.answer_headers[name]) and not never[name]
      and not name:find("^access%-control%-") and type(value) == "string" then
      headers[name] = value
    end
  end
  for _, name in ipairs({ "location", "content-location" }) do
    headers[name] = headers[name] and local_reference(call, plan, headers[name])
  end
  headers.link = headers.link and headers.link:gsub("<([^>]*)>", function(target)
    return "<" .. local_reference(call, plan, target) .. ">"
  end)
  if call.server.options.authorize and headers["cache-control"] ~= "no-store" then
    headers["cache-control"] = private(headers["cache-control"])
  end
  if not media.is_json(media.essence(headers["content-type"])) then
    headers["content-security-policy"] = "sandbox; default-src 'none'" -- a page of the API is none of this origin
  end
  return headers
end

local function response_of(call, relay, head, body)
  local response = { status = head.status, headers = answer_headers(call, relay.plan, head.headers), body = body,
    length = type(body) == "function" and head.length or nil }
  if response.length then
    response.headers["content-length"] = ("%d"):format(response.length)
  end
  return response
end

-- May the caller read what the API said of its refusal?
local function is_told(call, status)
  local rule = call.server.options.upstream_errors or "client"
  return rule == "all" or rule == "client" and disclosure.is_callers(status)
end

--- Calls the operation and makes the answer.
---@param call operations.ServerCall
---@param relay operations.Relay
---@param context table
---@param started fun(worker: operations.Task)
---@param done fun()
---@return operations.ServerResponse?
---@return operations.Envelope? envelope  an answer that the API did not give
---@return operations.Error? err
function relaying.run(call, relay, context, started, done)
  local head, body, envelope, err = sink.relay(call.server.registry, call.route, relay, context, started, done)
  if head then
    return response_of(call, relay, head, body)
  elseif envelope and envelope.meta.raw then
    return response_of(call, relay, { status = envelope.meta.statusCode, headers = envelope.meta.headers },
      envelope.meta.raw)
  end
  local refused, status = relay.refused, err and type(err.details) == "table" and err.details.statusCode
  if refused and refused.status == status and is_told(call, status) then
    call.code = err.code
    return response_of(call, relay, refused, refused.body)
  end
  return nil, envelope, relay.failure or err
end

--- The plan of an operation that is served as its document says.
---@param registry operations.Registry
---@param id string
---@return operations.openapi.Plan?  nil: its handler is not that of an import
function relaying.plan(registry, id)
  local make = relays.plan_of(registry:origin(id))
  local ok, plan = pcall(make or tostring)
  return make and ok and plan or nil
end

return relaying

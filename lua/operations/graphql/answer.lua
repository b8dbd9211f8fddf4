--- Answers of GraphQL services as envelopes and errors (GraphQL, September 2025, section 7; GraphQL over HTTP). No I/O.
local core = require("operations.core")
local errors = require("operations.base.error")
local header_field = require("operations.net.http.header_field")
local members = require("operations.base.members")

local answer = {}

---@class operations.graphql.Answer
---@field body table  data, errors, extensions
---@field statusCode integer
---@field headers table
---@field failure? operations.Error  of a status that is no success

local function has_message(entry)
  return type(entry) == "table" and type(entry.message) == "string"
end

-- An error with a message; some services give the text alone, or none.
local function entry_of(given)
  if type(given) == "string" then
    return { message = given }
  elseif type(given) == "table" then
    return has_message(given) and given or members.merged(given, { message = "the service gives no message" })
  end
end

-- The errors of an answer: a list, or what some services give in its place, one error.
local function errors_of(body)
  local given, list = body.errors, {}
  if given ~= "" and (type(given) ~= "table" or next(given) ~= nil) then
    for _, entry in ipairs(core.kind(given) == "array" and given or { given }) do
      list[#list + 1] = entry_of(entry)
    end
  end
  return list
end

local function is_answer(body)
  return core.kind(body) == "object" and (body.data ~= nil or errors_of(body)[1] ~= nil)
end

-- A body with an error status may be of something in front of the service: its errors must be of GraphQL's form.
local function is_refusal(body)
  local list = is_answer(body) and type(body.errors) == "table" and body.errors or {}
  return is_answer(body) and (body.data ~= nil or has_message(list[1]))
end

-- Refusals of our own credentials, which are not answers of the operation.
local ours = { [401] = true, [403] = true, [407] = true }

--- Reads what `call.run` returned.
---@param envelope? operations.Envelope
---@param failure? operations.Error
---@return operations.graphql.Answer?
---@return operations.Error? err
function answer.read(envelope, failure)
  local details = failure and type(failure.details) == "table" and failure.details or {}
  if envelope then
    local meta = envelope.meta
    if is_answer(envelope.data) then
      return { body = envelope.data, statusCode = meta.statusCode, headers = meta.headers }
    end
    return nil, errors.new("EXECUTION_ERROR",
      ("expected an answer of GraphQL with data or errors, got %s of content type %s"):format(
        envelope.data == nil and "an empty body" or "a body", meta.contentType or "none"),
      { kind = "response", statusCode = meta.statusCode, headers = meta.headers, body = envelope.data })
  elseif failure.code:find("^HTTP_%d") and not ours[details.statusCode] and is_refusal(details.body) then
    return { body = details.body, statusCode = details.statusCode, headers = details.headers, failure = failure }
  end
  return nil, failure
end

local LONGEST_CODE = 100 -- bytes; a longer text is no code

local function code_of(entry)
  local code = type(entry.extensions) == "table" and entry.extensions.code
  return type(code) == "string" and #code <= LONGEST_CODE and not code:find("%c") and code or nil
end

local hash_refusals = {
  PERSISTED_QUERY_NOT_FOUND = "unknown", PersistedQueryNotFound = "unknown",
  PERSISTED_QUERY_NOT_SUPPORTED = "unsupported", PersistedQueryNotSupported = "unsupported",
}

--- Does the service refuse the hash of a query: because it does not know the query, or any hash?
---@param given operations.graphql.Answer
---@return "unknown"|"unsupported"|nil
function answer.hash_refusal(given)
  for _, entry in ipairs(errors_of(given.body)) do
    local found = hash_refusals[code_of(entry)] or hash_refusals[entry.message]
    if found then
      return found
    end
  end
end

-- Codes by which services say that too much was asked of them: Shopify, GitHub, Linear, Monday, Apollo.
local throttling = members.set({ "THROTTLED", "RATE_LIMITED", "RATELIMITED", "RATE_LIMIT", "RATE_LIMIT_EXCEEDED",
  "TOO_MANY_REQUESTS", "COMPLEXITY_BUDGET_EXHAUSTED" })

local function is_throttling(list)
  for _, entry in ipairs(list) do
    if throttling[code_of(entry)] or type(entry.type) == "string" and throttling[entry.type] then
      return true
    end
  end
  return false
end

local LONGEST_WAIT = 2 ^ 53 -- ms, as of Retry-After

local function number(value)
  return type(value) == "number" and value > 0 and value < math.huge and value or nil
end

-- ms until the service has restored the points that a query costs, as Shopify counts them.
local function restored_in(cost)
  local status = type(cost) == "table" and type(cost.throttleStatus) == "table" and cost.throttleStatus or {}
  local wanted, rate = type(cost) == "table" and number(cost.requestedQueryCost), number(status.restoreRate)
  if wanted and rate and type(status.currentlyAvailable) == "number" then
    return number(math.ceil(math.min((wanted - status.currentlyAvailable) / rate * 1000, LONGEST_WAIT)))
  end
end

-- ms to wait, as the errors of a throttled request say.
local function wait_of(list, extensions)
  for _, entry in ipairs(list) do
    local own = type(entry.extensions) == "table" and entry.extensions or {}
    local seconds = number(own.retryAfter) or number(own.retry_after) or number(own.retry_in_seconds)
    if seconds then
      return math.min(seconds * 1000, LONGEST_WAIT)
    end
  end
  return restored_in(extensions.cost)
end

-- "user.posts[0].title"
local function path_text(path)
  local names = ""
  for _, key in ipairs(type(path) == "table" and path or {}) do
    if type(key) == "number" then
      names = ("%s[%.0f]"):format(names, key)
    elseif type(key) == "string" then
      names = names .. (names == "" and "" or ".") .. key
    end
  end
  return names
end

-- The first error's message and place, and the number of the others.
local function message_of(list)
  local first, more = list[1], #list - 1
  local place = path_text(first.path)
  return first.message .. (place ~= "" and " (at " .. place .. ")" or "")
    .. (more > 0 and (", and %d more error%s"):format(more, more == 1 and "" or "s") or "")
end

--- The error object of errors that an answer has. Its code is the first error's `extensions.code`, unless that is a
--- code of this library with another meaning.
---@param given operations.graphql.Answer
---@return operations.Error
function answer.failure(given)
  local list, body = errors_of(given.body), given.body
  local extensions = type(body.extensions) == "table" and body.extensions or {}
  local code = code_of(list[1])
  local own = code and code ~= "" and not errors.codes[code] and code
  local err = errors.new(own or "GRAPHQL_ERROR", message_of(list), {
    kind = "graphql", errors = body.errors, path = list[1].path, data = body.data, extensions = body.extensions,
    cost = extensions.cost, statusCode = given.statusCode, headers = given.headers,
  })
  local failure = given.failure or {}
  -- Without `data` the service refused the request before it ran anything.
  err.retryable, err.mayHaveRun = failure.retryable, body.data ~= nil
  if is_throttling(list) then
    err.retryable = true
  end
  if err.retryable then
    err.retryAfter = header_field.retry_after(given.headers) or wait_of(list, extensions)
  elseif err.retryable == nil and body.data == nil then
    err.retryable = false
  end
  return err
end

-- The result: the value of the root field, or all data. Nil: there is none.
local function result_of(body, field)
  local data = body.data
  if not field or data == core.null then
    return data
  elseif core.kind(data) == "object" then
    return data[field]
  end
end

local function log_errors(list, context)
  if type(context) == "table" and context.log then
    context.log("warn", "the answer has data and errors: " .. message_of(list))
  end
end

--- The outcome of an answer. An event of a subscription that has errors and no result does not end the subscription:
--- its data is null.
---@param given operations.graphql.Answer
---@param request operations.graphql.Request
---@param options { partial: "data"|"fail"|nil }
---@param context any
---@return operations.Envelope? envelope
---@return operations.Error? err
function answer.outcome(given, request, options, context)
  local list, result = errors_of(given.body), result_of(given.body, request.field)
  local is_event = request.type == "subscription" and given.body.data ~= nil
  local is_empty = result == nil or result == core.null
  if list[1] and (is_empty and not is_event or options.partial == "fail") then
    return nil, answer.failure(given)
  elseif list[1] and result == nil then
    result = core.null
  elseif result == nil then
    return nil, errors.new("EXECUTION_ERROR", ("the answer has no %s and no errors"):format(request.field or "data"),
      { kind = "response", statusCode = given.statusCode, headers = given.headers, body = given.body })
  end
  if list[1] then
    log_errors(list, context)
  end
  return core.http_envelope(result, { statusCode = given.statusCode, headers = given.headers,
    contentType = given.headers["content-type"], errors = list[1] and given.body.errors or nil,
    extensions = given.body.extensions })
end

return answer

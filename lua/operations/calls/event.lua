--- The events of the call protocol: `{ type, id, payload }`; each payload has its `requestId`, which equals the `id`.
--- Checks events from peers against the schema of their type before other code sees them. Specification:
--- doc/protocol.md.
local core = require("operations.core")
local errors = require("operations.base.error")
local json = require("operations.base.json")
local schema = require("operations.schema")
local schemas = require("operations.calls.schemas")

local call_event = {}

---@class operations.CallEvent
---@field type string  "call.requested", "call.responded", "call.completed", "call.aborted", "call.error",
---  "call.credit", "call.progress"
---@field id? string  the requestId; "" from peers that send it in the payload only
---@field payload table  `requestId` and the members of its type

local ID = schemas.call_events["call.aborted"].properties.id.maxLength

-- Checks the payload of an event of a known type, and its id.
local compiled = {}
for name, event in pairs(schemas.call_events) do
  compiled[name] = assert(schema.compile(event.properties.payload))
end

--- May it be the id of a request?
---@param id any
---@return boolean
function call_event.is_id(id)
  -- Counts the bytes of UTF-8 that begin a character.
  return type(id) == "string" and id ~= "" and (#id <= ID or select(2, id:gsub("[^\128-\191]", "")) <= ID)
end

local function invalid(message, details)
  return errors.new("VALIDATION_ERROR", message, details)
end

-- `id`, which routers read, and the requestId, which peers read, must be equal.
local function wrong_id()
  return { { path = "/id", keyword = "const", message = "expected the requestId of the payload, or nothing" } }
end

local function within_payload(issues)
  for _, issue in ipairs(issues) do
    issue.path, issue.schemaPath = "/payload" .. issue.path, "/properties/payload" .. issue.schemaPath
  end
  return issues
end

local function refused(name, issues)
  return nil, invalid(("%s: %s: %s"):format(name, issues[1].path, issues[1].message), issues)
end

--- Checks an event that arrived.
---@param event any
---@return string? type
---@return table|operations.Error payload_or_error  VALIDATION_ERROR: details lists every issue by path
function call_event.check(event)
  local name = type(event) == "table" and event.type
  local known = compiled[name]
  if not known then
    return nil, invalid(("not an event of the call protocol: type %s"):format(tostring(name)))
  end
  local payload, id = event.payload, event.id
  local ok, issues = known:check(payload)
  if not ok then
    return refused(name, within_payload(issues))
  elseif id and id ~= "" and id ~= payload.requestId then
    return refused(name, wrong_id())
  end
  return name, payload
end

--- Makes an event for the wire.
---@param name string
---@param payload table
---@param from? string  on Redis: the process that sends it
---@return operations.CallEvent
function call_event.new(name, payload, from)
  return { type = name, id = payload.requestId, payload = payload, from = from }
end

--- The `ttl` of a request that is sent now.
---@param deadline? number  ms since the epoch
---@return number? ms  ms left
function call_event.ttl(deadline)
  return deadline and math.max(0, deadline - core.now())
end

--- Has the sender of this request's payload announced that it supports more than the five events and their fields? Then
--- it is also sent `seq`, `retryable`, `mayHaveRun` and `retryAfter`.
---@param payload table
---@return boolean
function call_event.announces(payload)
  return payload.credit ~= nil or payload.ttl ~= nil
end

--- Makes the `call.error` payload of an error object.
---@param request_id string
---@param err operations.Error
---@param plain? boolean  for a peer that announced nothing
---@return table
function call_event.failure(request_id, err, plain)
  local payload = {
    requestId = request_id,
    code = err.code ~= "" and err.code or "UNKNOWN_ERROR",
    message = err.message,
    details = err.details,
  }
  if not plain then
    payload.retryable, payload.mayHaveRun, payload.retryAfter = err.retryable, err.mayHaveRun, err.retryAfter
  end
  return payload
end

local REASON = 4096 -- bytes

--- Makes a `call.aborted` payload. A reason that cannot be sent is left out, so that the abort arrives.
---@param request_id string
---@param reason string
---@return table
function call_event.aborted(request_id, reason)
  local fits = #reason <= REASON and (not reason:find("[\128-\255]") or json.encode(reason))
  return { requestId = request_id, reason = fits and reason or nil }
end

--- The id of a request that is invalid otherwise, if it has one: its caller waits for an answer.
---@param event any
---@return string?
function call_event.id_of_request(event)
  local payload = type(event) == "table" and event.type == "call.requested" and event.payload
  local id = type(payload) == "table" and payload.requestId
  return call_event.is_id(id) and id or nil
end

--- The error of a call whose deadline has passed.
---@param id string  of the operation
---@param deadline number  ms since the epoch
---@return operations.Error
function call_event.late(id, deadline)
  return call_event.error({ code = "TIMEOUT", message = id .. ": deadline passed", details = { deadline = deadline },
    mayHaveRun = true })
end

--- The error object of a `call.error` payload.
---@param payload { code: string, message: string, details?: any, retryable?: boolean, mayHaveRun?: boolean,
---  retryAfter?: number }  ms
---@return operations.Error
function call_event.error(payload)
  local err = errors.new(payload.code, payload.message, payload.details)
  err.retryable, err.mayHaveRun, err.retryAfter = payload.retryable, payload.mayHaveRun, payload.retryAfter
  return err
end

--- The failure of what is asked of a call map that is closed.
---@return operations.Error
function call_event.closed()
  return call_event.error({ code = "TRANSPORT_LOST", message = "the call map is closed", retryable = false,
    mayHaveRun = false })
end

-- Prefixes of a value's path in an event or its payload, for callers that know only the rest of the path.
local frames = { "^/payload/input(.*)$", "^/payload/output/data(.*)$", "^/payload(/.*)$", "^/input(.*)$" }

-- A value that JSON cannot hold, as an issue of the input or the result.
local function unfit(err)
  local path = type(err.details) == "table" and err.details.path
  if not path then
    return err
  end
  local message, at = err.message:sub(#path + 1):gsub("^: ", ""), nil
  for _, frame in ipairs(frames) do
    at = at or path:match(frame)
  end
  at = at or path
  return invalid(at == "" and message or ("%s: %s"):format(at, message), { { path = at, message = message } })
end

--- Encodes an event or payload as JSON for a peer.
---@param event table  an event or its payload
---@param max_message integer  bytes
---@return string? text
---@return operations.Error? err  VALIDATION_ERROR: not JSON, with paths in the input or the result; or too long
function call_event.encode(event, max_message)
  local text, err = json.encode(event)
  if not text then
    return nil, unfit(err)
  elseif #text > max_message then
    return nil, errors.new("VALIDATION_ERROR",
      ("a message of %d bytes is longer than max_message, %d"):format(#text, max_message))
  end
  return text
end

return call_event

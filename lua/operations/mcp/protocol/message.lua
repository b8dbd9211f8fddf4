--- JSON-RPC 2.0 messages as MCP uses them (2024-11-05 to 2026-07-28): tables in, text out, and back. No I/O, as in
--- all of `operations.mcp`.
---
--- | files                                | what they are about                                                   |
--- |--------------------------------------|-----------------------------------------------------------------------|
--- | message, reader                      | messages, whoever sends them: read, judged, written                   |
--- | failure                              | errors of requests, and what is known about trying again              |
--- | negotiation                          | the revisions, their eras, and how a client finds out what is spoken  |
--- | request                              | what a client says of itself                                          |
--- | result, cache                        | what a client makes of results, and keeps of them                     |
local core = require("operations.core")
local json = require("operations.base.json")
local reader = require("operations.mcp.protocol.reader")

local message = {}

--- Codes of JSON-RPC errors that one of the two eras of MCP gives a meaning.
message.codes = {
  INVALID_REQUEST = -32600,
  METHOD_NOT_FOUND = -32601,
  INVALID_PARAMS = -32602,
  INTERNAL_ERROR = -32603,
  HEADER_MISMATCH = -32020,
  MISSING_CAPABILITY = -32021,
  UNSUPPORTED_VERSION = -32022,
}

---@alias operations.mcp.Id integer|string

---@class operations.mcp.Message
---@field jsonrpc "2.0"
---@field id? operations.mcp.Id
---@field method? string
---@field params? table
---@field result? any
---@field error? { code: integer, message: string, data: any }

--- The text of a request.
---@param id operations.mcp.Id  none that the sender has used before
---@param method string
---@param params? table
---@return string?
---@return operations.Error? err  VALIDATION_ERROR
function message.request_text(id, method, params)
  return core.json_members("jsonrpc", "2.0", "id", id, "method", method, "params", params)
end

--- A notification: nothing answers it.
---@param method string
---@param params? table
---@return operations.mcp.Message
function message.notification(method, params)
  return { jsonrpc = "2.0", method = method, params = params }
end

--- The answer to a request.
---@param id operations.mcp.Id  the request's
---@param result table  an object, marked when it may be empty
---@return operations.mcp.Message
function message.result(id, result)
  return { jsonrpc = "2.0", id = id, result = result }
end

--- The answer to a request that failed.
---@param id operations.mcp.Id|nil  the request's; nil, which is sent as null, when it could not be read
---@param code integer  of `message.codes`, or one's own
---@param text string  for people: one sentence
---@param data? any  for programs
---@return operations.mcp.Message
function message.failure(id, code, text, data)
  return { jsonrpc = "2.0", id = id == nil and core.null or id, error = { code = code, message = text, data = data } }
end

local sorted = { sort_keys = true }

local function is_list(result)
  return type(result) == "table" and (result.tools or result.prompts or result.resources or result.resourceTemplates)
end

--- The text of a message: one line, whatever it holds. Lists are the same bytes each time: what a model is told of its
--- tools is cached by that.
---@param value operations.mcp.Message
---@return string?
---@return operations.Error? err  VALIDATION_ERROR: what JSON cannot say
function message.encode(value)
  return json.encode(value, type(value) == "table" and is_list(value.result) and sorted or nil)
end

local decoding = { property_order = true } -- of the tools' schemas

--- Reads a text: one message, or an array of them (a batch, as revision 2025-03-26 has it).
---@param text string
---@return any value
---@return operations.Error? err
---@return string? warning
function message.decode(text)
  local value, err = json.decode(text, decoding)
  if err then
    return reader.decode(text, err)
  end
  return value
end

--- Calls `take` with each message of a value: itself, or what a batch holds.
---@param value any
---@param take fun(subject: any, value: any, more: any)
---@param subject any
---@param more? any
function message.each(value, take, subject, more)
  if type(value) ~= "table" or value.jsonrpc ~= nil or core.kind(value) ~= "array" then
    return take(subject, value, more)
  end
  for i = 1, #value do
    take(subject, value[i], more)
  end
end

-- A request's id is a string or an integer; a server may answer with either form of the same number.
local function is_id(id)
  return type(id) == "string" or core.kind(id) == "integer"
end

--- The id of what was sent as a request but is none, so that its refusal names it; nil where it has none.
---@param value any
---@return operations.mcp.Id?
function message.id_in(value)
  local id = core.kind(value) == "object" and value.id or nil
  return is_id(id) and id or nil
end

local function failure_problem(value)
  if core.kind(value) ~= "object" then
    return "its error is no object"
  elseif type(value.code) ~= "number" or value.code % 1 ~= 0 or math.abs(value.code) >= 2 ^ 53 then
    return "its error's code is no integer"
  elseif type(value.message) ~= "string" then
    return "its error has no message"
  end
end

--- A member that is null counts as left out where it says nothing: many a server writes all that a message may have.
---@param member any
---@return any
function message.present(member)
  if member ~= core.null then
    return member
  end
end

-- Of an answer that is no plain result.
local function answer_problem(value)
  if value.result ~= nil and value.error ~= nil then
    value.result, value.error = message.present(value.result), message.present(value.error)
  end
  if value.result ~= nil and value.error ~= nil then
    return "it has both a result and an error"
  elseif value.error ~= nil then
    return failure_problem(value.error)
  end
  return value.result == nil and "it has neither a result nor an error"
    or core.kind(value.result) ~= "object" and "its result is no object" or nil
end

local function request_kind(value)
  value.params = message.present(value.params)
  if type(value.method) ~= "string" then
    return nil, "its method is no string"
  elseif value.params ~= nil and core.kind(value.params) ~= "object" then
    return nil, "its params are no object"
  elseif value.id == nil then
    return "notification"
  end
  return is_id(value.id) and "request" or nil, "its id is neither a string nor an integer"
end

--- What a value that came is: "request", "notification" or "answer"; or nil and what is wrong with it. The id of a
--- malformed answer is still of use: whoever waits for it can be told.
---@param value any
---@return "request"|"notification"|"answer"|nil kind
---@return string? problem
function message.kind(value)
  if core.kind(value) ~= "object" then
    return nil, "a message is a JSON object"
  elseif value.jsonrpc ~= "2.0" then
    return nil, "it does not say that it is JSON-RPC 2.0"
  elseif value.method ~= nil then
    return request_kind(value)
  elseif value.error == nil and core.kind(value.result) == "object" then
    return "answer"
  end
  local problem = answer_problem(value)
  return not problem and "answer" or nil, problem
end

local careless = { id = true, method = true, params = true, result = true, error = true }

--- Is a value that is no message one that its sender did not mean as a message, such as a line of a log? Without
--- `jsonrpc` it is, unless it names a request and has only members of a message.
---@param value any
---@return boolean
function message.is_noise(value)
  if core.kind(value) ~= "object" then
    return true
  elseif value.jsonrpc ~= nil then
    return false
  end
  for name in pairs(value) do
    if not careless[name] then
      return true
    end
  end
  return value.id == nil or value.result == nil and value.error == nil and value.method == nil
end

--- The answer to what was sent as a request but is none; nil when it is to have none. A request without an id that can
--- be repeated would be answered with null: whoever sends much of it would get as much that answers nothing.
---@param value any
---@param problem string  as `kind` told it
---@return operations.mcp.Message?
function message.refusal(value, problem)
  if message.is_noise(value) or value.method == nil
    or message.present(value.result) or message.present(value.error) then
    return nil
  elseif type(value.id) == "number" or is_id(value.id) then
    return message.failure(value.id, message.codes.INVALID_REQUEST, "Invalid Request: " .. problem)
  end
end

--- The id under which a request was sent, whichever way the peer spells it: 2 and "2" are the same.
---@param id any
---@return operations.mcp.Id?
function message.id_of(id)
  if type(id) == "string" and id:find("^%d+$") then
    return tonumber(id)
  elseif is_id(id) then
    return id
  end
end

return message

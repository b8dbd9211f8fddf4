--- JSON-RPC 2.0 messages as MCP uses them (2024-11-05 to 2026-07-28): tables in, text out, and back. No I/O, as in
--- all of `operations.mcp`.
---
--- | files                                | purpose                                                              |
--- |--------------------------------------|-----------------------------------------------------------------------|
--- | message, reader                      | messages of both sides: read, checked, written                        |
--- | failure                              | errors of requests, and what is known about trying again              |
--- | negotiation                          | the revisions, their eras, and how a client finds out what is spoken  |
--- | metadata                             | what a client says of itself                                          |
--- | result, cache                        | what a client makes of results, and keeps of them                     |
local almost_json = require("operations.base.almost_json")
local core = require("operations.core")
local json = require("operations.base.json")

local message = {}

--- What the protocol's own keys of `_meta` begin with.
message.PREFIX = "io.modelcontextprotocol/"

--- The extension by which calls are answered by tasks (revision 2026-07-28).
message.TASKS = message.PREFIX .. "tasks"

--- Error codes of JSON-RPC with a meaning in either era of MCP.
message.codes = {
  INVALID_REQUEST = -32600,
  METHOD_NOT_FOUND = -32601,
  INVALID_PARAMS = -32602,
  INTERNAL_ERROR = -32603,
  HEADER_MISMATCH = -32020,
  MISSING_CAPABILITY = -32021,
  UNSUPPORTED_VERSION = -32022,
}

--- The levels of logs (RFC 5424), from the least to the most severe.
---@type table<string, integer>
message.severity = { debug = 1, info = 2, notice = 3, warning = 4, error = 5, critical = 6, alert = 7, emergency = 8 }

---@alias operations.mcp.Id integer|string

---@class operations.mcp.Message
---@field jsonrpc "2.0"
---@field id? operations.mcp.Id
---@field method? string
---@field params? table
---@field result? any
---@field error? { code: integer, message: string, data: any }

-- U+2028 and U+2029 end lines in some readers.
local separators = { ["\226\128\168"] = "\\u2028", ["\226\128\169"] = "\\u2029" }

local function one_line(text)
  if text and text:find("\226\128[\168\169]") then
    text = text:gsub("\226\128[\168\169]", separators)
  end
  return text
end

--- The text of a request.
---@param id operations.mcp.Id  not used by the sender before
---@param method string
---@param params? table
---@return string?
---@return operations.Error? err  VALIDATION_ERROR
function message.request_text(id, method, params)
  local text, err = core.json_members("jsonrpc", "2.0", "id", id, "method", method, "params", params)
  return one_line(text), err
end

--- A notification, which has no answer.
---@param method string
---@param params? table
---@return operations.mcp.Message
function message.notification(method, params)
  return { jsonrpc = "2.0", method = method, params = params }
end

--- The answer to a request.
---@param id operations.mcp.Id  the request's
---@param result table  an object, marked if it may be empty
---@return operations.mcp.Message
function message.result(id, result)
  return { jsonrpc = "2.0", id = id, result = result }
end

--- The answer to a request that failed.
---@param id operations.mcp.Id|nil  the request's; nil (sent as null) if it could not be read
---@param code integer  of `message.codes`, or another one
---@param text string  for people: one sentence
---@param data? any  for programs
---@return operations.mcp.Message
function message.failure(id, code, text, data)
  return { jsonrpc = "2.0", id = id == nil and core.null or id, error = { code = code, message = text, data = data } }
end

local kept = { keep_order = true }

local function is_list(result)
  return type(result) == "table" and (result.tools or result.prompts or result.resources or result.resourceTemplates)
end

--- The text of a message: a single line. Lists have the order of their authors, and the same bytes in every process:
--- models cache the texts of tools by them.
---@param value operations.mcp.Message
---@return string?
---@return operations.Error? err  VALIDATION_ERROR: the value is not JSON
function message.encode(value)
  local text, err = json.encode(value, type(value) == "table" and is_list(value.result) and kept or nil)
  return one_line(text), err
end

local decoding = { property_order = true } -- for the tools' schemas

--- Reads a text: one message, or an array of them (a batch, revision 2025-03-26).
---@param text string
---@return any value
---@return operations.Error? err
---@return string? warning
function message.decode(text)
  local value, err = json.decode(text, decoding)
  if err then
    return almost_json.decode(text, err)
  end
  return value
end

--- Calls `take` with each message of a value: the value itself, or those of a batch.
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

-- A request's id is a string or an integer; a server may answer with either form of a number.
local function is_id(id)
  return type(id) == "string" or core.kind(id) == "integer"
end

--- The id of an invalid request, for its refusal; nil without one.
---@param value any
---@return operations.mcp.Id?
function message.id_in(value)
  local id = core.kind(value) == "object" and value.id or nil
  return is_id(id) and id or nil
end

local function failure_problem(value)
  if core.kind(value) ~= "object" then
    return "its error is not an object"
  elseif type(value.code) ~= "number" or value.code % 1 ~= 0 or math.abs(value.code) >= 2 ^ 53 then
    return "its error's code is not an integer"
  elseif type(value.message) ~= "string" then
    return "its error has no message"
  end
end

--- A null member counts as absent where null has no meaning: many servers write all possible members.
---@param member any
---@return any
function message.present(member)
  if member ~= core.null then
    return member
  end
end

--- A member that is an object of which nothing is required: null and an empty array count as absent. Programs in some
--- languages (PHP, Lua) cannot tell an empty array from an empty object.
---@param member any
---@return any
function message.object(member)
  if member ~= core.null and not (core.kind(member) == "array" and member[1] == nil) then
    return member
  end
end

-- The problem of an answer without a plain result.
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
    or core.kind(value.result) ~= "object" and "its result is not an object" or nil
end

local function request_kind(value)
  value.params = message.object(value.params)
  if type(value.method) ~= "string" then
    return nil, "its method is not a string"
  elseif value.params ~= nil and core.kind(value.params) ~= "object" then
    return nil, "its params are not an object"
  elseif value.id == nil then
    return "notification"
  end
  return is_id(value.id) and "request" or nil, "its id is neither a string nor an integer"
end

--- The kind of a received value: "request", "notification" or "answer"; or nil and the problem. The id of a malformed
--- answer is still useful: it fails the waiting request.
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

--- Is an invalid value probably not meant as a message, such as a log line? Yes without `jsonrpc`, unless it names a
--- request and has only members of a message.
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

--- The answer to an invalid request; nil if it gets none. One without an id would be answered with null: a peer that
--- sends many would get as many useless answers.
---@param value any
---@param problem string  from `kind`
---@return operations.mcp.Message?
function message.refusal(value, problem)
  if message.is_noise(value) or value.method == nil
    or message.present(value.result) or message.present(value.error) then
    return nil
  elseif type(value.id) == "number" or is_id(value.id) then
    return message.failure(value.id, message.codes.INVALID_REQUEST, "Invalid Request: " .. problem)
  end
end

--- The id under which a request was sent, in either form: 2 and "2" are the same.
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

--- Envelopes and errors as results of tools (`CallToolResult`): data as `structuredContent` with a text beside it;
--- bytes as an image, audio or resource; failures as results on which a model can act.
local bytes = require("operations.mcp.server.bytes")
local core = require("operations.core")
local guide = require("operations.offer.guide")
local json = require("operations.base.json")
local marks = require("operations.base.marked")
local members = require("operations.base.members")
local message = require("operations.mcp.protocol.message")
local results = require("operations.mcp.protocol.result")
local failures = require("operations.mcp.server.told")

local tool_result = {}

local function text_block(text)
  return { type = "text", text = text }
end

-- The message of a handler may have any bytes; a result is JSON.
local function readable(text)
  return json.encode(text) and text or (text:gsub("[\128-\255]", "?"))
end

---@class operations.mcp.Answered
---@field id string  of the operation
---@field schema any  its outputSchema, if that says of a part that it is bytes
---@field modern boolean  revision 2026-07-28 or newer
---@field version? string  the client's revision

local function block(value, media, answered)
  return bytes.block(value, media, "operation:" .. answered.id, answered.version)
end

-- Data with bytes in it: base64 in the structured content, a note in the text, and a block for each.
local function with_bytes(envelope, answered)
  local blocks = marks.array({ "the text" })
  local text, err = json.encode(bytes.replaced(envelope, answered.schema, function(value, media)
    blocks[#blocks + 1] = block(value, media, answered)
    return ("[%s, %d bytes]"):format(media, #value)
  end), { keep_order = true })
  if not text then
    return nil, err
  end
  blocks[1] = text_block(text)
  return { content = blocks, structuredContent = bytes.replaced(envelope, answered.schema, bytes.encoded) }
end

-- Data as a result.
local function of_data(envelope, answered)
  local data, text, result, err = envelope.data, envelope.data, nil, nil
  local value, media = bytes.of(envelope, answered.schema)
  if data == nil then
    return { content = marks.array() }
  elseif value then
    return { content = marks.array({ block(value, media, answered) }) }
  elseif type(data) ~= "string" then
    text, err = json.encode(data, { keep_order = true })
  end
  if type(data) == "table" and (answered.schema or not text) then
    result, err = with_bytes(envelope, answered)
  elseif text then
    result = { content = marks.array({ text_block(text) }), structuredContent = data }
  end
  if result and not answered.modern and core.kind(data) ~= "object" then -- until 2025-11-25 only an object
    result.structuredContent = nil
  end
  return result, err
end

-- Until 2025-11-25 structured content is an object: an empty array of another server is one, other values are texts.
local function make_legacy(result)
  local structured = result.structuredContent
  if structured == nil or core.kind(structured) == "object" then
    return
  end
  result.structuredContent = core.kind(structured) == "array" and structured[1] == nil and marks.object() or nil
  if result.content[1] == nil then
    result.content = marks.array({ text_block(assert(json.encode(structured))) })
  end
end

-- The content of an envelope from another server's tool, or of one made by a handler, unchanged as far as the client's
-- era has it.
local function of_mcp(envelope, answered)
  local meta = envelope.meta
  local original = results.original(envelope)
  local result = original and members.merged(original) or { content = meta.content or marks.array(),
    structuredContent = meta.structuredContent, isError = meta.isError or nil, _meta = meta._meta }
  if not answered.modern then
    make_legacy(result)
  end
  return result
end

--- The result of a call that returned an envelope.
---@param envelope operations.Envelope
---@param answered operations.mcp.Answered
---@return table? result
---@return operations.Error? err  EXECUTION_ERROR: the data is not JSON
function tool_result.of(envelope, answered)
  local meta = envelope.meta
  if meta.source == "mcp" and (meta.content and meta.content[1] ~= nil or meta.structuredContent ~= nil) then
    return of_mcp(envelope, answered)
  end
  local result, err = of_data(envelope, answered)
  if result and meta.source == "mcp" then
    result.isError, result._meta = meta.isError or nil, meta._meta
  end
  return result, err
end

local function line_of(issue)
  return ("%s: %s"):format(issue.path == "" and "(input)" or tostring(issue.path), tostring(issue.message))
end

-- Was the answer lost, so that the call may have run? What remote callers read of it says so already.
local function is_unknown(err, details)
  return err.mayHaveRun and (details.kind == "closed" or details.kind == "timeout")
    and not err.message:find("may have run", 1, true)
end

--- The result of a failed call: with the details that a model needs to correct it.
---@param err operations.Error
---@param told boolean  may the caller see the message?
---@return table result
function tool_result.of_error(err, told)
  local given, text = type(err.details) == "table" and err.details or {}
  if err.code == "VALIDATION_ERROR" and given[1] then
    text = "The input does not fit the tool's inputSchema:\n" .. guide.lines(given, line_of)
  else
    local more = is_unknown(err, given) and "; the call may have run" or ""
    text = told and ("%s: %s%s"):format(err.code, err.message, more) or "the operation failed"
  end
  if told and given.statusCode and given.body ~= nil then -- what an API answered
    local body = type(given.body) == "string" and given.body or json.encode(given.body, { sort_keys = true })
    text = text .. (body and "\n" .. body or "")
  end
  local details = told and err.details ~= nil and json.encode(err.details) and err.details or nil
  return {
    content = marks.array({ text_block(readable(text)) }), isError = true,
    _meta = { ["operations/error"] = members.merged({ code = readable(err.code), details = details,
      retryable = err.retryable, mayHaveRun = err.mayHaveRun }) },
  }
end

-- The outputSchema of an operation that says of a part that it is bytes; nil: it does not.
local function byte_schema(call, id)
  local known = call.server.byte_schemas
  if known[id] == nil then
    local spec = call.server.registry:get_spec(id)
    known[id] = spec and bytes.concerns(spec.outputSchema) and spec.outputSchema or false
  end
  return known[id] or nil
end

local function failed(call, id, err)
  if err.code == "CAPABILITY_MISSING" and call.modern then
    return nil, { code = message.codes.MISSING_CAPABILITY, message = err.message, data = err.details, status = 400 }
  end
  local passed = failures.passed(call, err)
  if passed then
    return nil, passed
  end
  return tool_result.of_error(failures.read(call, err, id, call.server.registry:get_spec(id)))
end

--- The answer to `tools/call` for the outcome of a call.
---@param call operations.mcp.ServerCall
---@param id string  of the operation
---@param envelope? operations.Envelope
---@param err? operations.Error
---@return table? result
---@return operations.mcp.Failure? failure
function tool_result.answer(call, id, envelope, err)
  local result
  if envelope then
    result, err = tool_result.of(envelope, { id = id, modern = call.modern, version = call.version,
      schema = byte_schema(call, id) })
  end
  if result then
    return result
  end
  return failed(call, id, err)
end

return tool_result

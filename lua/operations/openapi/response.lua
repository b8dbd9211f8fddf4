--- Converts responses, `{ status, headers, body }`, to an envelope or an error object. No I/O, except that the host's
--- loop may run while a long body is parsed.
local almost_json = require("operations.base.almost_json")
local charset = require("operations.openapi.charset")
local core = require("operations.core")
local errors = require("operations.base.error")
local http_failure = require("operations.net.http.failure")
local json = require("operations.base.json")
local media = require("operations.openapi.media")
local operation = require("operations.registry.operation")
local turn = require("operations.task.turn")

local response = {}

-- Reason phrases of common status codes, from IANA's registry.
local reasons = {
  [300] = "Multiple Choices", [301] = "Moved Permanently", [302] = "Found", [303] = "See Other", [304] = "Not Modified",
  [307] = "Temporary Redirect", [308] = "Permanent Redirect",
  [400] = "Bad Request", [401] = "Unauthorized", [402] = "Payment Required", [403] = "Forbidden", [404] = "Not Found",
  [405] = "Method Not Allowed", [406] = "Not Acceptable", [407] = "Proxy Authentication Required",
  [408] = "Request Timeout", [409] = "Conflict", [410] = "Gone", [411] = "Length Required",
  [412] = "Precondition Failed", [413] = "Content Too Large", [414] = "URI Too Long", [415] = "Unsupported Media Type",
  [416] = "Range Not Satisfiable", [417] = "Expectation Failed", [418] = "I'm a Teapot", [421] = "Misdirected Request",
  [422] = "Unprocessable Content", [423] = "Locked", [424] = "Failed Dependency", [425] = "Too Early",
  [426] = "Upgrade Required", [428] = "Precondition Required", [429] = "Too Many Requests",
  [431] = "Request Header Fields Too Large", [451] = "Unavailable For Legal Reasons",
  [500] = "Internal Server Error", [501] = "Not Implemented", [502] = "Bad Gateway", [503] = "Service Unavailable",
  [504] = "Gateway Timeout", [505] = "HTTP Version Not Supported", [507] = "Insufficient Storage",
  [508] = "Loop Detected", [511] = "Network Authentication Required",
}

local EXCERPT = 200

-- Longer texts are read in pieces.
local LONG, PIECE = 256 * 1024, 32 * 1024

-- As `json.decode`, but lets the host's loop run occasionally; a cancelled task stops.
local function decode_json(text, huge)
  local take_turn = #text > LONG and turn.taker()
  if not take_turn then
    return json.decode(text, huge and { huge = huge } or nil)
  end
  local decoder = json.decoder({ huge = huge, max_size = #text })
  for at = 1, #text, PIECE do
    local fed, err = decoder:feed(text:sub(at, at + PIECE - 1))
    local stopped = fed and take_turn()
    if stopped then
      error(stopped, 0)
    elseif not fed then
      return nil, err
    end
  end
  return decoder:finish()
end

--- A decoder for text of this type to UTF-8, in pieces.
---@param content_type string?
---@return (fun(text: string, is_last: boolean?): string)?  nil: it stays unchanged
function response.text_decoder(content_type)
  return media.is_text(media.essence(content_type)) and charset.decoder(media.charset(content_type)) or nil
end

-- JSON is UTF-8 (RFC 8259, 8.1) unless its type or its first bytes say otherwise.
local function json_text(body, content_type)
  local name = content_type:find(";", 1, true) and media.charset(content_type)
  local decode = name and charset.decoder(name)
  if not decode and body:find("^[\254\255][\254\255]") then
    decode = charset.decoder("utf-16")
  end
  return decode and decode(body, true) or body
end

-- The value of JSON; of what is almost JSON, too, by these options.
local function read_json(text, lenient)
  local value, err = decode_json(text)
  if not err then
    return value
  end
  local mended, still = decode_json(text, "text")
  if not still then
    return mended, nil, "a number is out of range and was read as text: " .. err.message
  elseif lenient then
    mended, still = almost_json.decode(text, err, true)
    if not still then
      return mended, nil, "it is not JSON, and was read with U+FFFD and null: " .. err.message
    end
  end
  return nil, err.message
end

-- The last type of JSON that names no charset: consecutive answers usually have the same.
local json_type = "application/json"

--- The value of a body: JSON by its media type, text as UTF-8 if its charset is known, otherwise bytes.
---@param body string?
---@param content_type string?
---@param lenient? boolean  what is almost JSON is read
---@return any data  nil for an empty body
---@return string? message  error in the JSON
---@return string? warning  what was repaired
function response.decode(body, content_type, lenient)
  if body == nil or body == "" then
    return nil
  elseif content_type ~= json_type then
    if not media.is_json(media.essence(content_type)) then
      local decode = response.text_decoder(content_type)
      return decode and decode(body, true) or body
    elseif not content_type:find(";", 1, true) then
      json_type = content_type
    end
  end
  local text, first = body, body:byte()
  if content_type ~= json_type or first >= 254 then
    text = json_text(body, content_type)
  end
  if first > 32 or text:find("%S") then
    return read_json(text, lenient)
  end
end

-- The response object of a status: its own, that of its range, or the default.
local function declares_json(declared, status)
  for _, key in ipairs({ tostring(status), tostring(status):sub(1, 1) .. "XX", "DEFAULT" }) do
    if declared[key] ~= nil then
      return declared[key]
    end
  end
end

-- The data of an answer. Without a content type it is JSON if the document declares only JSON for its status, and it is
-- valid JSON.
local function data_of(reply, declared, lenient)
  local content_type = reply.headers["content-type"]
  if content_type or not (declared and declares_json(declared, reply.status)) then
    return response.decode(reply.body, content_type, lenient)
  end
  local data, message, warning = response.decode(reply.body, "application/json", lenient)
  if message then
    return reply.body
  end
  return data, nil, warning
end

local function shorten(text)
  text = text:gsub("%s+", " "):gsub("[%z\1-\31\127]", "")
  if #text <= EXCERPT then
    return text
  end
  local cut = EXCERPT
  while cut > 0 and text:byte(cut + 1) >= 128 and text:byte(cut + 1) < 192 do
    cut = cut - 1
  end
  return text:sub(1, cut) .. "..."
end

local function first_text(body, ...)
  for _, key in ipairs({ ... }) do
    local value = body[key]
    if type(value) == "string" and value ~= "" then
      return value
    end
  end
end

-- The part of an error's body that says what is wrong; of several errors the first, unless there is a common text.
local function innermost(body)
  local list = type(body.errors) == "table" and body.errors or body.detail
  local first = type(list) == "table" and list[1]
  if type(body.error) == "table" then
    return body.error
  elseif not first or first_text(body, "title", "detail", "message") then
    return body
  end
  return type(first) == "table" and first or type(first) == "string" and { message = first } or body
end

-- The place of an error in the input, as FastAPI gives it: ["body", "items", 0].
local function place_of(inner)
  local names = {}
  for i, name in ipairs(type(inner.loc) == "table" and inner.loc or names) do
    names[i] = tostring(name)
  end
  return names[1] and "/" .. table.concat(names, "/")
end

--- The readable text of an error's body: problem details (RFC 9457), or the usual fields of APIs.
local function excerpt(body)
  if type(body) == "string" then
    return body:find("^%s*<") and "" or shorten(body)
  elseif type(body) ~= "table" then
    return ""
  end
  local inner = innermost(body)
  local title = first_text(inner, "title") or place_of(inner)
  local text = first_text(inner, "detail", "message", "msg", "Message", "error_description", "error", "description",
    "reason") or first_text(body, "message", "error_description")
  if title and text and title ~= text then
    text = title .. ": " .. text
  end
  return shorten(text or title or "")
end

--- The error object of an HTTP error status.
---@param reply { status: integer, headers: table, body: string? }
---@param declared? table<string, boolean>  by status: is it JSON?
---@param lenient? boolean
---@return operations.Error  HTTP_<status>, details { statusCode, headers, body }
function response.failure(reply, declared, lenient)
  local body, message = data_of(reply, declared, lenient)
  if message then
    body = reply.body
  end
  local reason, said = reasons[reply.status], excerpt(body)
  local text = tostring(reply.status) .. (reason and " " .. reason or "")
  local err = errors.new("HTTP_" .. reply.status, text .. (said ~= "" and ": " .. said or ""),
    { statusCode = reply.status, headers = reply.headers, body = body })
  return http_failure.judge(err, reply.status, reply.headers)
end

--- The error for an invalid response with a success status.
---@param reply table
---@param message string
---@return operations.Error
function response.unreadable(reply, message)
  return errors.new("EXECUTION_ERROR", message,
    { kind = "response", statusCode = reply.status, headers = reply.headers, body = reply.body })
end

--- Is this status a result? Redirects are if the document declares them.
---@param status integer
---@param redirects? table<string, boolean>
---@return boolean
function response.is_success(status, redirects)
  if status >= 300 and status < 400 and redirects then
    return redirects[tostring(status)] or redirects["3XX"] or false
  end
  return status >= 200 and status < 300
end

---@param reply table
---@return table meta  of an HTTP envelope
function response.meta(reply)
  return { statusCode = reply.status, headers = reply.headers, contentType = reply.headers["content-type"] }
end

--- The outcome of a call.
---@param reply { status: integer, headers: table, body: string? }
---@param plan operations.openapi.Plan  `redirects`: 3xx statuses that the document declares; `declared_json`: by status
---  code, range ("2XX") or "DEFAULT", does the document declare only JSON?; `lenient`
---@return operations.Envelope? envelope
---@return operations.Error? err
---@return string? warning
function response.outcome(reply, plan)
  local status, lenient = reply.status, plan.lenient
  if (status < 200 or status >= 300) and not response.is_success(status, plan.redirects) then
    return nil, response.failure(reply, plan.declared_json, lenient)
  end
  local data, message, warning = data_of(reply, plan.declared_json, lenient)
  if message then
    return nil, response.unreadable(reply, "the response is not valid JSON: " .. message)
  end
  local envelope = core.http_envelope(data, response.meta(reply))
  if reply.body and #reply.body > LONG then
    operation.takes_long(envelope)
  end
  return envelope, nil, warning
end

return response

--- Requests to endpoints of an authorization server: over https or to this machine only, without redirects; forms out
--- (application/x-www-form-urlencoded), small JSON answers in, errors (RFC 6749, 5.2) without secrets.
local errors = require("operations.base.error")
local http_failure = require("operations.net.http.failure")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local operations_http = require("operations.net.http")
local secrets = require("operations.base.secrets")
local url = require("operations.base.url")

local endpoint = {}

-- Forms.

--- Writes fields sorted by name; a list gives one field per item.
---@param fields table<string, string|string[]>
---@return string
function endpoint.encode_form(fields)
  local texts = {}
  for _, name in ipairs(members.names(fields)) do
    local value = fields[name]
    for _, item in ipairs(type(value) == "table" and value or { value }) do
      texts[#texts + 1] = url.encode(name) .. "=" .. url.encode(item)
    end
  end
  return table.concat(texts, "&")
end

local function decode_text(text)
  return url.decode((text:gsub("%+", " ")))
end

--- Reads fields. A duplicate field, which OAuth forbids, appears only by name in the second result.
---@param text string
---@return table<string, string> fields
---@return table<string, true> repeated
function endpoint.decode_form(text)
  local fields, repeated = {}, {}
  for pair in text:gmatch("[^&]+") do
    local name, value = pair:match("^([^=]*)=?(.*)$")
    name = decode_text(name)
    if fields[name] or repeated[name] then
      fields[name], repeated[name] = nil, true
    else
      fields[name] = decode_text(value)
    end
  end
  return fields, repeated
end

-- Requests.

---@class operations.oauth.Transport  how to connect to endpoints
---@field http? table  HTTP client: `request(message)`; default `operations.http`
---@field timeout? number  ms for one request, default 30 s
---@field ca_file? string  trusted certificates instead of the system's
---@field proxy? string|false  instead of the environment's
---@field public_only? boolean  connect to addresses of the public internet only
---@field remote? boolean  refuses endpoints on this machine: the URLs come from a remote server

local TEXT = 300 -- bytes of a server's text shown in an error

--- The reason why a URL is not a valid endpoint, or nil: credentials are sent over https or stay on this machine.
---@param text any
---@param remote? boolean  as of the transport
---@return string? problem
function endpoint.problem(text, remote)
  local problem = url.untrusted(text)
  if problem then
    return problem
  elseif text:find("#", 1, true) then
    return "it contains a fragment"
  elseif remote and url.is_loopback(url.parse(text).host) then
    return "it is on this machine, but the server is not"
  end
end

--- A failure of authorization; `details.kind` is "oauth".
---@param message string
---@param details? table
---@return operations.Error
function endpoint.failure(message, details)
  details = details or {}
  details.kind = "oauth"
  return errors.new("EXECUTION_ERROR", message, details)
end

--- A server's text for an error: short, on one line, without the secrets that were sent.
---@param text string
---@param hidden? string[]
---@return string
function endpoint.quote(text, hidden)
  text = secrets.hide(text, hidden or {}):gsub("%c+", " ")
  if #text > TEXT then
    text = text:sub(1, TEXT):gsub("[\128-\191]*$", "") .. "..."
  end
  return text
end

local quote = endpoint.quote

--- The failure for an answer with an `error` field (RFC 6749, 5.2; RFC 7591, 3.2.2).
---@param address string
---@param answer { error: any, error_description: any, error_uri: any }
---@param status? integer
---@param hidden? string[]  secrets that were sent
---@return operations.Error
function endpoint.refusal(address, answer, status, hidden)
  local given, description = answer.error, answer.error_description
  if type(given) == "table" then -- not as in OAuth: `{ "error": { "code": ..., "message": ... } }`
    description = description or given.message
    given = type(given.code) == "string" and given.code or type(given.type) == "string" and given.type
      or json.encode(given, { sort_keys = true })
  end
  local code = quote(tostring(given), hidden)
  description = type(description) == "string" and quote(description, hidden)
  return endpoint.failure(("%s: %s%s"):format(url.redact(address), code, description and ": " .. description or ""), {
    error = code, description = description or nil, statusCode = status,
    uri = type(answer.error_uri) == "string" and quote(answer.error_uri, hidden) or nil,
  })
end

local function unexpected(address, reply, problem)
  local err = endpoint.failure(("%s: %s"):format(url.redact(address), problem), { statusCode = reply.status })
  return http_failure.judge(err, reply.status, reply.headers)
end

--- Reads an answer, which must be a JSON object.
local function decode(address, reply)
  local value = json.decode(reply.body, { max_depth = 32 })
  if type(value) ~= "table" or getmetatable(value) == json.array_mt then
    return nil, unexpected(address, reply, ("answered %d without a JSON object"):format(reply.status))
  end
  return value
end

-- The message to send; it never follows a redirect.
local function message_of(address, transport, options)
  return {
    url = address, method = options.body and "POST" or "GET", headers = options.headers, body = options.body,
    redirects = 0, max_body = limits.oauth_document, timeout = transport.timeout or limits.oauth_timeout,
    ca_file = transport.ca_file, proxy = transport.proxy, public_only = transport.public_only,
  }
end

--- Sends a request to an endpoint.
---@param address string
---@param transport operations.oauth.Transport
---@param options { headers: table, body?: string }
---@return operations.HttpResponse?
---@return operations.Error? err
function endpoint.send(address, transport, options)
  local problem = endpoint.problem(address, transport.remote)
  if problem then
    return nil, endpoint.failure(("%s: refused: %s"):format(url.redact(tostring(address)), problem))
  end
  return (transport.http or operations_http).request(message_of(address, transport, options))
end

--- Reads an optional metadata document.
---@param address string
---@param transport operations.oauth.Transport
---@return table? document  a JSON object
---@return operations.Error? err
---@return string? absent  with the error: what was there instead; nil if unknown
function endpoint.get(address, transport)
  local reply, err = endpoint.send(address, transport, { headers = { Accept = "application/json" } })
  if not reply then
    return nil, err
  end
  if reply.status ~= 200 then
    local answered = "answered " .. reply.status
    return nil, unexpected(address, reply, answered), reply.status < 500 and answered or nil
  end
  local value
  value, err = decode(address, reply)
  return value, err, "no JSON object" -- sites may answer 200 to everything
end

--- Posts to an endpoint and reads the JSON object of its answer.
---@param address string
---@param transport operations.oauth.Transport
---@param options { headers: table, body: string, secrets: string[] }
---@return table?
---@return operations.Error? err
function endpoint.post(address, transport, options)
  options.headers.Accept = "application/json"
  local reply, err = endpoint.send(address, transport, options)
  if not reply then
    return nil, err
  end
  local value
  value, err = decode(address, reply)
  if not value then
    return nil, err
  elseif value.error ~= nil and value.error ~= json.null then -- some servers answer errors with 200
    return nil, endpoint.refusal(address, value, reply.status, options.secrets)
  elseif reply.status < 200 or reply.status > 299 then
    return nil, unexpected(address, reply, ("answered %d"):format(reply.status))
  end
  return value
end

--- Posts a form.
---@param address string
---@param transport operations.oauth.Transport
---@param fields table<string, string|string[]>
---@param options { headers?: table, secrets: string[] }
---@return table?
---@return operations.Error? err
function endpoint.post_form(address, transport, fields, options)
  local headers = options.headers or {}
  headers["Content-Type"] = "application/x-www-form-urlencoded"
  return endpoint.post(address, transport, {
    headers = headers, body = endpoint.encode_form(fields), secrets = options.secrets,
  })
end

return endpoint

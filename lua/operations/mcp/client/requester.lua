--- Single HTTP requests of a transport: adds the configuration's parts and credentials, follows redirects within the
--- origin, reads complete bodies.
local errors = require("operations.base.error")
local http_failure = require("operations.net.http.failure")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local mcp_failure = require("operations.mcp.protocol.failure")
local members = require("operations.base.members")
local redirect = require("operations.net.http.redirect")
local senders = require("operations.net.http.sender")
local url = require("operations.base.url")
local waits = require("operations.mcp.client.waits")

local requester = {}

local REDIRECTS = 5
-- The most challenges for one request.
local CHALLENGES = 4

---@class operations.mcp.HttpRequest
---@field url string
---@field method string
---@field headers table<string, string>
---@field idempotent? boolean
---@field session? string  the id of its MCP session
---@field sender? operations.HttpSender  the sender used last
---@field given? table  a copy of the configuration's headers at that time
---@field credentials? table  a copy of the credentials at that time

local function sender_of(config, request, credentials)
  return senders.new({
    url = request.url, method = request.method, redirects = 0, idempotent = request.idempotent,
    headers = members.merged(config.headers, request.headers, credentials),
    connect_timeout = math.min(config.connect_timeout, limits.connect_timeout),
    first_byte_timeout = config.max_timeout, ca_file = config.ca_file, proxy = config.proxy,
  }, true, config.http)
end

local function is_part(part, whole)
  for name, value in next, part do
    if whole[name] ~= value then
      return false
    end
  end
  return true
end

-- Is a table equal to its copy? Both may be absent.
local function is_copy(copy, given)
  return copy == given or copy and given and is_part(given, copy) and is_part(copy, given)
end

local function copy_of(given)
  return given and members.merged(given)
end

-- Sends a request once. Makes the sender if there is none, or headers have changed.
local function open_once(config, request, body)
  local credentials, err
  if config.auth then
    credentials, err = config.auth:headers(request.url)
    if not credentials then
      return nil, mcp_failure.unsent(err)
    end
  end
  local sender = request.sender
  if not (sender and is_copy(request.given, config.headers) and is_copy(request.credentials, credentials)) then
    sender = sender_of(config, request, credentials)
    request.sender, request.given, request.credentials = sender, copy_of(config.headers), copy_of(credentials)
  end
  local stream
  stream, err = sender:send({ body = body })
  return stream, err, credentials
end

local function refused(request, status, text)
  local err = errors.new("HTTP_" .. status, ("%s %s: %s"):format(request.method, url.redact(request.url), text),
    { kind = "redirect", statusCode = status })
  return http_failure.judge(err, status, {})
end

-- The target of a redirect; false without one, nil and an error when it must not be followed.
local function target_of(request, stream, hop)
  local status, location = stream.status, stream.headers.location
  if status < 300 or status > 399 or status == 304 then
    return false
  end
  local target, is_foreign = redirect.destination(request.url, location or "")
  if not location or not redirect.keeps_request(status, request.method) then
    return nil, refused(request, status, ("redirected (%d), which a %s cannot follow"):format(status, request.method))
  elseif not target or is_foreign then
    return nil, refused(request, status, "redirected to another origin")
  elseif hop == REDIRECTS then
    return nil, refused(request, status, ("more than %d redirects"):format(REDIRECTS))
  end
  return target
end

local function too_large(stream, max)
  stream:close()
  return mcp_failure.new("size", ("the response is larger than %d bytes"):format(max), { limit = max })
end

local function read_all(stream, max)
  local pieces, size = {}, 0
  while true do
    local chunk, err = stream:read()
    if err then
      return nil, err
    elseif not chunk then
      return table.concat(pieces)
    end
    pieces[#pieces + 1], size = chunk, size + #chunk
    if size > max then
      return nil, too_large(stream, max)
    end
  end
end

--- The rest of a body.
---@param stream operations.HttpStream  may come from the program's own HTTP client
---@param max integer  bytes
---@return string?
---@return operations.Error? err  kind "size"
function requester.body(stream, max)
  local read_whole = stream.read_whole
  local whole = read_whole and read_whole(stream)
  if not whole then
    return read_all(stream, max)
  elseif #whole > max then
    return nil, too_large(stream, max)
  end
  return whole
end

-- Renews the credentials; true if the request may be repeated. Only a user's login may take longer than a request.
local function challenged(config, request, stream, credentials)
  local status = stream.status
  if not config.auth or (status ~= 401 and status ~= 403) then
    return false
  end
  return config.auth:challenged({
    status = status, headers = stream.headers, url = request.url, aside = waits.aside,
  }, credentials)
end

--- Sends a request and waits for the head of its answer.
---@param config operations.mcp.Config
---@param request operations.mcp.HttpRequest  may be sent again, with another body
---@param body? string
---@return operations.HttpStream?
---@return operations.Error? err
function requester.open(config, request, body)
  local hop, asked = 0, 0
  while true do
    local stream, err, credentials = open_once(config, request, body)
    if not stream then
      return nil, err
    elseif stream.status < 300 then
      return stream
    end
    local target
    target, err = target_of(request, stream, hop)
    local again = false
    if target == false and asked < CHALLENGES then
      again, err = challenged(config, request, stream, credentials)
      err = err and mcp_failure.unsent(err)
    end
    if err then
      stream:close()
      return nil, err
    elseif target then
      stream:close()
      request = { url = target, method = request.method, headers = request.headers, idempotent = request.idempotent }
      hop = hop + 1
    elseif again then
      stream:close()
      asked = asked + 1
    else
      return stream
    end
  end
end

local function words_of(body)
  local value = body:find("^%s*{") and json.decode(body)
  if type(value) == "table" then
    local inner = type(value.error) == "table" and value.error or value
    local text = inner.message or inner.error_description or inner.detail or value.error
    return type(text) == "string" and text or ""
  end
  return body:find("^%s*<") and "" or body:gsub("%s+", " "):gsub("[%z\1-\31\127]", ""):sub(1, 200)
end

--- The error for a status outside the protocol.
---@param request { method: string, url: string }
---@param stream { status: integer, headers: table }
---@param body string
---@return operations.Error  HTTP_<status>, details { statusCode, headers, body }
function requester.failure(request, stream, body)
  local said = words_of(body)
  local err = errors.new("HTTP_" .. stream.status, ("%s %s: status %d%s"):format(request.method,
    url.redact(request.url), stream.status, said ~= "" and ": " .. said or ""),
    { kind = "status", statusCode = stream.status, headers = stream.headers, body = body })
  return http_failure.judge(err, stream.status, stream.headers)
end

local function refusal(config, request, stream)
  return requester.failure(request, stream, requester.body(stream, config.max_message) or "")
end

--- Sends a request whose answer is only a status.
---@param config operations.mcp.Config
---@param request operations.mcp.HttpRequest
---@param body string
---@param linger number  ms that the answer may continue before its connection is closed
---@return true?
---@return operations.Error? err
function requester.deliver(config, request, body, linger)
  local stream, err = requester.open(config, request, body)
  if not stream then
    return nil, err
  elseif stream.status < 300 then
    stream:linger(linger)
    return true
  end
  return nil, refusal(config, request, stream)
end

-- The last content type, and its media type.
local last_type, last_media

--- A content type without parameters, in lower case.
---@param stream { headers: table, content_type: string? }
---@return string  "" without one
function requester.media_type(stream)
  local given = stream.content_type or stream.headers["content-type"] or ""
  if given ~= last_type then
    last_type, last_media = given, (given:match("^%s*([^;%s]*)") or ""):lower()
  end
  return last_media
end

---@param stream { status: integer, headers: table, content_type: string? }
---@return boolean
function requester.has_events(stream)
  return stream.status == 200 and requester.media_type(stream) == "text/event-stream"
end

--- Opens a stream of events.
---@param config operations.mcp.Config
---@param headers table<string, string>
---@return operations.HttpStream?
---@return operations.Error? err
function requester.events(config, headers)
  local request = { url = config.url, method = "GET", headers = headers }
  local stream, err = requester.open(config, request)
  if stream and not requester.has_events(stream) then
    return nil, refusal(config, request, stream)
  end
  return stream, err
end

return requester

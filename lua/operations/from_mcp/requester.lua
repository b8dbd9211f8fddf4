--- Single HTTP requests of a transport: what the configuration adds to each, its credentials, redirects that stay at
--- the origin, and bodies read whole.
local errors = require("operations.error")
local http = require("operations.http")
local json = require("operations.json")
local timing = require("operations.from_mcp.timing")
local url = require("operations.url")

local requester = {}

local REDIRECTS = 5
-- How often one request may be asked for credentials.
local CHALLENGES = 4

-- Statuses that send a request elsewhere: one with a body only where it stays the same request.
local moved = {
  GET = { [301] = true, [302] = true, [303] = true, [307] = true, [308] = true },
  POST = { [307] = true, [308] = true },
}

local function headers_of(config, request)
  local headers = {}
  for name, value in pairs(config.headers or {}) do
    headers[name] = value
  end
  for name, value in pairs(request.headers) do
    headers[name] = value
  end
  if config.auth then
    local more, err = config.auth:headers(request.url)
    if not more then
      return nil, err
    end
    for name, value in pairs(more) do
      headers[name] = value
    end
    request.credentials = more
  end
  return headers
end

local function open_once(config, request)
  local headers, err = headers_of(config, request)
  if not headers then
    return nil, err
  end
  return (config.http or http).open({
    url = request.url, method = request.method, headers = headers, body = request.body, redirects = 0,
    idempotent = request.idempotent,
    connect_timeout = math.min(config.connect_timeout, http.limits.connect_timeout),
    first_byte_timeout = config.max_timeout, ca_file = config.ca_file, proxy = config.proxy,
  })
end

local function same_origin(a, b)
  local from, to = url.parse(a), url.parse(b)
  return from and to and url.origin(from) == url.origin(to)
end
requester.same_origin = same_origin

local function refused(request, status, text)
  return errors.new("HTTP_" .. status, ("%s %s: %s"):format(request.method, url.redact(request.url), text),
    { kind = "redirect", statusCode = status })
end

-- Where the answer sends the request; false when nowhere, nil and an error when it must not follow.
local function target_of(request, stream, hop)
  local status, location = stream.status, stream.headers.location
  if status < 300 or status > 399 or status == 304 then
    return false
  end
  local target = location and url.resolve(request.url, location)
  if not moved[request.method] or not moved[request.method][status] then
    return nil, refused(request, status, ("redirected (%d), which a %s cannot follow"):format(status, request.method))
  elseif not target or not same_origin(request.url, target) then
    return nil, refused(request, status, "redirected to another origin")
  elseif hop == REDIRECTS then
    return nil, refused(request, status, ("more than %d redirects"):format(REDIRECTS))
  end
  return target
end

--- The rest of a body.
---@param stream operations.HttpStream
---@param max integer  bytes
---@return string?
---@return operations.Error? err  kind "size"
function requester.body(stream, max)
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
      stream:close()
      return nil, errors.new("EXECUTION_ERROR", ("the response is larger than %d bytes"):format(max),
        { kind = "size", limit = max })
    end
  end
end

-- Has the credentials renewed; true when the request may be tried again. A user who logs in may take longer than any
-- request.
local function challenged(config, request, stream)
  local status = stream.status
  if not config.auth or (status ~= 401 and status ~= 403) then
    return false
  end
  return timing.aside(config.auth.challenged, config.auth, {
    status = status, headers = stream.headers, url = request.url,
  }, request.credentials)
end

--- Sends a request and waits for the head of its answer.
---@param config operations.mcp.Config
---@param request { url: string, method: string, headers: table, body: string?, idempotent: boolean? }
---@return operations.HttpStream?
---@return operations.Error? err
function requester.open(config, request)
  request = { url = request.url, method = request.method, headers = request.headers, body = request.body,
    idempotent = request.idempotent }
  local hop, asked = 0, 0
  while true do
    local stream, err = open_once(config, request)
    if not stream then
      return nil, err
    end
    local target
    target, err = target_of(request, stream, hop)
    local again = false
    if target == false and asked < CHALLENGES then
      again, err = challenged(config, request, stream)
    end
    if err then
      stream:close()
      return nil, err
    elseif target then
      stream:close()
      request.url, hop = target, hop + 1
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

--- The error of a status that is none of the protocol's answers.
---@param request { method: string, url: string }
---@param stream { status: integer, headers: table }
---@param body string
---@return operations.Error  HTTP_<status>, details { statusCode, headers, body, retryAfter = ms or nil }
function requester.failure(request, stream, body)
  local said = words_of(body)
  return errors.new("HTTP_" .. stream.status, ("%s %s: status %d%s"):format(request.method, url.redact(request.url),
    stream.status, said ~= "" and ": " .. said or ""), {
    kind = "status", statusCode = stream.status, headers = stream.headers, body = body,
    retryAfter = http.retry_after(stream.headers),
  })
end

--- A content type without its parameters, in lower case.
---@param stream { headers: table }
---@return string  "" when there is none
function requester.media_type(stream)
  return ((stream.headers["content-type"] or ""):match("^%s*([^;%s]*)") or ""):lower()
end

return requester

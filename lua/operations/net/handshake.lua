--- The handshake of a WebSocket connection (RFC 6455, section 4) for both sides: reading it within a time, and its
--- texts.
local base64 = require("operations.base.base64")
local codec = require("operations.websocket")
local core = require("operations.core")
local errors = require("operations.base.error")
local http_failure = require("operations.net.http.failure")
local http_server = require("operations.http_server")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local scheduler = require("operations.task.scheduler")
local streams = require("operations.net.stream")

local handshake = {}

-- Nothing was called over a connection that ends this early.
local function lost()
  local err = errors.new("TRANSPORT_LOST", "the connection ended in the handshake", { kind = "reset" })
  err.retryable, err.mayHaveRun = true, false
  return err
end

--- Runs `fn` for at most `ms`.
---@param ms number
---@param fn fun(...): any, any
---@return any result  its result, or nil and TIMEOUT
---@return any err
---@return any detail
function handshake.within(ms, fn, ...)
  local deadline, outer = core.now() + ms, scheduler.deadline(nil)
  scheduler.deadline(outer and outer < deadline and outer or deadline)
  local result, err, detail = fn(...)
  scheduler.deadline(outer)
  return result, err, detail
end

--- Collects bytes until `read` returns something; then pauses the stream.
---@param stream operations.Stream
---@param read fun(bytes: string): any, any  nil: not enough yet
---@return any result
---@return any err
function handshake.collect(stream, read)
  local bytes, waiting, ended = "", nil, nil
  stream:each_chunk(function(piece, err)
    if piece then
      bytes = bytes .. piece
    else
      ended = err or lost()
    end
    if waiting then
      waiting()
    end
  end)
  local result, err, detail = read(bytes)
  while result == nil and err == nil and not ended do
    local raised = scheduler.try_await(function(wake)
      waiting = wake
    end)
    waiting = nil
    if raised ~= nil then
      stream:pause()
      return nil, (errors.from(raised))
    end
    result, err, detail = read(bytes)
  end
  stream:pause()
  if result == nil and err == nil then
    return nil, ended
  end
  return result, err, detail
end

local GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

-- The proof that the other side has read the key (Sec-WebSocket-Accept).
local function proof(key)
  return base64.encode(codec.sha1(key .. GUID))
end

local function failure(kind, message)
  return errors.new("TRANSPORT_LOST", message, { kind = kind })
end

-- The error of an answer that refuses the connection: nothing was called over it.
local function refusal(status, headers, problem)
  local err = failure("handshake", problem)
  if status == "401" or status == "403" then
    err = errors.new("ACCESS_DENIED", problem, { statusCode = tonumber(status) })
  end
  http_failure.judge(err, tonumber(status), headers)
  err.mayHaveRun = false
  return err
end

-- Parses the head of a possibly incomplete answer: its first line, fields by lower-case name, and the rest.
local function read_head(bytes)
  local last = bytes:find("\r\n\r\n", 1, true)
  if (last or #bytes) > limits.headers then
    return nil, "the head is longer than allowed"
  elseif not last then
    return nil
  end
  local first, fields = nil, {}
  for line in bytes:sub(1, last + 1):gmatch("(.-)\r\n") do
    if not first then
      first = line
    else
      local name, value = line:match("^([!#$%%&'*+.^_`|~%w-]+):[ \t]*(.-)[ \t]*$")
      if not name or value:find("[%z\r\n]") then
        return nil, "a header field is malformed"
      end
      name = name:lower()
      fields[name] = fields[name] and fields[name] .. ", " .. value or value
    end
  end
  return { first = first, headers = fields, rest = bytes:sub(last + 4) }
end

-- Is `token` in a comma-separated list?
local function lists(value, token)
  for entry in (value or ""):gmatch("[^,]+") do
    if entry:match("^%s*(.-)%s*$"):lower() == token:lower() then
      return true
    end
  end
  return false
end

---@class operations.WebSocketOpening
---@field host string  for the Host header
---@field path string
---@field key string  16 random bytes, base64
---@field protocol string
---@field headers? table<string, string>  more fields, without control characters

--- The client's request.
---@param opening operations.WebSocketOpening
---@return string
function handshake.request(opening)
  local lines = {
    ("GET %s HTTP/1.1"):format(opening.path),
    "Host: " .. opening.host,
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: " .. opening.key,
    "Sec-WebSocket-Protocol: " .. opening.protocol,
  }
  for _, name in ipairs(members.names(opening.headers or {})) do
    lines[#lines + 1] = ("%s: %s"):format(name, opening.headers[name])
  end
  return table.concat(lines, "\r\n") .. "\r\n\r\n"
end

-- The error in the server's answer, or nil.
local function flaw(opening, status, headers)
  if status ~= "101" then
    return ("the server answered %s"):format(status)
  elseif not lists(headers.upgrade, "websocket") or not lists(headers.connection, "upgrade") then
    return "the server did not upgrade the connection"
  elseif headers["sec-websocket-accept"] ~= proof(opening.key) then
    return "the server did not read the key (Sec-WebSocket-Accept)"
  elseif (headers["sec-websocket-protocol"] or opening.protocol) ~= opening.protocol then
    return ("the server does not speak %s"):format(opening.protocol)
  elseif headers["sec-websocket-extensions"] then
    return "the server chose an extension that was not offered"
  end
end

--- Reads the server's answer.
---@param opening operations.WebSocketOpening
---@param bytes string  all bytes so far
---@return string? rest  the bytes after the answer; nil: incomplete or failed
---@return operations.Error? err  TRANSPORT_LOST, or ACCESS_DENIED for a status of 401 or 403
function handshake.read_response(opening, bytes)
  local head, problem = read_head(bytes)
  if not head then
    return nil, problem and failure("handshake", problem)
  end
  local status = head.first:match("^HTTP/1%.1 (%d%d%d)")
  if not status then
    return nil, failure("handshake", "the server does not speak HTTP/1.1")
  end
  problem = flaw(opening, status, head.headers)
  if problem then
    return nil, refusal(status, head.headers, problem)
  end
  return head.rest
end

---@class operations.WebSocketTarget : operations.StreamOptions
---@field protocol string  the subprotocol that is offered
---@field headers? table<string, string>
---@field handshake_timeout? number  ms, default 10,000

--- Connects to a server and performs the handshake.
---@param parsed table  a URL of ws or wss, as `url.parse` gives it
---@param options operations.WebSocketTarget
---@return operations.Stream? stream
---@return operations.Error? err  as of `read_response`, and of `stream.connect`
---@return string? rest  the bytes that followed the handshake
function handshake.connect(parsed, options)
  local secure = parsed.scheme == "wss"
  local port = tonumber(parsed.port) or secure and 443 or 80
  local given = members.merged(options, { tls = secure })
  local stream, err = streams.connect((parsed.host:gsub("^%[(.*)%]$", "%1")), port, given)
  if not stream then
    return nil, err
  end
  local opening = {
    host = parsed.port and parsed.host .. ":" .. parsed.port or parsed.host,
    path = (parsed.path == "" and "/" or parsed.path) .. (parsed.query and "?" .. parsed.query or ""),
    key = base64.encode(core.random_bytes(16)), protocol = options.protocol, headers = options.headers,
  }
  local rest
  stream:offer(handshake.request(opening))
  local timeout = options.handshake_timeout or limits.handshake_timeout
  rest, err = handshake.within(timeout, handshake.collect, stream, function(bytes)
    return handshake.read_response(opening, bytes)
  end)
  if not rest then
    stream:close()
    return nil, err
  end
  return stream, nil, rest
end

---@class operations.WebSocketRequest  the argument of a hub's `authorize`
---@field path string  path and query
---@field headers table<string, string>  by lower-case name
---@field token? string  of "Authorization: Bearer"
---@field peer? { address: string?, port: integer?, tls: (boolean|operations.TlsPeer)? }

--- Does a request open a connection that speaks `protocol`?
---@param request operations.ServerRequest
---@param protocol string
---@return integer? status  of the refusal; nil: it does
---@return string? reason
function handshake.flaw(request, protocol)
  local headers = request.headers
  if request.method ~= "GET" then
    return 400, "GET expected"
  elseif headers["content-length"] or headers["transfer-encoding"] then
    return 400, "a handshake has no body"
  elseif not lists(headers.upgrade, "websocket") or not lists(headers.connection, "upgrade") then
    return 426, "this is a WebSocket endpoint"
  elseif headers["sec-websocket-version"] ~= "13" then
    return 426, "version 13 expected"
  elseif not (headers["sec-websocket-key"] or ""):match("^[%w+/]+==$") or #headers["sec-websocket-key"] ~= 24 then
    return 400, "Sec-WebSocket-Key: 16 bytes in base64 expected"
  elseif headers["sec-websocket-protocol"] and not lists(headers["sec-websocket-protocol"], protocol) then
    return 400, "Sec-WebSocket-Protocol: " .. protocol .. " expected"
  end
end

--- A reader of requests for `collect`: returns the request and the bytes after it, or a refusal.
---@return fun(bytes: string): operations.ServerRequest?, operations.ServerResponse?, string?
function handshake.reader()
  return function(bytes)
    local parser = http_server.parser(limits.headers, limits.request_fields, limits.request_target, limits.body)
    local event, next_byte, head, reason = parser:read(bytes, 1)
    if event == "head" then
      return { method = head.method, target = head.target, headers = head.headers, body = "" }, nil,
        bytes:sub(next_byte)
    elseif event == "error" then
      return nil, handshake.refuse(head, reason)
    end
  end
end

--- The request for `authorize`.
---@param request operations.ServerRequest
---@return operations.WebSocketRequest
function handshake.opening(request)
  local headers = request.headers
  local token = (headers.authorization or ""):match("^[Bb][Ee][Aa][Rr][Ee][Rr] +([^ ]+)$")
  return { path = request.target, headers = headers, token = token, peer = request.peer }
end

--- The server's answer that opens the connection.
---@param request operations.ServerRequest
---@param protocol string
---@param upgrade fun(stream: operations.Stream, rest: string)
---@return operations.ServerResponse
function handshake.accept(request, protocol, upgrade)
  return { status = 101, upgrade = upgrade, headers = {
    Upgrade = "websocket", Connection = "Upgrade",
    ["Sec-WebSocket-Protocol"] = request.headers["sec-websocket-protocol"] and protocol or nil, -- if offered
    ["Sec-WebSocket-Accept"] = proof(request.headers["sec-websocket-key"]),
  } }
end

--- The server's refusal.
---@param status integer
---@param reason string
---@param challenge? string  with status 401: for WWW-Authenticate
---@return operations.ServerResponse
function handshake.refuse(status, reason, challenge)
  return { status = status, body = reason, headers = {
    ["Content-Type"] = "text/plain", Connection = "close",
    Upgrade = status == 426 and "websocket" or nil,
    ["Sec-WebSocket-Version"] = status == 426 and "13" or nil,
    ["WWW-Authenticate"] = status == 401 and challenge or nil,
  } }
end

return handshake

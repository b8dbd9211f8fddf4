--- How a WebSocket connection begins (RFC 6455, section 4), on both sides: what is collected, for how long, and the
--- texts of the handshake.
local base64 = require("operations.base.base64")
local codec = require("operations.websocket")
local core = require("operations.core")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local scheduler = require("operations.task.scheduler")

local handshake = {}

-- What both sides must name: the call protocol, its version, its notation.
handshake.protocol = "ops.v1.json"

--- Runs `fn` for at most `ms`.
---@param ms number
---@param fn fun(...): any, any
---@return any result  what it returns, or nil and TIMEOUT
---@return any err
function handshake.within(ms, fn, ...)
  local deadline, outer = core.now() + ms, scheduler.deadline(nil)
  scheduler.deadline(outer and outer < deadline and outer or deadline)
  local result, err = fn(...)
  scheduler.deadline(outer)
  return result, err
end

--- Collects what comes until `read` makes something of it; then the stream is paused.
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
      ended = err or errors.new("TRANSPORT_LOST", "the connection ended in the handshake", { kind = "reset" })
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

-- What proves that the other side read the key.
local function proof(key)
  return base64.encode(codec.sha1(key .. GUID))
end

local function failure(kind, message)
  return errors.new("TRANSPORT_LOST", message, { kind = kind })
end

-- The head of a message that may still be incomplete: its first line, fields by lower-case name, and what follows it.
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

-- Is `token` one of a comma-separated list?
local function lists(value, token)
  for entry in (value or ""):gmatch("[^,]+") do
    if entry:match("^%s*(.-)%s*$"):lower() == token:lower() then
      return true
    end
  end
  return false
end

---@class operations.WebSocketOpening
---@field host string  as the Host header says it
---@field path string
---@field key string  16 random bytes, base64
---@field protocol string
---@field token? string
---@field headers? table<string, string>

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
  if opening.token then
    lines[#lines + 1] = "Authorization: Bearer " .. opening.token
  end
  return table.concat(lines, "\r\n") .. "\r\n\r\n"
end

-- What is wrong with the server's answer.
local function flaw(opening, status, headers)
  if status ~= "101" then
    return ("the server answered %s"):format(status)
  elseif not lists(headers.upgrade, "websocket") or not lists(headers.connection, "upgrade") then
    return "the server did not upgrade the connection"
  elseif headers["sec-websocket-accept"] ~= proof(opening.key) then
    return "the server did not read the key (Sec-WebSocket-Accept)"
  elseif headers["sec-websocket-protocol"] ~= opening.protocol then
    return ("the server does not speak %s"):format(opening.protocol)
  elseif headers["sec-websocket-extensions"] then
    return "the server chose an extension that was not offered"
  end
end

--- Reads the server's answer.
---@param opening operations.WebSocketOpening
---@param bytes string  all that came so far
---@return string? rest  what follows the answer; nil: it is not complete, or failed
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
  if problem and (status == "401" or status == "403") then
    return nil, errors.new("ACCESS_DENIED", problem, { statusCode = tonumber(status) })
  elseif problem then
    return nil, failure("handshake", problem)
  end
  return head.rest
end

---@class operations.WebSocketRequest
---@field path string
---@field headers table<string, string>  by lower-case name
---@field token? string  of "Authorization: Bearer"
---@field rest string  frames that came with it

--- Reads a client's request.
---@param bytes string  all that came so far
---@param protocol string
---@return operations.WebSocketRequest?  nil: it is not complete, or is none
---@return integer? status  of the refusal
---@return string? reason
function handshake.read_request(bytes, protocol)
  local head, problem = read_head(bytes)
  if not head then
    return nil, problem and 400 or nil, problem
  end
  local headers = head.headers
  local path = head.first:match("^GET (/[^%c ]*) HTTP/1%.1$")
  if not path then
    return nil, 400, "GET of a path in HTTP/1.1 expected"
  elseif not lists(headers.upgrade, "websocket") or not lists(headers.connection, "upgrade") then
    return nil, 426, "this is a WebSocket endpoint"
  elseif headers["sec-websocket-version"] ~= "13" then
    return nil, 426, "version 13 expected"
  elseif not (headers["sec-websocket-key"] or ""):match("^[%w+/]+==$") or #headers["sec-websocket-key"] ~= 24 then
    return nil, 400, "Sec-WebSocket-Key: 16 bytes in base64 expected"
  elseif not lists(headers["sec-websocket-protocol"], protocol) then
    return nil, 400, "Sec-WebSocket-Protocol: " .. protocol .. " expected"
  elseif not headers.host then
    return nil, 400, "Host expected"
  end
  local token = (headers.authorization or ""):match("^[Bb][Ee][Aa][Rr][Ee][Rr] +([^ ]+)$")
  return { path = path, headers = headers, token = token, rest = head.rest }
end

--- The server's consent.
---@param request operations.WebSocketRequest
---@param protocol string
---@return string
function handshake.accept(request, protocol)
  return table.concat({
    "HTTP/1.1 101 Switching Protocols",
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Accept: " .. proof(request.headers["sec-websocket-key"]),
    "Sec-WebSocket-Protocol: " .. protocol,
  }, "\r\n") .. "\r\n\r\n"
end

local phrases = { [400] = "Bad Request", [401] = "Unauthorized", [403] = "Forbidden", [426] = "Upgrade Required",
  [500] = "Internal Server Error", [503] = "Service Unavailable" }

--- The server's refusal.
---@param status integer
---@param reason string
---@return string
function handshake.refuse(status, reason)
  local extra = status == 426 and "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    or status == 401 and "WWW-Authenticate: Bearer\r\n" or ""
  return ("HTTP/1.1 %d %s\r\n%sConnection: close\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s"):format(
    status, phrases[status], extra, #reason, reason)
end

return handshake

--- Answers of the HTTP server as bytes: the length of the message, the Date, checks of what a handler returned.
local codec = require("operations.http_server")

local framing = {}

local days = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" }
local months = { "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" }

local date, from, till = nil, math.huge, 0 -- of the second from `from` to `till`, ms since the epoch

--- The value of the field Date (RFC 9110, 5.6.7), made once a second.
---@param now number  ms since the epoch
---@return string
function framing.date(now)
  if now < from or now >= till then
    local second = math.floor(now / 1000)
    local t = os.date("!*t", second)
    from, till = second * 1000, (second + 1) * 1000
    date = ("%s, %02d %s %d %02d:%02d:%02d GMT"):format(days[t.wday], t.day, months[t.month], t.year, t.hour, t.min,
      t.sec)
  end
  return date
end

--- Does an answer with this status never have a body?
---@param status integer
---@return boolean
function framing.is_empty(status)
  return status < 200 or status == 204 or status == 304
end

--- The bytes of an answer, or of its head alone if the body follows in pieces.
---@param response operations.ServerResponse
---@param now number  ms since the epoch
---@param connection? string  the value of that field
---@param head_only? boolean
---@param chunked? boolean  pieces are sent as chunks
---@return string? bytes
---@return any field  nil: a field that cannot be sent
function framing.bytes(response, now, connection, head_only, chunked)
  local body = response.body
  if type(body) == "function" then
    body = chunked or false -- its length is not known before its end
  elseif body == nil and not head_only then
    body = ""
  end
  return codec.answer(response.status, response.headers, body, framing.date(now), connection, head_only)
end

--- A piece of a body as a chunk (RFC 9112, 7.1).
---@param piece string  not empty
---@return string
function framing.chunk(piece)
  return ("%x\r\n"):format(#piece) .. piece .. "\r\n"
end

framing.last_chunk = "0\r\n\r\n"

--- Checks the response of a handler. Returns the error, or nil.
---@param response any
---@return string?
function framing.flaw(response)
  if type(response) ~= "table" then
    return ("a response expected, got %s"):format(type(response))
  end
  local status, body = response.status, type(response.body)
  if type(status) ~= "number" or status % 1 ~= 0 or status < 100 or status > 999 then
    return ("a response with a status expected, got %s"):format(tostring(status))
  elseif status < 200 and not (status == 101 and response.upgrade) then
    return ("a final status expected, got %d"):format(status)
  elseif response.headers ~= nil and type(response.headers) ~= "table" then
    return ("headers of a response: table expected, got %s"):format(type(response.headers))
  elseif body ~= "string" and body ~= "function" and body ~= "nil" then
    return ("body of a response: string or function expected, got %s"):format(body)
  end
end
return framing

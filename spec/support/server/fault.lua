-- /fault/NAME: a server that is broken or hostile, on the bare socket; what takes its time or never ends is here, what
-- is said at once is in raw.lua. Ends when the client goes. /fault/unasked notes under `note` when it said something.
local socket = assert(ngx.req.socket(true))
local ok = "HTTP/1.1 200 OK\r\nConnection: close\r\n"

local function stall()
  ngx.sleep(30)
end

local function repeated(text)
  while socket:send(text) do
    ngx.sleep(0)
  end
end

local function drip(text)
  for i = 1, #text do
    if not socket:send(text:sub(i, i)) then
      return
    end
    ngx.sleep(0.02)
  end
end

local function echo()
  local body = assert(socket:receive(tonumber(ngx.var.http_content_length)))
  socket:send(("%sContent-Length: %d\r\n\r\n%s"):format(ok, #body, body))
end

local faults = {
  silence = stall,
  half_head = function()
    socket:send(ok .. "X-Half: ")
    stall()
  end,
  dripping_head = function()
    drip(ok .. "X-Filler: " .. ("x"):rep(1000))
  end,
  stalled_body = function()
    socket:send(ok .. "Content-Length: 100\r\n\r\nsome")
    stall()
  end,
  unasked = function()
    socket:send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    ngx.sleep(0.02)
    socket:send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
    ngx.shared.notes:set(ngx.var.arg_note, "said")
    stall()
  end,
  stalled_error = function()
    socket:send("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 100\r\n\r\nsome")
    stall()
  end,
  dripping_body = function()
    socket:send(ok .. "Content-Length: 1000\r\n\r\n")
    drip(("x"):rep(1000))
  end,
  endless_informing = function()
    repeated("HTTP/1.1 102 Processing\r\n\r\n")
  end,
  endless_head = function()
    socket:send(ok)
    repeated("X-Filler: " .. ("x"):rep(1000) .. "\r\n")
  end,
  endless_line = function()
    socket:send(ok .. "X-Filler: ")
    repeated(("x"):rep(10000))
  end,
  endless_chunks = function()
    socket:send(ok .. "Transfer-Encoding: chunked\r\n\r\n")
    repeated("2710\r\n" .. ("x"):rep(10000) .. "\r\n")
  end,
  endless_extension = function()
    socket:send(ok .. "Transfer-Encoding: chunked\r\n\r\n5;")
    repeated(("x"):rep(10000))
  end,
  endless_trailers = function()
    socket:send(ok .. "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n")
    repeated("X-Late: " .. ("x"):rep(1000) .. "\r\n")
  end,
  continue = function()
    socket:send("HTTP/1.1 100 Continue\r\n\r\n")
    echo()
  end,
  silent_continue = echo,
  refused_continue = function()
    socket:send("HTTP/1.1 417 Expectation Failed\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno")
  end,
}

faults[ngx.var.uri:match("^/fault/(.+)$")]()

--- Passes the request of a `content_by_lua` as a table, and sends its answer through nginx, with nginx's HTTP/2 and
--- TLS.
local base = require("resty.core.base")
local codec = require("operations.http_server")
local ffi = require("ffi")
local limits = require("operations.base.limits")
local system = require("operations.system")

local http = {}

local PIECE = math.ceil(limits.turn_bytes / 64) -- what a small piece of a body counts for

local FILE_PIECE = 65536

-- Fields by lower-case name, repeated ones joined.
local function read_headers()
  local headers = setmetatable(ngx.req.get_headers(0), nil) -- which looks for fields that are missing by other names
  for name, value in pairs(headers) do
    if type(value) == "table" then
      headers[name] = table.concat(value, name == "cookie" and "; " or ", ")
    end
  end
  return headers
end

-- The function that gives a body in pieces. One that is larger than nginx's buffer is in a file.
local function read_body()
  ngx.req.read_body()
  local bytes, path = ngx.req.get_body_data(), not ngx.req.get_body_data() and ngx.req.get_body_file()
  local file = path and assert(io.open(path, "rb"))
  return function()
    local piece = bytes
    bytes = nil
    if file then
      piece = file:read(FILE_PIECE)
      if not piece then
        file:close()
        file = nil
      end
    end
    return piece
  end
end

-- The beginning of nginx's ngx_http_request_t and ngx_connection_t, which has been the same in all its versions.
local request_pointer = ffi.typeof([[struct {
  uint32_t signature;
  struct { void *data, *read, *write; int fd; } *connection;
} *]])
local SIGNATURE = 0x50545448 -- "HTTP"

-- Has the caller left? nginx does not notice the end of a connection that arrives together with its request: the event
-- comes once, before nginx listens for it.
local function has_left()
  local request = ffi.cast(request_pointer, base.get_request())
  return request.signature == SIGNATURE and system.has_ended(request.connection.fd)
end

local warned = false

-- Calls `request:_go()` when the caller disconnects. Returns whether the caller is still there.
local function listen(request)
  local ok, err = ngx.on_abort(function()
    request:_go()
  end)
  if ok then
    return not has_left()
  elseif not warned then
    warned = true
    ngx.log(ngx.WARN, "operations: handlers run on when their callers leave: ", err)
  end
  return true
end

-- A request. Fields that few handlers read are computed on first use.
---@class operations.OpenrestyRequest : operations.ServerRequest
---@field _leaving? fun()[]  called when the caller disconnects
---@field _gone? boolean  the caller has disconnected
local Request = {}

function Request:_go()
  local fns = rawget(self, "_leaving") or {}
  self._leaving, self._gone = nil, true
  for i = 1, #fns do
    fns[i]()
  end
end

local lazy = {}

-- Reads the body when its first piece is requested: the request was accepted by then.
function lazy.body(self)
  local headers, next_piece = self.headers, nil
  if ngx.req.http_version() < 2 and not headers["content-length"] and not headers["transfer-encoding"] then
    return ""
  end
  return function()
    next_piece = next_piece or read_body()
    return next_piece()
  end
end

function lazy.peer()
  return { address = ngx.var.remote_addr, port = tonumber(ngx.var.remote_port), tls = ngx.var.https == "on" }
end

function lazy.left(self)
  return function(fn)
    if not rawget(self, "_leaving") and not rawget(self, "_gone") then
      self._leaving = {}
      self._gone = not listen(self) or nil
    end
    if rawget(self, "_gone") then
      return fn()
    end
    table.insert(self._leaving, fn)
  end
end

function Request:__index(key)
  local make = lazy[key]
  if not make then
    return Request[key]
  end
  local value = make(self)
  self[key] = value
  return value
end

local function start_heart(heartbeat, state)
  return ngx.thread.spawn(function()
    while true do
      local seen = state.sent
      ngx.sleep(heartbeat.after / 1000)
      if state.sent == seen then
        ngx.print(heartbeat.bytes)
        ngx.flush(true)
      end
    end
  end)
end

-- True when everything was sent; nil when the caller disconnected; false when the body failed.
local function send_pieces(body, state)
  local spent = 0
  while true do
    local piece, err = body()
    if err ~= nil then
      return false
    elseif not piece then
      return true
    end
    state.sent = state.sent + 1
    if not ngx.print(piece) or not ngx.flush(true) then
      return nil
    end
    spent = spent + math.max(#piece, PIECE)
    if spent >= limits.turn_bytes then -- nginx sends at once to a fast reader, and other requests would not run
      spent = 0
      ngx.sleep(0)
    end
  end
end

-- The rest of the body is not needed. Its producer cleans up first, because its light thread ends with the request.
local function drop(response, request)
  request:_go()
  while response.body() do end -- luacheck: ignore 542
end

local function stream(response, request)
  local state = { sent = 0 }
  local heart = response.heartbeat and start_heart(response.heartbeat, state)
  local ok = send_pieces(response.body, state)
  if heart then
    ngx.thread.kill(heart)
  end
  if ok == nil then
    drop(response, request)
  end
  return ok and ngx.eof() or ngx.exit(ngx.ERROR)
end

-- Fields that nginx sets: with a length from a handler, a body of another length would be read as the next answer.
local own = { connection = true, ["content-length"] = true, ["transfer-encoding"] = true }

-- Sends pieces whose length is known.
local function stream_sized(response, request)
  local left, body = response.length, response.body
  function response.body()
    local piece, err = body()
    left = left - #(piece or "")
    if left < 0 or not piece and not err and left > 0 then
      return nil, "the body has another length than its head says"
    end
    return piece, err
  end
  ngx.header["content-length"] = response.length
  ngx.send_headers()
  return stream(response, request)
end

-- Ends with `ngx.eof`: nginx uses the coroutine for another request where its function returns, not after `ngx.exit`.
local function send(response, request)
  if response.upgrade then
    ngx.log(ngx.ERR, "operations: cannot take over the connection here: use a location of its own for upgrades")
    return ngx.exit(501)
  end
  ngx.status = response.status
  for name, value in pairs(response.headers) do
    if not own[name:lower()] then
      ngx.header[name] = value
    end
  end
  local body = response.body
  if request.method == "HEAD" or body == "" then
    local length = type(body) == "string" and #body or response.length
    if length and response.status ~= 204 and response.status ~= 304 then
      ngx.header["content-length"] = length
    end
    ngx.send_headers()
    if type(body) == "function" then
      drop(response, request)
    end
    return ngx.eof()
  elseif type(body) == "string" then
    ngx.header["content-length"] = #body
    ngx.print(body)
    return ngx.eof()
  elseif response.length then
    return stream_sized(response, request)
  end
  ngx.send_headers()
  ngx.flush(true)
  return stream(response, request)
end

local FAILED = '{"status":500,"title":"Internal Server Error","type":"about:blank"}'

--- Handles the running request.
---@param handle fun(request: operations.ServerRequest): operations.ServerResponse
function http.serve(handle)
  local headers, target = read_headers(), ngx.var.request_uri
  if not codec.is_head(target, headers) then -- nginx accepts some that RFC 9110 forbids
    return ngx.exit(400)
  end
  local host, name = headers.host, ngx.var.host
  if host and host ~= name and host:gsub(":%d*$", ""):lower() ~= name then
    headers.host = name -- with an absolute target, its host counts (RFC 9112, 3.2.2)
  end
  local request = setmetatable({ method = ngx.req.get_method(), target = target, headers = headers,
    breaks_off = true }, Request)
  local ok, response = pcall(handle, request)
  if not ok then
    ngx.log(ngx.ERR, "operations: ", tostring(response))
    response = { status = 500, headers = { ["content-type"] = "application/problem+json" }, body = FAILED }
  elseif rawget(request, "_gone") then
    if type(response.body) == "function" then
      drop(response, request)
    end
    return ngx.exit(499)
  end
  return send(response, request)
end

return http

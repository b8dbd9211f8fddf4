--- The request that a `content_by_lua` handles, as a table, and its answer, by nginx's own HTTP: HTTP/2 and TLS as nginx
--- has them.
local http = {}

-- What nginx lets pass and RFC 9110 does not.
local NAME, CONTROL = "^[%w!#$%%&'*+.^_`|~-]+$", "[^%C\t]"

-- Fields by lower-case name, repeated ones joined; nil when one is malformed.
local function read_headers()
  local headers = {}
  for name, value in pairs(ngx.req.get_headers(0)) do
    if type(value) == "table" then
      value = table.concat(value, name == "cookie" and "; " or ", ")
    end
    if not name:find(NAME) or type(value) ~= "string" or value:find(CONTROL) then
      return nil
    end
    headers[name] = value
  end
  return headers
end

-- A body that is larger than nginx's buffer is in a file.
local function read_body()
  ngx.req.read_body()
  local bytes, path = ngx.req.get_body_data(), not ngx.req.get_body_data() and ngx.req.get_body_file()
  if path then
    local file = assert(io.open(path, "rb"))
    bytes = file:read("*a")
    file:close()
  end
  return bytes
end

-- Reads it when it is first asked for: by then the request was found to be welcome.
local function body_of(headers)
  if ngx.req.http_version() < 2 and not headers["content-length"] and not headers["transfer-encoding"] then
    return ""
  end
  local taken = false
  return function()
    if not taken then
      taken = true
      return read_body()
    end
  end
end

local warned = false

-- Those who want to know when the caller leaves.
local function new_leaving()
  local leaving = { fns = {}, gone = false }
  function leaving.go()
    local fns = leaving.fns
    leaving.fns, leaving.gone = {}, true
    for i = 1, #fns do
      fns[i]()
    end
  end
  function leaving.left(fn)
    if #leaving.fns == 0 and not leaving.asked then
      leaving.asked = true
      local ok, err = ngx.on_abort(leaving.go)
      if not ok and not warned then
        warned = true
        ngx.log(ngx.WARN, "operations: handlers run on when their callers leave: ", err)
      end
    end
    leaving.fns[#leaving.fns + 1] = fn
  end
  return leaving
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

-- True when all of it went out; nil when the caller left; false when the body failed.
local function send_pieces(body, state)
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
  end
end

local function stream(response, leaving)
  local state = { sent = 0 }
  local heart = response.heartbeat and start_heart(response.heartbeat, state)
  local ok = send_pieces(response.body, state)
  if heart then
    ngx.thread.kill(heart)
  end
  if ok == nil then
    leaving.go()
  end
  return ngx.exit(ok and ngx.OK or ngx.ERROR)
end

local function send(response, method, leaving)
  ngx.status = response.status
  for name, value in pairs(response.headers) do
    if name ~= "connection" then -- nginx's business
      ngx.header[name] = value
    end
  end
  local body = response.body
  if method == "HEAD" or body == "" then
    if type(body) == "string" and response.status ~= 204 and response.status ~= 304 then
      ngx.header["content-length"] = #body
    end
    ngx.send_headers()
    return ngx.exit(ngx.OK)
  elseif type(body) == "string" then
    ngx.header["content-length"] = #body
    ngx.print(body)
    return ngx.exit(ngx.OK)
  end
  ngx.send_headers()
  ngx.flush(true)
  return stream(response, leaving)
end

local FAILED = '{"status":500,"title":"Internal Server Error","type":"about:blank"}'

--- Handles the request that runs here.
---@param handle fun(request: operations.ServerRequest): operations.ServerResponse
function http.serve(handle)
  local headers, method = read_headers(), ngx.req.get_method()
  if not headers then
    return ngx.exit(400)
  end
  local leaving = new_leaving()
  local ok, response = pcall(handle, {
    method = method, target = ngx.var.request_uri, headers = headers, body = body_of(headers), left = leaving.left,
    peer = { address = ngx.var.remote_addr, port = tonumber(ngx.var.remote_port), tls = ngx.var.https == "on" },
  })
  if not ok then
    ngx.log(ngx.ERR, "operations: ", tostring(response))
    response = { status = 500, headers = { ["content-type"] = "application/problem+json" }, body = FAILED }
  elseif leaving.gone then
    return ngx.exit(499)
  end
  return send(response, method, leaving)
end

return http

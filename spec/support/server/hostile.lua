-- /hostile/KEY: a legacy MCP server (Streamable HTTP) that behaves badly: how, is the name of the tool that is called.
-- /hostile/KEY?SAYS=... for its handshake: told=500 what it answers to notifications, get=500 to the GET stream,
-- session=never forgets every session at once.
local cjson = require("cjson")

local args, key = ngx.req.get_uri_args(), ngx.var.uri:match("(%w+)$")
local notes = ngx.shared.notes

-- How often something came.
local function count(name)
  return notes:incr(("hostile.%s.%s"):format(key, name), 1, 0)
end

local function refuse(status, headers, body)
  ngx.status = status
  for name, value in pairs(headers or {}) do
    ngx.header[name] = value
  end
  ngx.print(body or "")
end

local function answer_of(id, text)
  return ('{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}'):format(id, text)
end

local function json(text, kind)
  ngx.header["Content-Type"] = kind or "application/json"
  ngx.print(text)
end

local function events(text)
  ngx.header["Content-Type"] = "text/event-stream"
  ngx.print(text)
  ngx.flush(true)
end

-- Takes the connection from nginx.
local function raw(...)
  local socket = assert(ngx.req.socket(true))
  for _, text in ipairs({ ... }) do
    socket:send(text)
  end
  return socket
end

-- An answer on a connection that is said to be kept.
local function kept(text)
  return raw(("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"):format(#text, text))
end

local tools = {}

function tools.echo(id, text)
  json(answer_of(id, text))
end

function tools.formats(id)
  local answer = answer_of(id, "formatted"):gsub(',"result"', '\r\ndata: ,"result"')
  local text = "\239\187\191: a comment\r\revent: unknown\rdata: x\r\runknown: field\n\r\n"
    .. "data:" .. answer .. "\r\n\r\n"
  ngx.header["Content-Type"] = "text/event-stream; charset=utf-8"
  for byte in text:gmatch(".") do
    ngx.print(byte)
    ngx.flush(true)
  end
end

function tools.unended(id)
  events("data: " .. answer_of(id, "unended"))
end

function tools.cut(id)
  events("data: " .. answer_of(id, "cut"):sub(1, 40))
end

function tools.open(id)
  events("data: " .. answer_of(id, "open") .. "\n\n")
  ngx.sleep(30)
end

function tools.clean()
  events(": nothing to say\n\n")
end

-- Promises the rest again and again; the GETs that ask for it get another promise, see below.
function tools.promising()
  events("retry: 1\nid: p\ndata:\n\n")
end

-- Promises the rest for a time when nobody waits any more.
function tools.patient()
  events("retry: 3600000\nid: p\ndata:\n\n")
end

function tools.astray()
  json(answer_of(987654, "astray"))
end

function tools.typeless(id)
  local body = " " .. answer_of(id, "typeless")
  raw(("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s"):format(#body, body))
end

function tools.capitals(id)
  json("\239\187\191[" .. answer_of(id, "capitals") .. "]", "Application/JSON; charset=utf-8")
end

function tools.truncated(id)
  raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n", answer_of(id, "x"))
end

function tools.reset()
  ngx.exit(444)
end

function tools.stalling(id)
  raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n", answer_of(id, "x"))
  ngx.sleep(30)
end

function tools.wordless()
  ngx.sleep(30)
end

-- The head comes byte by byte.
function tools.hesitant(id)
  local body = answer_of(id, "hesitant")
  local head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
  local socket = assert(ngx.req.socket(true))
  for byte in (head:format(#body) .. body):gmatch(".") do
    socket:send(byte)
    ngx.sleep(0.001)
  end
end

-- Closes a connection that it said it would keep; the next request may be on its way by then.
function tools.leaving(id)
  kept(answer_of(id, "leaving"))
end

-- Takes the next request on the connection, and closes it without a word.
function tools.swallowing(id)
  local socket = kept(answer_of(id, "swallowing"))
  socket:settimeout(2000)
  socket:receive()
end

local function little_endian(number, bytes)
  local pieces = {}
  for i = 1, bytes do
    pieces[i] = string.char(math.floor(number / 256 ^ (i - 1)) % 256)
  end
  return table.concat(pieces)
end

-- RFC 1952, of one block that is stored as it is.
local function gzip(text)
  return "\31\139\8\0\0\0\0\0\0\255\1" .. little_endian(#text, 2) .. little_endian(65535 - #text, 2) .. text
    .. little_endian(ngx.crc32_long(text), 4) .. little_endian(#text, 4)
end

function tools.compressed(id)
  ngx.header["Content-Encoding"] = "gzip"
  json(gzip(answer_of(id, (ngx.var.http_accept_encoding or ""):find("gzip") and "asked for" or "not asked for")))
end

function tools.compressed_events(id)
  ngx.header["Content-Encoding"] = "gzip"
  events(gzip("data: " .. answer_of(id, "events") .. "\n\n"))
end

function tools.broken_gzip(id)
  ngx.header["Content-Encoding"] = "gzip"
  json((gzip(answer_of(id, "x")):gsub("result", "rezult")))
end

function tools.endless()
  ngx.header["Content-Type"] = "application/json"
  for _ = 1, 64 do
    ngx.print(("x"):rep(1024 * 1024))
    ngx.flush(true)
  end
end

function tools.endless_event()
  ngx.header["Content-Type"] = "text/event-stream"
  ngx.print("data: ")
  tools.endless()
end

function tools.around()
  refuse(307, { Location = ngx.var.request_uri })
end

for status, name in pairs({ [301] = "moved", [302] = "found", [303] = "other" }) do
  tools[name] = function()
    refuse(status, { Location = ngx.var.request_uri .. "?moved" })
  end
end

function tools.locked()
  refuse(401)
end

function tools.forbidden()
  refuse(403, { ["WWW-Authenticate"] = 'Bearer error="insufficient_scope", scope="more"' })
end

function tools.busy()
  refuse(429, { ["Retry-After"] = "7" }, "later")
end

function tools.down()
  refuse(503, { ["Retry-After"] = "2", ["Content-Type"] = "text/html" }, "<h1>Down</h1>")
end

-- An error of the protocol with a status that says more.
function tools.overloaded(id)
  refuse(503, { ["Retry-After"] = "3", ["Content-Type"] = "application/json" },
    ('{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"overloaded"}}'):format(id))
end

ngx.req.read_body()
local body = ngx.req.get_body_data() or ""
local id, method = body:match('"id":(%d+)'), body:match('"method":"([%w/_-]+)"')
if ngx.req.get_method() == "GET" then
  if ngx.var.http_last_event_id then
    count("resumed")
    return events("retry: 1\n\n")
  end
  count("listened")
  return refuse(tonumber(args.get or 405))
elseif ngx.req.get_method() == "DELETE" or not id then
  if args.told == "never" and method == "notifications/roots/list_changed" then
    ngx.sleep(30)
  end
  return refuse(method and tonumber(args.told) or 202)
elseif method == "initialize" then
  ngx.header["Mcp-Session-Id"] = args.session and "s" .. count("initialize")
  json(('{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},'
    .. '"serverInfo":{"name":"hostile","version":"1"}}}'):format(id))
elseif method == "tools/list" then
  local tool = '{"name":"%s","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}'
  json(('{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s,%s,%s]}}'):format(id, tool:format("echo"),
    tool:format("leaving"), tool:format("swallowing")))
elseif method == "tools/call" then
  if args.session then
    return refuse(404)
  end
  count("call")
  local name, text = body:match('"name":"([%w_]+)"'), body:match('"message":"(.-)"')
  tools[name](id, text)
else
  refuse(400, { ["Content-Type"] = "application/json" },
    cjson.encode({ jsonrpc = "2.0", id = tonumber(id), error = { code = -32601, message = "Method not found" } }))
end

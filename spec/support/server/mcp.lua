-- /mcp/KEY?era=legacy|modern&...: an MCP server over Streamable HTTP that notes what it hears; /mcp/heard/KEY gives it.
-- /mcp/sse/KEY is one of the transport of 2024-11-05. Arguments: reply=json|sse, session=yes, discover=no
-- (only refuses handshakes, as a modern server), and what a tool is to do
-- is its name: echo, drop, resume, gone, accepted, html, ask, elsewhere, foreign, twice, changed, input.
local cjson = require("cjson")

local notes, args = ngx.shared.notes, ngx.req.get_uri_args()
local kind, key = ngx.var.uri:match("^/mcp/(%a+)/(%w+)$")
key = key or ngx.var.uri:match("^/mcp/(%w+)$")
local sent_headers = ngx.req.get_headers()

local function note(name, value)
  notes:set(("mcp.%s.%s"):format(key, name), value)
end

local function noted(name)
  return notes:get(("mcp.%s.%s"):format(key, name))
end

local function hear(text)
  local kept = { method = ngx.req.get_method(), headers = {}, body = text }
  for name, value in pairs(sent_headers) do
    kept.headers[name] = value
  end
  notes:rpush("mcp.heard." .. key, cjson.encode(kept))
end

if kind == "heard" then
  local list = {}
  while notes:llen("mcp.heard." .. key) > 0 do
    list[#list + 1] = notes:lpop("mcp.heard." .. key)
  end
  ngx.print("[", table.concat(list, ","), "]")
  return
end

local function answer(message, status)
  ngx.status = status or 200
  ngx.header["Content-Type"] = "application/json"
  ngx.print(cjson.encode(message))
end

local function event(message, id, name)
  ngx.print(name and "event: " .. name .. "\n" or "", id and "id: " .. id .. "\n" or "",
    "data: ", type(message) == "string" and message or cjson.encode(message), "\n\n")
  ngx.flush(true)
end

local function stream()
  ngx.header["Content-Type"] = "text/event-stream"
end

local function text(value)
  return { content = { { type = "text", text = value } } }
end

-- A stream that says one thing and then nothing, until the client closes it, which is noted.
local function hold()
  assert(ngx.on_abort(function()
    notes:rpush("mcp.heard." .. key, cjson.encode({ method = "END" }))
    ngx.exit(499)
  end))
  stream()
  if kind ~= "sse" then
    event({ jsonrpc = "2.0", method = "notifications/message", params = { level = "info", data = "here" } })
    ngx.sleep(60)
  end
end

-- Waits until the client has POSTed its answer to a request of ours.
local function wait_for(name)
  for _ = 1, 1000 do
    local found = noted(name)
    if found then
      note(name, nil)
      return found
    end
    ngx.sleep(0.005)
  end
  return "nothing"
end

local tool = {}

function tool.echo(message)
  return text(message.params.arguments.message)
end

function tool.ask(message)
  stream()
  local form = { type = "object", properties = { name = { type = "string", default = "Ada" } } }
  local params = { message = "?", requestedSchema = form }
  event({ jsonrpc = "2.0", id = "q1", method = "elicitation/create", params = params })
  event({ jsonrpc = "2.0", id = message.id, result = text(wait_for("answer")) })
end

-- A request, which only the legacy era has.
function tool.demand(message)
  stream()
  event({ jsonrpc = "2.0", id = "d1", method = "elicitation/create", params = { message = "?" } })
  event({ jsonrpc = "2.0", id = message.id, result = text("done") })
end

function tool.drop()
  stream()
  event({ jsonrpc = "2.0", method = "notifications/message", params = { level = "info", data = "soon gone" } })
end

function tool.resume(message)
  stream()
  note("resumed", message.id)
  ngx.print("retry: 20\n")
  event("", "e-1")
end

function tool.huge(message)
  local huge = ('{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":1e400}}'):format(message.id)
  if args.reply == "sse" then
    stream()
    event(huge)
  else
    ngx.header["Content-Type"] = "application/json"
    ngx.print(huge)
  end
end

function tool.accepted()
  ngx.status = 202
end

function tool.html()
  ngx.header["Content-Type"] = "text/html"
  ngx.print("<h1>Log in</h1>")
end

function tool.twice(message)
  stream()
  event({ jsonrpc = "2.0", id = 987654, result = text("someone else's") })
  event({ jsonrpc = "2.0", method = "notifications/progress",
    params = { progressToken = message.params._meta and message.params._meta.progressToken, progress = 1 } })
  event({ jsonrpc = "2.0", id = message.id, result = text("mine") })
  event({ jsonrpc = "2.0", id = message.id, result = text("again") })
end

function tool.elsewhere()
  if args.moved then
    return text("here")
  end
  ngx.header["Location"] = ngx.var.request_uri .. "&moved=yes"
  ngx.status = 308
end

function tool.foreign()
  ngx.header["Location"] = "http://localhost:" .. ngx.var.server_port .. "/mcp/elsewhere"
  ngx.status = 307
end

function tool.refused(message)
  local failure = { code = -32602, message = "no such thing", data = { a = 1 } }
  answer({ jsonrpc = "2.0", id = message.id, error = failure }, 400)
end

function tool.unreadable()
  ngx.header["Content-Type"] = "application/json"
  ngx.print('{"jsonrpc":"2.0","id":')
end

function tool.changed()
  note("grown", "yes")
  note("push", "notifications/tools/list_changed")
  return text("changed")
end

function tool.mismatch()
  if noted("listed") == 1 then
    return nil, { code = -32020, message = "Header mismatch" }
  end
  return text("right")
end

function tool.slow()
  ngx.sleep(30)
end

function tool.input(message)
  if not message.params.inputResponses then
    return { resultType = "input_required", requestState = "s\226\130\172=",
      inputRequests = { who = { method = "elicitation/create", params = { message = "Who?" } } } }
  end
  return text(message.params.requestState .. message.params.inputResponses.who.content.name)
end

local methods = {}

function methods.initialize(message)
  if args.session then
    note("session", (noted("sessions") or 0) + 1)
    note("sessions", noted("session"))
    ngx.header["Mcp-Session-Id"] = "session-" .. noted("session")
  end
  return { protocolVersion = message.params.protocolVersion, capabilities = { tools = { listChanged = true } },
    serverInfo = { name = "http-spec", version = "1" } }
end

methods["server/discover"] = function()
  return {
    resultType = "complete", supportedVersions = { "2026-07-28" }, capabilities = { tools = { listChanged = true } },
    ttlMs = 0, cacheScope = "private",
  }
end

methods["tools/list"] = function()
  note("listed", (noted("listed") or 0) + 1)
  local list = {}
  for name in pairs(tool) do
    local hints = { readOnlyHint = name == "drop" }
    list[#list + 1] = { name = name, inputSchema = { type = "object" }, annotations = hints }
  end
  list[1].inputSchema.properties = { region = { type = "string", ["x-mcp-header"] = "Region" } }
  list[#list + 1] = noted("grown") and { name = "grown", inputSchema = { type = "object" } } or nil
  return { tools = list, ttlMs = tonumber(args.ttl), cacheScope = args.ttl and "private" }
end

-- The list changes while it is on its way.
methods["prompts/list"] = function(message)
  stream()
  event({ jsonrpc = "2.0", method = "notifications/prompts/list_changed" })
  event({ jsonrpc = "2.0", id = message.id, result = {
    resultType = "complete", prompts = { { name = "p" } }, ttlMs = 60000, cacheScope = "private",
  } })
end

methods["tools/call"] = function(message)
  local call = tool[message.params.name]
  if not call then
    return nil, { code = -32602, message = "Unknown tool" }
  end
  return call(message)
end

methods["ping"] = function()
  return {}
end

methods["resources/read"] = function(message)
  local answers = message.params.inputResponses
  if not answers then
    return tool.input(message)
  end
  return { contents = { { uri = message.params.uri, text = answers.who.content.name } }, ttlMs = tonumber(args.ttl),
    cacheScope = "private" }
end

methods["resources/subscribe"] = methods["ping"]

methods["subscriptions/listen"] = function(message)
  if args.held then
    return hold()
  end
  stream()
  local meta = { ["io.modelcontextprotocol/subscriptionId"] = message.id }
  event({ jsonrpc = "2.0", method = "notifications/subscriptions/acknowledged", params = { _meta = meta } })
  local method = wait_for("push")
  event({ jsonrpc = "2.0", method = method, params = { _meta = meta } })
  ngx.sleep(2)
end

local function reply_to(message)
  local call = methods[message.method]
  local is_modern = (args.era or "legacy") == "modern"
  if args.discover and message.method == "initialize" then
    local failure = { code = -32022, message = "Unsupported protocol version", data = { supported = { "2026-07-28" } } }
    ngx.header["Mcp-Session-Id"] = "of-no-use"
    return answer({ jsonrpc = "2.0", id = message.id, error = failure }, 400)
  end
  call = not (args.discover and message.method == "server/discover") and call
  if not call or is_modern == (message.method == "initialize") and message.method:find("^[is][ne][ir][tv]") then
    return answer({ jsonrpc = "2.0", id = message.id, error = { code = -32601, message = "Method not found" } },
      is_modern and 404 or 400)
  end
  local result, failure = call(message)
  if is_modern and result then
    result.resultType = result.resultType or "complete"
  end
  if not result and not failure then
    return
  elseif args.reply == "sse" then
    stream()
    return event({ jsonrpc = "2.0", id = message.id, result = result, error = failure })
  end
  answer({ jsonrpc = "2.0", id = message.id, result = result, error = failure })
end

local function get()
  if args.held then
    hold()
  end
  if kind == "silent" then
    stream()
    ngx.print(":\n\n")
    ngx.flush(true)
    ngx.sleep(30)
  elseif kind == "sse" then
    stream()
    if args.early then -- in one chunk with what comes next
      ngx.print("event: endpoint\ndata: /mcp/sse/", key, "\n\n")
      event({ jsonrpc = "2.0", id = "early", method = "ping" }, nil, "message")
    else
      event("/mcp/sse/" .. key, nil, "endpoint")
    end
    for _ = 1, 2000 do
      local out = notes:lpop("mcp.out." .. key)
      if out then
        event(out, nil, "message")
      end
      ngx.sleep(out and 0 or 0.005)
    end
  elseif sent_headers["last-event-id"] and noted("resumed") and not args.once then
    stream()
    event({ jsonrpc = "2.0", id = noted("resumed"), result = text("resumed") }, "e-2")
  elseif args.stream then
    stream()
    ngx.flush(true)
    event({ jsonrpc = "2.0", method = wait_for("push") })
    ngx.sleep(2)
  else
    ngx.status = 405
  end
end

ngx.req.read_body()
local body = ngx.req.get_body_data()
hear(body)
local method = ngx.req.get_method()
if method == "GET" then
  return get()
elseif method ~= "POST" then
  return
end
local message = cjson.decode(body)
if kind == "sse" then
  local result = message.method and message.id and methods[message.method](message)
  ngx.status = 202
  if result then
    notes:rpush("mcp.out." .. key, cjson.encode({ jsonrpc = "2.0", id = message.id, result = result }))
  end
elseif not message.method then
  note("answer", cjson.encode(message.result or message.error))
  ngx.status = 202
elseif not message.id then
  ngx.status = 202
elseif message.method ~= "initialize" and args.session
  and sent_headers["mcp-session-id"] ~= "session-" .. (noted("session") or "") then
  answer({ jsonrpc = "2.0", id = cjson.null, error = { code = -32001, message = "Session not found" } }, 404)
elseif message.params and message.params.name == "gone" then
  note("session", "none")
  answer({ jsonrpc = "2.0", id = cjson.null, error = { code = -32001, message = "Session not found" } }, 404)
else
  reply_to(message)
end

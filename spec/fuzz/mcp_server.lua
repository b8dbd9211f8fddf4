--- What an MCP client sends, over stdio and over HTTP: everything that the server says is a message of JSON-RPC, every
--- request is answered once, nothing is left running, and no failure is internal.
local core = require("operations.core")
local errors = require("operations.base.error")
local fake_host = require("spec.support.fake_host")
local json = require("operations.base.json")
local message = require("operations.mcp.protocol.message")
local mutate = require("spec.fuzz.mutate")
local operations = require("operations")
local random = require("spec.support.random")
local stdio = require("operations.mcp.server.stdio")

local MAX_BODY, LONG = 3000, 1000000 -- bytes; seconds of the standing clock

local META = '"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "progressToken": "p",'
  .. ' "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}, "sampling": {},'
  .. ' "extensions": {"io.modelcontextprotocol/tasks": {}}},'
  .. ' "io.modelcontextprotocol/logLevel": "debug"}'
local beginnings = {
  '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25",'
    .. ' "capabilities": {"elicitation": {}, "sampling": {}, "roots": {}}, "clientInfo": {"name": "c"}}}',
  '{"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {"protocolVersion": "2025-03-26",'
    .. ' "capabilities": {"roots": {}}}}',
}
local samples = {
  '{"jsonrpc": "2.0", "id": 2, "method": "ping"}', '{"jsonrpc": "2.0", "method": "notifications/initialized"}',
  '{"jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": {"cursor": "1"}}',
  '{"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "demo_add", "arguments": {"a": 1, "b": 2},'
    .. ' "_meta": {"progressToken": 5}}}',
  '{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "demo_ask", "arguments": {}}}',
  '{"jsonrpc": "2.0", "id": "t", "method": "tools/call", "params": {"name": "demo_tell", "arguments": {"n": 2},'
    .. ' "_meta": {"progressToken": "t"}}}',
  '{"jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": {"name": "demo_ask", "arguments": {},'
    .. ' "inputResponses": {"elicit_1": {"action": "accept", "content": {"name": "a"}}}, "requestState": "a.b",'
    .. META .. '}}',
  '{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "search", "arguments": {"query": "add"}}}',
  '{"jsonrpc": "2.0", "id": 8, "method": "server/discover", "params": {' .. META .. "}}",
  '{"jsonrpc": "2.0", "id": 9, "method": "resources/list"}',
  '{"jsonrpc": "2.0", "id": 10, "method": "resources/templates/list", "params": {' .. META .. "}}",
  '{"jsonrpc": "2.0", "id": 11, "method": "resources/read", "params": {"uri": "note://by/ada/x%20y", ' .. META .. "}}",
  '{"jsonrpc": "2.0", "id": 12, "method": "resources/subscribe", "params": {"uri": "note://hello"}}',
  '{"jsonrpc": "2.0", "id": 13, "method": "resources/unsubscribe", "params": {"uri": "note://hello"}}',
  '{"jsonrpc": "2.0", "id": 14, "method": "prompts/get", "params": {"name": "greet", "arguments": {"name": "x"}}}',
  '{"jsonrpc": "2.0", "id": 15, "method": "completion/complete", "params": {"ref": {"type": "ref/resource",'
    .. ' "uri": "note://by/{author}/{+path}"}, "argument": {"name": "author", "value": "a"},'
    .. ' "context": {"arguments": {"path": "x"}}}}',
  '{"jsonrpc": "2.0", "id": 16, "method": "subscriptions/listen", "params": {"notifications":'
    .. ' {"toolsListChanged": true, "resourceSubscriptions": ["note://hello"]}, ' .. META .. "}}",
  '{"jsonrpc": "2.0", "id": 19, "method": "tools/call", "params": {"name": "demo_long", ' .. META .. "}}",
  '{"jsonrpc": "2.0", "id": 20, "method": "tasks/get", "params": {"taskId": "x", ' .. META .. "}}",
  '{"jsonrpc": "2.0", "id": 21, "method": "tasks/update", "params": {"taskId": "x", "inputResponses": {"a": {}}, '
    .. META .. "}}",
  '{"jsonrpc": "2.0", "id": 22, "method": "tasks/cancel", "params": {"taskId": "x", ' .. META .. "}}",
  '{"jsonrpc": "2.0", "id": 17, "method": "logging/setLevel", "params": {"level": "debug"}}',
  '{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5, "reason": "r"}}',
  '{"jsonrpc": "2.0", "id": 1, "result": {"action": "accept", "content": {"name": "b"}}}',
  '{"jsonrpc": "2.0", "id": "1", "error": {"code": -1, "message": "no"}}',
  '[{"jsonrpc": "2.0", "id": 18, "method": "ping"}, {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params":'
    .. ' {"name": "demo_tell", "arguments": {}}}, {"jsonrpc": "2.0", "method": "notifications/initialized"}]',
}
local words = {
  "jsonrpc", "2.0", "id", "method", "params", "result", "error", "code", "message", "initialize", "ping", "tools/list",
  "tools/call", "name", "arguments", "_meta", "progressToken", "cursor", "uri", "ref", "argument", "value", "context",
  "inputResponses", "requestState", "elicit_1", "action", "accept", "content", "requestId", "2025-03-26", "2025-06-18",
  "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities", "2026-07-28", "1999-01-01",
  "notifications", "resourceSubscriptions", "toolsListChanged", "demo_add", "demo_ask", "demo_tell", "note://hello",
  "note://by/{author}/{+path}", "greet", "tasks/get", "tasks/update", "tasks/cancel", "taskId", "taskIds", "demo_long",
  "extensions", "\\ud800", "\255", "1e999", "{", "}", "[", "]", ",", "%",
}

local registry = operations.registry({ log = function() end, on_warning = function() end })

local function add(name, handler, properties, task)
  assert(registry:register({ namespace = "demo", name = name, type = name == "add" and "query" or "mutation",
    inputSchema = { type = "object", properties = properties }, handler = handler, _meta = { task = task } }))
end

local number = { type = "number" }
add("add", function(input)
  return { sum = (input.a or 0) + (input.b or 0) }
end, { a = number, b = number })
add("tell", function(_, context)
  if context.progress_wanted then
    context.progress(1, 2, "half")
  end
  context.log("info", "told", { n = 1 })
  operations.sleep(0.01)
  return "told"
end)
add("ask", function(_, context)
  local action, given = context.elicit("Who?", { type = "object", required = { "name" },
    properties = { name = { type = "string" } } })
  local sampled, err = context.sample({ messages = {}, maxTokens = 1 })
  local roots = context.roots()
  return { action = action, name = given and given.name, sampled = sampled, err = err and err.code, roots = roots }
end)

add("long", function(_, context)
  context.progress(1, 2, "half")
  return "told"
end, nil, "required")

local function new_server(problems)
  local server = operations.to_mcp(registry, { max_body = MAX_BODY, resources = { namespace = "demo" },
    authorize = false, search = random.chance(20), log = function(level, text)
      problems[#problems + 1] = level == "error" and text or nil
    end })
  server:resource({ uri = "note://hello", read = function()
    return "hello"
  end })
  server:resource({ uriTemplate = "note://by/{author}/{+path}", read = function(input)
    return { author = input.author, path = input.path }
  end, complete = { author = { "ada", "bob" } } })
  server:prompt({ name = "greet", arguments = { "name" }, get = function(input)
    return "Greet " .. tostring(input.name)
  end })
  return server
end

-- A message that the server sent.
local function sent_by_server(text)
  local value = assert(json.decode(text))
  local kind, problem = message.kind(value)
  assert(kind, problem)
  return value, kind
end

-- The requests of a text, and what is none but has an id, each by its id as JSON; and those that it cancels.
local function count(text, version, asked, cancelled, sessions)
  local value, err = message.decode(text)
  local is_batch = type(value) == "table" and value.jsonrpc == nil and value[1] ~= nil
  if err or #text > MAX_BODY or is_batch and version ~= "2025-03-26" then
    return
  end
  message.each(value, function(_, one)
    local kind = message.kind(one)
    local has_id = type(one) == "table" and (type(one.id) == "string" or core.kind(one.id) == "integer")
    if has_id and kind ~= "answer" then
      local id = json.encode(one.id)
      sessions.current = sessions.current + (one.method == "initialize" and 1 or 0)
      -- A request of an earlier session is cancelled when a new one uses its id.
      cancelled[id] = cancelled[id] or sessions[id] ~= nil and sessions[id] ~= sessions.current
      sessions[id] = sessions.current
      asked[id] = (asked[id] or 0) + 1
      cancelled[id] = cancelled[id] or one.method == "subscriptions/listen" -- that ends when it is cancelled
    elseif kind == "notification" and one.method == "notifications/cancelled" and one.params then
      cancelled[json.encode(one.params.requestId) or ""] = true
    end
  end)
end

local function over_stdio(server, lines)
  local take_bytes
  local asked, cancelled, answered, long = {}, {}, {}, false
  local sessions = { current = 0 } -- and by id the session that used it last
  local input = { each_chunk = function(_, fn)
    take_bytes = fn
  end, close = function() end }
  local output = { each_chunk = function() end, close = function() end, offer = function(_, bytes)
    assert(bytes:find("^[^\n]+\n$"), "a message is a line")
    local value, kind = sent_by_server(bytes)
    if kind == "answer" and value.id ~= json.null then
      local id = json.encode(value.id)
      answered[id] = (answered[id] or 0) + 1
    end
  end, unsent = function()
    return 0
  end, flush = function()
    return true
  end }
  local link = stdio.link(server, input, output)
  local served = operations.spawn(function()
    return link:attend(function(fn, ...)
      return fn(...)
    end)
  end)
  operations.sleep(0)
  for _, line in ipairs(lines) do
    count(line, link.peer.version, asked, cancelled, sessions)
    long = long or #line > MAX_BODY -- is refused under the id that its ends show
    local cut = random.upto(#line + 1)
    take_bytes(line:sub(1, cut - 1))
    take_bytes(line:sub(cut) .. "\n")
    operations.sleep(random.chance(50) and 0 or 0.02)
  end
  operations.sleep(LONG)
  for id, times in pairs(asked) do
    local found = answered[id] or 0
    assert(found == times or cancelled[id] and found < times or long and found > times,
      ("%s: %d answers to %d requests"):format(id, found, times))
  end
  take_bytes(nil)
  served:wait()
  assert(link.count == 0 and next(link.peer._asked) == nil, "something still runs")
end

local function read_body(response)
  if type(response.body) == "string" then
    return response.body
  end
  local pieces = {}
  for piece in response.body do
    pieces[#pieces + 1] = piece
  end
  return table.concat(pieces)
end

local function check_response(response)
  local status = response.status
  assert(core.kind(status) == "integer", "the status is no integer")
  assert(status >= 200 and status < 500 or status == 503, "status " .. status)
  local body, media = read_body(response), response.headers["content-type"]
  if media == "application/json" then
    message.each(assert(json.decode(body)), function(_, value)
      assert(message.kind(value))
    end)
  elseif media == "text/event-stream" then
    for data in body:gmatch("data: ([^\n]+)\n") do
      sent_by_server(data)
    end
  end
end

-- What a good client sends beside a body.
local function headers_for(line, session)
  local value = json.decode(line)
  value = type(value) == "table" and value or {}
  local params = type(value.params) == "table" and value.params or {}
  local is_modern = type(params._meta) == "table"
  return { host = "127.0.0.1", ["content-type"] = "application/json", ["mcp-session-id"] = session,
    accept = "application/json, text/event-stream",
    ["mcp-protocol-version"] = is_modern and "2026-07-28" or random.chance(20) and random.pick(words) or nil,
    ["mcp-method"] = is_modern and type(value.method) == "string" and value.method or nil,
    ["mcp-name"] = is_modern and random.chance(90) and (params.name or params.uri) or nil }
end

local function over_http(server, lines)
  local session, tasks = nil, {}
  for i, line in ipairs(lines) do
    local headers = headers_for(line, session)
    for name, value in pairs(headers) do
      headers[name] = type(value) == "string" and value or nil
    end
    tasks[i] = operations.spawn(function()
      local left
      local response = server:handle({ method = random.chance(90) and "POST" or random.chance(80) and "GET" or "DELETE",
        target = "/mcp", headers = headers, body = line, is_local = true, left = function(fn)
          left = fn
        end })
      session = response.headers["mcp-session-id"] or session
      if left and random.chance(20) then
        left()
      end
      check_response(response)
    end)
    operations.sleep(random.chance(50) and 0 or 0.02)
  end
  operations.sleep(LONG)
  server:close()
  for _, one in ipairs(tasks) do
    one:wait()
  end
  assert(server.running == 0 and next(server.calls) == nil, "something still runs")
end

return {
  make = function()
    local lines = { tostring(random.upto(1000000)), random.pick(beginnings) }
    for _ = 1, random.upto(8) do
      local dice = random.upto(10)
      local pool = random.chance(10) and beginnings or samples
      lines[#lines + 1] = dice <= 3 and mutate.text(pool, words) or dice <= 8 and mutate.json(pool, words)
        or random.pick(pool)
    end
    return table.concat(lines, "\n")
  end,
  run = function(input)
    local seed, text = input:match("^(%d+)\n(.*)$")
    random.seed(tonumber(seed) or 1)
    local lines, problems = {}, {}
    for line in ((text or "") .. "\n"):gmatch("([^\n]*)\n") do
      lines[#lines + 1] = line
    end
    operations.use_host(fake_host.new(core.now()))
    local raised = operations.run(function()
      local server = new_server(problems)
      local ok, why = pcall(random.chance(50) and over_stdio or over_http, server, lines)
      server:close()
      return not ok and errors.text(why) or nil
    end)
    assert(not raised, raised)
    assert(#problems == 0, problems[1])
  end,
}

--- A small MCP server over stdio, for specs: `lua server.lua legacy|modern|dual [option=value...]`.
---
--- It waits in `io.read` and answers in order, except where a tool says otherwise. The tool `heard` gives everything
--- that the client sent, as it came. Options: `silent=METHOD` (never answers it), `exit=METHOD` (ends at it),
--- `version=X` (what initialize answers), `tools=N` (more tools, on pages of 2), `cursor=loop`, `nulls=yes` (null where
--- something may be left out), `discover=no` (does not know `server/discover`), `restless=yes` (says after every list
--- that it has changed),
--- `tasks=no` (does not declare that it has tasks), `tasks=others` (of other requests), `tasks=kept` (not called off).
local json = require("operations.base.json")

local MODERN, LEGACY = "2026-07-28", "2025-11-25"
local era = arg[1] or "legacy"
local options, heard, last_id, cancelled = {}, {}, 0, {}
for i = 2, #arg do
  local key, value = arg[i]:match("^(%w+)=(.*)$")
  options[key] = value
end

local object = setmetatable({}, json.object_mt)
local array = function(list)
  return setmetatable(list or {}, json.array_mt)
end

local function send(message)
  message.jsonrpc = "2.0"
  io.stdout:write(assert(json.encode(message)), "\n")
  io.stdout:flush()
end

local function notify(method, params)
  send({ method = method, params = params })
end

local handle
local methods = {}

-- Takes the next message; nil at the end.
local function take()
  local line = io.read("*l")
  if not line then
    return nil
  end
  local message = assert(json.decode(line))
  heard[#heard + 1] = message
  return message
end

-- Asks the client and serves what comes before its answer.
local function ask(method, params)
  last_id = last_id + 1
  local id = last_id
  send({ id = id, method = method, params = params })
  for message in take do
    if message.id == id and not message.method then
      return message
    end
    handle(message)
  end
  os.exit(0)
end

local function text(value)
  return { content = array({ { type = "text", text = type(value) == "string" and value or json.encode(value) } }) }
end

local function structured(value)
  local result = text(value)
  result.structuredContent = value
  return result
end

local any = { type = "object" }
local tools, order = {}, {}

local function tool(name, definition, call)
  definition.name, definition.inputSchema = name, definition.inputSchema or any
  tools[name], order[#order + 1] = { definition = definition, call = call }, name
end

tool("echo", {
  title = "Echo", description = "Says it again", annotations = { readOnlyHint = true }, _meta = { origin = "spec" },
  inputSchema = { type = "object", properties = { message = { type = "string" } }, required = { "message" } },
}, function(arguments)
  return text(arguments.message)
end)

tool("add", {
  inputSchema = { type = "object", properties = { a = { type = "number" }, b = { type = "number" } } },
  outputSchema = { type = "object", properties = { sum = { type = "number" } }, required = { "sum" } },
}, function(arguments)
  return structured({ sum = arguments.a + arguments.b })
end)

tool("fail", { outputSchema = { type = "object", required = { "x" } } }, function(arguments)
  local result = text(arguments.why or "no")
  result.isError = true
  return result
end)

tool("refuse", {}, function()
  return nil, { code = -32602, message = "not like this", data = { hint = "no" } }
end)

tool("unstructured", { outputSchema = any }, function()
  return text("only text")
end)

tool("speak", {}, function(arguments)
  return { content = array(arguments.blocks) }
end)

tool("total", { outputSchema = { type = "object", properties = { sum = { type = "number" } }, required = { "sum" } } },
  function(arguments)
    return text(arguments.text)
  end)

tool("value", {}, function(arguments)
  local result = text("")
  result.structuredContent = arguments.value
  return result
end)

tool("blocks", {}, function()
  return { content = array({ { type = "text", text = "a" }, { type = "hologram", depth = 3 },
    { type = "image", data = "AA==", mimeType = "image/png" } }) }
end)

tool("heard", { annotations = { readOnlyHint = true } }, function()
  return structured(array(heard))
end)

tool("raw", { inputSchema = { type = "object", properties = { list = { type = "array" }, map = any } } },
  function(arguments)
    return text(json.encode(arguments, { sort_keys = true }))
  end)

tool("cancelled", {}, function()
  return structured(array(cancelled))
end)

tool("never", {}, function(_, params)
  local token = params._meta and params._meta.progressToken
  if token then
    notify("notifications/progress", { progressToken = token, progress = 0 })
  end
  return false
end)

tool("steps", {}, function(arguments, params)
  local token = params._meta and params._meta.progressToken
  for i = 1, arguments.count do
    if token then
      notify("notifications/progress", { progressToken = token, progress = i, total = arguments.count, message = "at" })
    end
    os.execute("sleep " .. (arguments.pause or 0))
  end
  return text("done")
end)

for name, method in pairs({ ask_user = "elicitation/create", ask_model = "sampling/createMessage",
  ask_roots = "roots/list", ask_ping = "ping" }) do
  tool(name, {}, function(arguments)
    local answer = ask(method, arguments.params)
    answer.jsonrpc = nil
    return structured(answer)
  end)
end

tool("input", {}, function(arguments, params)
  local answers = params.inputResponses
  if not answers and params.requestState ~= "alone" then
    return { resultType = "input_required", requestState = arguments.state, inputRequests = arguments.requests }
  end
  return structured({ answers = answers, state = params.requestState })
end)

tool("say", {}, function(arguments)
  notify("notifications/message", { level = "info", logger = "spec", data = arguments.data })
  return text("said")
end)

tool("grow", {}, function(arguments)
  tool(arguments.name, {}, function()
    return text("new")
  end)
  notify("notifications/tools/list_changed")
  return text("grown")
end)

-- The list changes while it is on its way.
tool("grow_midway", {}, function(arguments)
  local list = methods["tools/list"]
  methods["tools/list"] = function(params)
    local old = list(params)
    methods["tools/list"] = list
    tool(arguments.name, {}, function()
      return text("new")
    end)
    notify("notifications/tools/list_changed")
    return old
  end
  return text("will grow")
end)

tool("research", { execution = { taskSupport = "required" } }, function(arguments, params)
  local task = { taskId = "t1", status = "working", pollInterval = arguments.poll or 10, ttl = 60000, polls = 0,
    goal = arguments.goal }
  methods["tasks/get"] = function()
    task.polls = task.polls + 1
    task.status = task.polls >= (arguments.polls or 3) and task.goal or "working"
    if params._meta and params._meta.progressToken then
      notify("notifications/progress", { progressToken = params._meta.progressToken, progress = task.polls })
    end
    return task
  end
  methods["tasks/result"] = function()
    return task.goal == "completed" and structured({ polls = task.polls }) or nil
  end
  methods["tasks/cancel"] = function()
    cancelled[#cancelled + 1] = { task = "t1" }
    return task
  end
  return params.task and { task = task } or text("no task")
end)

tool("say_raw", {}, function(arguments, _, id)
  io.stdout:write((arguments.text:gsub("%$id", id):gsub("%$bad", "\255")), "\n")
  io.stdout:flush()
  return false
end)

tool("exit", {}, function(arguments)
  io.stderr:write("goodbye\n")
  os.exit(arguments.code or 0)
end)

for i = 1, tonumber(options.tools or 0) do
  tool("more" .. i, {}, function()
    return text("more")
  end)
end

local function page(params)
  local list, from = array(), tonumber((params.cursor or "at0"):match("%d+")) or 0
  local size = options.tools and 2 or #order
  for i = from + 1, math.min(from + size, #order) do
    list[#list + 1] = tools[order[i]].definition
  end
  local more = from + size < #order and "at" .. from + size or nil
  return { tools = list, nextCursor = options.cursor == "loop" and "at0" or more }
end

local calls = { tools = { call = object } }
local tasks = { others = { cancel = object, requests = { tools = object } }, kept = { requests = calls } }

local capabilities = {
  tools = { listChanged = true }, resources = { subscribe = true, listChanged = true }, prompts = object,
  logging = object, completions = object,
  tasks = options.tasks and tasks[options.tasks] or not options.tasks and { cancel = object, requests = calls } or nil,
}
local server = { name = "spec-server", version = "1.0.0" }
methods["initialize"] = function(params)
  if era == "modern" then
    return nil, { code = -32022, message = "no handshake here", data = { supported = array({ MODERN }) } }
  end
  return {
    protocolVersion = options.version or params.protocolVersion, capabilities = capabilities,
    serverInfo = options.nulls and json.null or server, instructions = "Be kind",
  }
end

methods["server/discover"] = function()
  if era == "legacy" or options.discover == "no" then
    return nil, { code = -32601, message = "Method not found" }
  end
  return { resultType = "complete", supportedVersions = array({ MODERN, LEGACY }), capabilities = capabilities,
    serverInfo = options.nulls and json.null, instructions = "Be kind" }
end

methods["ping"] = function()
  return object
end

methods["tools/list"] = page

methods["tools/call"] = function(params, id)
  local found = tools[params.name]
  if not found then
    return nil, { code = -32602, message = "Unknown tool: " .. tostring(params.name) }
  end
  return found.call(params.arguments or {}, params, id)
end

methods["resources/list"] = function()
  return { resources = array({ { uri = "memo://a", name = "a" } }) }
end

methods["resources/templates/list"] = function()
  return { resourceTemplates = array({ { uriTemplate = "memo://{name}", name = "memo" } }) }
end

methods["resources/read"] = function(params)
  return { contents = array({ { uri = params.uri, text = "the memo" } }) }
end

methods["prompts/list"] = function()
  return { prompts = array({ { name = "greet", arguments = array({ { name = "who" } }) } }) }
end

methods["prompts/get"] = function(params)
  local who = params.arguments and params.arguments.who or "you"
  return { messages = array({ { role = "user", content = { type = "text", text = "Hello " .. who } } }) }
end

methods["completion/complete"] = function(params)
  return { completion = { values = array({ params.argument.value .. "-completed" }) } }
end

methods["logging/setLevel"] = function()
  return object
end

methods["resources/subscribe"] = function(params)
  notify("notifications/resources/updated", { uri = params.uri })
  return object
end

methods["resources/unsubscribe"] = methods["ping"]

function handle(message)
  local method = message.method
  if method and options.exit == method then
    os.exit(3)
  elseif method == "notifications/cancelled" then
    cancelled[#cancelled + 1] = message.params
  end
  if not message.id or not method or options.silent == method then
    return
  elseif not methods[method] then
    return send({ id = message.id, error = { code = -32601, message = "Method not found" } })
  end
  local result, failure = methods[method](message.params or {}, message.id)
  if result then
    if era ~= "legacy" and method ~= "initialize" then
      result.resultType = result.resultType or options.nulls and json.null or "complete"
    end
    send({ id = message.id, result = result })
    if options.restless and method == "tools/list" then
      notify("notifications/tools/list_changed")
    end
  elseif failure then
    send({ id = message.id, error = failure })
  end
end

if options.pid then
  os.execute("echo $PPID >&2")
end
for message in take do
  handle(message)
end

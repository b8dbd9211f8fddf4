--- An MCP server whose clients write programs, as a program: `lua code.lua [option=value]...`. Over stdio, or with
--- `port` over HTTP: its URL is printed then. Policies ask about removals and block `tasks.drop`. `audit` names a file.
local operations = require("operations")

local given = {}
for _, text in ipairs(arg or {}) do
  local name, value = text:match("^([%w_]+)=(.*)$")
  if value == "true" or value == "false" then
    given[name] = value == "true"
  else
    given[name] = tonumber(value) or value
  end
end

local T = operations.type
local registry = operations.registry({
  middleware = given.audit and { operations.middleware.audit({ path = given.audit, key = "key" }) } or nil,
  policy = { { match = "tasks.remove", action = "ask", name = "removals", remember = given.remember },
    { match = "tasks.drop", action = "block" } },
})
local tasks = { "tea", "milk", "bread", "salt" }

local function add(name, kind, definition)
  definition.namespace, definition.name, definition.type = definition.namespace or "tasks", name, kind
  assert(registry:register(definition))
end

add("list", "query", { description = "Lists tasks", outputSchema = T.array(T.object({ id = T.integer(),
  title = T.string() })), handler = function()
    local list = {}
    for id = 1, #tasks do
      list[#list + 1] = tasks[id] and { id = id, title = tasks[id] } or nil
    end
    return list
  end })
add("add", "mutation", { description = "Adds a task", inputSchema = T.object({ title = T.string({ minLength = 1 }) }),
  outputSchema = T.object({ id = T.integer() }), handler = function(input)
    tasks[#tasks + 1] = input.title
    return { id = #tasks }
  end })
add("remove", "mutation", { description = "Removes a task", inputSchema = T.object({ id = T.integer() }),
  _meta = { destructive = true },
  errorSchemas = { { code = "NOT_FOUND", description = "no such task", schema = true } },
  handler = function(input)
    if not tasks[input.id] then
      return nil, operations.error("NOT_FOUND", "there is no task " .. input.id)
    end
    tasks[input.id] = false
    return { removed = input.id }
  end })
add("drop", "mutation", { handler = print })
add("echo", "query", { handler = function(input)
  return input
end })
add("nothing", "query", { handler = function() end })
add("broken", "query", { handler = function()
  error("the disk at /dev/sda1 is full")
end })
add("slow", "query", { handler = function(input, context)
  context.progress(1, 2, "half")
  context.log("warn", "slow", { n = 1 })
  operations.sleep(input.seconds or 0.01)
  if given.ended then
    local file = assert(io.open(given.ended, "a"))
    file:write("slow ended\n")
    file:close()
  end
  return "done"
end })
add("who", "query", { handler = function(_, context)
  return { id = context.identity and context.identity.id, parent = context.parentRequestId ~= nil,
    trace = context.traceparent, deadline = context.deadline ~= nil, trusted = context._trusted }
end })
add("name", "query", { handler = function(_, context)
  local action, content = context.elicit("What is your name?", T.object({ name = T.string() }))
  return { action = action, name = content and content.name }
end })
add("watch", "subscription", { handler = function()
  for i = 1, 1e9 do
    coroutine.yield({ n = i })
  end
end })
add("secret", "query", { accessControl = { requiredScopes = { "admin" } }, handler = print })
for i = 1, given.extra or 0 do
  add("tool" .. i, "query", { namespace = "extra", description = "One of many, number " .. i, handler = print })
end

local code = given.code
if code == nil then
  code = { wait = given.wait, mutations = given.mutations, max_calls = given.max_calls,
    max_identity_programs = given.max_identity_programs }
end
local server = operations.to_mcp(registry, { name = "code", code = code, state_secret = given.secret,
  timeout = given.timeout, authorize = given.authorize and function(request)
    local name = (request.headers.authorization or ""):match("^Bearer (.+)$")
    return name and { id = name, scopes = {} }
  end or nil, identity = not given.anonymous and { id = "ada", scopes = {} } or nil })

if given.port then
  local listener = assert(server:listen({ port = given.port }))
  io.write(("http://127.0.0.1:%d/mcp\n"):format(listener.port))
  io.flush()
  operations.sleep(120)
else
  assert(server:stdio())
end

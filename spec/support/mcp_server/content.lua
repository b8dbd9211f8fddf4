--- An MCP server with resources and prompts, as a program: `lua content.lua [option=value]...`. Over stdio, or with
--- `port` over HTTP: its URL is printed then.
local operations = require("operations")

local registry = operations.registry()
local options = { name = "content", resources = { namespace = "data" },
  identity = { id = "ada", scopes = { "reader" } } }
for _, given in ipairs(arg or {}) do
  local name, value = given:match("^([%w_]+)=(.*)$")
  if value == "true" or value == "false" then
    options[name] = value == "true"
  else
    options[name] = tonumber(value) or value
  end
end
options.pinned = options.pinned and { options.pinned } or nil
local extra, note, port = options.extra or 0, options.note, options.port
options.extra, options.note, options.port = nil, nil, nil

local server = operations.to_mcp(registry, options)

local function add(namespace, name, kind, definition)
  definition.namespace, definition.name, definition.type = namespace, name, kind
  assert(registry:register(definition))
end

for i = 1, extra do
  add("extra", "tool" .. i, "mutation", { description = "One of many, number " .. i, handler = function(input)
    return { i = i, input = input }
  end, outputSchema = { type = "object", properties = { i = { type = "integer" }, input = true } } })
end

add("data", "all", "query", { title = "All of it", handler = function()
  return { all = true }
end })
add("data", "page", "query", { inputSchema = { type = "object", required = { "number" }, additionalProperties = false,
  properties = { number = { type = "integer" }, word = { type = "string" } } }, handler = function(input)
  return { number = input.number + 1, word = input.word }
end })
add("data", "secret", "query", { accessControl = { requiredScopes = { "admin" } }, handler = function()
  return { secret = true }
end })
add("ask", "again", "query", { _meta = { exposed = false }, handler = function(_, context)
  local _, given = context.elicit("Second?")
  return tostring(given.name)
end })
add("other", "query", "query", { handler = function()
  return {}
end })

server:resource({ uri = "note://hello", name = "hello", title = "Hello", mimeType = "text/plain", size = 5,
  read = function()
    return "hello"
  end })
if note then
  server:resource({ uri = "note://" .. note, read = function()
    return "more"
  end })
end
server:resource({ uri = "note://bytes", mimeType = "image/png", read = function()
  return "\137PNG\0"
end })
server:resource({ uri = "note://list", read = function(input)
  return { contents = { "text", { bytes = "\255", mimeType = "x/y", uri = "note://second" }, { n = 1 } },
    _meta = { from = input.uri } }
end })
server:resource({ uri = "note://secret", accessControl = { requiredScopes = { "admin" } }, read = function()
  return "secret"
end })
server:resource({ uri = "note://broken", accessControl = { requiredScopes = { "reader" } }, read = function()
  error("the disk is at /dev/sda1")
end })
server:resource({ uriTemplate = "note://by/{author}/{+path}", name = "notes", read = function(input, context)
  if input.author == "nobody" then
    return nil
  elseif input.author == "asked" then
    local action, given = context.elicit("Who?", { type = "object", properties = { name = { type = "string" } } })
    return action .. " " .. (given and given.name or "")
  elseif input.author == "nested" then
    local _, given = context.elicit("First?")
    return assert(context.env.ask.again({})).data .. " " .. tostring(given.name)
  end
  return { author = input.author, path = input.path, id = context.identity.id,
    all = assert(context.env.data.all({})).data }
end, complete = { author = { "ada", "Adam", "bob" }, path = function(value, others)
  local list = {}
  for i = 1, 120 do
    list[i] = others.author .. value .. i
  end
  return list
end } })
server:prompt({ name = "greet", description = "Greets", arguments = { "name",
  { name = "tone", enum = { "warm", "cold" }, description = "How" } }, get = function(input)
  return ("Say hello to %s, %s"):format(input.name, input.tone or "as you like")
end })
server:prompt({ name = "talk", get = function()
  return { description = "A talk", messages = { { role = "assistant", content = "Yes?" },
    { content = { type = "image", data = "AA==", mimeType = "image/png" } }, "and so on" } }
end })
server:prompt({ name = "secret", accessControl = { requiredScopes = { "admin" } }, get = function()
  return "secret"
end })
server:prompt({ name = "nothing", get = function()
  return nil, operations.error("BUSY", "come back later")
end })

add("make", "tool", "mutation", { handler = function(input)
  add("made", input.name, "query", { handler = function() return {} end })
  return {}
end })
add("make", "prompt", "mutation", { handler = function(input)
  server:prompt({ name = input.name, get = function() return "made" end })
  return {}
end })
add("make", "update", "mutation", { handler = function(input)
  server:updated(input.uri)
  return {}
end })

if port then
  local listener = assert(server:listen({ port = port }))
  io.write(("http://127.0.0.1:%d/mcp\n"):format(listener.port))
  io.flush()
  operations.sleep(60)
else
  assert(server:stdio())
end

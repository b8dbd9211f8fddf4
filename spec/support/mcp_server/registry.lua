--- A registry whose operations do what specs of MCP servers need.
local operations = require("operations")

local registry = operations.registry({ log = function() end, on_warning = function() end })

local function add(name, kind, definition)
  definition.namespace, definition.name, definition.type = "demo", name, kind
  definition.description = definition.description or name
  assert(registry:register(definition))
end

local numbers = { type = "object", required = { "a", "b" }, properties = {
  a = { type = "number" }, b = { type = "number" } } }

add("add", "query", { title = "Add", description = "Adds numbers", inputSchema = numbers,
  outputSchema = { type = "object", required = { "sum" }, properties = { sum = { type = "number" } } },
  handler = function(input)
    return { sum = input.a + input.b }
  end })

add("value", "query", { inputSchema = { type = "object" }, outputSchema = {}, handler = function(input)
  return input.value
end })

add("noise", "mutation", { handler = function()
  print("printed")
  io.write("written\n")
  io.stdout:flush()
  os.execute("echo spoken by a child")
  return { read = io.read("*l") == nil }
end })

add("fail", "mutation", { _meta = { destructive = true, idempotent = false }, handler = function(input)
  if input.kind == "raise" then
    error("a secret path: /etc/passwd")
  elseif input.kind == "told" then
    return nil, operations.error("NOT_THERE", "no such thing", { id = 7 })
  elseif input.kind == "nan" then
    return { value = 0 / 0 }
  end
  return nil, operations.error("VALIDATION_ERROR", "by hand")
end, errorSchemas = { { code = "NOT_THERE", schema = {} } } })

add("count", "mutation", { handler = function(input, context)
  for i = 1, input.n or 3 do
    context.progress(i, input.n or 3, "step " .. i)
    context.progress(i - 1)
  end
  if input.odd then
    context.progress(math.huge)
  end
  context.log(input.level or "info", "counted", { n = input.n })
  return { n = input.n or 3 }
end })

-- Reports that it began, waits until it is cancelled, and says so in the file that it is given.
add("wait", "mutation", { handler = function(input, context)
  context.progress(0)
  local ok, raised = pcall(operations.sleep, input.seconds or 30)
  if input.file then
    local file = assert(io.open(input.file, "w"))
    file:write(ok and "slept" or tostring(raised))
    file:close()
  end
  if not ok then
    error(raised, 0)
  end
  return { slept = true }
end })

add("greet", "mutation", { handler = function(_, context)
  local action, content = context.elicit("Who is there?", { type = "object", required = { "name" },
    properties = { name = { type = "string" } } })
  return { action = action, name = content and content.name }
end })

add("guess", "mutation", { handler = function(_, context)
  local answer, err = context.sample({ maxTokens = 10, messages = {
    { role = "user", content = { type = "text", text = "A number?" } } } })
  return answer and { model = answer.model, text = answer.content.text }, err
end })

add("secret", "query", { accessControl = { requiredScopes = { "admin" } }, handler = function()
  return { secret = 42 }
end })

add("inner", "query", { _meta = { exposed = false }, handler = function()
  return {}
end })

add("ticks", "subscription", { handler = function(_, context)
  context.emit(1)
end })

return registry

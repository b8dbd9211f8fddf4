--- The API that the page is tried on: `lua api.lua NAME [ARGUMENT]` serves it and prints its URL. `tasks`: an API of
--- our own, with the tokens "reader" and "admin"; `many FILE`: all operations of an OpenAPI document; `installed
--- DIRECTORY`: the first one, with another page.
local operations = require("operations")

local T = operations.type

local states = { "open", "waiting", "done" }
local person = { type = "object", title = "Person", required = { "kind", "name" }, additionalProperties = false,
  properties = { kind = { const = "person" }, name = { type = "string", minLength = 1, examples = { "Ada" } },
    email = { type = "string", format = "email" } } }
local team = { type = "object", title = "Team", required = { "kind", "size" }, additionalProperties = false,
  properties = { kind = { const = "team" }, size = { type = "integer", minimum = 1 } } }

local new_task = {
  type = "object", additionalProperties = false, required = { "title", "state", "due", "place", "assignee" },
  properties = {
    title = { type = "string", minLength = 1, maxLength = 80, description = "What is to be done, in `one` line." },
    state = { type = "string", enum = states, default = "open" },
    due = { type = { "string", "null" }, format = "date", description = "The last day; null when it does not matter." },
    priority = { type = "integer", minimum = 1, maximum = 5, default = 3 },
    urgent = { type = "boolean" },
    tags = { type = "array", items = { type = "string", minLength = 2 }, maxItems = 5 },
    place = { type = "object", required = { "city" }, additionalProperties = false,
      properties = { city = { type = "string", minLength = 1 }, zip = { type = "string", pattern = "^[0-9]{5}$" } } },
    assignee = { oneOf = { person, team } },
    parent = { ["$ref"] = "#/$defs/Step" },
  },
  ["$defs"] = { Step = { type = "object", required = { "label" }, properties = { label = { type = "string" },
    next = { ["$ref"] = "#/$defs/Step" } } } },
}

local definitions = {
  { namespace = "task", name = "create", type = "mutation", title = "Create a task", version = "1.2.0",
    description = "Adds a task and returns it with its `id`.", inputSchema = new_task,
    handler = function(input)
      input.id = 42
      return operations.http_envelope(input, { statusCode = 201, headers = { location = "/tasks/42" } })
    end },
  { namespace = "task", name = "list", type = "query", title = "List tasks",
    inputSchema = T.object({ state = T.optional({ type = "string", enum = states }),
      tag = T.optional(T.array(T.string())),
      limit = T.optional(T.integer({ minimum = 1, maximum = 100, default = 20 })) }),
    outputSchema = T.array(T.object({ id = T.integer(), title = T.string(), state = T.string() })),
    handler = function(input)
      local about = table.concat(input.tag or {}, ",")
      return { { id = 1, title = "Write the minutes " .. about, state = input.state or "open" },
        { id = 2, title = "Book a room", state = input.state or "waiting" } }
    end },
  { namespace = "task", name = "get", type = "query", title = "Get one task",
    _meta = { http = { path = "/tasks/{id}" } }, inputSchema = T.object({ id = T.integer() }),
    handler = function(input) return { id = input.id } end },
  { namespace = "task", name = "remove", type = "mutation", title = "Delete a task", _meta = { destructive = true },
    inputSchema = T.object({ id = T.integer() }), handler = function(input) return { removed = input.id } end },
  { namespace = "task", name = "watch", type = "subscription", title = "Watch what happens to tasks",
    description = "One event for each change, as it happens.",
    inputSchema = T.object({ events = T.integer({ minimum = 0, default = 8 }), delay = T.number({ default = 0.4 }),
      fails = T.optional(T.boolean()) }),
    handler = function(input, context)
      for i = 1, input.events do
        context.emit({ id = 40 + i, title = "Task " .. i, state = states[i % 3 + 1] },
          { id = tostring(i) })
        operations.sleep(input.delay)
      end
      if input.fails then
        error(operations.error("TIMEOUT", "the source fell silent"))
      end
    end },
  { namespace = "report", name = "monthly", type = "query", title = "The month in figures",
    accessControl = { requiredScopes = { "reports:read" } },
    inputSchema = T.object({ month = T.integer({ minimum = 1, maximum = 12 }) }),
    handler = function(input) return { month = input.month, tasks = 128, done = 117 } end },
  { namespace = "report", name = "health", type = "query", title = "How the service does",
    handler = function() return { ok = true } end },
  { namespace = "report", name = "logo", type = "query", title = "The logo",
    outputSchema = T.string({ contentMediaType = "text/plain" }),
    handler = function() return "<b>logo</b>" end },
  { namespace = "file", name = "size", type = "query", title = "Size of a file",
    inputSchema = { type = "string", contentMediaType = "application/octet-stream" },
    handler = function(input) return #input end },
}

local identities = {
  reader = { id = "reader", scopes = {} },
  admin = { id = "admin", scopes = { "reports:read" } },
}

local function authorize(request)
  local identity = identities[request.token or request.headers["x-api-key"]
    or request.headers.authorization == "Basic YWRtaW46YWRtaW4=" and "admin"]
  if not identity and (request.token or request.headers["x-api-key"]) then
    return nil, "unknown token"
  end
  return identity
end

local function serve(registry, options)
  local server = assert(operations.to_http(registry, options))
  local listener = assert(server:listen({ port = 0 }))
  print(("http://127.0.0.1:%d"):format(listener.port))
  io.stdout:flush()
  operations.sleep(math.huge)
end

local registry = operations.registry()
local options = { docs = true, authorize = authorize, openapi = { info = { title = "Tasks", version = "2.1.0",
  description = "Tasks of a small office: create them, list them, and watch what becomes of them." } } }

if arg[1] == "many" then
  local github = { namespace = "github", accessControl = {} }
  assert(registry:register_all(assert(operations.from_openapi.file(arg[2], github))))
  serve(registry, { docs = arg[3] and { directory = arg[3] } or true })
elseif arg[1] == "installed" then
  options.docs, options.authorize = { directory = arg[2] }, nil
end
assert(registry:register_all(definitions))
serve(registry, options)

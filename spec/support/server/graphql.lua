-- /graphql/NOTE: a small GraphQL service. It tells its types, answers three fields, and streams a subscription as
-- server-sent events. Notes under NOTE each request: "schema", or the query; nothing under "bench".
local cjson = require("cjson")

local function named(kind, name)
  return { kind = kind, name = name }
end

local function of(kind, inner)
  return { kind = kind, ofType = inner }
end

local id, text, int = named("SCALAR", "ID"), named("SCALAR", "String"), named("SCALAR", "Int")

local function field(name, of_type, ...)
  local args = {}
  for i = 1, select("#", ...), 2 do
    args[#args + 1] = { name = (select(i, ...)), type = select(i + 1, ...), defaultValue = cjson.null }
  end
  return { name = name, args = setmetatable(args, cjson.array_mt), type = of_type, isDeprecated = false }
end

local function object(name, ...)
  return { kind = "OBJECT", name = name, fields = { ... }, interfaces = setmetatable({}, cjson.array_mt) }
end

local schema = { __schema = {
  queryType = { name = "Query" }, mutationType = { name = "Mutation" }, subscriptionType = { name = "Subscription" },
  types = {
    object("Query", field("viewer", named("OBJECT", "User")),
      field("task", named("OBJECT", "Task"), "id", of("NON_NULL", id)),
      field("tasks", named("OBJECT", "Tasks"), "first", int, "after", text)),
    object("Mutation", field("close", named("OBJECT", "Task"), "id", of("NON_NULL", id))),
    object("Subscription", field("ticks", int)),
    object("Task", field("id", of("NON_NULL", id)), field("title", text), field("owner", named("OBJECT", "User"))),
    object("Tasks", field("nodes", of("LIST", named("OBJECT", "Task"))),
      field("pageInfo", of("NON_NULL", named("OBJECT", "PageInfo")))),
    object("PageInfo", field("hasNextPage", named("SCALAR", "Boolean")), field("endCursor", text),
      field("hasPreviousPage", named("SCALAR", "Boolean")), field("startCursor", text)),
    object("User", field("login", text)), id, text, int, named("SCALAR", "Boolean"),
  },
} }

ngx.req.read_body()
local sent = cjson.decode(ngx.req.get_body_data() or "{}")
local query, variables = sent.query or "", sent.variables or {}
local is_schema = query:find("__schema", 1, true) ~= nil
local note = ngx.var.uri:match("([^/]+)$")
if note ~= "bench" then
  ngx.shared.notes:set(note, (ngx.shared.notes:get(note) or "") .. (is_schema and "schema" or query) .. "\n")
end

local function task(number)
  return { id = tostring(number), title = "Task " .. number, owner = { login = "ada" } }
end

local data, errors
if is_schema then
  data = schema
elseif query:find("viewer", 1, true) then
  data = { viewer = { login = "ada" } }
elseif query:find("task(", 1, true) then
  data = { task = task(variables.id) }
elseif query:find("tasks", 1, true) then
  local first = tonumber(variables.after or 0) + 1
  data = { tasks = { nodes = { task(first) }, pageInfo = { hasNextPage = first < 3, endCursor = tostring(first),
    hasPreviousPage = false, startCursor = cjson.null } } }
elseif query:find("close", 1, true) then
  data, errors = { close = cjson.null }, { { message = "not yours", path = { "close" },
    extensions = { code = "FORBIDDEN" } } }
end

if query:find("ticks", 1, true) then
  ngx.header["Content-Type"] = "text/event-stream"
  ngx.print("event: next\ndata: {\"data\":{\"ticks\":1}}\n\nevent: next\ndata: {\"data\":{\"ticks\":2}}\n\n"
    .. "event: complete\ndata:\n\n")
elseif ngx.req.get_method() ~= "POST" then
  ngx.status = 405
else
  ngx.header["Content-Type"] = "application/graphql-response+json"
  ngx.print(cjson.encode({ data = data, errors = errors }))
end

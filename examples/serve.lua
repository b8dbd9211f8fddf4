--- A registry as an HTTP API, for callers with the token: a query, a mutation and a stream. At its end, a client of
--- it; a server sleeps there for ever. `operations serve --lua FILE` does all this for definitions in a file.
---   curl -H "Authorization: Bearer secret" "http://127.0.0.1:8080/notes/find?text=milk"
local operations = require("operations")
local T = operations.type
local registry, notes = operations.registry(), {}

assert(registry:register_all({
  { namespace = "notes", name = "find", type = "query", inputSchema = T.object({ text = T.string() }),
    handler = function(input)
      local found = operations.array()
      for _, note in ipairs(notes) do
        table.insert(found, note:find(input.text, 1, true) and note or nil)
      end
      return found
    end },
  { namespace = "notes", name = "add", inputSchema = T.object({ text = T.string({ minLength = 1 }) }),
    accessControl = { requiredScopes = { "write" } },
    handler = function(input)
      table.insert(notes, input.text)
      return #notes
    end },
  { namespace = "notes", name = "watch", type = "subscription",
    handler = function(_, context)
      local seen = tonumber(context.lastEventId) or 0 -- a client that reconnects continues after the last event
      while true do -- until its reader leaves
        for id = seen + 1, #notes do
          context.emit(notes[id], { id = tostring(id) })
        end
        seen = #notes
        operations.sleep(0.05)
      end
    end },
}))

local server = assert(operations.to_http(registry, { authorize = function(request)
  if request.token == "secret" then
    return { id = "ada", scopes = { "write" } }
  end
  return nil, request.token and "unknown token" -- without a token: nil alone
end }))
local listener = assert(server:listen({ host = "127.0.0.1", port = 0 })) -- 0: any free port

local function open(method, path, body, token)
  return assert(operations.http.open({ url = "http://127.0.0.1:" .. listener.port .. path, method = method, body = body,
    headers = { Authorization = token and "Bearer " .. token, ["Content-Type"] = body and "application/json" } }))
end

print(open("POST", "/notes/add", '{"text":"buy milk"}', "secret"):read()) --> 1
print(open("GET", "/notes/find?text=milk", nil, "secret"):read()) --> ["buy milk"]
print(open("GET", "/notes/find?text=milk", nil, "wrong").status) --> 401
local stream = open("GET", "/notes/watch", nil, "secret")
local events = operations.sse_parser(function(event)
  print(event.id, event.data) --> 1	"buy milk"
  stream:close()
end)
for bytes in stream.read, stream do
  events:feed(bytes)
end
server:drain(5000) -- what runs has 5 s to end

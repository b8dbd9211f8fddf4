--- A program that leaves out one of Lua's libraries (its argument) before it loads ours.
local name = arg[1]
local said = print
_G[name], package.loaded[name] = nil, nil

local operations = require("operations")
local T = operations.type

local registry = operations.registry()
assert(registry:register({
  namespace = "text", name = "upper", type = "query", inputSchema = T.object({ { "text", T.string() } }),
  handler = function(input) return input.text:upper() end,
}))
assert(registry:register({
  namespace = "text", name = "broken", type = "query", handler = function() error("a mistake") end,
}))
assert(registry:execute("text.upper", { text = "a" }).data == "A")
local _, err = registry:execute("text.broken", {})
assert(operations.is_error(err) and err.message:find("a mistake"))
assert(not pcall(T.string, 1))

operations.run(function()
  local server = assert(operations.to_http(registry))
  local listener = assert(server:listen({ port = 0 }))
  local answer = assert(operations.http.request({
    url = ("http://127.0.0.1:%d/text/upper?text=b"):format(listener.port),
  }))
  assert(operations.json.decode(answer.body) == "B")
  assert(operations.process.spawn({ "true" })):wait()
  local task = operations.spawn(function() error("a mistake") end)
  assert(tostring(select(2, task:wait())):find("a mistake"))
  listener:close()
end)
local ok, message = pcall(operations.from_openapi.file, "examples/tasks.openapi.json", { namespace = "tasks" })
assert(ok or message:find("'" .. name .. "'"), message)
said("ok")

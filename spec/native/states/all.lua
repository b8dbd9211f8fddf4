--- What each of many Lua states in one process does at once: everything that reaches C.
local number = ...
local operations = require("operations")
local T = operations.type

local registry = operations.registry()
assert(registry:register({
  namespace = "text", name = "repeat", type = "query",
  inputSchema = T.object({
    { "text", T.string() }, { "at", T.optional(T.string({ format = "date-time", pattern = "^20" })) },
  }),
  handler = function(input) return { text = input.text:rep(3) } end,
}))
assert(registry:register({
  namespace = "text", name = "count", type = "subscription", inputSchema = T.object({}),
  handler = function()
    for i = 1, 5 do
      coroutine.yield(i)
    end
  end,
}))

-- TEST_CERTIFICATES is a directory with the files of spec/support/certificates.lua, TEST_REDIS the URL of a server.
local certificates, redis = os.getenv("TEST_CERTIFICATES"), os.getenv("TEST_REDIS")

operations.run(function()
  local server = assert(operations.to_http(registry))
  local listener = assert(server:listen({ port = 0, tls = {
    cert = certificates .. "/localhost.pem", key = certificates .. "/localhost.key",
  } }))
  local url = ("https://localhost:%d/text/"):format(listener.port)
  local function transport()
    return operations.call_map(assert(operations.transports.redis(redis, { prefix = "state" .. number })))
  end
  local served, map = transport(), transport()
  operations.call_handler(registry, served)
  for i = 1, 20 do
    local text = number .. "-" .. i
    local answer = assert(operations.http.request({
      url = url .. "repeat", query = { text = text }, ca_file = certificates .. "/ca.pem",
    }))
    assert(operations.json.decode(answer.body).text == text:rep(3), answer.body)
    assert(registry:execute("text.repeat", { text = text, at = "2026-01-01T00:00:00Z" }).data.text == text:rep(3))
    assert(registry:execute("text.repeat", { text = text, at = "1999" }) == nil)
    assert(assert(map:call("text.repeat", { text = text })).data.text == text:rep(3))
    local parser = operations.sse_parser()
    parser:feed("data: " .. text .. "\n\n")
    assert(parser:next().data == text)
    assert(operations.crypto.sha256(text) == operations.crypto.sha256(text))
  end
  local count = 0
  for envelope in registry:subscribe("text.count", {}) do
    count = count + envelope.data
  end
  assert(count == 15)
  local child = assert(operations.process.spawn({ "cat" }))
  assert(child:write(number .. "\n"))
  assert(child:read_line() == tostring(number))
  child:stop()
  operations.sleep(0.01)
  map:close()
  served:close()
  listener:close()
  server:close()
end)

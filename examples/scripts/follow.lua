-- Follows a stream for hours: it is opened again when it is lost, and a new start resumes after the last event.
--     lua follow.lua http://127.0.0.1:8080 position.txt 5
local operations = require("operations")
local url, path, count = arg[1], arg[2], tonumber(arg[3] or math.huge)

local function read(name)
  local file = io.open(name)
  local text = file and file:read("*l")
  if file then
    file:close()
  end
  return text
end

local function write(name, text)
  local file = assert(io.open(name .. ".new", "w"))
  assert(file:write(text, "\n"))
  assert(file:close())
  assert(os.rename(name .. ".new", name))
end

local registry = operations.registry()
registry:register_all(assert(operations.from_openapi.url(url .. "/openapi.json", {
  namespace = "shop", reconnect = true,
})))

local events = assert(registry:subscribe("shop.events", {}, { lastEventId = read(path) }))
for envelope in events do
  print("order " .. envelope.data.order)
  write(path, envelope.meta.lastEventId) -- after the work: at least once, never skipped
  count = count - 1
  if count <= 0 then
    break
  end
end
events:close()

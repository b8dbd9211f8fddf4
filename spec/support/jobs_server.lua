--- The server of the examples in examples/scripts: an API with pages, a file, a stream with ids and failures. Prints
--- its address; ends with its standard input. With an argument it listens on the socket of that path, too.
local operations = require("operations")
local T = operations.type

local registry = operations.registry()
local busy = {}

local function add(name, type, input, handler, more)
  local definition = { namespace = "shop", name = name, type = type, inputSchema = T.object(input), handler = handler }
  for key, value in pairs(more or {}) do
    definition[key] = value
  end
  registry:register(definition)
end

add("items", "query", { cursor = T.optional(T.integer()) }, function(input)
  local first, items = input.cursor or 1, operations.array({})
  for id = first, math.min(first + 3, 10) do
    items[#items + 1] = { id = id, name = "item " .. id }
  end
  return { items = items, next = first + 4 <= 10 and first + 4 or operations.null }
end)

add("rows", "query", { page = T.optional(T.integer()) }, function(input)
  local lines, first = { "id,name" }, ((input.page or 1) - 1) * 2 + 1
  for id = first, math.min(first + 1, 3) do
    lines[#lines + 1] = id .. ',"item\n' .. id .. '"'
  end
  return table.concat(lines, "\n")
end, { outputSchema = { type = "string", contentMediaType = "text/csv" } })

add("file", "query", { size = T.integer() }, function(input, context)
  local piece = ("0123456789abcdef"):rep(4096)
  for _ = 1, input.size / #piece do
    context.sink(piece)
  end
end, { outputSchema = { type = "string", contentMediaType = "application/octet-stream" } })

add("events", "subscription", {}, function(_, context)
  for id = (tonumber(context.lastEventId) or 0) + 1, 1000000 do
    context.emit({ order = id }, { id = id })
  end
end)

add("sometimes", "query", { key = T.string() }, function(input)
  busy[input.key] = (busy[input.key] or 0) + 1
  if busy[input.key] < 3 then
    local err = operations.error("BUSY", "come back later")
    err.retryable = true
    return nil, err
  end
  return "at last"
end)

operations.run(function()
  local server = assert(operations.to_http(registry))
  local listener = assert(server:listen({ port = 0 }))
  if arg[1] then
    assert(server:listen({ path = arg[1] }))
  end
  io.stdout:write("http://127.0.0.1:", listener.port, "\n")
  io.stdout:flush()
  operations.await(function(wake)
    require("operations.net.stream").of_program("stdin"):each_chunk(function(bytes)
      if not bytes then
        wake()
      end
    end)
  end)
  server:close()
end)

--- A small MCP server over stdio for mcp.lua: little more than reading and writing lines, so that clients are measured.
local json = require("operations.json")

local list = { { name = "echo", inputSchema = { type = "object", properties = { message = { type = "string" } } } } }
local version = { protocolVersion = "2025-11-25", capabilities = { tools = { listChanged = false } },
  serverInfo = { name = "bench", version = "1" } }

local function result_of(message)
  if message.method == "initialize" then
    return version
  elseif message.method == "tools/list" then
    return { tools = list }
  end
  return { content = { { type = "text", text = message.params.arguments.message } } }
end

for line in io.lines() do
  local message = assert(json.decode(line))
  if message.id then
    io.write(assert(json.encode({ jsonrpc = "2.0", id = message.id, result = result_of(message) })), "\n")
    io.flush()
  end
end

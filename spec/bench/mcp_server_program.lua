--- Our side of mcp_server.lua: `lua mcp_server_program.lua ours|bare stdio|http`, an MCP server with one tool, `echo`;
--- over HTTP the port is printed. `bare` answers over HTTP with nothing around it but the HTTP engine.
local kind, transport = arg[1], arg[2]

local function serve_bare()
  local json = require("operations.base.json")
  local listener = require("operations.server.listener")
  local results = {
    initialize = { protocolVersion = "2025-11-25", serverInfo = { name = "bench", version = "1" },
      capabilities = { tools = { listChanged = false } } },
    ["tools/list"] = { tools = { { name = "echo", inputSchema = { type = "object" } } } },
  }
  return assert(listener.listen({}, function(request)
    local message = json.decode(request.body)
    if not message.id then
      return { status = 202, headers = {}, body = "" }
    end
    local result = results[message.method]
      or { content = { { type = "text", text = message.params.arguments.message } } }
    return { status = 200, headers = { ["content-type"] = "application/json" },
      body = json.encode({ jsonrpc = "2.0", id = message.id, result = result }) }
  end))
end

local function make()
  local operations = require("operations")
  local registry = operations.registry()
  registry:register({ namespace = "bench", name = "echo", type = "query", description = "Says it again",
    inputSchema = { type = "object", required = { "message" }, properties = { message = { type = "string" } } },
    _meta = { tool = { name = "echo" } }, handler = function(input)
      return input.message
    end })
  return operations.to_mcp(registry, { name = "bench", version = "1" })
end

if transport == "stdio" then
  assert(make():stdio())
else
  local listener = kind == "bare" and serve_bare() or assert(make():listen())
  io.write(listener.port, "\n")
  io.flush()
  require("operations").sleep(3600)
end

local command = require("spec.support.command")
local operations = require("operations")
local process = require("operations.net.process")

-- A server that writes the properties in an order of its own.
local server = [==[
local function answer(id, result)
  io.write('{"jsonrpc":"2.0","id":', id, ',"result":', result, "}\n")
  io.flush()
end
for line in io.lines() do
  local id = line:match('"id":("?[^,"}]+"?)')
  if line:find('"initialize"', 1, true) then
    answer(id, [[{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}]])
  elseif line:find('"tools/list"', 1, true) then
    answer(id, [[{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"to":{},"from":{},"body":{}}}}]}]])
  end
end
]==]

describe("the properties of an MCP tool", function()
  it("are listed in the server's order", function()
    process.allow(true)
    local client = assert(operations.from_mcp.connect("mail", { command = command.interpreter() or "luajit",
      args = { "-e", server }, era = "legacy", log = function() end }))
    local registry = operations.registry()
    assert(client:register(registry))
    local schema = registry:get_spec("mail.t").inputSchema
    client:close()
    assert.same({ "to", "from", "body" }, operations.schema.properties(schema))
  end)
end)

--- A definition that calls an operation of an OpenAPI document and one of an MCP server, in whichever program runs it.
local operations = require("operations")

local url = "http://127.0.0.1:8090"

return {
  namespace = "release",
  name = "calls",
  type = "query",
  description = "Call an operation of an OpenAPI document and one of an MCP server",
  handler = function()
    local registry = operations.registry()
    registry:register_all(assert(operations.from_openapi.url(url .. "/openapi.json", { namespace = "api" })))
    local client = assert(operations.from_mcp.connect("mine", { url = url .. "/mcp" }))
    assert(client:register(registry))
    local first = assert(registry:execute("api.greet", { name = "Ada" })).data
    local second = assert(registry:execute("mine.demo_greet", { name = "Bob" })).data
    client:close()
    return first .. " " .. second
  end,
}

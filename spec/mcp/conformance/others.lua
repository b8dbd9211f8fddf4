--- What the server under the conformance suite offers besides its fixtures: a pet store with an OpenAPI document, and
--- an MCP server, both in this process.
local operations = require("operations")

local others = {}

local pet = { type = "object", required = { "id", "name" }, properties = {
  id = { type = "integer" }, name = { type = "string" } } }

local function pets()
  local registry = operations.registry()
  registry:register({ namespace = "store", name = "getPet", type = "query", description = "A pet by its id",
    inputSchema = { type = "object", required = { "id" }, properties = { id = { type = "integer" } } },
    outputSchema = pet, handler = function(input)
      return { id = input.id, name = "Rex" }
    end })
  registry:register({ namespace = "store", name = "addPet", type = "mutation", description = "Adds a pet",
    inputSchema = pet, outputSchema = pet, handler = function(input)
      return input
    end })
  return registry
end

--- Starts both.
---@return { openapi: string, mcp: string, stop: fun() }  their URLs
function others.start()
  local registry = pets()
  local api, server = assert(operations.to_http(registry)), operations.to_mcp(registry, { name = "upstream" })
  server:resource({ uri = "pets://all", name = "pets", read = function()
    return "Rex"
  end })
  local listener, endpoint = assert(api:listen()), assert(server:listen())
  return { openapi = ("http://127.0.0.1:%d/openapi.json"):format(listener.port),
    mcp = ("http://127.0.0.1:%d/mcp"):format(endpoint.port), stop = function()
      api:close()
      server:close()
    end }
end

--- Calls a tool of each through the server at a URL.
---@param url string
---@return integer answered
function others.check(url)
  local client = assert(operations.from_mcp.connect("check", { url = url }))
  local answered = 0
  for _, tool in ipairs(client:tools()) do
    if tool.name:find("getPet$") then
      local envelope = assert(client:call(tool.name, { id = 7 }))
      local data = envelope.data
      answered = answered + (not envelope.meta.isError and data.id == 7 and data.name == "Rex" and 1 or 0)
    end
  end
  client:close()
  return answered
end

return others

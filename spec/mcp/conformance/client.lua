--- The client that the official conformance suite runs: `lua client.lua URL`, once for each scenario, whose name, data
--- and revision are in the environment.
local auth = require("spec.mcp.conformance.auth")
local json = require("operations.base.json")
local members = require("operations.base.members")
local operations = require("operations")

local url = arg[1]
local scenario = os.getenv("MCP_CONFORMANCE_SCENARIO") or arg[2]
local version = os.getenv("MCP_CONFORMANCE_PROTOCOL_VERSION")
local given = json.decode(os.getenv("MCP_CONFORMANCE_CONTEXT") or "{}") or {}

-- Scenarios whose servers know only the revision that they are about.
local pinned = {
  ["request-metadata"] = true, ["sep-2322-client-request-state"] = true, ["http-standard-headers"] = true,
  ["http-custom-headers"] = true, ["http-invalid-tool-headers"] = true,
}

local function connect(more)
  local config = members.merged({
    url = url, version = pinned[scenario] and "2026-07-28" or version, timeout = 10000,
  }, more)
  return assert(operations.from_mcp.connect("conformance", config))
end

local function call_all(client, make)
  for _, definition in ipairs(client.operations) do
    if definition._meta.tool then
      client:call(definition._meta.tool, make and make(definition) or {})
    end
  end
end

local scenarios = {}

scenarios["initialize"] = function()
  connect():close()
end

scenarios["tools_call"] = function()
  local client = connect()
  assert(client:call("add_numbers", { a = 5, b = 3 }))
  client:close()
end

scenarios["elicitation-sep1034-client-defaults"] = function()
  local client = connect({ elicitation = function()
    return { action = "accept", content = {} }
  end })
  assert(client:call("test_client_elicitation_defaults"))
  client:close()
end

scenarios["sse-retry"] = function()
  local client = connect({ stream = false })
  assert(client:call("test_reconnection"))
  client:close()
end

scenarios["request-metadata"] = function()
  local client = connect()
  call_all(client)
  client:close()
end

scenarios["sep-2322-client-request-state"] = function()
  local client = connect({ elicitation = function()
    return { action = "accept", content = { confirmed = true } }
  end })
  for _, tool in ipairs({ "test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated",
    "test_mrtr_no_result_type" }) do
    client:call(tool)
  end
  client:close()
end

-- Every tool, resource and prompt once.
scenarios["http-standard-headers"] = function()
  local client = connect()
  call_all(client)
  for _, resource in ipairs(assert(client:request("resources/list")).resources) do
    client:request("resources/read", { uri = resource.uri })
  end
  for _, prompt in ipairs(assert(client:request("prompts/list")).prompts) do
    client:request("prompts/get", { name = prompt.name })
  end
  client:close()
end

scenarios["http-custom-headers"] = function()
  local client = connect()
  for _, call in ipairs(given.toolCalls) do
    client:call(call.name, call.arguments)
  end
  client:close()
end

scenarios["http-invalid-tool-headers"] = function()
  local client = connect({ log = function() end })
  call_all(client)
  client:close()
end

scenarios["json-schema-ref-no-deref"] = function()
  local client = connect()
  call_all(client)
  client:close()
end

scenarios["json-schema-2020-12-preservation"] = function()
  local client = connect()
  for _, tool in ipairs(assert(client:request("tools/list")).tools) do
    if tool.name ~= "json_schema_echo" then
      client:call("json_schema_echo", { schema = tool.inputSchema })
    end
  end
  client:close()
end

-- Scenarios of authorization: the server wants a token before it lists and calls its tool.
local function authorize()
  local client = connect({ auth = auth.authorizer(scenario, given) })
  assert(client:call("test-tool"))
  client:close()
end

local run = scenarios[scenario] or (scenario:find("^auth/") and authorize)
if not run then
  io.stderr:write("no such scenario: ", tostring(scenario), "\n")
  os.exit(1)
end
run()

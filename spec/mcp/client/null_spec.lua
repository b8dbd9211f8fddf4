local core = require("operations.core")
local http_request = require("spec.support.http_request")
local mcp_link = require("spec.support.mcp_link")
local operations = require("operations")
local support = require("spec.support.mcp")

describe("a server that writes null for what it leaves out", function()
  local client

  after_each(function()
    client:close()
  end)

  for _, era in ipairs({ "legacy", "modern" }) do
    it("is understood: " .. era, function()
      client = support.connect(era, { server = { "nulls=yes" } })
      assert.is_nil(client.server)
      assert.equal("hi", assert(client:call("echo", { message = "hi" })).data[1].text)
    end)
  end

  it("has no capability that is null", function()
    for _, era in ipairs({ "legacy", "modern" }) do
      local server = mcp_link.server(era, { tools = operations.object(), resources = operations.null,
        prompts = operations.null, logging = operations.null })
      operations.run(function()
        client = assert(mcp_link.connect(server))
        assert.same({ true, false, false }, { client:has("tools"), client:has("resources"), client:has("prompts") })
        assert.same({}, client.operations) -- none for resources and prompts
      end)
      client:close()
    end
    client = support.connect("legacy")
  end)

  it("may write an empty array for an empty object", function()
    local none = operations.array()
    local server = mcp_link.server("legacy", nil, { ["initialize"] = function(params)
      return { protocolVersion = params.protocolVersion, capabilities = { tools = none }, _meta = none }
    end, ["tools/list"] = function()
      return { tools = { { name = "t", annotations = none, _meta = none,
        inputSchema = { type = "object", properties = none } } } }
    end, ["tools/call"] = function()
      return { content = { { type = "text", text = "ok" } }, structuredContent = none, _meta = none }
    end })
    operations.run(function()
      client = assert(mcp_link.connect(server, { accessControl = { requiredScopes = {} } }))
      assert.equal("ok", assert(client:call("t")).meta.content[1].text)
      local registry = operations.registry()
      assert(client:register(registry))
      local served = operations.to_mcp(registry)
      local call = { jsonrpc = "2.0", id = 1, method = "tools/list", params = operations.object({
        _meta = { ["io.modelcontextprotocol/protocolVersion"] = "2026-07-28",
          ["io.modelcontextprotocol/clientCapabilities"] = operations.object() } }) }
      local answer = http_request.send(served, "POST", "/mcp", { accept = "*/*", ["mcp-method"] = "tools/list",
        ["mcp-protocol-version"] = "2026-07-28" }, call)
      local tool = answer.json.result.tools[1]
      assert.same({ "object", "object" }, { core.kind(tool.inputSchema.properties), core.kind(tool.inputSchema) })
      assert.is_nil(tool._meta)
      assert.is_nil(tool.annotations)
      served:close()
    end)
  end)

  it("asks for no input with it", function()
    client = support.connect("modern")
    local data = assert(client:call("input", { state = "alone", requests = operations.null })).data
    assert.equal("alone", data.state)
  end)

  it("has no state to be given back with it", function()
    client = support.connect("modern", { roots = { "file:///x" } })
    assert(client:call("input", { state = operations.null, requests = { a = { method = "roots/list" } } }))
    local calls = support.heard(client, "tools/call")
    assert.equal("file:///x", calls[2].params.inputResponses.a.roots[1].uri)
    assert.is_nil(calls[2].params.requestState)
  end)

  it("wants input and says nothing of it: that is malformed", function()
    client = support.connect("modern")
    for _, value in ipairs({ { requests = operations.null, state = operations.null }, {} }) do
      local _, err = client:call("input", value)
      assert.equal("malformed", err.details.kind)
      assert.matches("neither inputRequests nor requestState", err.message)
    end
  end)
end)

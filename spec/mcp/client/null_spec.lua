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

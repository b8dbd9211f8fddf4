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

  it("asks for no input with it", function()
    client = support.connect("modern")
    local data = assert(client:call("input", { state = "alone", requests = operations.null })).data
    assert.equal("alone", data.state)
  end)
end)

local command = require("spec.support.command")

describe("an input made of every operation's schema", function()
  it("is accepted by the server of the example", function()
    local result = command.run_with_server("lua spec/openapi/suite/example.lua")
    assert.equal("", result.err)
    local once = "watch\t200\nlist\t200\ncreate\t201\nget\t200\nspoiled and let in\tlist\n"
    assert.equal(once:rep(2), result.out)
  end)
end)

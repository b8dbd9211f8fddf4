local inside = require("spec.support.inside")

describe("the example plugin for Neovim", function()
  local missing = inside.missing("nvim")
  if missing then
    pending(missing)
    return
  end

  it("lists tools and calls one, starts servers once, and never holds the editor up", function()
    local result = inside.nvim("spec/support/neovim_mcp.lua", nil, "-c 'qa!'")
    assert.same({ code = 0, out = [[
went on
spec.echo  Says it again
OPERATION_NOT_FOUND: no operation 'spec.nothing' 1
not today
went on
"resources": [ { "name": "a", "uri": "memo://a" } ]
went on
done ticked
]] }, result)
  end)
end)

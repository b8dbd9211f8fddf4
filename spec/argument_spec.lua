local argument = require("operations.argument")

local function greet(name, mark)
  argument.expect(name, "string", 1, "greet")
  argument.optional(mark, "string", 2, "greet")
  return name .. (mark or "!")
end

describe("a checked argument", function()
  it("passes when it is of its type", function()
    assert.equal("a!", greet("a"))
    assert.equal("a?", greet("a", "?"))
  end)

  it("is named, with what was expected, where the call was written", function()
    local ok, raised = pcall(function() local _ = greet(1) end)
    assert.is_false(ok)
    assert.matches("argument_spec.lua:16: bad argument #1 to 'greet' (string expected, got number)", raised, 1, true)
    ok, raised = pcall(function() local _ = greet("a", {}) end)
    assert.is_false(ok)
    assert.matches("bad argument #2 to 'greet' (string expected, got table)", raised, 1, true)
  end)
end)

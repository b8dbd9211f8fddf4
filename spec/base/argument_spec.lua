local argument = require("operations.base.argument")

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

  it("may be the object of a method, which blames its caller", function()
    local Greeter = {}
    function Greeter.greet(self)
      argument.self(self, Greeter, "greeter", "greet")
      return "hi"
    end
    assert.equal("hi", Greeter.greet(setmetatable({}, Greeter)))
    local line = debug.getinfo(1, "l").currentline + 1
    local ok, raised = pcall(function() local _ = Greeter.greet({}) end)
    assert.is_false(ok)
    assert.equal(line, tonumber(raised:match("argument_spec%.lua:(%d+): calling 'greet' on bad self "
      .. "%(greeter expected, got table%)$")))
  end)

  it("may be an option, which is known and of its type", function()
    local function greet_with(options)
      argument.options(options, { mark = "string", loud = "boolean or number", voice = "string or false" }, "greet")
    end
    greet_with({})
    greet_with({ mark = "!" })
    greet_with({ loud = true })
    greet_with({ loud = 2 })
    greet_with({ voice = false })
    for message, options in pairs({
      ["argument_spec.lua:%d+: bad option 'mark' to 'greet' %(string expected, got number%)"] = { mark = 1 },
      ["bad option 'loud' to 'greet' %(boolean or number expected, got string%)"] = { loud = "2" },
      ["bad option 'voice' to 'greet' %(string or false expected, got boolean%)"] = { voice = true },
      ["argument_spec.lua:%d+: bad option 'marks' to 'greet' %(unknown; did you mean mark%?%)"] = { marks = "!" },
    }) do
      local _, raised = pcall(function()
        greet_with(options)
        return true
      end)
      assert.matches(message, raised)
    end
  end)

  it("is the object of a method", function()
    local Person = {}
    argument.self(setmetatable({}, Person), Person, "person", "meet")
    for _, value in ipairs({ {}, "text" }) do
      assert.has_error(function()
        argument.self(value, Person, "person", "meet")
      end, ("calling 'meet' on bad self (person expected, got %s)"):format(type(value)))
    end
  end)

  it("may be told by what it can do", function()
    argument.object({ greet = print }, "greet", "person", 1, "meet")
    argument.object("text", "upper", "string", 1, "meet")
    for _, value in ipairs({ {}, { greet = 1 }, "text", 1 }) do
      assert.has_error(function()
        argument.object(value, "greet", "person", 1, "meet")
      end, ("bad argument #1 to 'meet' (person expected, got %s)"):format(type(value)))
    end
  end)
end)

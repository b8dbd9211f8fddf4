local call = require("operations.tools.call")
local core = require("operations.core")
local json = require("operations.base.json")

describe("the arguments of a call", function()
  local function of(raw)
    local value, err = call.arguments(raw)
    return value and json.encode(value) or err.message, err
  end

  it("are an object, or its JSON text", function()
    assert.equal('{"a":1}', (of({ a = 1 })))
    assert.equal('{"a":1}', (of('{"a":1}')))
    for _, none in ipairs({ "", " \n", "{}", {}, "[]", core.null }) do
      assert.equal("{}", (of(none)))
    end
    assert.equal("{}", (of(nil)))
  end)

  it("are refused otherwise", function()
    for raw, kind in pairs({ ["7"] = "integer", ["[1]"] = "array", ['"x"'] = "string", ["null"] = "null" }) do
      local message, err = of(raw)
      assert.equal("the arguments have to be a JSON object, not " .. kind, message)
      assert.same({ "VALIDATION_ERROR", false }, { err.code, err.mayHaveRun })
    end
    assert.equal("the arguments have to be a JSON object, not integer", (of(7)))
    assert.matches("^the arguments are not JSON: ", (of("{")))
  end)
end)

describe("a tool that there is not", function()
  it("is named, shortened and without control characters", function()
    local function message(name)
      local err = call.unknown(name)
      assert.same({ "OPERATION_NOT_FOUND", false, false }, { err.code, err.retryable, err.mayHaveRun })
      return err.message
    end
    assert.equal('there is no tool "x"', message("x"))
    assert.equal('there is no tool "a?b"', message("a\nb"))
    assert.equal(('there is no tool "%s"'):format(("x"):rep(200)), message(("x"):rep(201)))
    assert.equal("there is no tool without a name", message(nil))
    assert.equal("there is no tool without a name", message(7))
  end)
end)

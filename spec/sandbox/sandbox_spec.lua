local operations = require("operations")

local sandbox = operations.sandbox

local function run(code, functions, options, context)
  return assert(sandbox.run(code, functions or {}, options, context))
end

describe("a program in the sandbox", function()
  it("returns a value", function()
    local result = run("return { sum = 1 + 1, list = {}, nothing = null }")
    assert.is_true(result.ok)
    assert.same({ sum = 2, list = {}, nothing = operations.null }, result.value)
    assert.same({}, result.calls)
  end)

  it("calls a function of the host", function()
    local result = run([[local user, err = call("users.get", { id = 7 }) return { user.name, err == nil }]], {
      call = function(id, input)
        return { name = id .. input.id }
      end,
    })
    assert.same({ "users.get7", true }, result.value)
    assert.equal("users.get ok", result.calls[1].id .. " " .. result.calls[1].outcome)
  end)

  it("gets the failure of a call as nil and an error", function()
    local result = run([[local value, err = call("a")
      return { value == nil, err.code, err.details.x, tostring(err) }]], {
      call = function()
        return nil, operations.error("NOT_FOUND", "no such task", { x = 1 })
      end,
    })
    assert.same({ true, "NOT_FOUND", 1, "NOT_FOUND: no such task" }, result.value)
    assert.equal("NOT_FOUND", result.calls[1].outcome)
  end)
end)

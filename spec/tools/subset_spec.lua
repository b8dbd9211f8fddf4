local json = require("operations.base.json")
local parameters = require("operations.tools.parameters")
local sources = require("spec.support.sources")

local cases = assert(json.decode(sources.read("spec/vectors/tools/strict.json")))

describe("the strict form", function()
  for _, format in ipairs({ "openai", "anthropic", "gemini" }) do
    for _, case in ipairs(cases) do
      it("for " .. format .. " is as its vector says: " .. case.name, function()
        local made = parameters.of(case.schema, format, true)
        assert.equal(json.encode(case[format], { sort_keys = true }), json.encode(made.schema, { sort_keys = true }))
        assert.is_true(made.strict)
      end)
    end
  end

  it("keeps names of properties up to 64 characters where the vendor limits them", function()
    local function name_of(format, length)
      return next(parameters.of({ type = "object", properties = { [("x"):rep(length)] = true } }, format, true)
        .schema.properties)
    end
    for _, format in ipairs({ "anthropic", "gemini" }) do
      assert.equal(("x"):rep(64), name_of(format, 64))
      assert.equal("p_" .. ("x"):rep(58), name_of(format, 65))
    end
    assert.equal(("x"):rep(65), name_of("openai", 65))
  end)
end)

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
end)

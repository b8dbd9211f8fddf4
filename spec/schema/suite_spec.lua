local suite = require("spec.support.suite")

describe("the official test suite", function()
  local directory = suite.directory()
  for _, draft in ipairs(suite.drafts) do
    if not directory then
      pending("passes for " .. draft.name .. " (no data: `make suite` gets it)")
    else
      it("passes for " .. draft.name, function()
        local bad = {}
        local counts = suite.run(directory, draft, function(outcome, label, failure)
          if outcome ~= "skipped" then
            bad[#bad + 1] = outcome .. " " .. label .. ": " .. tostring(failure)
          end
        end)
        assert.are.equal("", table.concat(bad, "\n"))
        assert.is_true(counts.required.passed > 500)
      end)
    end
  end
end)

local json = require("operations.base.json")
local operations = require("operations")
local sources = require("spec.support.sources")

local sorted = { sort_keys = true }

-- The parts of a report, in an order of their texts: what is wrong with one schema is told in any.
local function lines_of(report)
  local lines = {}
  for i, each in ipairs(report) do
    lines[i] = json.encode(each, sorted)
  end
  table.sort(lines)
  return lines
end

describe("the definitions of", function()
  for _, case in ipairs(assert(json.decode(sources.read("spec/vectors/openapi/definitions.json")))) do
    describe("a document about " .. case.name, function()
      local list, report

      setup(function()
        list, report = operations.from_openapi.document(case.document,
          { base_url = "https://a.test/base", eager = true })
      end)

      for i, expected in ipairs(case.definitions) do
        it("have " .. expected.name .. " as its vector says", function()
          local definition = {}
          for key, value in pairs(list[i]) do
            definition[key] = key ~= "handler" and key ~= "fill" and value or nil
          end
          assert.equal("required", list[i].fill)
          assert.equal(json.encode(expected, sorted), json.encode(definition, sorted))
        end)
      end

      it("are no more, and a report names the skipped ones", function()
        assert.equal(#case.definitions, #list)
        assert.same(lines_of(case.report), lines_of(report))
      end)
    end)
  end
end)

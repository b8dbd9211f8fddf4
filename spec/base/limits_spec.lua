local limits = require("operations.base.limits")
local schema = require("operations.schema")
local sources = require("spec.support.sources")

describe("limits", function()
  it("are each obeyed by some module", function()
    local read = {}
    for _, path in ipairs(sources.list("lua", ".lua")) do
      for name in sources.read(path):gmatch("limits%.([%a_]+)") do
        read[name] = true
      end
    end
    for name in pairs(limits) do
      assert.is_true(read[name], name .. " is read by no module")
    end
  end)

  it("have the names that they have: another one is refused", function()
    assert.has_error(function()
      limits.idle_conections = 5
    end, "unknown limit 'idle_conections'")
  end)

  it("count the issues of one value, unless max_issues does", function()
    local usual = limits.issues
    finally(function()
      limits.issues = usual
    end)
    limits.issues = 2
    local value = { 1, 2, 3, 4, 5 }
    local _, issues = assert(schema.compile({ items = { type = "string" } })):check(value)
    assert.equal(2, #issues)
    _, issues = assert(schema.compile({ items = { type = "string" } }, { max_issues = 4 })):check(value)
    assert.equal(4, #issues)
  end)
end)

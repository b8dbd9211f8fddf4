local json = require("operations.base.json")
local parameters = require("operations.tools.parameters")
local sources = require("spec.support.sources")

local sorted = { sort_keys = true }

describe("without strict mode, the parameters of", function()
  for _, case in ipairs(assert(json.decode(sources.read("spec/vectors/tools/loose.json")))) do
    for _, format in ipairs({ "openai", "anthropic", "gemini" }) do
      it(case.name .. " for " .. format .. " are as their vector says", function()
        local made = parameters.of(case.schema, format, false)
        assert.equal(json.encode(case[format], sorted),
          json.encode({ schema = made.schema, wrapped = made.wrapped, plan = made.plan }, sorted))
        assert.is_false(made.strict)
      end)
    end
  end
end)

describe("a schema that is written out", function()
  it("has any value where it would be larger than 20,000 schemas", function()
    local properties = {}
    for i = 1, 300 do
      properties["p" .. i] = { ["$ref"] = "#/$defs/d" }
    end
    local inner = {}
    for i = 1, 100 do
      inner["q" .. i] = { type = "string" }
    end
    local made = parameters.of({ type = "object", properties = properties, ["$defs"] = { d = { type = "object",
      properties = inner } } }, "gemini", false).schema
    local full, empty = 0, 0
    for _, property in pairs(made.properties) do
      if next(property) == nil then
        empty = empty + 1
      else
        full = full + 1
      end
    end
    assert.equal(300, full + empty)
    assert.is_true(full > 150 and empty > 50)
  end)
end)

describe("strict mode is left out", function()
  local function is_strict(schema)
    return parameters.of(schema, "openai", true).strict
  end

  it("where the names and values have more characters than the vendor takes", function()
    local function with(characters)
      return { type = "object", required = { "a" }, properties = { a = { enum = { ("x"):rep(characters - 1) } } } }
    end
    assert.is_true(is_strict(with(120000)))
    assert.is_false(is_strict(with(120001)))
    assert.is_true(is_strict({ type = "object", required = { "a" }, properties = { a = { const =
      ("x"):rep(119999) } } }))
    assert.is_false(is_strict({ type = "object", required = { "a" }, properties = { a = { const =
      ("x"):rep(120000) } } }))
    for name, fits in pairs({ d = true, dd = false }) do
      assert.equal(fits, is_strict({ type = "object", required = { "a" },
        properties = { a = { ["$ref"] = "#/$defs/" .. name } }, ["$defs"] = { [name] = {
          type = "object", required = { "b" }, properties = { b = { const = ("x"):rep(119997) } } } } }))
    end
  end)

  it("where values are in lists, unions and definitions", function()
    local values = {}
    for i = 1, 1001 do
      values[i] = "v" .. i
    end
    local many = { enum = values }
    for _, property in ipairs({ { type = "array", items = many }, { anyOf = { many, { type = "integer" } } },
      { type = "object", required = { "b" }, properties = { b = many } } }) do
      assert.is_false(is_strict({ type = "object", required = { "a" }, properties = { a = property } }))
    end
    assert.is_false(is_strict({ type = "object", required = { "a" }, properties = { a = { ["$ref"] = "#/$defs/d" } },
      ["$defs"] = { d = { type = "object", required = { "b" }, properties = { b = many } } } }))
    values[1001] = nil
    assert.is_true(is_strict({ type = "object", required = { "a" }, properties = { a = many } }))
  end)
end)

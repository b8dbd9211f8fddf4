--- How deep a value may be: the most levels that check, its issues, cast, force and fill go down.
local operations = require("operations")
local schema = require("operations.schema")

local function in_array(value)
  return { value }
end

local function in_object(value)
  return { a = value }
end

local function in_tagged(value)
  return { t = "x", a = value }
end

local function nested(levels, around, innermost)
  for _ = 1, levels do
    innermost = around(innermost)
  end
  return innermost
end

-- Does each call go down to the innermost value?
local order = { "check", "issues", "cast", "force", "fill" }
local calls = {
  check = function(compiled, value)
    return (compiled:check(value))
  end,
  issues = function(compiled, value)
    local ok, issues = compiled:check(value)
    return ok or not (issues[1].message:find("deep") or issues[1].message:find("limits"))
  end,
  cast = function(compiled, value)
    local result, _, err = compiled:cast(value)
    return result ~= value and err == nil
  end,
  force = function(compiled, value)
    local result, _, err = compiled:cast(value, "force")
    return result ~= value and err == nil
  end,
  fill = function(compiled, value)
    return compiled:fill(value) ~= nil
  end,
}

local self = { ["$ref"] = "#" }
local object, array = operations.object({}), operations.array({})
local function tagged(tag, a)
  return { type = "object", required = { "t" }, properties = { t = { const = tag }, a = a } }
end

-- Name -> definition, what is around each level, the innermost value, the levels of each of `order`.
local cases = {
  ["objects"] = { { properties = { a = self } }, in_object, object, { 1535, 1535, 511, 511 } },
  ["closed objects"] = { { properties = { a = self }, additionalProperties = false }, in_object, object,
    { 1535, 1535, 511, 511 } },
  ["other members"] = { { additionalProperties = self }, in_object, object, { 1535, 1535, 511, 511 } },
  ["members by a pattern"] = { { patternProperties = { a = self } }, in_object, object, { 1535, 1535, 511, 511 } },
  ["items"] = { { type = "array", items = self }, in_array, array, { 1535, 1535, 511, 511 } },
  ["a tuple"] = { { prefixItems = { self } }, in_array, array, { 1535, 1535, 511, 511 } },
  ["all of one"] = { { allOf = { { properties = { a = self } } } }, in_object, object, { 1535, 1535, 511, 511 } },
  ["any of two"] = { { anyOf = { { type = "array", items = self }, { type = "null" } } }, in_array, array,
    { 1535, 1535, 255, 255 } },
  ["branches by a tag"] = { { oneOf = { tagged("x", self), tagged("y") } }, in_tagged, { t = "y" },
    { 1535, 1535, 255, 255 } },
  ["objects of any kind"] = { true, in_object, object, { 1535, 1535 } },
  ["arrays of any kind"] = { true, in_array, array, { 1535, 1535 } },
  ["a member of any kind"] = { { properties = { a = true } }, in_object, object, { 1535, 1535, 1534, 1534 } },
  ["unevaluated members"] = { { unevaluatedProperties = self }, in_object, object, { 1535, 1535 } },
  ["unevaluated items"] = { { unevaluatedItems = self }, in_array, array, { 1535, 1535 } },
  ["unevaluated members that do not conform"] = { { ["not"] = { ["$ref"] = "#/$defs/n" }, ["$defs"] = {
    n = { properties = { a = { ["$ref"] = "#/$defs/n" } }, unevaluatedProperties = { type = "string" } } } }, in_object,
    { b = 1 }, { 1533, 1533 } },
  ["then"] = { { ["if"] = { type = "object" }, ["then"] = { properties = { a = self } } }, in_object, object,
    { 767, 767, 255, 255 } },
  ["a schema that depends on a member"] = { { dependentSchemas = { a = { properties = { a = self } } } }, in_object,
    object, { 767, 767, 255, 255 } },
  ["a dynamic reference"] = { { ["$dynamicAnchor"] = "n", properties = { a = { ["$dynamicRef"] = "#n" } } }, in_object,
    object, { 767, 767, 255, 255 } },
  ["defaults"] = { { properties = { a = self, b = { default = 1 } } }, in_object, object,
    { 1535, 1535, 511, 511, 255 } },
  ["defaults of items"] = { { prefixItems = { self, { properties = { b = { default = 1 } } } } }, in_array, array,
    { 1535, 1535, 511, 511, 255 } },
}

describe("the levels of a value:", function()
  for name, case in pairs(cases) do
    it(name, function()
      local compiled = assert(schema.compile(case[1]))
      for i, levels in ipairs(case[4]) do
        local call = calls[order[i]]
        assert.is_true(call(compiled, nested(levels, case[2], case[3])), order[i])
        assert.is_false(call(compiled, nested(levels + 1, case[2], case[3])), order[i])
      end
    end)
  end

  it("a value that has too many conforms to no schema, and to no negation of one", function()
    local again = { ["$ref"] = "#/$defs/n" }
    for _, given in ipairs({ { true, in_object, object }, { true, in_array, array },
      { { properties = { a = again } }, in_object, object },
      { { properties = { a = again }, minProperties = 0 }, in_object, object },
      { { type = "array", items = again }, in_array, array } }) do
      local compiled = assert(schema.compile({ ["not"] = again, ["$defs"] = { n = given[1] } }))
      for levels = 1532, 1537 do
        assert.is_false((compiled:check(nested(levels, given[2], given[3]))))
      end
    end
  end)
end)

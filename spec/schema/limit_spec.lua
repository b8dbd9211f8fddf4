--- Schemas and values that would take for ever: each of these doubles what is to do with every level.
local many = require("spec.support.many")
local operations = require("operations")
local schema = require("operations.schema")

local LEVELS = 60
local FEW = 50000 -- steps; without the option there are more

-- Each definition asks the next one twice of the same value; the last one is `last`.
local function doubling(keyword, last, levels)
  levels = levels or LEVELS
  local definitions = { ["n" .. levels + 1] = last }
  for i = 1, levels do
    local following = { ["$ref"] = "#/$defs/n" .. i + 1 }
    definitions["n" .. i] = { [keyword] = { following, following } }
  end
  return { ["$defs"] = definitions, ["$ref"] = "#/$defs/n1" }
end

local function nested(innermost)
  local value = innermost
  for _ = 1, LEVELS do
    value = { a = value }
  end
  return value
end

local self = { ["$ref"] = "#" }

describe("a check that would take for ever is refused,", function()
  local function refused(definition, value, max_steps)
    local compiled = assert(schema.compile(definition, { max_steps = max_steps }))
    local ok, issues = compiled:check(value)
    assert.is_false(ok)
    assert.is_true(#issues >= 1)
    assert.equal(value, (compiled:cast(value)))
    assert.equal(value, (compiled:cast(value, "force")))
    assert.equal(value, compiled:fill(value))
    return issues
  end

  it("of alternatives that no value fits", function()
    local issues = refused(doubling("anyOf", { type = "string" }), 1)
    assert.equal("takes too many steps to check", issues[1].message)
  end)

  it("of alternatives that are the schema itself", function()
    refused({ anyOf = { self, self } }, 1, FEW)
  end)

  it("of parts that every value fits, also where none should", function()
    refused(doubling("allOf", { type = "integer" }), 1, FEW)
    local definition = doubling("oneOf", { type = "string" })
    definition["not"], definition["$ref"] = { ["$ref"] = definition["$ref"] }, nil
    local issues = refused(definition, 1, FEW)
    assert.equal("takes too many steps to check", issues[1].message)
  end)

  it("of alternatives for a long array, which each of them walks over", function()
    local compiled = assert(schema.compile(doubling("anyOf", { type = "string" }, 16), { max_steps = FEW }))
    local list = operations.array({})
    for i = 1, 1000 do
      list[i] = i
    end
    local _, issues = compiled:check(list)
    assert.equal("takes too many steps to check", issues[1].message)
  end)

  it("of members by name and by pattern", function()
    refused({ type = "object", properties = { a = self }, patternProperties = { ["^a"] = self } }, nested({}), FEW)
  end)

  it("of unions within unions", function()
    local function branch(missing)
      return { type = "object", properties = { a = self }, required = { missing } }
    end
    refused({ anyOf = { branch("y"), branch("z") } }, nested({}), FEW)
  end)
end)

describe("a limit that was reached", function()
  local definition = { ["not"] = { pattern = "^(a+)+\\1$" } }
  local backtracking = ("a"):rep(40) .. "b"

  it("says so in the call's error and in the warning", function()
    local warnings = {}
    local registry = operations.registry({ on_warning = function(warning) warnings[#warnings + 1] = warning end })
    assert(registry:register({ namespace = "a", name = "b", inputSchema = definition, handler = print }))
    assert(registry:register({ namespace = "a", name = "c", outputSchema = definition, handler = function()
      return backtracking
    end }))
    local _, err = registry:execute("a.b", backtracking)
    assert.equal("VALIDATION_ERROR", err.code)
    assert.equal("cannot be checked within the limits of depth, steps and patterns", err.details[1].message)
    assert.equal(backtracking, assert(registry:execute("a.c")).data)
    assert.equal("cannot be checked within the limits of depth, steps and patterns", warnings[1].issues[1].message)
  end)

  it("hides no other issue", function()
    local costly, null = { pattern = definition["not"].pattern }, { type = "null" }
    local patterns = { patternProperties = { [costly.pattern] = null, ["^x"] = null } }
    local deep = {}
    for _ = 1, 2000 do
      deep = { deep }
    end
    -- A definition, a value, its issues; COSTLY stands for the text that is too costly to match.
    for _, case in ipairs({
      { { allOf = { costly }, enum = { "x" }, ["not"] = { type = "string" }, minLength = 100 }, backtracking,
        { ": expected at least 100 characters, got 41", ": expected \"x\", got \"COSTLY\"",
          ": too costly to match", ": expected a value that does not fit the schema of not" } },
      { { pattern = costly.pattern, const = "x" }, backtracking,
        { ": too costly to match", ": expected \"x\", got \"COSTLY\"" } },
      { { pattern = costly.pattern, format = "date" }, backtracking,
        { ": too costly to match", ": expected a string of format date, got \"COSTLY\"" } },
      { { ["not"] = costly, maxLength = 3 }, backtracking, { ": expected at most 3 characters, got 41",
        ": cannot be checked within the limits of depth, steps and patterns" } },
      { { ["if"] = costly, ["then"] = { maxLength = 1 }, ["else"] = { minLength = 100 } }, backtracking,
        { ": too costly to match" } },
      { { anyOf = { { type = "integer" }, costly, { minLength = 100 } } }, backtracking, { ": too costly to match" } },
      { { oneOf = { costly, { pattern = "^a" } } }, backtracking, { ": too costly to match" } },
      { { prefixItems = { costly }, unevaluatedItems = null }, { backtracking, 1, 2 },
        { "/0: too costly to match", "/1: expected null, got 1", "/2: expected null, got 2" } },
      { { items = costly, minItems = 4, contains = null }, { backtracking, "b", backtracking },
        { ": expected at least 4 items, got 3", "/0: too costly to match",
          "/1: expected a string that matches ^(a+)+\\1$, got \"b\"", "/2: too costly to match",
          ": expected at least 1 item of the contained kind, found 0" } },
      { { contains = costly, unevaluatedItems = null }, { backtracking, 1 },
        { ": cannot be checked within the limits of depth, steps and patterns" } },
      { { contains = costly, unevaluatedItems = null }, { backtracking, "b" },
        { ": cannot be checked within the limits of depth, steps and patterns", '/1: expected null, got "b"' } },
      { { propertyNames = costly }, { [backtracking] = 1, b = 1, c = 1 },
        { "/COSTLY: this name does not fit: too costly to match",
          "/b: this name does not fit: expected a string that matches ^(a+)+\\1$, got \"b\"",
          "/c: this name does not fit: expected a string that matches ^(a+)+\\1$, got \"c\"" } },
      { { patternProperties = patterns.patternProperties, additionalProperties = null },
        { [backtracking] = 1, x = 1, y = 1 }, { "/COSTLY: its name is too costly to match",
          "/x: expected null, got 1", "/y: expected null, got 1" } },
      { { allOf = { patterns }, unevaluatedProperties = false }, { [backtracking] = 1, x = 1, y = 1 },
        { "/COSTLY: its name is too costly to match", "/x: expected null, got 1", "/y: unknown property" } },
      { { properties = { a = true, b = null } }, { a = deep, b = 1 },
        { "/a" .. ("/0"):rep(1535) .. ": nested too deeply", "/b: expected null, got 1" } },
      { { items = {} }, { deep, print }, { ("/0"):rep(1536) .. ": nested too deeply",
        "/1: expected a JSON value, got function" } },
    }) do
      local compiled = assert(schema.compile(case[1], { formats = true }))
      local ok, issues = compiled:check(case[2])
      local lines = {}
      for i, issue in ipairs(issues) do
        lines[i] = (issue.path .. ": " .. issue.message):gsub(backtracking, "COSTLY")
      end
      table.sort(lines)
      table.sort(case[3])
      assert.same(case[3], lines)
      assert.is_false(ok)
    end
  end)

  it("leaves no number in a message that was counted in part", function()
    for expected, case in pairs({
      [": expected different items, 28 and 29 are equal"] = { { uniqueItems = true },
        many.items(30, function(i) return { i < 30 and i or 29 } end) },
      [": expected at most 5 items of the contained kind, found 30"] = {
        { contains = { ["not"] = { const = 0 } }, maxContains = 5 }, many.items(30, function(i) return i end) },
    }) do
      local seen = {}
      for max_steps = 1, 200 do
        local _, issues = assert(schema.compile(case[1], { max_steps = max_steps })):check(case[2])
        assert.equal(1, #issues)
        seen[issues[1].path .. ": " .. issues[1].message] = true
      end
      assert.same({ [expected] = true, [": takes too many steps to check"] = true }, seen)
    end
  end)

  it("does not arise for many values of which each is one of many consts", function()
    local consts, list = {}, operations.array({})
    for i = 1, 4000 do
      consts[i] = { const = "c" .. i }
    end
    for i = 1, 2000 do
      list[i] = "c" .. i * 2
    end
    for _, keyword in ipairs({ "anyOf", "oneOf" }) do
      local compiled = assert(schema.compile({ items = { [keyword] = consts } }))
      assert.is_true(compiled:check(list))
      assert.same({ compiled:cast(list, "force") }, { list, operations.array({}) })
      list[1000] = "c0"
      local ok, issues = compiled:check(list)
      assert.is_false(ok)
      assert.equal("/999", issues[1].path)
      assert.same({ { path = "/999", kind = "replaced", old = "c0", new = "c1" } },
        (select(2, compiled:cast(list, "force"))))
      list[1000] = "c2000"
    end
  end)

  it("does not arise for large values", function()
    local text = { type = "string", allOf = { { minLength = 1 }, { maxLength = 9 } } }
    local item = { anyOf = { text, { type = "null" } } }
    local compiled = assert(schema.compile({ items = item }))
    local list = {}
    for i = 1, 1000000 do
      list[i] = "x"
    end
    assert.is_true(compiled:check(list))
    list[#list] = "0123456789"
    local ok, issues = compiled:check(list)
    assert.is_false(ok)
    assert.equal("/999999", issues[1].path)
  end)
end)

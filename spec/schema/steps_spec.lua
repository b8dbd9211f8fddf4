--- What checking, casting and forcing a value costs: the least `max_steps` with which it answers as it does without.
local many = require("spec.support.many")
local operations = require("operations")
local json = require("operations.base.json")
local schema = require("operations.schema")

local list, members = many.items, many.members

local MOST = 2 ^ 20

local function text(value)
  return assert(json.encode(value, { sort_keys = true }))
end

local calls = {
  check = function(compiled, value)
    local ok, issues = compiled:check(value)
    return tostring(ok) .. text(issues or operations.array({}))
  end,
  cast = function(compiled, value)
    local result, changes, err = compiled:cast(value)
    return text(result) .. #changes .. tostring(err)
  end,
  force = function(compiled, value)
    local result, changes, err = compiled:cast(value, "force")
    return text(result) .. #changes .. tostring(err)
  end,
  fill = function(compiled, value)
    local result, err = compiled:fill(value)
    return result ~= nil and text(result) or tostring(err)
  end,
}

-- Traversals are only counted, so a second item follows for which a step has to be left.
local last = { properties = { z = { default = 1 } }, ["not"] = { required = { "y" } } }

local function steps(call, definition, value)
  definition, value = { prefixItems = { definition, last } }, { value, operations.object({}) }
  local function answer(max_steps)
    return calls[call](assert(schema.compile(definition, { max_steps = max_steps, formats = true })), value)
  end
  local low, high, wanted = 0, MOST, answer(MOST)
  while high - low > 1 do
    local middle = math.floor((low + high) / 2)
    if answer(middle) == wanted then
      high = middle
    else
      low = middle
    end
  end
  return high
end

local function one() return 1 end
local function letter() return "a" end
local integer, string = { type = "integer" }, { type = "string" }
local tagged = list(3, function(i)
  return { type = "object", required = { "tag", "n" }, properties = { tag = { const = "t" .. i }, n = integer } }
end)
local many_tags = list(40, function(i)
  local tag = { enum = { ("t"):rep(60) .. i } }
  return { type = "object", required = { "tag" }, properties = { tag = tag, n = integer } }
end)
local dynamic = {
  ["$id"] = "a:b",
  type = "object", ["$dynamicAnchor"] = "node",
  properties = { kids = { type = "array", items = { ["$dynamicRef"] = "#node" } }, n = integer },
}
for i = 1, 20 do
  dynamic["$defs"] = dynamic["$defs"] or {}
  dynamic["$defs"]["d" .. i] = { ["$dynamicAnchor"] = "other" .. i }
end
local hinted = {
  ["$id"] = "a:b", oneOf = { { ["$ref"] = "#/$defs/cat" }, { ["$ref"] = "#/$defs/dog" } },
  discriminator = { propertyName = "kind" },
  ["$defs"] = { cat = { type = "object", properties = { kind = string, n = integer }, required = { "kind" } },
    dog = { type = "object", properties = { kind = string, n = string }, required = { "kind" } } },
}

-- Name -> definition, value, and the steps of each of `order`.
local order = { "check", "cast", "force", "fill" }
local cases = {
  ["a scalar of a type"] = { integer, 1, { 2, 14, 14, 3 } },
  ["a scalar of another type"] = { integer, true, { 1035, 18, 33, 3 } },
  ["a text within its bounds"] = { { type = "string", minLength = 1, maxLength = 9 }, "abcd", { 2, 14, 14, 3 } },
  ["a long text"] = { { type = "string", minLength = 1100 }, ("\195\164"):rep(1000), { 1066, 80, 249, 3 } },
  ["a text by a pattern"] = { { type = "string", pattern = "^a+$" }, ("a"):rep(200), { 9, 21, 21, 3 } },
  ["a text by a format"] = { { type = "string", format = "date" }, "2020-01-01", { 2, 14, 14, 3 } },
  ["a text of a short enum"] = { { enum = { "a", "b" } }, "b", { 2, 14, 14, 3 } },
  ["a text of no short enum"] = { { enum = { "a", "b" } }, "c", { 1036, 19, 34, 3 } },
  ["a number of an enum"] = { { enum = { 1, 2 } }, 2, { 3, 19, 19, 3 } },
  ["a number between bounds"] = { { type = "number", minimum = 1, exclusiveMaximum = 9 }, 2.5, { 2, 14, 14, 3 } },
  ["a number above its bound"] = { { type = "number", maximum = 1 }, 2, { 1035, 18, 33, 3 } },
  ["a multiple"] = { { type = "integer", multipleOf = 3 }, 9, { 2, 18, 18, 3 } },
  ["a number of a format"] = { { type = "integer", format = "int32" }, 9, { 2, 14, 14, 3 } },
  ["a text in place of a number"] = { integer, "12", { 1035, 18, 18, 3 } },
  ["a number in place of a text"] = { string, 12, { 1035, 18, 18, 3 } },
  ["an array of integers"] = { { type = "array", items = integer }, list(111, one), { 8, 18, 18, 3 } },
  ["an array of misfits"] = { { type = "array", items = integer }, list(111, letter), { 100129, 462, 1061, 3 } },
  ["an array of any items"] = { { type = "array" }, list(111, one), { 2, 18, 18, 3 } },
  ["a bounded array"] = { { type = "array", items = integer, minItems = 1, maxItems = 200 }, list(111, one),
    { 8, 18, 18, 3 } },
  ["a short array"] = { { type = "array", items = integer, minItems = 3 }, list(2, one), { 1057, 18, 40, 3 } },
  ["a tuple"] = { { prefixItems = { integer, string }, items = integer }, { 1, "a", 3, 4 }, { 2, 18, 18, 3 } },
  ["a tuple with nothing after it"] = { { prefixItems = { integer }, items = false }, { 1, 2 }, { 1057, 22, 43, 3 } },
  ["an array that contains"] = { { contains = string, minContains = 2, maxContains = 60 }, list(111, function(i)
    return i > 50 and "a" or i
  end), { 1054, 32, 99, 3 } },
  ["an array that contains enough at once"] = { { contains = { ["not"] = string } }, list(111, one),
    { 10, 20, 20, 3 } },
  ["different items"] = { { uniqueItems = true }, list(111, function(i) return i end), { 14, 24, 24, 3 } },
  ["few equal items"] = { { uniqueItems = true }, list(24, function(i) return { i % 23 } end), { 1546, 529, 1312, 3 } },
  ["one item more"] = { { uniqueItems = true }, list(25, function(i) return { i % 24 } end), { 1092, 75, 177, 3 } },
  ["many equal items"] = { { uniqueItems = true }, list(111, function(i) return { a = i % 110 } end),
    { 1279, 262, 652, 3 } },
  ["an object of integers"] = { { type = "object", properties = members(47, function() return integer end) },
    members(47, one), { 4, 20, 20, 3 } },
  ["an object that lacks members"] = { { type = "object", properties = members(47, function() return integer end),
    required = { "p1", "p2", "p3" } }, members(1, one), { 2048, 22, 52, 3 } },
  ["a closed object"] = { { type = "object", properties = members(47, function() return integer end),
    additionalProperties = false }, members(47, one), { 4, 20, 20, 3 } },
  ["an object of other members"] = { { additionalProperties = integer }, members(63, one), { 5, 270, 270, 3 } },
  ["an object of any other members"] = { { properties = { p1 = integer }, additionalProperties = {} },
    members(63, one), { 2, 266, 266, 3 } },
  ["an object by patterns"] = { { patternProperties = { ["^p"] = integer, ["0$"] = { maximum = 5 } } },
    members(63, one), { 200, 372, 372, 3 } },
  ["few and many members"] = { { minProperties = 1, maxProperties = 90 }, members(63, one), { 8, 24, 24, 3 } },
  ["names of members"] = { { propertyNames = { maxLength = 2 } }, members(63, one), { 108692, 18, 33, 3 } },
  ["members that depend on others"] = { { dependentRequired = { p1 = list(47, function(i) return "p" .. i end) } },
    members(31, one), { 16035, 20, 43, 3 } },
  ["schemas that depend on members"] = { { dependentSchemas = { p1 = { minProperties = 3 },
    p2 = { properties = { p1 = { default = 1 } } } } }, members(1, one), { 1046, 40, 58, 3 } },
  ["any table"] = { true, list(63, function(i) return { a = i } end), { 69, 85, 85, 3 } },
  ["any member"] = { { properties = { a = true } }, { a = list(63, function(i) return { i } end) }, { 69, 89, 89, 3 } },
  ["all of several"] = { { allOf = { integer, { minimum = 2 }, { ["not"] = { const = 5 } } } }, 4, { 7, 23, 23, 3 } },
  ["all of several for an object"] = { { allOf = { { properties = { a = integer } }, { required = { "b" } } } },
    { a = "1", b = 2 }, { 1068, 24, 24, 3 } },
  ["any of several types"] = { { anyOf = { integer, string, { type = "array", items = integer } } }, { 1, 2 },
    { 2, 22, 22, 3 } },
  ["any of several types for a number"] = { { anyOf = { integer, string, { type = "null" } } }, 1, { 2, 14, 14, 3 } },
  ["any of several types for a text"] = { { anyOf = { integer, string, { type = "null" } } }, "a", { 2, 14, 14, 3 } },
  ["any of several types for a boolean"] = { { anyOf = { integer, { type = "boolean" } } }, true, { 2, 14, 14, 3 } },
  ["any of several types for null"] = { { anyOf = { integer, { type = "null" } } }, json.null, { 2, 14, 14, 3 } },
  ["any of several of one type"] = { { anyOf = { { minimum = 5 }, { maximum = 3 }, { const = 4 } } }, 4,
    { 4, 20, 20, 3 } },
  ["one of several"] = { { oneOf = { { type = "integer", minimum = 5 }, { type = "integer", maximum = 3 } } }, 4,
    { 2058, 66, 107, 3 } },
  ["one of several consts"] = { { oneOf = list(31, function(i) return { const = "c" .. i } end) }, "c19",
    { 3, 19, 19, 3 } },
  ["a union by a tag"] = { { oneOf = tagged }, { tag = "t2", n = 1 }, { 2, 22, 22, 3 } },
  ["a union by its first tag"] = { { oneOf = tagged }, { tag = "t1", n = 1 }, { 2, 22, 22, 3 } },
  ["a union by a tag that is wrong"] = { { oneOf = tagged }, { tag = "t9", n = 1 }, { 1036, 119, 174, 3 } },
  ["a misfit of a union by a tag"] = { { anyOf = tagged }, { tag = "t2", n = "x" }, { 1070, 26, 49, 3 } },
  ["a wide union"] = { { anyOf = list(47, function(i) return { required = { "p" .. i } } end) }, members(1, one),
    { 5, 52, 52, 3 } },
  ["if and then"] = { { ["if"] = { type = "integer" }, ["then"] = { minimum = 3 }, ["else"] = string }, 5,
    { 3, 19, 19, 3 } },
  ["if and else"] = { { ["if"] = { type = "integer" }, ["then"] = { minimum = 3 }, ["else"] = string }, true,
    { 1046, 46, 67, 3 } },
  ["a reference"] = { { ["$id"] = "a:b", ["$defs"] = { a = { ["$ref"] = "#/$defs/b" }, b = integer },
    ["$ref"] = "#/$defs/a" }, 1, { 2, 14, 14, 3 } },
  ["a reference beside other keywords"] = { { ["$id"] = "a:b", ["$defs"] = { a = integer }, ["$ref"] = "#/$defs/a",
    minimum = 1 }, 1, { 3, 19, 19, 3 } },
  ["a dynamic reference"] = { dynamic, { n = 1, kids = { { n = 2, kids = { { n = 3 } } }, { n = "x" } } },
    { 1173, 89, 211, 3 } },
  ["unevaluated members"] = { { allOf = { { properties = { p1 = integer } } },
    anyOf = { { properties = { p2 = true } } }, unevaluatedProperties = false }, members(3, one),
    { 1069, 70, 70, 3 } },
  ["unevaluated items"] = { { prefixItems = { integer }, contains = string, unevaluatedItems = { type = "boolean" } },
    { 1, "a", true, 5 }, { 1073, 34, 77, 3 } },
  ["defaults"] = { { properties = { a = { default = 1 }, b = { default = { 1, 2, { x = 1 } } } } },
    operations.object({}), { 2, 26, 26, 6 } },
  ["defaults within items"] = { { items = { properties = { a = { default = "b" } } } }, list(31, function()
    return operations.object({})
  end), { 4, 142, 142, 36 } },
  ["defaults within other members"] = { { additionalProperties = { properties = { a = { default = "b" } } } },
    members(31, function() return operations.object({}) end), { 3, 142, 142, 36 } },
  ["members to be stripped"] = { { type = "object", properties = { a = integer } }, members(31, one),
    { 2, 18, 18, 3 } },
  ["members to be converted"] = { { type = "object", properties = members(31, function() return integer end) },
    members(31, function(i) return tostring(i) end), { 31377, 143, 143, 3 } },
  ["a branch that fits when it is cast"] = { { anyOf = { { type = "object", required = { "a" },
    properties = { a = integer } }, { type = "object", required = { "b" }, properties = { b = string } } } }, { b = 5 },
    { 2069, 62, 62, 3 } },
  ["const in a required member"] = { { type = "object", properties = { a = { const = 1 } }, required = { "a" } },
    operations.object({}), { 1035, 23, 23, 3 } },
  ["a long tuple"] = { { prefixItems = list(47, function() return integer end) }, list(47, one), { 6, 18, 18, 3 } },
  ["a long tuple of an array that is longer"] = { { type = "array",
    prefixItems = list(31, function() return integer end) }, list(79, one),
    { 7, 18, 18, 3 } },
  ["members that all depend on one"] = { { dependentRequired = { p1 = list(47, function(i) return "p" .. i end) } },
    members(47, one), { 4, 20, 20, 3 } },
  ["many schemas that depend on members"] = { { dependentSchemas = members(47, function()
    return { minProperties = 1 }
  end) }, members(2, one), { 6, 45, 45, 3 } },
  ["a union by many long tags"] = { { oneOf = many_tags }, { tag = ("t"):rep(60) .. 30, n = "1" },
    { 1072, 28, 28, 3 } },
  ["a union of many closed objects by a tag"] = { { oneOf = list(47, function(i)
    return { type = "object", required = { "tag" }, additionalProperties = false, properties = {
      tag = { const = "t" .. i } } }
  end) }, { tag = "t30" }, { 2, 24, 24, 3 } },
  ["an object of fifteen integers"] = { { type = "object", properties = members(15, function() return integer end) },
    members(15, one), { 2, 18, 18, 3 } },
  ["an object of sixteen integers"] = { { type = "object", properties = members(16, function() return integer end) },
    members(16, one), { 3, 19, 19, 3 } },
  ["fifteen branches"] = { { anyOf = list(15, function(i) return { required = { "p" .. i } } end) }, { p1 = 1 },
    { 3, 40, 40, 3 } },
  ["sixteen branches"] = { { anyOf = list(16, function(i) return { required = { "p" .. i } } end) }, { p1 = 1 },
    { 4, 46, 46, 3 } },
  ["a union with a hint"] = { hinted, { kind = "dog", n = 1 }, { 3, 56, 56, 3 } },
  ["a union with a wrong hint"] = { hinted, { kind = "cow", n = "1" }, { 3, 56, 56, 3 } },
  ["a const that is a table"] = { { const = { a = list(47, one), b = members(47, one) } },
    { a = list(47, one), b = members(47, one) }, { 12, 28, 28, 3 } },
  ["a long enum of tables"] = { { enum = list(47, function(i) return { i, ("x"):rep(200) .. i } end) },
    { 47, ("x"):rep(200) .. 47 }, { 11, 27, 27, 3 } },
  ["a long enum of long texts"] = { { enum = list(47, function(i) return ("x"):rep(200) .. i end) },
    ("x"):rep(200) .. 47, { 8, 20, 20, 3 } },
  ["a short enum of tables"] = { { enum = list(4, function(i) return { i, { ("x"):rep(200) .. i } } end) },
    { 4, { ("x"):rep(200) .. 4 } }, { 11, 27, 27, 3 } },
  ["different long texts"] = { { uniqueItems = true }, list(47, function(i) return ("x"):rep(200) .. i end),
    { 147, 161, 161, 3 } },
  ["different objects"] = { { uniqueItems = true }, list(47, function(i)
    return members(31, function() return i end)
  end), { 100, 114, 114, 3 } },
  ["few different objects"] = { { uniqueItems = true }, list(10, function(i)
    return { a = list(47, function(j) return j < 47 and 1 or i end) }
  end), { 182, 198, 198, 3 } },
  ["a wide union for an array"] = { { anyOf = list(47, function(i) return { minItems = 48 - i } end) }, list(2, one),
    { 5, 51, 51, 3 } },
  ["a wide union without a type for it"] = { { anyOf = list(47, function(i)
    return { type = "string", minLength = i }
  end) }, list(2, one),
    { 1040, 515, 1006, 3 } },
  ["a wide union of unevaluated members"] = { { anyOf = list(47, function(i)
    return { required = { "p1" }, properties = members(i, function() return true end) }
  end), unevaluatedProperties = integer }, members(47, one), { 1323, 2792, 2792, 3 } },
  ["items that a union knows"] = { { anyOf = { { prefixItems = { integer, string } }, { prefixItems = { integer } } },
    unevaluatedItems = integer }, { 1, 2, "3" }, { 1067, 79, 135, 3 } },
  ["members by if"] = { { ["if"] = { properties = { p1 = { const = 1 } }, required = { "p1" } },
    ["then"] = { properties = { p2 = integer } }, ["else"] = { properties = { p3 = integer } },
    unevaluatedProperties = false }, members(3, one), { 1072, 78, 78, 3 } },
  ["members by two patterns and the rest"] = { { properties = { p1 = integer },
    patternProperties = { ["1"] = { minimum = 1 }, ["2$"] = { maximum = 9 } }, additionalProperties = integer },
    members(31, one), { 81, 275, 275, 3 } },
  ["all of two with many members"] = { { allOf = { { properties = members(47, function() return integer end) },
    { properties = members(31, function() return { minimum = 1 } end), required = { "p48" } } } },
    members(31, function(i) return tostring(i) end), { 32743, 31, 74, 3 } },
  ["all of two for items"] = { { allOf = { { items = integer }, { items = { minimum = 2 }, minItems = 2 } } },
    list(31, function(i) return tostring(i) end), { 31742, 27, 72, 3 } },
  ["a closest branch of many members"] = { { anyOf = { { type = "object", additionalProperties = false,
    properties = members(47, function() return string end) }, { type = "object", required = { "q" },
    properties = members(31, function() return { type = "boolean" } end) } } }, members(31, one),
    { 60743, 434, 434, 3 } },
  ["members that depend on others within a union"] = { { type = "object", anyOf = { { minProperties = 1 } },
    dependentRequired = { p1 = list(47, function(i) return "p" .. i end) },
    properties = members(47, function() return integer end) }, members(2, one), { 47, 68, 163, 3 } },
  ["any deep table"] = { { items = {} }, { { { { {} } } }, { a = { b = { 1 } } }, { 1, { {} } } }, { 12, 40, 40, 3 } },
  ["defaults in many properties"] = { { properties = members(47, function(i) return { default = list(i, one) } end) },
    members(31, one), { 4, 148, 148, 22 } },
  ["defaults by a pattern"] = { { patternProperties = { ["^p"] = { properties = { a = { default = 1 } } } } },
    members(31, function() return operations.object({}) end), { 65, 173, 173, 67 } },
  ["defaults in a tuple"] = { { prefixItems = { { properties = { a = { default = 1 } } } },
    items = { properties = { b = { default = 1 } } } }, list(31, function() return operations.object({}) end),
    { 4, 142, 142, 36 } },
  ["missing members of many types"] = { { type = "object", required = { "p1", "p2", "p3", "p4", "p5", "p6" },
    properties = { p1 = integer, p2 = string, p3 = { type = "array" }, p4 = { type = "object" }, p5 = { enum = { 5 } },
      p6 = { type = "number", exclusiveMinimum = 3, multipleOf = 2 } } }, operations.object({}), { 6035, 23, 51, 3 } },
}

describe("the steps of a value:", function()
  for name, case in pairs(cases) do
    it(name, function()
      local found = {}
      for i, call in ipairs(order) do
        found[i] = steps(call, case[1], case[2])
      end
      assert.same(case[3], found)
    end)
  end
end)

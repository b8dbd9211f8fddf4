--- Schemas and values of any size need the same few slots of Lua's stack: what a full stack leaves is enough.
local compat = require("operations.base.compat")
local many = require("spec.support.many")
local operations = require("operations")
local schema = require("operations.schema")

local list, members = many.items, many.members

-- The slots that Lua 5.4 has for one coroutine; LuaJIT passes too few arguments to fill its stack.
local SLOTS = rawget(_G, "jit") and 0 or 1000000
local LEFT = 700  -- slots that are left
local COUNT = 900 -- items, members, names or branches, of which each would need a slot

-- Calls `f` where a call around it holds all but LEFT slots.
local function on_full_stack(f)
  local held, result = {}, nil
  local function hold(...) -- luacheck: ignore 212
    result = f()
  end
  local ok, err = coroutine.resume(coroutine.create(function()
    hold(compat.unpack(held, 1, math.max(SLOTS - LEFT, 0)))
  end))
  assert(ok, err)
  return result
end

local function answers(case)
  local compiled, err = schema.compile(case[1], case[3] or { formats = true, max_issues = COUNT })
  if not compiled then
    return err
  end
  return { { compiled:check(case[2]) }, { compiled:cast(case[2]) }, { compiled:cast(case[2], "force") },
    { compiled:fill(case[2]) } }
end

local integer, string = { type = "integer" }, { type = "string" }
local function one() return 1 end
local function digits(i) return tostring(i) end
local function table_of(i) return { n = i } end
local function integers() return integer end
local function tagged(i)
  return { type = "object", required = { "tag" }, properties = { tag = { const = "t" .. i }, n = integer } }
end

-- An object whose keys are numbers.
local function by_halves(make)
  local object = { a = 1 }
  for i = 1, COUNT do
    object[i + 0.5] = make(i)
  end
  return object
end
local function names() return list(COUNT, function(i) return "p" .. i end) end
local function refers(i) return { ["$ref"] = "#/$defs/p" .. i } end

-- What is large; a definition, a value and options.
local cases = {
  ["tables that are not arrays"] = { { items = { ["not"] = { type = "array" } } }, list(COUNT, table_of) },
  ["properties"] = { { type = "object", properties = members(COUNT, integers) }, members(COUNT, digits) },
  ["properties with long names"] = { { properties = members(COUNT, function(i)
    return { properties = { [("n"):rep(50) .. i] = integer, a = string }, additionalProperties = false }
  end) }, members(COUNT, function(i) return { [("n"):rep(50) .. i] = 1, a = 1 } end) },
  ["properties beside others"] = { { allOf = { { properties = members(COUNT, integers) }, {} } },
    members(COUNT, digits) },
  ["properties that are missing"] = { { type = "object", properties = members(COUNT, integers), required = names() },
    operations.object({}) },
  ["properties without schemas that are missing"] = { { required = names(), additionalProperties = string },
    operations.object({}) },
  ["properties of a closed object"] = { { properties = members(COUNT, integers), required = { "p1", "q" },
    additionalProperties = false }, members(COUNT, one) },
  ["properties with defaults"] = { { type = "object",
    properties = members(COUNT, function(i) return { default = i } end) }, operations.object({}) },
  ["properties with defaults that are tables"] = { { properties = members(COUNT, function(i)
    return { type = "object", default = { n = i }, properties = { m = { default = "x" } } }
  end) }, operations.object({}) },
  ["properties whose only value is named"] = { { type = "object", required = names(),
    properties = members(COUNT, function(i) return { const = { i } } end) }, operations.object({}) },
  ["a default"] = { { properties = { a = { default = list(COUNT, table_of) }, b = { default = members(COUNT, one) } } },
    operations.object({}) },
  ["other members"] = { { additionalProperties = { type = "integer", maximum = 5 } }, members(COUNT, digits) },
  ["other members with defaults"] = { { additionalProperties = { properties = { a = { default = 1 } } } },
    members(COUNT, function() return operations.object({}) end) },
  ["members that are stripped"] = { { type = "object", properties = { a = integer } }, members(COUNT, one) },
  ["members that none may be"] = { { additionalProperties = false, minProperties = 1 }, members(COUNT, one) },
  ["members by patterns"] = { { patternProperties = { ["^p"] = integer, ["1$"] = { maximum = 5 } } },
    members(COUNT, digits) },
  ["patterns"] = { { patternProperties = members(COUNT, integers) }, { p1 = "1", p22 = "x" } },
  ["names"] = { { propertyNames = { maxLength = 3 } }, members(COUNT, one) },
  ["names that are needed by others"] = { { dependentRequired = { a = names() } }, { a = 1 } },
  ["members that need others"] = { { dependentRequired = members(COUNT, function() return { "a" } end),
    dependentSchemas = members(COUNT, function() return { properties = { p1 = integer } } end) }, members(9, digits) },
  ["keys that are not strings"] = { { properties = { a = integer }, propertyNames = {} }, by_halves(one) },
  ["keys that are not strings, where others are stripped"] = { { properties = { a = integer } }, by_halves(one) },
  ["keys that are not strings, beside others"] = { { allOf = { { properties = { a = integer } } } }, by_halves(one) },
  ["keys that are not strings, in anything"] = { true, by_halves(one) },
  ["items"] = { { type = "array", items = integer }, list(COUNT, digits) },
  ["items that are objects"] = { { type = "array", items = { type = "object", required = { "n" },
    properties = { n = string, m = { default = { 1 } } } } }, list(COUNT, table_of) },
  ["items of any kind"] = { true, list(COUNT, table_of) },
  ["items that JSON has not"] = { true, list(COUNT, function() return { print } end) },
  ["members that JSON has not"] = { true, members(COUNT, function() return print end) },
  ["items beside others"] = { { allOf = { { items = integer }, { items = { maximum = 7 } } } }, list(COUNT, digits) },
  ["a tuple"] = { { prefixItems = list(COUNT, integers) }, list(COUNT, digits) },
  ["a tuple with defaults"] = { { prefixItems = list(COUNT, function()
    return { properties = { a = { default = 1 } } }
  end) }, list(COUNT, function() return operations.object({}) end) },
  ["items that are contained"] = { { contains = integer, minContains = COUNT, maxContains = COUNT },
    list(COUNT, function(i) return i < COUNT and i or "x" end) },
  ["items that differ"] = { { uniqueItems = true }, list(COUNT, function(i) return { { i } } end) },
  ["few large items that differ"] = { { uniqueItems = true }, list(9, function(i)
    return { a = list(COUNT, function(j) return j < COUNT and j or i end), b = members(COUNT, one) }
  end) },
  ["an enum of texts"] = { { enum = list(COUNT, digits) }, "x" },
  ["an enum of tables"] = { { enum = list(COUNT, table_of) }, { n = "1" } },
  ["a const"] = { { const = { a = list(COUNT, table_of), b = members(COUNT, one) } },
    { a = list(COUNT, table_of), b = members(COUNT + 1, one) } },
  ["branches"] = { { anyOf = list(COUNT, function(i) return { type = "object", required = { "p" .. i, "q" } } end) },
    { p1 = 1 } },
  ["branches of which none has the type"] = { { oneOf = list(COUNT, function() return { type = "array" } end) }, "x" },
  ["branches by tags"] = { { oneOf = list(COUNT, tagged) }, { tag = "t0", n = "1" } },
  ["branches by a tag that is there"] = { { oneOf = list(COUNT, tagged) }, { tag = "t" .. COUNT, n = "1" } },
  ["branches by consts"] = { { anyOf = list(COUNT, function(i) return { const = { i } } end) }, { "1" } },
  ["branches by the discriminator"] = { { oneOf = list(COUNT, refers), discriminator = { propertyName = "t" },
    ["$defs"] = members(COUNT, function(i)
      return { type = "object", properties = { t = string, n = { maximum = i } } }
    end) }, { t = "p5", n = 6 } },
  ["discriminators"] = { { properties = members(COUNT, function()
    return { oneOf = { { ["$ref"] = "#/$defs/a" }, true },
      discriminator = { propertyName = "t", mapping = { b = "a" } } }
  end), ["$defs"] = { a = integer } }, members(9, digits) },
  ["discriminators that are no objects"] = { { properties = members(COUNT, function(i)
    return { anyOf = { integer }, discriminator = i % 2 == 0 and 1 or { propertyName = 1 } }
  end) }, members(9, digits) },
  ["unevaluated members"] = { { allOf = { { properties = { p1 = integer } } }, unevaluatedProperties = string },
    members(COUNT, one), { max_steps = 1e9 } },
  ["unevaluated items"] = { { allOf = { { prefixItems = { integer } } }, unevaluatedItems = string },
    list(COUNT, one), { max_steps = 1e9 } },
  ["references"] = { { properties = members(COUNT, refers), ["$defs"] = members(COUNT, integers) },
    members(COUNT, digits) },
  ["anchors"] = { { properties = members(COUNT, function(i) return { ["$ref"] = "#a" .. i } end),
    ["$defs"] = members(COUNT, function(i) return { ["$anchor"] = "a" .. i, type = "integer" } end) },
    members(COUNT, digits) },
  ["dynamic anchors"] = { { properties = members(COUNT, function(i) return { ["$dynamicRef"] = "#a" .. i } end),
    ["$defs"] = members(COUNT, function(i) return { ["$dynamicAnchor"] = "a" .. i, type = "integer" } end) },
    members(9, digits) },
  ["recursive anchors"] = { { properties = members(COUNT, function() return { ["$recursiveAnchor"] = true } end) },
    members(COUNT, one), { draft = "2019-09" } },
  ["resources"] = { { ["$id"] = "a:b", properties = members(COUNT, function(i) return { ["$ref"] = "r" .. i } end),
    ["$defs"] = members(COUNT, function(i) return { ["$id"] = "r" .. i, type = "integer" } end) },
    members(COUNT, digits) },
  ["anchors of draft 4"] = { { properties = members(COUNT, function(i) return { ["$ref"] = "#r" .. i } end),
    definitions = members(COUNT, function(i) return { id = "#r" .. i, type = "integer" } end) },
    members(COUNT, digits), { draft = "4" } },
  ["anchors of draft 7"] = { { properties = members(COUNT, function(i) return { ["$ref"] = "#r" .. i } end),
    definitions = members(COUNT, function(i) return { ["$id"] = "#r" .. i, items = { integer } } end) },
    members(COUNT, digits), { draft = "7" } },
  ["documents"] = { { properties = members(COUNT, function(i) return { ["$ref"] = "a:d" .. i .. "#/x" } end) },
    members(COUNT, digits), { resolve = function(uri)
      return { ["$id"] = uri, ["$schema"] = "https://json-schema.org/draft/2020-12/schema", x = integer }
    end } },
  ["documents that are missing"] = { { properties = members(COUNT, function(i) return { ["$ref"] = "a:d" .. i } end) },
    {} },
  ["metaschemas"] = { { properties = members(COUNT, function(i)
    return { ["$id"] = "a:" .. i, ["$schema"] = "a:meta", type = "integer" }
  end) }, members(COUNT, digits), { resolve = function()
    return { ["$schema"] = "https://json-schema.org/draft/2020-12/schema", ["$vocabulary"] = {
      ["https://json-schema.org/draft/2020-12/vocab/core"] = true,
      ["https://json-schema.org/draft/2020-12/vocab/applicator"] = true,
      ["https://json-schema.org/draft/2020-12/vocab/validation"] = true } }
  end } },
  ["types"] = { { properties = members(COUNT, function()
    return { type = list(COUNT, function(i) return i < COUNT and "integer" or "null" end), minLength = 1 }
  end) }, members(COUNT, digits) },
  ["texts"] = { { properties = members(COUNT, function() return { pattern = "^a", format = "date" } end) },
    members(COUNT, digits) },
  ["numbers"] = { { properties = members(COUNT, function()
    return { minimum = 3, exclusiveMaximum = 8.5, multipleOf = 2 }
  end) }, members(COUNT, function(i) return i end) },
  ["flaws of values"] = { { properties = members(COUNT, function()
    return { enum = { print }, default = { print } }
  end) }, {} },
  ["flaws of keywords"] = { { properties = members(COUNT, function()
    return { minimum = "1", type = "x", maxItems = -1, multipleOf = 0, uniqueItems = 1, required = 1, allOf = 1,
      ["$ref"] = 1, dependentRequired = { a = 1, b = { 1 } }, items = 1, enum = 1, [true] = 1, properties = { 1 } }
  end) }, {} },
  ["references to nowhere"] = { { properties = members(COUNT, refers), ["$id"] = "a:b" }, {} },
  ["flaws of patterns"] = { { properties = members(COUNT, function() return { pattern = "(" } end) }, {} },
  ["names that are not strings"] = { { properties = by_halves(integers) }, {} },
  ["keywords that are not strings"] = { by_halves(integers), {} },
}

describe("of a full stack enough is left for", function()
  for name in pairs(cases) do
    it(name, function()
      local case = cases[name]
      cases[name] = nil -- each collection of later specs would go through it
      local expected = answers(case)
      assert.same(expected, on_full_stack(function() return answers(case) end))
    end)
  end
end)

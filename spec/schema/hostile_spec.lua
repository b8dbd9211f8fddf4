--- Schemas and values made to take long, or to make much. What they take is bounded in steps (`max_steps`), which do
--- not depend on the machine: a call that needs more fails.
local many = require("spec.support.many")
local operations = require("operations")
local schema = require("operations.schema")

local list = many.items

local STEPS_MESSAGE = "takes too many steps to check"

local function compile(definition, max_steps)
  return assert(schema.compile(definition, { max_steps = max_steps }))
end

local function nested(value, levels)
  for _ = 1, levels do
    value = { value }
  end
  return value
end

-- Definitions of `levels` levels; each is made of the one below it by `make`, the lowest is `last`.
local function levels_of(levels, last, make)
  local definitions = { n0 = last }
  for i = 1, levels do
    definitions["n" .. i] = make({ ["$ref"] = "#/$defs/n" .. i - 1 })
  end
  return { ["$defs"] = definitions, ["$ref"] = "#/$defs/n" .. levels }
end

describe("the option max_steps", function()
  it("makes a check fail that needs more", function()
    local text = { type = "string", minLength = 1 }
    local definition = { items = { anyOf = { text, { type = "string", maxLength = 9 } } } }
    local value = list(100, function() return "x" end)
    assert.is_true(compile(definition, 1000):check(value))
    local ok, issues = compile(definition, 50):check(value)
    assert.is_false(ok)
    assert.equal(STEPS_MESSAGE, issues[#issues].message)
  end)

  it("is a number from 1 on", function()
    assert.has_error(function() schema.compile({}, { max_steps = 0 }) end)
    assert.has_error(function() schema.compile({}, { max_steps = "9" }) end)
  end)
end)

describe("equality takes steps as the value has parts:", function()
  local unique = { uniqueItems = true }

  it("items that differ deep inside", function()
    local value = list(2000, function(i) return nested(i, 40) end)
    assert.is_true(compile(unique, 45 * 2000):check(value))
    value[2000] = nested(7, 40)
    local ok, issues = compile(unique, 3 * 45 * 2000):check(value)
    assert.is_false(ok)
    assert.equal("expected different items, 6 and 1999 are equal", issues[1].message)
    assert.same({ i = 6, j = 1999 }, issues[1].params)
  end)

  it("few large items that differ at their ends", function()
    local value = list(24, function(i)
      return list(1600, function(j) return j == 1600 and i or j end)
    end)
    assert.is_true(compile(unique, 24 * 24 * 120):check(value))
  end)

  it("flat items whose doubles agree, or whose parts change places", function()
    local base = tonumber("4611686018427387904") -- an integer in Lua 5.4, where 512 of them have one double
    local numbers = list(4000, function(i) return base / 1 == base and base + i * (base + 1 == base and 1024 or 1) end)
    assert.is_true(compile(unique, 2000):check(numbers))
    local pairs_of = list(4000, function(i) return { i, 4001 - i } end)
    assert.is_true(compile(unique, 10000):check(pairs_of))
    local objects = list(4000, function(i) return { a = i, b = 4001 - i } end)
    assert.is_true(compile(unique, 10000):check(objects))
    local signs = list(4000, function(i)
      local item = {}
      for bit = 1, 12 do
        item[bit] = math.floor(i / 2 ^ bit) % 2 == 0 and 1.5 or -1.5
      end
      item[13] = i % 2
      return item
    end)
    assert.is_true(compile(unique, 12000):check(signs))
  end)

  it("items that are all equal, in an array that force replaces", function()
    local value = list(5000, function() return { "x" } end)
    local result, _, err = compile(unique, 100000):cast(value, "force")
    assert.same({}, result)
    assert.is_nil(err)
  end)

  it("a value that holds the same table again and again", function()
    local value = { 1 }
    for _ = 1, 60 do
      value = { value, value }
    end
    local other = { { value } }
    local ok, issues = compile(unique, 100000):check(list(30, function(i) return { i, value } end))
    assert.is_false(ok)
    assert.equal(STEPS_MESSAGE, issues[1].message)
    ok, issues = compile({ enum = list(20, function(i) return { i } end) }, 100000):check(other)
    assert.is_false(ok)
    assert.equal(STEPS_MESSAGE, issues[1].message)
    local compiled, err = schema.compile({ const = value })
    assert.is_nil(compiled)
    assert.equal("/const: takes too many steps to compare", err.message)
  end)

  it("a long text that is read over and over", function()
    local text = ("x"):rep(2 ^ 20)
    local definition = levels_of(18, { enum = list(20, function(i) return text .. i end) }, function(below)
      return { anyOf = { below, below } }
    end)
    local ok, issues = compile(definition, 100000):check(text .. "y")
    assert.is_false(ok)
    assert.equal(STEPS_MESSAGE, issues[1].message)
  end)
end)

describe("an enum of a million strings", function()
  local compiled

  setup(function()
    compiled = compile({ items = { enum = list(1000000, function(i) return "member " .. i end) } }, 400000)
  end)

  teardown(function() compiled = nil end) -- each collection of later specs would go through it

  it("is looked up in one step for each value", function()
    assert.is_true(compiled:check(list(100000, function(i) return "member " .. i * 10 end)))
  end)

  it("lists no more than a thousand of them where a value does not fit", function()
    local ok, issues = compiled:check(list(100, function(i) return "none " .. i end))
    assert.is_false(ok)
    assert.equal(100, #issues)
    assert.equal(1000, #issues[1].params.allowedValues)
    assert.is_truthy(issues[1].message:find("999976 more, got \"none 1\"", 1, true))
  end)

  it("is the same as a union of consts, and as tags", function()
    local consts = list(20000, function(i) return { const = "member " .. i } end)
    local values = list(20000, function(i) return "member " .. i end)
    for _, keyword in ipairs({ "anyOf", "oneOf" }) do
      assert.is_true(compile({ items = { [keyword] = consts } }, 100000):check(values))
    end
    local tagged = list(20000, function(i)
      return { type = "object", required = { "tag" }, properties = { tag = consts[i] } }
    end)
    local union = compile({ items = { oneOf = tagged } }, 200000)
    local objects = list(20000, function(i) return { tag = values[i] } end)
    assert.is_true(union:check(objects))
    assert.same(objects[20000], union:cast(objects)[20000])
    objects[5] = { tag = "none" }
    local ok, issues = union:check(objects)
    assert.is_false(ok)
    assert.equal("/4/tag", issues[1].path)
    assert.equal(1000, #issues[1].params.allowedValues)
  end)
end)

describe("defaults that double with each level", function()
  local LEVELS = 16 -- the fewest that make more than 100,000 values; each level takes as long to compile

  local function bomb(levels)
    return levels_of(levels, { type = "object", default = {}, properties = { x = { default = 1 } } }, function(below)
      return { type = "object", default = {}, properties = { l = below, r = below } }
    end)
  end

  it("are filled in as long as there are few", function()
    local filled = assert(schema.compile(bomb(10)):fill({}))
    for _ = 1, 10 do
      filled = filled.r
    end
    assert.same({ x = 1 }, filled)
  end)

  it("are an error of fill", function()
    local filled, err = assert(schema.compile(bomb(LEVELS))):fill({})
    assert.is_nil(filled)
    assert.equal("VALIDATION_ERROR", err.code)
    assert.matches("^/[lr]/[lr]", err.details[1].path)
    assert.equal("defaults make more than 100000 values", err.details[1].message)
    assert.same({ limit = 100000 }, err.details[1].params)
  end)

  it("are an error of cast, which does the rest", function()
    local definition = bomb(LEVELS)
    definition.properties = { n = { type = "integer" } }
    local compiled = assert(schema.compile(definition))
    for _, changes in ipairs({ true, false }) do
      local value, _, err = compiled:cast({ n = "1" }, "cast", changes)
      assert.same({ n = 1 }, value)
      assert.equal("VALIDATION_ERROR", err.code)
      assert.matches("^/[lr]/[lr]", err.details[1].path)
      assert.equal("defaults make more than 100064 values", err.details[1].message)
    end
  end)

  it("fail the call, and warn of what it answers", function()
    local warnings = {}
    local registry = operations.registry({ on_warning = function(warning) warnings[#warnings + 1] = warning end })
    assert(registry:register({ namespace = "a", name = "b", inputSchema = bomb(LEVELS), handler = print }))
    assert(registry:register({ namespace = "a", name = "c", outputSchema = bomb(LEVELS), handler = function()
      return {}
    end }))
    local _, err = registry:execute("a.b", {})
    assert.equal("VALIDATION_ERROR", err.code)
    assert.equal("defaults make more than 100000 values", err.details[1].message)
    assert.same({}, assert(registry:execute("a.c", {})).data)
    assert.equal(1, #warnings)
    assert.equal("defaults make more than 100000 values", warnings[1].issues[1].message)
  end)

  it("are no error of a large value that lacks many", function()
    local compiled = assert(schema.compile({ items = { properties = { a = { default = {} }, b = { default = 1 } } } }))
    local value = list(100000, function() return {} end)
    assert.equal(1, assert(compiled:fill(value))[100000].b)
    local result, _, err = compiled:cast(value, "cast", false)
    assert.is_nil(err)
    assert.equal(1, result[100000].b)
  end)
end)

describe("the values that defaults may make", function()
  local function compiled_of(count)
    return compile({ properties = { made = { default = list(count, function(i) return i end) } } })
  end

  it("are 100000, the default's own table among them", function()
    for count, made in pairs({ [99999] = 99999, [100000] = false }) do
      local compiled = compiled_of(count)
      local filled, cast = compiled:fill({}), compiled:cast({})
      assert.equal(made, filled ~= nil and #filled.made)
      assert.equal(made, cast.made ~= nil and #cast.made)
    end
  end)

  it("are 64 more for each value in the given one, and for each 64 bytes of a text", function()
    local function nested_objects(levels)
      local value = {}
      for _ = 1, levels do
        value = { a = value }
      end
      return value
    end
    local compiled = compiled_of(120000)
    for values, given in pairs({ [0] = { {} }, { { a = true }, { a = ("x"):rep(63) }, { a = {} } },
      { { a = 1, b = 2 }, { a = { 1 } }, { a = ("x"):rep(64) }, { a = ("x"):rep(127) } },
      { { a = 1, b = { c = 1 } }, { a = ("x"):rep(128) } }, [256] = { nested_objects(256) },
      [257] = { nested_objects(257), nested_objects(258) } }) do -- deeper ones are not counted
      for _, value in ipairs(given) do
        local _, err = compiled:fill(value)
        local _, _, same = compiled:cast(value)
        assert.same({ limit = 100000 + 64 * values }, err.details[1].params)
        assert.same(err, same)
      end
    end
  end)
end)

describe("defaults that are too many", function()
  it("do not count when misfits are replaced afterwards", function()
    local compiled = compile({ type = "object", properties = { n = { type = "integer" },
      d = { default = list(110000, function(i) return i end) } } })
    local result, changes, err = compiled:cast({ n = true }, "force")
    assert.same({ n = 0 }, result)
    assert.same({ { path = "/n", kind = "replaced", old = true, new = 0 } }, changes)
    assert.equal("defaults make more than 100064 values", err.details[1].message)
  end)
end)

describe("a default of many levels", function()
  it("is copied to a depth of 513 tables, and shares the deeper ones", function()
    local function innermost(compiled)
      local value = compiled:fill({}).made
      while value[1] do
        value = value[1]
      end
      return value
    end
    for levels, shared in pairs({ [1] = false, [512] = false, [513] = false, [514] = true }) do
      local compiled = compile({ properties = { made = { default = nested({}, levels - 1) } } })
      assert.equal(shared, rawequal(innermost(compiled), innermost(compiled)), levels)
    end
  end)
end)

describe("a default that only a large value may have", function()
  it("is copied as a whole", function()
    local compiled = compile({ properties = { made = { default = list(60000, function(i) return { i } end) } } })
    local value = many.members(2000, function() return 1 end)
    for _, call in ipairs({ "fill", "cast" }) do
      local filled = compiled[call](compiled, value)
      for _, i in ipairs({ 1, 40000, 60000 }) do
        assert.equal(i, filled.made[i][1])
        filled.made[i][1] = "changed"
      end
    end
    assert.is_nil((compiled:fill({})))
  end)
end)

describe("replacements that are within others", function()
  local function made(levels)
    local definition = { type = "integer" }
    for _ = 1, levels do
      definition = { type = "object", required = { "a" }, properties = { a = definition } }
    end
    local result, changes, err = compile(definition):cast(true, "force")
    assert.is_nil(err)
    return result, #changes
  end

  it("are made 64 levels deep, and none instead of a deeper one", function()
    local result, changes = made(64)
    assert.equal(1, changes)
    for _ = 1, 64 do
      result = result.a
    end
    assert.equal(0, result)
    assert.same({ true, 0 }, { made(65) })
  end)
end)

describe("replacements that double with each level", function()
  local function bomb(levels, last)
    return levels_of(levels, last, function(below)
      return { type = "object", required = { "l", "r" }, properties = { l = below, r = below } }
    end)
  end

  local function force(definition, max_steps)
    definition.properties = { n = { type = "integer" } }
    return compile(definition, max_steps):cast({ n = "1", l = true }, "force")
  end

  it("are made as long as there are few", function()
    local result, _, err = force(bomb(10, { type = "integer" }))
    assert.is_nil(err)
    assert.equal(1, result.n)
    for _ = 1, 10 do
      result = result.l
    end
    assert.equal(0, result)
  end)

  it("are an error of cast, which leaves the value as it was cast", function()
    for name, last in pairs({ empty = { type = "string" }, number = { type = "integer", minimum = 2 },
      default = { type = "integer", default = 1 }, enum = { enum = { "a", "b" } }, array = { type = "array" } }) do
      local result, changes, err = force(bomb(18, last))
      assert.same({ n = 1, l = true }, result, name)
      assert.same({ { kind = "converted", path = "/n", old = "1", new = 1 } }, changes)
      assert.equal("VALIDATION_ERROR", err.code)
      assert.equal(1, #err.details)
      assert.equal("/l/l", err.details[1].path:sub(1, 4))
      assert.equal("defaults and replacements make more than 100128 values", err.details[1].message, name)
      assert.same({ limit = 100128 }, err.details[1].params)
    end
  end)

  it("count together with the defaults", function()
    local items = list(9, function(i) return i end)
    local definition = { type = "object", required = { "a" }, properties = {
      a = { type = "array", items = { default = list(9999, function(i) return i end), type = "array" } },
      d = { default = list(50000, function(i) return i end) } } }
    local compiled = compile(definition)
    local result, _, err = compiled:cast({ a = items, d = 1 }, "force")
    assert.is_nil(err)
    assert.equal(9999, #result.a[9])
    result, _, err = compiled:cast({ a = items }, "force")
    assert.equal("defaults and replacements make more than 100640 values", err.details[1].message)
    assert.same({ "/a/5", "/properties/a/items" }, { err.details[1].path, err.details[1].schemaPath })
    assert.equal(50000, #result.d)
    assert.same(items, result.a)
  end)

  it("take steps", function()
    local result, _, err = force(bomb(18, { type = "integer" }), 2000)
    assert.same({ n = 1, l = true }, result)
    assert.equal("VALIDATION_ERROR", err.code)
    assert.equal("takes too many steps to fill in values", err.details[1].message)
  end)

  it("do not count where they are tried and do not conform", function()
    local last = { type = "integer", minimum = 2, default = list(2000, function(i) return i end) }
    local result, _, err = compile({ items = last }):cast(list(1000, function() return true end), "force")
    assert.is_nil(err)
    assert.equal(2, result[1000])
  end)
end)

describe("a schema that asks the same again and again takes steps:", function()
  local function refused(definition, value)
    local ok, issues = compile(definition, 100000):check(value)
    assert.is_false(ok)
    assert.equal(STEPS_MESSAGE, issues[1].message)
  end

  local function twice(below)
    return { anyOf = { below, below } }
  end

  local numbers = list(20000, function(i) return i end)

  it("of a long array of plain items", function()
    numbers[#numbers] = "x"
    refused(levels_of(18, { type = "array", items = { type = "integer" } }, twice), numbers)
  end)

  it("of a large object", function()
    local object = {}
    for i = 1, 20000 do
      object["k" .. i] = i
    end
    refused(levels_of(18, { type = "object", additionalProperties = { type = "integer", maximum = 1 },
      minProperties = 20001 }, twice), object)
    refused(levels_of(18, { propertyNames = { maxLength = 5 } }, twice), object)
  end)

  it("of wide unions within each other", function()
    local wide = list(2000, function(i) return { type = "object", minProperties = i } end)
    refused(levels_of(14, { anyOf = wide }, twice), operations.object({}))
  end)

  it("of objects with very many properties", function()
    local properties = {}
    for i = 1, 10000 do
      properties["k" .. i] = { type = "string" }
    end
    refused({ items = { type = "object", properties = properties } },
      list(10000, function() return operations.object({}) end))
  end)

  it("but not of a long chain of references", function()
    local chain = levels_of(5000, { type = "integer", default = 1 }, function(below) return below end)
    local ok, issues = compile(chain, 10000):check("x")
    assert.is_false(ok)
    assert.is_truthy(#issues > 0)
    assert.is_true(compile(levels_of(1000, { type = "integer" }, function(below) return below end), 3000):check(1))
  end)
end)

describe("schemas with an $id that share a table", function()
  -- Every schema has the shared table, which has all of them.
  local function sharing(ids)
    local shared, all = { properties = {} }, {}
    for i, id in ipairs(ids) do
      all[i] = { ["$id"] = id, type = "object", properties = { shared = shared } }
    end
    for i = 1, #ids do
      shared.properties["p" .. i] = all[i]
      for j = 1, #ids do
        all[i].properties["q" .. j] = all[j]
      end
    end
    return all[1]
  end

  it("are read once below each base URI", function()
    local compiled = compile(sharing(list(8, function(i) return "http://h/" .. i end)))
    assert.is_true(compiled:check({ shared = { p3 = { q4 = {} } } }))
    assert.is_false(compiled:check({ shared = { p3 = { q4 = { q2 = 1 } } } }))
  end)

  it("resolve the references in it, each against its own $id", function()
    local shared = { properties = { v = { ["$ref"] = "#/$defs/v" } } }
    local compiled = compile({ properties = {
      a = { ["$id"] = "http://h/a", ["$defs"] = { v = { type = "string" } }, allOf = { shared } },
      b = { ["$id"] = "http://h/b", ["$defs"] = { v = { type = "number" } }, allOf = { shared } },
      c = { ["$id"] = "http://h/a2", ["$defs"] = { v = { type = "string" } }, allOf = { shared } },
    } })
    assert.is_true(compiled:check({ a = { v = "s" }, b = { v = 1 }, c = { v = "s" } }))
    local _, issues = compiled:check({ a = { v = 1 }, b = { v = "s" }, c = { v = 1 } })
    assert.same({ "/a/v", "/b/v", "/c/v" }, list(#issues, function(i) return issues[i].path end))
  end)

  it("are refused where their URIs grow with each level", function()
    local _, err = schema.compile(sharing({ "1/", "2/", "3/" }))
    assert.equal(100, #err.details)
    assert.equal("schemas within schemas deeper than 256 levels", err.details[1].message)
  end)

  it("are refused where there are too many", function()
    local subschemas, definitions = { properties = {} }, {}
    for i = 1, 1000 do
      subschemas.properties["p" .. i] = { type = "string" }
    end
    for i = 1, 290 do
      definitions["d" .. i] = { ["$id"] = "d" .. i, allOf = { subschemas } }
    end
    assert.is_truthy(schema.compile({ ["$defs"] = definitions }))
    for i = 291, 310 do
      definitions["d" .. i] = { ["$id"] = "d" .. i, allOf = { subschemas } }
    end
    local _, err = schema.compile({ ["$defs"] = definitions })
    assert.equal(1, #err.details)
    assert.equal("a table that too many schemas with an $id share", err.details[1].message)
  end)
end)

-- luacheck: ignore 143 (integers of Lua 5.4)
local json = require("operations.base.json")
local many = require("spec.support.many")
local schema = require("operations.schema")

local function valid(definition, value, options)
  return (assert(schema.compile(definition, options)):check(value))
end

local function array(list)
  return setmetatable(list, json.array_mt)
end

describe("checking a value", function()
  it("counts characters, not bytes", function()
    assert.is_true(valid({ maxLength = 2 }, "\240\159\152\128\195\164"))
    assert.is_false(valid({ minLength = 3 }, "\240\159\152\128\195\164"))
    assert.is_true(valid({ minLength = 2, maxLength = 8 }, "abcdefgh"))
  end)

  it("knows a bound that stands alone, beside a type and other types", function()
    local items = { type = "integer" }
    for _, case in ipairs({
      { { minLength = 2 }, "ab", "a" }, { { maxLength = 2 }, "ab", "abc" }, { { minimum = 2 }, 2, 1 },
      { { maximum = 2 }, 2, 3 }, { { exclusiveMinimum = 2 }, 3, 2 }, { { exclusiveMaximum = 2 }, 1, 2 },
      { { minItems = 2, items = items }, array({ 1, 2 }), array({ 1 }) },
      { { maxItems = 2, items = items }, array({ 1, 2 }), array({ 1, 2, 3 }) },
    }) do
      for _, type in ipairs({ false, { "string" }, { "number" }, { "array" }, { "string", "integer", "array" } }) do
        local definition = { type = type or nil }
        for name, value in pairs(case[1]) do
          definition[name] = value
        end
        local fits = not type or #type == 3 or valid({ type = type }, case[2])
        assert.equal(fits, valid(definition, case[2]))
        assert.is_false(valid(definition, case[3]))
        assert.is_false(valid({ properties = { a = definition } }, { a = case[3] }))
      end
    end
  end)

  it("takes counts that no array, object or string reaches", function()
    local values = { Items = array({ 1, 2 }), Contains = array({ 1, 2 }), Length = "ab", Properties = { a = 1, b = 2 } }
    for _, count in ipairs({ 2 ^ 31, 2 ^ 32, 2 ^ 53, 2 ^ 63, 1e38 }) do
      for name, value in pairs(values) do
        local contains = name == "Contains" or nil
        assert.is_false(valid({ ["min" .. name] = count, contains = contains }, value))
        assert.is_true(valid({ ["max" .. name] = count, contains = contains }, value))
      end
    end
  end)

  it("takes one of several consts, each of its type", function()
    for _, keyword in ipairs({ "anyOf", "oneOf" }) do
      local function fits(value, ...)
        return valid({ [keyword] = { ... } }, value)
      end
      assert.is_false(fits(19.99, { const = 1 }, { const = 19.99, type = "integer" }))
      assert.is_true(fits(19.99, { const = 1 }, { const = 19.99, type = "number" }))
      assert.is_true(fits(1.0, { const = 1, type = "integer" }, { const = "1" }))
      assert.is_false(fits("1", { const = 1 }, { const = "1", type = { "number", "null" } }))
      assert.is_false(fits(true, { const = 1 }, { const = "true" }))
      assert.is_true(fits({}, { const = array({}) }, { const = 1 }))
      assert.is_false(fits(array({}), { const = setmetatable({}, json.object_mt) }, { const = json.null }))
      assert.equal(keyword == "anyOf", fits({ a = 1 }, { const = { a = 1 } }, { const = 2 }, { const = { a = 1.0 } }))
    end
  end)

  it("takes the same members of a long enum as of a short one", function()
    local members = array({ 1, "1", true, json.null, array({ 1, array({}) }), { a = array({ 0.5 }) }, "b", "c", 2.5 })
    for _, value in ipairs({ 1.0, "1", true, json.null, { 1, {} }, { a = { 0.5 } }, "c", 2.5 }) do
      assert.is_true(valid({ enum = members }, value))
    end
    local object = setmetatable({}, json.object_mt)
    for _, value in ipairs({ 0, "true", false, array({ 1 }), array({ 1, object }), { a = { 0.25 } }, "d", 2 }) do
      assert.is_false(valid({ enum = members }, value))
    end
  end)

  it("takes the multiples of a decimal of any size, and no other number", function()
    local random = require("spec.support.random")
    random.seed(7)
    for exponent = -25, 25 do
      for _, digits in ipairs({ 1, 2, 3, 7, 25, 125, 1000, 12345 }) do
        local function number(n)
          return tonumber(("%.0fe%d"):format(n, exponent))
        end
        local definition = { multipleOf = number(digits) }
        local compiled = assert(schema.compile(definition))
        for _ = 1, 6 do
          local n = random.upto(2 ^ 16) * random.pick({ 1, 2, 10, 1000, 16 })
          for _, sign in ipairs({ 1, -1 }) do
            assert.is_true(compiled:check(sign * number(n * digits)), n)
            assert.equal(digits == 1, (compiled:check(sign * number(n * digits + 1))), n)
            assert.is_false((compiled:check(sign * tonumber(("%.0f5e%d"):format(n * digits, exponent - 1)))), n)
          end
        end
        assert.is_true(compiled:check(0))
        assert.is_true(compiled:check(number(digits * 1000)))
        assert.equal(digits == 1 or digits == 2 or digits == 1000 or digits == 25 or digits == 125,
          (compiled:check(number(10 ^ 5 * (digits == 1000 and 10 or 1)))))
      end
    end
  end)

  it("decides multiples on decimals", function()
    assert.is_true(valid({ multipleOf = 0.01 }, 19.99))
    assert.is_true(valid({ multipleOf = 0.0001 }, 0.0075))
    assert.is_false(valid({ multipleOf = 0.01 }, 19.995))
    assert.is_false(valid({ multipleOf = 3 }, 10))
    assert.is_true(valid({ multipleOf = 3 }, -9))
    assert.is_true(valid({ multipleOf = 0.5 }, 1e300))
    assert.is_false(valid({ multipleOf = 2 }, 1.5))
    assert.is_true(valid({ multipleOf = 7 }, 0))
    assert.is_true(valid({ multipleOf = 2 ^ 22 }, 1e22))
    assert.is_false(valid({ multipleOf = 2 ^ 23 }, 1e22))
    assert.is_true(valid({ multipleOf = 1e-12 }, 1e22))
  end)

  it("takes 1.0 for an integer and NaN and infinities for nothing", function()
    assert.is_true(valid({ type = "integer" }, 1.0))
    assert.is_true(valid({ type = "integer" }, 1e300))
    for _, value in ipairs({ 0 / 0, math.huge, -math.huge }) do
      assert.is_false(valid({ type = "number" }, value))
      assert.is_false(valid({ type = "integer" }, value))
      assert.is_false(valid({ minimum = 0 }, value))
    end
  end)

  if math.type then
    it("compares 64-bit integers exactly", function()
      local max = math.maxinteger
      assert.is_false(valid({ maximum = max - 1 }, max))
      assert.is_true(valid({ minimum = max }, max))
      assert.is_false(valid({ const = max - 1 }, max))
      assert.is_false(valid({ minimum = max }, 2.0 ^ 62))
      assert.is_true(valid({ exclusiveMinimum = max }, 2.0 ^ 63))
      assert.is_true(valid({ maximum = math.mininteger }, -2.0 ^ 70))
      assert.is_true(valid({ multipleOf = 1 }, math.mininteger))
      assert.is_true(valid({ maximum = 1.5 }, 1))
      assert.is_false(valid({ maximum = -1 }, -0.5))
      assert.is_false(valid({ exclusiveMaximum = -1 }, -0.5))
    end)
  end

  it("compares integers with bounds that are fractions, or beyond all integers", function()
    for _, case in ipairs({ { "minimum", 1.5, 2, 1 }, { "maximum", 1.5, 1, 2 }, { "exclusiveMinimum", -1.5, -1, -2 },
      { "exclusiveMaximum", -1.5, -2, -1 }, { "maximum", 1e300, 5 }, { "minimum", -1e300, 5 },
      { "exclusiveMaximum", 1e300, 5 }, { "exclusiveMinimum", -1e300, 5 }, { "minimum", 1e300, nil, 5 },
      { "exclusiveMaximum", -1e300, nil, 5 } }) do
      local definition = { type = "integer", [case[1]] = case[2] }
      assert.is_true(case[3] == nil or valid(definition, case[3]))
      assert.is_false(case[4] ~= nil and valid(definition, case[4]))
    end
    assert.is_false(valid({ type = "integer", exclusiveMinimum = 5, minimum = 2 }, 5))
    assert.is_true(valid({ type = "integer", exclusiveMinimum = 5, minimum = 2 }, 6))
    assert.is_false(valid({ type = "integer", format = "int32", maximum = 1e10 }, 2 ^ 31, { formats = true }))
    assert.is_false(valid({ type = "integer", format = "int32" }, -2 ^ 31 - 1, { formats = true }))
    assert.is_true(valid({ type = "integer", format = "int64", maximum = 1e10 }, 2 ^ 31, { formats = true }))
    assert.is_false(valid({ type = "number", format = "int64" }, 0.5, { formats = true }))
  end)

  it("compares the numbers around 2^53 with bounds around it", function()
    local numbers = {}
    for _, n in ipairs({ 2 ^ 53 - 2, 2 ^ 53 - 1, 2 ^ 53, 2 ^ 53 + 2, 2 ^ 53 + 4 }) do
      numbers[#numbers + 1], numbers[#numbers + 2] = n, -n
    end
    for _, type in ipairs({ "integer", "number" }) do
      for _, bound in ipairs(numbers) do
        local least = assert(schema.compile({ type = type, minimum = bound }))
        local most = assert(schema.compile({ type = type, maximum = bound }))
        local above = assert(schema.compile({ type = type, exclusiveMinimum = bound }))
        local below = assert(schema.compile({ type = type, exclusiveMaximum = bound }))
        for _, n in ipairs(numbers) do
          assert.same({ n >= bound, n <= bound, n > bound, n < bound },
            { (least:check(n)), (most:check(n)), (above:check(n)), (below:check(n)) })
        end
      end
    end
  end)

  it("takes a list for an array, to which keywords of objects do not apply", function()
    for _, more in ipairs({ {}, { minProperties = 1 }, { required = { "a" } }, { properties = { a = true } },
      { additionalProperties = { type = "integer" } }, { patternProperties = { a = false } } }) do
      assert.is_true(valid(more, { "x", "y" }))
      more.type = "object"
      assert.is_false(valid(more, { 1, 2 }))
    end
  end)

  it("takes null in every spelling, and no other userdata", function()
    assert.is_true(valid({ type = "null" }, json.null))
    assert.is_true(valid({ const = json.null }, json.null))
    assert.is_false(valid({ type = "null" }, io.stdout))
    assert.is_false(valid({ type = { "null", "object" } }, print))
  end)

  it("takes an unmarked empty table for an array or an object, as the schema says", function()
    assert.is_true(valid({ type = "array" }, {}))
    assert.is_true(valid({ type = "object" }, {}))
    assert.is_false(valid({ type = "object" }, array({})))
    assert.is_false(valid({ type = "array" }, setmetatable({}, json.object_mt)))
    assert.is_true(valid({ type = "array", maxItems = 0 }, {}))
    assert.is_false(valid({ minProperties = 1 }, {}))
    assert.is_true(valid({ const = array({}) }, {}))
  end)

  it("refuses arrays with holes or names, and objects with numbers for names", function()
    assert.is_false(valid({ type = "array" }, { 1, 2, x = 3 }))
    assert.is_false(valid({ type = "array" }, { 1, nil, 3 }))
    assert.is_false(valid({ additionalProperties = { type = "integer" } }, { x = 1, [5] = 2 }))
    assert.is_false(valid({ propertyNames = true, type = "object" }, { x = 1, [5] = 2 }))
    assert.is_false(valid({ unevaluatedProperties = { type = "integer" } }, { x = 1, [5] = 2 }))
  end)

  it("refuses an item beside a name wherever Lua keeps the two", function()
    for i = 1, 100 do
      local mixed = {}
      mixed["k" .. i] = true
      mixed[1] = true
      assert.is_false(valid({ type = "array" }, mixed))
      assert.is_false(valid({ type = "array", items = { type = "boolean" } }, mixed))
    end
  end)

  it("refuses a name beside two or three items, in whichever order Lua keeps them", function()
    -- Written like this, all keys are in the table's hash part, in any order.
    local layouts = { "[1] = 1, [2] = 2, %s = 3", "%s = 3, [2] = 2, [1] = 1", "%s = 4, [1] = 1, [2] = 2, [3] = 3",
      "[3] = 3, [2] = 2, [1] = 1, %s = 4", "1, 2, 3, [4] = 4, %s = 5" }
    local schemas = { { type = "array" }, { type = "array", items = { type = "integer" } }, { minItems = 2 },
      { items = { type = "integer" }, uniqueItems = true } }
    for _, layout in ipairs(layouts) do
      for i = 6, 100 do
        for _, key in ipairs({ "k" .. i, "[" .. i .. "]", "[0]" }) do
          local source = layout:format(key)
          local mixed = assert((rawget(_G, "loadstring") or load)("return { " .. source .. " }"))()
          for _, definition in ipairs(schemas) do
            assert.is_false(valid(definition, mixed), source)
          end
        end
      end
    end
    for _, definition in ipairs(schemas) do
      assert.is_true(valid(definition, { [3] = 3, [2] = 2, [1] = 1 }))
    end
  end)

  it("takes a list in whichever order Lua keeps its items", function()
    local integers = { type = "array", items = { type = "integer" } }
    for count = 0, 9 do
      for kept = 0, count do -- so many at first, the others by their keys
        for _, step in ipairs({ 1, -1 }) do
          local parts = {}
          for i = 1, kept do
            parts[i] = tostring(i)
          end
          for i = step > 0 and kept + 1 or count, step > 0 and count or kept + 1, step do
            parts[#parts + 1] = ("[%d] = %d"):format(i, i)
          end
          local source = "return { " .. table.concat(parts, ", ") .. " }"
          local value = assert((rawget(_G, "loadstring") or load)(source))()
          assert.is_true(valid(integers, value), source)
          if count > 0 then
            value[count] = "x"
            assert.is_false(valid(integers, value), source)
          end
        end
      end
    end
  end)

  it("finds a hole wherever it is", function()
    for length = 2, 20 do
      for hole = 1, length - 1 do
        local value = {}
        for i = 1, length do
          value[i] = i
        end
        value[hole] = nil
        for _, definition in ipairs({ { type = "array" }, { type = "array", items = { type = "integer" } },
          { type = "array", minItems = 1, uniqueItems = true }, { type = { "array", "null" } } }) do
          assert.is_false(valid(definition, value))
          assert.is_false(valid({ items = definition }, { value }))
          assert.is_false(valid({ properties = { a = definition } }, { a = value }))
        end
      end
    end
  end)

  it("compares tables within tables to a depth of 513, and takes deeper ones for different", function()
    local function nested(levels)
      local value = 1
      for _ = 1, levels do
        value = levels % 2 == 0 and { value } or { a = value }
      end
      return value
    end
    for levels, equal in pairs({ [511] = true, [512] = true, [513] = true, [514] = false, [515] = false }) do
      assert.equal(equal, valid({ const = nested(levels) }, nested(levels)))
      assert.equal(not equal, valid({ uniqueItems = true }, { nested(levels), nested(levels) }))
      local long = many.items(30, function(i) return i < 29 and i or nested(levels) end)
      assert.equal(not equal, valid({ uniqueItems = true }, long))
    end
  end)

  it("finds equal items in long arrays, whatever they are", function()
    local list = {}
    for i = 1, 100 do
      list[i] = i % 3 == 0 and { a = i, b = { i } } or i % 3 == 1 and ("s" .. i) or i
    end
    assert.is_true(valid({ uniqueItems = true }, list))
    list[101] = { b = { 33 }, a = 33 }
    assert.is_false(valid({ uniqueItems = true }, list))
    list[101] = 2.0
    assert.is_false(valid({ uniqueItems = true }, list))
    list[101] = true
    assert.is_true(valid({ uniqueItems = true }, list))
    assert.is_true(valid({ uniqueItems = true }, { 1, true, "1", { 1 }, { 2 }, json.null, false, 0 }))
    assert.is_false(valid({ uniqueItems = true }, { { a = json.null }, { a = json.null } }))
  end)

  it("finds names and enum members of more than 40 bytes", function()
    local long = ("n"):rep(50)
    local definition = {
      properties = { [long] = { type = "integer" }, x = true }, additionalProperties = false, required = { long },
    }
    assert.is_true(valid(definition, { [("n"):rep(25) .. ("n"):rep(25)] = 1 }))
    assert.is_false(valid(definition, { [long] = "1" }))
    assert.is_false(valid(definition, { [long .. "n"] = 1 }))
    assert.is_true(valid({ enum = { "a", long } }, ("nn"):rep(25)))
    assert.is_false(valid({ enum = { "a", long } }, long .. "n"))
  end)

  it("finds any of several long names, few or many", function()
    for _, count in ipairs({ 1, 2, 3, 8, 9, 16, 17, 100 }) do
      local properties, value = {}, {}
      for i = 1, count do
        properties[("n"):rep(50) .. i] = { type = "integer" }
        value[("n"):rep(25) .. ("n"):rep(25) .. i] = i
      end
      for _, additional in ipairs({ false, { type = "string" } }) do
        local definition = { properties = properties, additionalProperties = additional }
        assert.is_true(valid(definition, value))
        for i = 1, count do
          local name = ("nn"):rep(25) .. i
          assert.is_false(valid(definition, { [name] = "x" }))
          assert.is_false(valid(definition, { [name .. "n"] = 1 }))
        end
        local compiled = assert(schema.compile(definition))
        assert.same(value, (compiled:cast(value)))
      end
    end
  end)

  it("asserts formats when told to, those of numbers too", function()
    local on = { formats = true }
    assert.is_true(valid({ format = "ipv4" }, "999.1.1.1"))
    assert.is_false(valid({ format = "ipv4" }, "999.1.1.1", on))
    assert.is_true(valid({ format = "ipv4" }, 5, on))
    assert.is_true(valid({ format = "colour" }, "x", on))
    assert.is_false(valid({ format = "int32" }, 2147483648, on))
    assert.is_true(valid({ format = "int32" }, -2147483648, on))
    assert.is_false(valid({ format = "int32" }, 1.5, on))
    assert.is_true(valid({ format = "int64" }, 2147483648, on))
    assert.is_false(valid({ format = "int64" }, 1e30, on))
    assert.is_false(valid({ format = "float" }, 1e300, on))
    assert.is_true(valid({ format = "double" }, 1e300, on))
  end)

  it("takes the numbers of a format up to its limits", function()
    local decode = json.decode
    for format, case in pairs({
      int32 = { { 2 ^ 31 - 1, -2 ^ 31, 0 }, { 2 ^ 31, -2 ^ 31 - 1, 2 ^ 53, decode("18446744073709551615") } },
      int64 = { { decode("9223372036854775807"), decode("-9223372036854775808"), -2 ^ 63 },
        { decode("9223372036854775808"), decode("18446744073709551615"), 2 ^ 63, -2 ^ 64 } },
      float = { { 3.4028234663852886e38, -3.4028234663852886e38, decode("18446744073709551615") },
        { 3.4028234663852889e38, -3.4028234663852889e38, 1e300 } },
    }) do
      for _, type in ipairs({ false, "number", "integer" }) do
        for i, numbers in ipairs(case) do
          for _, n in ipairs(numbers) do
            assert.equal(i == 1, valid({ format = format, type = type or nil }, n, { formats = true }), format)
          end
        end
      end
    end
  end)

  it("picks the branch that a property names", function()
    local definition = {
      oneOf = {
        { type = "object", required = { "kind" }, properties = { kind = { const = "a" }, x = { type = "integer" } } },
        { type = "object", required = { "kind" }, properties = { kind = { enum = { "b", "c" } } } },
        { type = "null" },
      },
    }
    assert.is_true(valid(definition, { kind = "a", x = 1 }))
    assert.is_false(valid(definition, { kind = "a", x = "1" }))
    assert.is_true(valid(definition, { kind = "c", x = "1" }))
    assert.is_false(valid(definition, { kind = "d" }))
    assert.is_false(valid(definition, {}))
    assert.is_true(valid(definition, json.null))
  end)

  it("checks closed objects with whatever else needs a name or a constant", function()
    local integer = { type = "integer" }
    local function closed(properties, more)
      local made = { type = "object", properties = properties, additionalProperties = false }
      for name, value in pairs(more or {}) do
        made[name] = value
      end
      return made
    end
    local function branch(tag)
      return closed({ t = { const = tag }, n = integer }, { required = { "t" } })
    end
    local both = { a = integer, b = integer }
    -- A definition; values that conform; values that do not.
    for _, case in ipairs({
      { { oneOf = { branch("x"), branch("y") } }, { { t = "x" }, { t = "y", n = 1 } },
        { { t = "z" }, {}, { t = "x", n = "1" }, { t = "y", m = 1 } } },
      { { anyOf = { branch("x"), branch("y"), closed({ u = integer }, { required = { "u" } }) } },
        { { t = "x" }, { u = 1 } }, { { t = "z" }, { t = "x", u = 1 }, {} } },
      { closed(both, { dependentRequired = { a = { "b" } } }), { { a = 1, b = 2 }, { b = 2 }, {} }, { { a = 1 } } },
      { closed(both, { dependentSchemas = { a = { minProperties = 2 } } }), { { a = 1, b = 2 }, { b = 2 } },
        { { a = 1 }, { a = 1, c = 2 } } },
      { closed({ a = { enum = { 1, "x" } } }), { { a = 1 }, { a = "x" } }, { { a = 2 }, { a = "y" } } },
      { closed({ a = { const = json.null } }), { { a = json.null } }, { { a = 0 }, { a = false } } },
      { closed({ a = { const = { 1 } } }), { { a = { 1 } } }, { { a = { 2 } }, { a = 1 } } },
      { closed({ a = { enum = { "x", "y" } } }), { { a = "x" } }, { { a = "z" }, { a = 1 } } },
      { closed({ a = { properties = { b = integer } } }), { { a = { b = 1 } }, { a = 1 } }, { { a = { b = "1" } } } },
      { closed({ a = { required = { "b" } } }), { { a = { b = 1 } } }, { { a = { c = 1 } } } },
    }) do
      local compiled = assert(schema.compile(case[1]))
      for i = 2, 3 do
        for _, value in ipairs(case[i]) do
          local ok, issues = compiled:check(value)
          assert.equal(i == 2, ok)
          assert.equal(i == 2, issues == nil or #issues == 0)
          assert.equal(i == 2, valid({ items = case[1], minItems = 1 }, { value }))
        end
      end
    end
  end)

  it("picks one of many branches by its tag, without a step for the others", function()
    for _, additional in ipairs({ false, true }) do
      for _, keyword in ipairs({ "anyOf", "oneOf" }) do
        local definition = { [keyword] = many.items(47, function(i)
          return { type = "object", required = { "tag" }, properties = { tag = { const = "t" .. i } },
            additionalProperties = additional }
        end) }
        assert.is_true(valid(definition, { tag = "t30" }, { max_steps = 2 }))
        assert.is_false(valid(definition, { tag = "t48" }, { max_steps = 1000 }))
      end
    end
  end)

  it("picks the only branch that takes a type", function()
    local definition = { oneOf = { { type = "null" }, { type = "string", maxLength = 2 },
      { type = { "integer", "boolean" } }, { type = "object", required = { "a" } },
      { type = "array", items = { type = "null" } } } }
    for _, value in ipairs({ json.null, "ab", 5, true, { a = 1 }, array({}), { json.null } }) do
      assert.is_true(valid(definition, value))
    end
    for _, value in ipairs({ "abc", 5.5, { b = 1 }, { 1 }, print, { json.null, a = 1 } }) do
      assert.is_false(valid(definition, value))
    end
    assert.is_false(valid({ type = "string", oneOf = { { type = "integer" }, { type = "string" } } }, 5))
    assert.is_true(valid({ anyOf = { { anyOf = { { type = "string" } } }, { type = "integer" } } }, "x"))
    assert.is_false(valid({ oneOf = { { type = "integer" }, { type = "number" } } }, 5))
    assert.is_false(valid({ anyOf = { { ["$ref"] = "#" } } }, {}))
  end)

  it("resolves $dynamicRef by the outermost object, whatever it says beside its members", function()
    for _, rest in ipairs({ {}, { minProperties = 1 }, { ["not"] = { const = 1 } },
      { additionalProperties = false } }) do
      local outer = {
        ["$id"] = "a:outer", ["$dynamicAnchor"] = "node", type = "object", required = { "x" },
        properties = { x = { ["$id"] = "a:inner", ["$dynamicAnchor"] = "node", type = "object",
          properties = { y = { ["$dynamicRef"] = "#node" } } } },
      }
      for name, value in pairs(rest) do
        outer[name] = value
      end
      assert.is_true(valid(outer, { x = { y = { x = {} } } }))
      assert.is_false(valid(outer, { x = { y = {} } }))
      assert.is_true(valid({ ["$ref"] = "a:inner", ["$defs"] = { outer = outer } }, { y = { y = {} } }))
    end
  end)

  it("asks the tag's property whatever else it says", function()
    local function branch(kind, keywords)
      keywords.const = kind
      return { type = "object", required = { "kind" }, properties = { kind = keywords, x = { type = "integer" } } }
    end
    local counted = branch("d", {})
    counted.minProperties = 2
    local definition = { anyOf = { branch("a", {}), branch("b", { maxLength = 0 }),
      branch("c", { type = "integer" }), counted } }
    assert.is_true(valid(definition, { kind = "a" }))
    assert.is_false(valid(definition, { kind = "a", x = "1" }))
    assert.is_false(valid(definition, { kind = "b" }))
    assert.is_false(valid(definition, { kind = "c" }))
    assert.is_false(valid(definition, { 1, kind = "a" }))
    assert.is_true(valid(definition, { kind = "d", x = 1 }))
    assert.is_false(valid(definition, { kind = "d" }))
  end)

  it("ends on values that contain themselves, however they branch", function()
    local definition = { type = "object", properties = { a = { ["$ref"] = "#" }, b = { ["$ref"] = "#" } } }
    local compiled = assert(schema.compile(definition))
    local value = {}
    value.a, value.b = value, value
    local ok, issues = compiled:check(value)
    assert.is_false(ok)
    assert.equal("/a", issues[1].path)
    assert.equal("the value contains itself", issues[1].message)
    assert.equal(value, (compiled:cast(value)))
    assert.equal(value, (compiled:cast(value, "force")))
    assert.equal(value, compiled:fill(value))
  end)

  it("ends on deep values and on schemas that only refer to themselves", function()
    local value = {}
    for _ = 1, 100000 do
      value = { value }
    end
    local ok, issues = assert(schema.compile({ items = { ["$ref"] = "#" } })):check(value)
    assert.is_false(ok)
    assert.equal("nested too deeply", issues[1].message)
    ok, issues = assert(schema.compile({ ["$ref"] = "#" })):check(1)
    assert.is_false(ok)
    assert.equal("nested too deeply", issues[1].message)
    local equal = value
    assert.is_true(valid({ const = equal }, value))
  end)

  it("does not hang on a pattern that backtracks", function()
    local compiled = assert(schema.compile({ pattern = "^(?=a)(a+)+$" }))
    local ok, issues = compiled:check(("a"):rep(40) .. "b")
    assert.is_false(ok)
    assert.is_true(#issues > 0)
    ok = assert(schema.compile({ ["not"] = { pattern = "^(?=a)(a+)+$" } })):check(("a"):rep(40) .. "b")
    assert.is_false(ok)
  end)
end)

describe("a value that may be anything", function()
  local T = require("operations.schema.type")

  local cycle = {}
  cycle.inner = { cycle }

  -- By the issue: where, and what.
  local refused = {
    ["/f: expected a JSON value, got function"] = { f = print },
    ["/list/1: expected a JSON value, got NaN"] = { list = { 1, 0 / 0 } },
    ["/x/y: expected a JSON value, got infinity"] = { x = { y = math.huge } },
    ["/x: expected a JSON value, got thread"] = { x = coroutine.create(print) },
    ["/x: expected a JSON value, got userdata"] = { x = io.stdout },
    ["/x: expected an array, got a table with holes or other keys"] = { x = { 1, nil, 3 } },
    ["/a/x: expected an array, got a table with holes or other keys"] = { a = { x = { 1, y = 2 } } },
    ["/x: the keys of an object are strings, got a number"] = { x = { [1.5] = true } },
    ["/inner/0: the value contains itself"] = cycle,
  }
  local schemas = {
    ["T.any()"] = { T.any(), function(value) return value end, "" },
    ["true"] = { { properties = { p = true } }, function(value) return { p = value } end, "/p" },
    ["a branch that is {}"] = { { anyOf = { { type = "string" }, {} } }, function(value) return value end, "" },
    ["items that are T.any()"] = { T.array(T.any()), function(value) return { 1, value } end, "/1" },
  }
  for name, case in pairs(schemas) do
    local compiled = assert(schema.compile(case[1]))
    it("has to be one of JSON, by " .. name, function()
      for text, value in pairs(refused) do
        local ok, issues = compiled:check(case[2](value))
        assert.is_false(ok, text)
        assert.equal(1, #issues)
        assert.equal(case[3] .. text, issues[1].path .. ": " .. issues[1].message)
      end
      local shared = { 1, { x = json.null } }
      for _, value in ipairs({ {}, { a = shared, b = shared }, { { { 1.5, "x", true } } }, json.decode("[{},[]]") }) do
        assert.is_true((compiled:check(case[2](value))))
      end
    end)
  end

  it("is not looked at where no schema names it", function()
    assert.is_true((assert(schema.compile(T.object({}))):check({ f = print })))
  end)

  it("is reported where it is, by each of its flaws", function()
    local _, issues = assert(schema.compile({})):check({ b = { print }, a = { 0 / 0 } })
    assert.same({ "/a/0", "/b/0" }, { issues[1].path, issues[2].path })
  end)

  it("costs steps where tables are shared over and over", function()
    local value = {}
    for _ = 1, 60 do
      value = { value, value }
    end
    local ok, issues = assert(schema.compile({}, { max_steps = 10000 })):check(value)
    assert.is_false(ok)
    assert.equal(1, #issues)
  end)

  it("does not fit when JSON cannot hold it", function()
    local compiled = assert(schema.compile(T.object({ data = T.any() })))
    local value = { data = { print } }
    assert.same({ value, {} }, { compiled:cast(value) })
    assert.is_false((compiled:check((compiled:cast(value)))))
  end)
end)

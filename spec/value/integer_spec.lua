local core = require("operations.core")
local json = require("operations.base.json")
local schema = require("operations.schema")

local ffi = rawget(_G, "jit") and require("ffi")

local EDGES = { "-9223372036854775808", "-9007199254740993", "-9007199254740992", "-1", "0", "9007199254740992",
  "9007199254740993", "9223372036854775807", "9223372036854775808", "18446744073709551614", "18446744073709551615" }

local function integer(text)
  local value, err = json.decode(text)
  assert.is_nil(err)
  return value
end

local function checks(value, rule)
  return (assert(schema.compile(rule, { formats = true })):check(value))
end

local function message(value, rule)
  local _, issues = assert(schema.compile(rule)):check(value)
  return issues[1].message
end

describe("an integer of 64 bits", function()
  for _, text in ipairs(EDGES) do
    it("is read, written, copied and cast as it is: " .. text, function()
      local value = integer(text)
      assert.equal("integer", core.kind(value))
      assert.equal(text, json.encode(value))
      assert.equal('{"ids":[' .. text .. "]}", json.encode(integer('{"ids":[' .. text .. "]}")))
      assert.equal(text, json.encode((assert(schema.compile({ type = "integer" })):cast(value))))
      local kept = core.registry():operation({ namespace = "a", name = "b", _meta = { value = value } }):spec()._meta
      assert.equal(text, json.encode(kept.value))
    end)

    it("is an integer and a number, and no string: " .. text, function()
      local value = integer(text)
      assert.is_true(checks(value, { type = "integer" }))
      assert.is_true(checks(value, { type = { "number", "null" } }))
      assert.is_true(checks(value, { anyOf = { { type = "integer" }, { type = "string" } } }))
      assert.is_true(checks({ value }, { items = { oneOf = { { type = "null" }, { type = "integer" } } } }))
      assert.is_false(checks(value, { type = "string" }))
      assert.is_false(checks(value, { type = { "null", "boolean", "array", "object" } }))
      assert.equal("expected string, got " .. text, message(value, { type = "string" }))
      assert.is_false(checks(text, { type = "integer" }))
    end)

    it("converts from its digits and to them: " .. text, function()
      local value, changes = assert(schema.compile({ type = "integer" })):cast(text)
      assert.equal(text, json.encode(value))
      assert.equal("converted", changes[1].kind)
      assert.equal(text, (assert(schema.compile({ type = "string" })):cast(integer(text))))
    end)
  end

  it("is compared with every bound exactly", function()
    for a = 1, #EDGES do
      for b = 1, #EDGES do
        local value, bound = integer(EDGES[a]), integer(EDGES[b])
        local told = EDGES[a] .. " beside " .. EDGES[b]
        assert.equal(a >= b, checks(value, { minimum = bound }), told)
        assert.equal(a <= b, checks(value, { maximum = bound }), told)
        assert.equal(a > b, checks(value, { exclusiveMinimum = bound }), told)
        assert.equal(a < b, checks(value, { exclusiveMaximum = bound }), told)
        assert.equal(a == b, checks(value, { const = bound }), told)
        assert.equal(a == b, checks(value, { enum = { "x", bound } }), told)
        assert.equal(a ~= b, checks({ value, bound }, { uniqueItems = true }), told)
        assert.equal(a == b, checks({ value }, { const = { bound } }), told)
      end
    end
  end)

  it("is compared with fractions and greater numbers", function()
    local largest, least = integer("18446744073709551615"), integer("-9223372036854775808")
    assert.is_true(checks(largest, { maximum = 2 ^ 64 }))
    assert.is_false(checks(largest, { minimum = 2 ^ 64 }))
    assert.is_true(checks(largest, { minimum = 0.5 }))
    assert.is_false(checks(largest, { maximum = 0.5 }))
    assert.is_false(checks(least, { minimum = -0.5 }))
    assert.is_true(checks(least, { minimum = -2 ^ 64 }))
    assert.is_true(checks(2 ^ 63, { const = integer("9223372036854775808") }))
    for _, bound in ipairs({ least, integer("9007199254740993"), largest }) do
      assert.is_true(checks(-1e300, { maximum = bound }))
      assert.is_false(checks(-1e300, { minimum = bound }))
      assert.is_true(checks(1e300, { minimum = bound }))
      assert.is_false(checks(1e300, { maximum = bound }))
    end
  end)

  it("is a multiple of its divisors", function()
    local largest = integer("18446744073709551615") -- 3 * 5 * 17 * 257 * 641 * 65537 * 6700417
    for divisor, divides in pairs({ [1] = true, [2] = false, [3] = true, [7] = false, [641] = true, [0.5] = true,
      [0.2] = true, [0.3] = true, [0.7] = false }) do
      assert.equal(divides, checks(largest, { multipleOf = divisor }), tostring(divisor))
    end
    assert.is_true(checks(largest, { multipleOf = largest }))
    assert.is_false(checks(integer("9223372036854775807"), { multipleOf = 10 }))
    assert.is_true(checks(integer("-9223372036854775808"), { multipleOf = integer("9223372036854775808") }))
    assert.is_true(checks(integer("9007199254740993"), { multipleOf = 3 }))
    assert.is_false(checks(integer("9007199254740993"), { multipleOf = 2 }))
  end)

  it("has the formats that hold it", function()
    assert.is_true(checks(integer("9223372036854775807"), { format = "int64" }))
    assert.is_false(checks(integer("9223372036854775808"), { format = "int64" }))
    assert.is_false(checks(integer("9007199254740993"), { format = "int32" }))
    assert.is_true(checks(integer("18446744073709551615"), { format = "float" }))
  end)

  it("is found among many members and items", function()
    local many, same = {}, {}
    for i = 1, 100 do
      many[i] = integer("90071992547409" .. 1000 + i)
      same[i] = integer("18446744073709551" .. 500 + i % 99)
    end
    assert.is_true(checks(integer("900719925474091077"), { enum = many }))
    assert.is_false(checks(integer("900719925474090999"), { enum = many }))
    assert.is_true(checks(many, { uniqueItems = true }))
    assert.is_false(checks(same, { uniqueItems = true }))
  end)

  it("is told in messages by its digits", function()
    local value = integer("18446744073709551615")
    assert.equal("expected a number of at most 5, got 18446744073709551615", message(value, { maximum = 5 }))
    assert.equal("expected a number above 18446744073709551615, got 7", message(7, { exclusiveMinimum = value }))
    assert.equal("expected 18446744073709551615, got 7", message(7, { const = value }))
    local _, err = json.encode({ x = { [value] = 1 } })
    assert.equal("VALIDATION_ERROR: /x: an object has the integer key 18446744073709551615; keys must be strings",
      tostring(err))
    local _, refused = schema.compile({ minLength = integer("-9007199254740993") })
    assert.truthy(tostring(refused):find("non-negative integer, got -9007199254740993", 1, true))
  end)

  it("is a default, and a replacement of a misfit", function()
    local value = integer("9007199254740993")
    local rule = { type = "object", properties = { id = { type = "integer", default = value } } }
    assert.equal('{"id":9007199254740993}', json.encode((assert(schema.compile(rule)):cast({}))))
    rule = { type = "integer", minimum = integer("18446744073709551615") }
    assert.equal("18446744073709551615", json.encode((assert(schema.compile(rule)):cast("x", "force"))))
  end)

  it("may be in deep and in wide values", function()
    local text = ("["):rep(200) .. "18446744073709551615,-9223372036854775808" .. ("]"):rep(200)
    assert.equal(text, json.encode(integer(text)))
    text = "[" .. ("9007199254740993,"):rep(5000) .. "1]"
    local list = integer(text)
    assert.equal(text, json.encode(list))
    assert.is_true(checks(list, { type = "array", items = { type = "integer", minimum = 1 } }))
    list[5000] = "x"
    assert.is_false(checks(list, { type = "array", items = { type = "integer" } }))
  end)

  it("is a string of digits where 64 bits do not hold it", function()
    for _, text in ipairs({ "18446744073709551616", "-9223372036854775809", ("1"):rep(400) }) do
      assert.equal(text, integer(text))
    end
  end)
end)

if ffi then
  describe("an integer of 64 bits under LuaJIT", function()
    it("is a cdata only where a number would round", function()
      local exact = { ["-9007199254740992"] = true, ["-1"] = true, ["0"] = true, ["9007199254740992"] = true }
      local rule = assert(schema.compile({ type = "integer" }))
      for _, text in ipairs(EDGES) do
        local expected = exact[text] and "number" or "cdata"
        assert.equal(expected, type(integer(text)), text)
        assert.equal(expected, type((rule:cast(text))), text)
      end
    end)

    it("is a string of digits without FFI", function()
      local pipe = assert(io.popen(([[%s -e '
        local ffi = require("ffi")
        package.loaded.ffi, package.preload.ffi = nil, error
        local core = require("operations.core")
        print(core.json_decode("9007199254740993"), core.kind(ffi.new("int64_t", 1)))
      ']]):format(arg[-1])))
      local output = pipe:read("*a")
      pipe:close()
      assert.equal("9007199254740993\tcdata\n", output)
    end)
  end)

  describe("a cdata", function()
    it("is an integer when it is an int64_t or a uint64_t", function()
      for _, one in ipairs({ ffi.new("int64_t", 1), ffi.new("uint64_t", 1), ffi.new("const int64_t", 1) }) do
        assert.equal("[1]", json.encode({ one }))
        assert.is_true(checks({ one }, { items = { const = 1 } }))
        assert.is_false(checks({ one, 1 }, { uniqueItems = true }))
        assert.is_false(checks(one, { minimum = 2 }))
      end
    end)

    it("is no JSON value else", function()
      for _, other in ipairs({ ffi.new("int32_t", 1), ffi.new("double", 1), ffi.new("int64_t[1]"),
        ffi.new("int64_t *"), ffi.typeof("int64_t") }) do
        assert.equal("cdata", core.kind(other))
        assert.is_nil((json.encode({ other })))
        assert.is_false(checks(other, { type = { "integer", "null" } }))
        assert.is_false(checks({ other, 1 }, { const = { 1, 1 } }))
      end
    end)
  end)
else
  describe("an integer from 2^63 on", function()
    local large, larger = integer("9223372036854775808"), integer("9223372036854775809")

    it("says its digits", function()
      assert.equal("9223372036854775808", tostring(large))
    end)

    it("is ordered among numbers and its like", function()
      assert.is_true(large == integer("9223372036854775808"))
      assert.is_false(large == larger)
      assert.is_true(large < larger and large <= large and larger > large)
      assert.is_true(large > integer("9223372036854775807") and 1 < large and large > 0.5)
      assert.is_true(large < 1e30 and large <= 2 ^ 63)
      assert.is_false(large < 0 / 0 or large >= 0 / 0 or 0 / 0 < large)
      assert.is_false(large == io.stdout)
      assert.has_error(function()
        return large < {}
      end)
    end)
  end)
end

-- luacheck: ignore 143 (integers of Lua 5.4)
local json = require("operations.base.json")
local many = require("spec.support.many")
local operations = require("operations")
local schema = require("operations.schema")

local function cast(definition, value, mode, options)
  local compiled = assert(schema.compile(definition, options))
  local result, changes = compiled:cast(value, mode)
  return result, changes, (compiled:check(result))
end

local function text(value)
  return assert(json.encode(value, { sort_keys = true }))
end

local task = {
  type = "object",
  properties = {
    id = { type = "integer" }, title = { type = "string" }, done = { type = "boolean", default = false },
    kind = { const = "task" }, tags = { type = "array", items = { type = "string" } },
  },
  required = { "id", "kind" },
}

describe("casting", function()
  it("strips, fills in, converts, and lists each change", function()
    local result, changes, fits = cast(task, { id = "12", title = 7, secret = 1 })
    assert.is_true(fits)
    assert.equal('{"done":false,"id":12,"kind":"task","title":"7"}', text(result))
    local by_path = {}
    for _, change in ipairs(changes) do
      by_path[change.path] = change
    end
    assert.same({ path = "/id", kind = "converted", old = "12", new = 12 }, by_path["/id"])
    assert.same({ path = "/title", kind = "converted", old = 7, new = "7" }, by_path["/title"])
    assert.same({ path = "/done", kind = "defaulted", new = false }, by_path["/done"])
    assert.same({ path = "/kind", kind = "defaulted", new = "task" }, by_path["/kind"])
    assert.same({ path = "/secret", kind = "stripped", old = 1 }, by_path["/secret"])
    assert.equal(5, #changes)
  end)

  it("treats keys that no JSON has as others: lists them, or keeps them where the object is open", function()
    local members = { name = { type = "string" } }
    local result, changes, fits = cast({ type = "object", properties = members }, { name = "x", [5] = 1, [true] = 2 })
    table.sort(changes, function(a, b) return a.path < b.path end)
    assert.same({ name = "x" }, result)
    assert.same({ { path = "/5", kind = "stripped", old = 1 }, { path = "/true", kind = "stripped", old = 2 } },
      changes)
    assert.is_true(fits)
    local at = {}
    for _, key in ipairs({ true, print, {}, 0.5, -1 }) do
      at[#at + 1] = select(2, cast({ type = "object", properties = members }, { name = "x", [key] = 1 }))[1].path
    end
    at[#at + 1] = select(2, cast({ type = "object", properties = members }, { name = "x", [false] = 1 }))[1].path
    assert.same({ "/true", "/function", "/table", "/0.5", "/-1", "/false" }, at)
    result = cast({ type = "object", properties = members, additionalProperties = true }, { name = "x", [5] = 1 })
    assert.same({ name = "x", [5] = 1 }, result)
    local strings = { type = "object", properties = members, additionalProperties = { type = "string" } }
    for _, mode in ipairs({ "cast", "force" }) do
      assert.same({ { name = "x", [5] = "y" }, {}, false }, { cast(strings, { name = "x", [5] = "y" }, mode) })
    end
  end)

  it("changes nothing in the input and shares no table that the schema describes", function()
    local input = { id = 1, kind = "task", tags = { "a" }, x = 1 }
    local result = cast(task, input)
    assert.equal('{"id":1,"kind":"task","tags":["a"],"x":1}', text(input))
    assert.are_not.equal(input.tags, result.tags)
    assert.equal(json.array_mt, getmetatable(result.tags))
  end)

  it("leaves values that it cannot convert without loss", function()
    for _, value in ipairs({ "1.5", "012", "1e2", "", " 1", "0x10", "1.0", "-0", "99999999999999999999" }) do
      local result, changes, fits = cast({ type = "integer" }, value)
      assert.equal(value, result)
      assert.equal(0, #changes)
      assert.is_false(fits)
    end
    assert.equal(1.5, (cast({ type = "integer" }, 1.5)))
    assert.equal(1, (cast({ type = "boolean" }, 1)))
    assert.equal("yes", (cast({ type = "boolean" }, "yes")))
    assert.equal("a\0", (cast({ type = "integer" }, "a\0")))
    for _, value in ipairs({ math.huge, -math.huge, io.stdout, print, json.null, true }) do
      assert.same({ value, {}, false }, { cast({ type = "string" }, value) })
    end
    local result, changes = cast({ type = "string" }, 0 / 0)
    assert.same({ true, {} }, { result ~= result, changes })
  end)

  it("strips other members beside one that stays, of whichever type", function()
    for _, constant in ipairs({ true, false, json.null, 5, 0.5, "x", "5", "true" }) do
      for _, property in ipairs({ { const = constant }, { enum = { constant } }, { ["not"] = { const = "other" } },
        { allOf = { { const = constant } } }, { anyOf = { { const = 9 }, { ["not"] = { const = 8 } } } } }) do
        local definition = { type = "object", properties = { a = property } }
        assert.same({ { a = constant }, { { path = "/b", kind = "stripped", old = 1 } }, true },
          { cast(definition, { a = constant, b = 1 }) })
      end
    end
  end)

  it("converts the canonical text of numbers and booleans, and numbers to their text", function()
    assert.equal(-12, (cast({ type = "integer" }, "-12")))
    assert.equal(0, (cast({ type = "integer" }, "0")))
    assert.equal(0.1, (cast({ type = "number" }, "0.1")))
    assert.equal(12, (cast({ type = "number" }, "12")))
    assert.equal(true, (cast({ type = "boolean" }, "true")))
    assert.equal(false, (cast({ type = "boolean" }, "false")))
    assert.equal("0.1", (cast({ type = "string" }, 0.1)))
    assert.equal("12", (cast({ type = "string" }, 12)))
    assert.equal(2, (cast({ enum = { 1, 2 } }, "2")))
    assert.equal(9, (cast({ type = "integer", maximum = 5 }, "9")))
  end)

  it("takes the text of every number back, and no other text of it", function()
    local random = require("spec.support.random")
    local number = assert(schema.compile({ type = "number" }))
    local string = assert(schema.compile({ type = "string" }))
    for seed = 1, 40 do
      random.seed(seed)
      for _, digits in ipairs({ 1, 2, 7, 15, 16, 17 }) do
        for exponent = -330 + seed, 308, 41 do
          local drawn = tostring(random.upto(9))
          for _ = 2, digits do
            drawn = drawn .. random.upto(10) - 1
          end
          local value = tonumber(drawn .. "e" .. exponent - digits)
          if value > 0 and value < math.huge and (value % 1 ~= 0 or value > 2 ^ 64) then
            value = random.chance(50) and value or -value
            local written = json.encode(value)
            assert.equal(written, (string:cast(value)))
            assert.equal(value, (number:cast(written)))
            for _, other in ipairs({ "+" .. written, "0" .. written, written .. "0", written .. ".", " " .. written,
              written .. " ", written .. "\0", written:gsub("^%-?", "%0.", 1), written .. "e0", "-" .. written }) do
              if tonumber(other) ~= -value and not other:find("^%-?%d+$") and other ~= json.encode(tonumber(other)) and
                not other:find("e%-?%d+0$") then
                assert.equal(other, (number:cast(other)))
              end
            end
          end
        end
      end
    end
  end)

  it("takes an exponent however it is spelt, and writes it as JSON does", function()
    for source, value in pairs({ ["1e-7"] = 1e-7, ["1e-07"] = 1e-7, ["-1.5e+300"] = -1.5e300, ["1.5e300"] = 1.5e300,
      ["5e-324"] = 5e-324, ["1.7976931348623157e308"] = 1.7976931348623157e308 }) do
      assert.equal(value, (cast({ type = "number" }, source)))
    end
    assert.equal("1e-7", (cast({ type = "string" }, 1e-7)))
    assert.equal("-1.5e300", (cast({ type = "string" }, -1.5e300)))
    for _, source in ipairs({ "1e2", "1e", "e5", ".5", "5.", "1.50", "1,5", "1e400", "1e-400", "--1", "1.5e3",
      "0.30000000000000004441", "1e-7x", "15e-8", "+1.5" }) do
      assert.equal(source, (cast({ type = "number" }, source)))
    end
  end)

  -- Where the system has no such locale, that no function which asks for it is called has to do.
  it("reads and writes numbers the same where the locale has a decimal comma", function()
    local before = os.setlocale(nil, "numeric")
    for _, name in ipairs({ "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8", "de_DE", "fr_FR" }) do
      if os.setlocale(name, "numeric") then
        break
      end
    end
    local number, written = cast({ type = "number" }, "0.1"), cast({ type = "string" }, 1.5e-9)
    local multiple = schema.compile({ multipleOf = 0.01 }):check(19.99)
    os.setlocale(before, "numeric")
    assert.equal(0.1, number)
    assert.equal("1.5e-9", written)
    assert.is_true(multiple)
    for _, file in ipairs({ "cast/convert", "program/value" }) do
      local source = assert(io.open("src/schema/" .. file .. ".c", "rb"))
      local code = source:read("*a")
      source:close()
      assert.is_nil(code:find("strtod", 1, true) or code:find("printf", 1, true) or code:find("ato[fi]"))
    end
  end)

  it("makes integers of whole floats where only integers are wanted", function()
    local result, changes = cast({ type = "integer" }, 1.0)
    assert.equal(1, result)
    if math.type then
      assert.equal("integer", math.type(result))
      assert.equal("converted", changes[1].kind)
      assert.equal("float", math.type((cast({ type = "number" }, 1.0))))
      assert.equal("integer", math.type((cast({ allOf = { { type = "integer" } } }, 1.0))))
      local levels = { oneOf = {} }
      for i = 1, 20 do
        levels.oneOf[i] = { const = i, type = "integer", title = "level " .. i }
        for _, value in ipairs({ 1.0, i + 0.0 }) do
          assert.equal("integer", math.type((cast(levels, value))))
          assert.equal("integer", math.type(cast({ items = levels }, { value })[1]))
        end
      end
      assert.equal(math.maxinteger, (cast({ type = "integer" }, "9223372036854775807")))
      assert.equal(math.mininteger, (cast({ type = "integer" }, "-9223372036854775808")))
    end
  end)

  it("keeps unknown properties where the schema names none or lets them in", function()
    assert.equal('{"a":1}', text((cast({ type = "object" }, { a = 1 }))))
    assert.equal('{"a":1}', text((cast({ type = "object", required = { "a" } }, { a = 1 }))))
    assert.equal('{"a":1,"b":2}', text((cast({ properties = { a = true }, additionalProperties = true },
      { a = 1, b = 2 }))))
    assert.equal('{"a":1,"b":2}', text((cast({ properties = { a = true },
      additionalProperties = { type = "integer" } }, { a = 1, b = "2" }))))
    assert.equal('{"x1":1}', text((cast({ patternProperties = { ["^x"] = { type = "integer" } } },
      { x1 = "1", y = 2 }))))
    assert.equal('{}', text((cast({ additionalProperties = false }, { a = 1 }))))
    assert.equal('{"a":1}', text((cast({ properties = { b = true }, required = { "a" } }, { a = 1 }))))
    assert.equal('{"a":1,"z":1}', text((cast({ allOf = { { properties = { a = true } } },
      unevaluatedProperties = { type = "integer" } }, { a = 1, z = "1" }))))
    assert.equal('{"a":1}', text((cast({ allOf = { { properties = { a = true } } },
      unevaluatedProperties = false }, { a = 1, z = "1" }))))
  end)

  it("casts a member that only `required` names by a schema that contains itself", function()
    local whole = { required = { "a" }, properties = { n = { type = "integer" } } }
    whole.additionalProperties = whole
    for _, definition in ipairs({ whole, { allOf = { whole } } }) do
      assert.same({ a = { a = 0, n = 1 }, b = { a = "x", n = 2 } },
        (cast(definition, { a = { a = 0, n = "1" }, b = { a = "x", n = "2" } })))
    end
  end)

  it("knows properties by allOf, $ref, branches, if and dependentSchemas", function()
    local definition = {
      ["$defs"] = { base = { properties = { id = { type = "integer", default = 5 } } } },
      allOf = { { ["$ref"] = "#/$defs/base" }, { properties = { name = { type = "string" } } } },
      anyOf = { { properties = { x = { type = "integer" } } }, { properties = { y = { type = "integer" } } } },
      ["if"] = { required = { "x" } }, ["then"] = { properties = { thenX = true } },
      ["else"] = { properties = { elseX = true } },
      dependentSchemas = { name = { properties = { nick = true } } },
    }
    assert.equal('{"id":5,"name":"1","nick":1,"thenX":1,"x":1,"y":2}',
      text((cast(definition, { name = 1, nick = 1, x = 1, y = 2, thenX = 1, elseX = 1, z = 1 }))))
    assert.equal('{"elseX":1,"id":7}', text((cast(definition, { id = "7", nick = 1, thenX = 1, elseX = 1 }))))
  end)

  it("takes the branch that fits, fits once it is cast, or comes closest", function()
    local definition = {
      oneOf = {
        { type = "object", properties = { a = { type = "integer" }, n = { type = "string" } }, required = { "a" } },
        { type = "object", properties = { b = { type = "integer" }, c = { type = "integer" } }, required = { "b" } },
        { type = "array", items = { type = "integer" } },
      },
    }
    assert.equal('{"b":1,"n":2}', text((cast(definition, { b = 1, n = 2, z = 2 }))))
    assert.equal('{"b":1,"n":2}', text((cast(definition, { b = "1", n = 2, z = 2 }))))
    assert.equal('{"b":"x","c":3,"n":2}', text((cast(definition, { b = "x", c = "3", n = 2, z = 2 }))))
    assert.equal('[1,"x"]', text((cast(definition, { "1", "x" }))))
    assert.equal(true, (cast(definition, true)))
    assert.equal(7, (cast({ anyOf = { { type = "integer" }, { type = "null" } } }, "7")))
    assert.equal('{"k":"b","y":1}', text((cast({ anyOf = {
      { type = "object", properties = { k = { const = "a" }, x = { type = "integer" } }, required = { "k" } },
      { type = "object", properties = { k = { const = "b" }, y = { type = "integer" } }, required = { "k" } },
    } }, { k = "b", y = "1", x = 2 }))))
  end)

  it("keeps what any branch declares of a value that only an open branch fits, at every depth", function()
    local open = { type = "object", properties = { a = { type = "integer" }, list = { type = "array",
      items = { properties = { a = true } } }, inner = { properties = { a = true } } } }
    local exact = { type = "object", required = { "b" }, properties = { b = { enum = { "x" } },
      list = { items = { properties = { b = true } } }, inner = { properties = { b = true } } } }
    local value = { b = "new", list = { { b = 1 } }, inner = { b = 2 }, junk = 1 }
    for _, branches in ipairs({ { open, exact }, { exact, open }, { { allOf = { exact } }, { anyOf = { open } } } }) do
      local definition = { anyOf = branches }
      assert.equal('{"b":"new","inner":{"b":2},"list":[{"b":1}]}', text((cast(definition, value))))
      assert.equal('[{"b":"new","inner":{"b":2},"junk":1,"list":[{"b":1}]}]', text((cast({ oneOf = {
        { type = "array", items = branches[1] }, { type = "array", items = branches[2] } } }, { value }))))
    end
    assert.equal('{"any":1}', text((cast({ anyOf = { open, { type = "object" } } }, { any = 1 }))))
    assert.equal('[{"any":1}]', text((cast({ anyOf = { { type = "array", items = open }, { type = "array" } } },
      { { any = 1 } }))))
  end)

  it("fills in the defaults of the first branch that fits, and knows the properties of the others", function()
    local function branch(name)
      return { properties = { [name] = { type = "integer", default = 1 } } }
    end
    local definition = { anyOf = { { required = { "q" } }, branch("a"), branch("b"), branch("c") } }
    assert.equal('{"a":1}', text((cast(definition, {}))))
    assert.equal('{"a":1,"b":2}', text((cast(definition, { b = 2, z = 1 }))))
    assert.equal('{"a":"1","b":2}', text((cast(definition, { a = "1", b = 2, z = 1 }))))
    definition.oneOf, definition.anyOf = definition.anyOf, nil
    assert.equal('{"a":1,"b":2}', text((cast(definition, { b = 2, z = 1 }))))
  end)

  it("casts by the first branch that fits only, of the others it knows the names", function()
    local inner = { properties = { x = { default = 1 } } }
    local value = { a = 1, b = { y = 2 } }
    for _, other in ipairs({ { properties = { b = inner } }, { patternProperties = { ["^b"] = inner } },
      { additionalProperties = inner }, { allOf = { { properties = { b = inner } }, {} } },
      { ["if"] = true, ["then"] = { properties = { b = inner } } },
      { anyOf = { { properties = { b = true } }, { properties = { b = inner } } } } }) do
      assert.same(value, (cast({ anyOf = { { properties = { a = true } }, other } }, value)))
      assert.same(value, (cast({ anyOf = { { properties = { a = true } }, { required = { "none" } }, other } }, value)))
    end
    local list = { { y = 2 } }
    assert.same(list, (cast({ anyOf = { { type = "array" }, { items = inner } } }, list)))
    assert.same({ { x = 1 } }, (cast({ anyOf = { { minItems = 2 }, { items = inner } } }, list)))
  end)

  it("casts tuples, items of allOf, and long objects", function()
    assert.equal('[1,"2",3]', text((cast({ type = "array", prefixItems = { { type = "integer" } },
      items = { type = { "string", "integer" } } }, { "1", "2", 3 }))))
    assert.equal('[1,2]', text((cast({ allOf = { { items = { type = "integer" } },
      { type = "array", prefixItems = { true } } } }, { "1", "2" }))))
    local properties, value = {}, {}
    for i = 1, 200 do
      properties["p" .. i], value["p" .. i] = { type = "integer" }, tostring(i)
    end
    local result, changes, fits = cast({ type = "object", properties = properties }, value)
    assert.is_true(fits)
    assert.equal(200, #changes)
    assert.equal(137, result.p137)
  end)

  it("marks arrays always, objects when they are empty", function()
    local result = cast({ properties = { a = { type = "array" }, o = { type = "object" } } }, { a = {}, o = {} })
    assert.equal('{"a":[],"o":{}}', text(result))
    assert.equal(json.array_mt, getmetatable(result.a))
    assert.equal(json.object_mt, getmetatable(result.o))
  end)

  it("keeps an empty object that was read as JSON, or lists that it is replaced", function()
    local list, object = { type = "array" }, { type = "object", properties = { x = { type = "string" } } }
    local labels = { type = "object", properties = { labels = list } }
    for _, definition in ipairs({ labels, { properties = { labels = { anyOf = { list, { type = "null" } } } } } }) do
      local result, changes, fits = cast(definition, json.decode('{"labels":{}}'))
      assert.same({ '{"labels":{}}', 0, false }, { text(result), #changes, fits })
    end
    local result, changes, fits = cast(labels, json.decode('{"labels":{}}'), "force")
    assert.same({ '{"labels":[]}', true }, { text(result), fits })
    assert.equal('[{"kind":"replaced","new":[],"old":{},"path":"/labels"}]', text(changes))
    for _, keyword in ipairs({ "anyOf", "oneOf" }) do
      for _, branches in ipairs({ { list, object }, { object, list } }) do
        for _, given in ipairs({ "{}", "[]" }) do
          result, changes, fits = cast({ [keyword] = branches }, json.decode(given))
          assert.same({ given, 0, true }, { text(result), #changes, fits })
        end
      end
    end
  end)

  it("leaves an object that loses its last member an object", function()
    assert.equal('{"a":{}}', text((cast({ additionalProperties = { properties = { b = true } } }, { a = { c = 1 } }))))
  end)

  it("gives each use of a default its own copy", function()
    local definition = { type = "object", properties = { list = { type = "array", default = { "a", { x = {} } } } } }
    local compiled = assert(schema.compile(definition))
    local one, two = compiled:cast({}), compiled:cast({})
    one.list[1] = "changed"
    assert.equal("a", two.list[1])
    assert.equal("a", definition.properties.list.default[1])
  end)

  it("does less rather than spoil a conforming value", function()
    assert.equal('{"a":1}', text((cast({ minProperties = 1, properties = { b = true } }, { a = 1 }))))
    assert.equal('{"b":1}', text((cast({ properties = { a = { type = "integer", default = "x" }, b = true } },
      { b = 1 }))))
    for _, definition in ipairs({ { ["if"] = { type = "array" }, minItems = 2 },
      { anyOf = { { type = "array" }, {} }, minItems = 1 } }) do
      local result, changes, fits = cast(definition, {})
      assert.same({ {}, {}, true }, { result, changes, fits })
      assert.is_nil(getmetatable(result))
    end
    local spoiling = { properties = { a = { type = "integer", default = "x" }, b = true } }
    for _, definition in ipairs({ spoiling, { allOf = { spoiling } }, { items = spoiling } }) do
      local value = { b = 1, other = 2 }
      local given = definition.items and { value, value } or value
      assert.equal(definition.items and '[{"b":1},{"b":1}]' or '{"b":1}', text((cast(definition, given))))
    end
    assert.equal('{"a":1,"b":2}', text((cast({ allOf = { { minProperties = 2, properties = { b = true } } } },
      { a = 1, b = 2 }))))
  end)

  it("is off when it is told so", function()
    local input = { id = "1" }
    local result, changes = cast(task, input, "off")
    assert.equal(input, result)
    assert.equal(0, #changes)
  end)

  it("follows OpenAPI's discriminator where no branch fits, and where several do", function()
    local function pet(name)
      return { type = "object", required = { "kind" }, properties = { kind = { type = "string" },
        [name] = { type = "integer" } } }
    end
    local definition = {
      oneOf = { { ["$ref"] = "#/$defs/Cat" }, { ["$ref"] = "#/$defs/Dog" } },
      discriminator = { propertyName = "kind",
        mapping = { puppy = "#/components/schemas/Dog", kitten = "Cat", hound = "Dog" } },
      ["$defs"] = { Cat = pet("lives"), Dog = pet("bark") },
    }
    for _, draft in ipairs({ "2020-12", "openapi-3.0" }) do
      local compiled = assert(schema.compile(definition, { draft = draft }))
      assert.same({ kind = "puppy", bark = 3 }, (compiled:cast({ kind = "puppy", bark = "3", lives = "9" })))
      assert.same({ kind = "kitten", lives = 9 }, (compiled:cast({ kind = "kitten", bark = "3", lives = "9" })))
      assert.same({ kind = "hound", bark = 3 }, (compiled:cast({ kind = "hound", bark = "3", lives = "9" })))
      assert.same({ kind = "Dog", bark = 3 }, (compiled:cast({ kind = "Dog", bark = "3", lives = "x" })))
      assert.same({ kind = "Dog", bark = "x" }, (compiled:cast({ kind = "Dog", bark = "x", junk = 1 }))) -- fits Cat
      local _, issues = compiled:check({ kind = "puppy", bark = "x", lives = "y" })
      assert.equal("/bark", issues[1].path)
      assert.is_true(compiled:check({ kind = "puppy", bark = "3", lives = 9 }))
    end
    definition.oneOf, definition.anyOf = nil, definition.oneOf
    assert.same({ kind = "Dog", bark = 3, lives = 9 },
      (assert(schema.compile(definition)):cast({ kind = "Dog", bark = 3, lives = 9, junk = 1 })))
    local value = { kind = "puppy", bark = "3", lives = "9" }
    local _, without = schema.compile({ anyOf = definition.anyOf, ["$defs"] = definition["$defs"] }):check(value)
    for _, discriminator in ipairs({ { propertyName = 5 }, { mapping = { puppy = "Dog" } }, "kind", { "kind" } }) do
      definition.discriminator = discriminator
      assert.same(without, select(2, assert(schema.compile(definition)):check(value)))
    end
  end)

  it("follows a discriminator by the last part of a reference, of the first branch that has it", function()
    local function pet(name)
      return { type = "object", required = { "kind" }, properties = { kind = { type = "string" },
        [name] = { type = "integer" } } }
    end
    local compiled = assert(schema.compile({
      anyOf = { { ["$ref"] = "#/$defs/Z" }, pet("y"), { ["$ref"] = "#/$defs/A" }, { ["$ref"] = "#/$defs/x/A" },
        { ["$ref"] = "#b" }, { ["$ref"] = "#/$defs/" }, pet("w") },
      discriminator = { propertyName = "kind",
        mapping = { a = "#/A", none = "C", [1] = "A", n = 5, e = "", s = "x/" } },
      ["$defs"] = { Z = pet("z"), A = pet("a"), x = { A = pet("b") }, b = { ["$anchor"] = "b", type = "object",
        properties = { c = { type = "integer" } } }, [""] = pet("d") },
    }))
    local function branch(kind)
      local _, issues = compiled:check({ kind = kind, a = "x", b = "x", c = "x", d = "x", w = "x", y = "x", z = "x" })
      return issues[1].path
    end
    for kind, path in pairs({ A = "/a", a = "/a", ["#b"] = "/c", e = "/d", s = "/d", [""] = "/z", ["\0"] = "/z",
      none = "/z", n = "/z", b = "/z", C = "/z" }) do
      assert.equal(path, branch(kind), kind)
    end
  end)
end)

describe("casting by many schemas at once", function()
  it("casts by 48 schemas, and leaves the value to more", function()
    for _, case in ipairs({ { 47, 1 }, { 48, "1" } }) do
      local compiled = assert(schema.compile({ allOf = many.items(case[1], function(i)
        return { properties = { ["p" .. i] = { type = "integer" } } }
      end) }))
      local value = { p1 = "1", ["p" .. case[1]] = "1" }
      local result, changes = compiled:cast(value)
      assert.same({ p1 = case[2], ["p" .. case[1]] = case[2] }, result)
      assert.equal(case[2] == 1 and 2 or 0, #changes)
    end
  end)

  it("casts a member that more than 48 patterns describe by some of them", function()
    local patterns = {}
    for i = 1, 60 do
      patterns["^" .. ("p?"):rep(i)] = { type = "integer" }
    end
    local plain = { patternProperties = patterns }
    for _, definition in ipairs({ plain, { allOf = { plain } } }) do
      local result, _, fits = cast(definition, { p = "1", ["pp"] = "x" })
      assert.same({ p = 1, pp = "x" }, result)
      assert.is_false(fits)
    end
  end)

  it("casts in six passes, each on the result of the one before", function()
    for _, count in ipairs({ 1, 5, 6, 7 }) do
      local parts, value, expected = {}, { p0 = "1" }, { p0 = 1 }
      for i = 1, count do
        parts[i] = { ["if"] = { properties = { ["p" .. i - 1] = { type = "integer" } } },
          ["then"] = { properties = { ["p" .. i] = { type = "integer" } } } }
        value["p" .. i], expected["p" .. i] = "1", i < 6 and 1 or "1"
      end
      assert.same(expected, (cast({ properties = { p0 = { type = "integer" } }, allOf = parts,
        additionalProperties = true }, value)))
    end
  end)

  it("prefers the branch whose const is there to one that knows nine other members", function()
    for count, taken in pairs({ [1] = "kind", [9] = "kind", [10] = "members" }) do
      local value = many.members(count, function() return "s" end)
      value.kind = "x"
      local members = many.members(count, function() return { type = "string" } end)
      members.taken = { default = "members" }
      local result = cast({ anyOf = {
        { type = "object", required = { "other" }, properties = members },
        { type = "object", required = { "kind", "more" },
          properties = { kind = { const = "x" }, taken = { default = "kind" } } },
      } }, value)
      value.taken = taken
      assert.same(value, result)
    end
  end)

  it("prefers the branch that knows more members, and to twelve of them one that conforms", function()
    local function branch(count, kind)
      local properties = many.members(count, function() return { type = "integer" } end)
      properties.kind = kind
      properties.taken = { default = count }
      return { type = "object", required = { "missing" }, properties = properties }
    end
    local value = many.members(13, function() return "x" end)
    value.kind = "k"
    local text_kind = { type = "string" }
    for _, case in ipairs({ { branch(1), branch(2), 2 }, { branch(2), branch(1), 2 }, { branch(0), branch(1), 1 },
      { branch(0, text_kind), branch(9), 0 }, { branch(9), branch(0, text_kind), 0 },
      { branch(0, text_kind), branch(12), 12 }, { branch(12), branch(0, text_kind), 12 } }) do
      local result = cast({ anyOf = { case[1], case[2] } }, value)
      assert.equal(case[3], result.taken)
    end
  end)

  it("fills in the defaults of a branch that another keyword applies as well", function()
    local function named(name)
      return { properties = { [name] = { default = name } } }
    end
    local k, again = { k = true }, { ["$ref"] = "#/$defs/b" }
    assert.same({ k = 1, a = "a" }, (cast({ anyOf = { named("a"), named("b") }, properties = k }, { k = 1 })))
    for _, keywords in ipairs({ { allOf = { again } }, { ["if"] = true, ["then"] = again },
      { dependentSchemas = { k = again } } }) do
      for _, b in ipairs({ named("b"), { allOf = { named("b") } } }) do
        keywords["$defs"], keywords.anyOf, keywords.properties = { b = b }, { named("a"), again }, k
        assert.same({ k = 1, a = "a", b = "b" }, (cast(keywords, { k = 1 })))
      end
    end
  end)

  it("says where a default needs itself for ever", function()
    local next_one = { properties = { next = { ["$ref"] = "#", default = {} } } }
    for name, definition in pairs({ plain = next_one, merged = { allOf = { next_one } } }) do
      local compiled = assert(schema.compile(definition))
      local value = operations.object({})
      local result, changes, err = compiled:cast(value)
      assert.same({}, result, name)
      assert.equal(0, #changes)
      assert.equal("nested too deeply to fill in values", err.details[1].message, name)
      assert.equal("/next/next", err.details[1].path:sub(1, 10))
      assert.equal("default", err.details[1].keyword)
    end
  end)
end)

describe("casting a value that is too deep", function()
  it("fails as a whole, whatever defaults were filled in before", function()
    local again = { properties = { a = { default = 1 }, b = { ["$ref"] = "#/$defs/again" } } }
    local deep = operations.object({})
    for _ = 1, 600 do
      deep = { b = deep }
    end
    local list = { operations.object({}), deep }
    for _, definition in ipairs({ again, { allOf = { again, { minProperties = 0 } } } }) do
      local items = { items = { ["$ref"] = "#/$defs/again" }, ["$defs"] = { again = definition } }
      local around = { items = { items = items.items }, ["$defs"] = items["$defs"] }
      for _, case in ipairs({ { items, list }, { around, { list } } }) do
        for _, mode in ipairs({ "cast", "force" }) do
          local result, changes, err = assert(schema.compile(case[1])):cast(case[2], mode)
          assert.equal(case[2], result)
          assert.same({ 0, "" }, { #changes, err.details[1].path })
        end
      end
    end
  end)
end)

describe("casting a member that a pattern and a name both describe", function()
  it("keeps a valid value valid when the pattern refuses the default", function()
    local result, _, fits = cast({ properties = { ["a/b"] = { default = true } },
      patternProperties = { ["b$"] = { ["not"] = true } } }, operations.object({}))
    assert.equal("{}", text(result))
    assert.is_true(fits)
  end)

  it("casts the member by both", function()
    local result = cast({ properties = { a = { type = "integer" } },
      patternProperties = { ["^a"] = { maximum = 5 } } }, { a = "3" })
    assert.equal('{"a":3}', text(result))
  end)
end)

local json = require("operations.base.json")
local many = require("spec.support.many")
local schema = require("operations.schema")

local function issues(definition, value, options)
  local compiled = assert(schema.compile(definition, options))
  local ok, list = compiled:check(value)
  assert.is_false(ok)
  local lines = {}
  for i, issue in ipairs(list) do
    lines[i] = issue.path .. ": " .. issue.message
  end
  return lines, list
end

local function closed(properties, required)
  return { type = "object", properties = properties, required = required, additionalProperties = false }
end

local function tagged(tag)
  return { type = "object", required = { "tag" }, properties = { tag = { const = tag } } }
end

describe("the issues of a value", function()
  for name, case in pairs({
    ["a wrong type"] = { { type = { "string", "null" } }, 1, ": expected string or null, got 1" },
    ["NaN"] = { { type = "number" }, 0 / 0, ": expected number, got NaN" },
    ["a NaN that anything would do for"] = { { properties = { f = {} } }, { f = 0 / 0 },
      "/f: expected a JSON value, got NaN" },
    ["a function that only has to be there"] = { { required = { "f" } }, { f = print },
      "/f: expected a JSON value, got function" },
    ["a function in what only has to be there"] = { { required = { "f" } }, { f = { a = { 1, print } } },
      "/f/a/1: expected a JSON value, got function" },
    ["infinity"] = { {}, math.huge, ": expected a JSON value, got infinity" },
    ["a function"] = { { type = "object", properties = { f = true } }, { f = print },
      "/f: expected a JSON value, got function" },
    ["the schema false"] = { { properties = { a = false } }, { a = 1 }, "/a: no value is allowed here" },
    ["a long string"] = { { maxLength = 20 }, ("x"):rep(34), ": expected at most 20 characters, got 34" },
    ["a short string"] = { { minLength = 1 }, "", ": expected at least 1 character, got 0" },
    ["a pattern"] = { { pattern = "^a" }, "b", ": expected a string that matches ^a, got \"b\"" },
    ["a minimum"] = { { minimum = 2 }, 1, ": expected a number of at least 2, got 1" },
    ["a maximum"] = { { maximum = 2.5 }, 3, ": expected a number of at most 2.5, got 3" },
    ["an exclusive minimum"] = { { exclusiveMinimum = 2 }, 2, ": expected a number above 2, got 2" },
    ["an exclusive maximum"] = { { exclusiveMaximum = 2 }, 2, ": expected a number below 2, got 2" },
    ["a multiple"] = { { multipleOf = 2 }, 3, ": expected a number that is a multiple of 2, got 3" },
    ["few items"] = { { minItems = 2 }, { 1 }, ": expected at least 2 items, got 1" },
    ["many items"] = { { maxItems = 1 }, { 1, 2 }, ": expected at most 1 item, got 2" },
    ["equal items"] = { { uniqueItems = true }, { 1, 2, 1 }, ": expected different items, 0 and 2 are equal" },
    ["an item"] = { { items = { type = "string" } }, { "a", 2 }, "/1: expected string, got 2" },
    ["a tuple"] = { { prefixItems = { true, { const = 1 } } }, { 1, 2 }, "/1: expected 1, got 2" },
    ["nothing contained"] = { { contains = { const = 1 } }, { 2 },
      ": expected at least 1 item of the contained kind, found 0" },
    ["too much contained"] = { { contains = { const = 1 }, maxContains = 1 }, { 1, 1 },
      ": expected at most 1 item of the contained kind, found 2" },
    ["few properties"] = { { minProperties = 2 }, { a = 1 }, ": expected at least 2 properties, got 1" },
    ["many properties"] = { { maxProperties = 1 }, { a = 1, b = 2 }, ": expected at most 1 property, got 2" },
    ["a missing null"] = { { required = { "a" }, properties = { a = { type = "null" } } }, { b = 1 },
      "/a: required, but missing; expected null" },
    ["a missing property that no value fits"] = { { required = { "a" }, properties = { a = false } }, { b = 1 },
      "/a: required, but missing" },
    ["a missing property"] = { { required = { "a" } }, { b = 1 }, "/a: required, but missing" },
    ["a missing property of a type"] = {
      { required = { "a" }, properties = { a = { ["$ref"] = "#/$defs/a" } }, ["$defs"] = { a = { type = "array" } } },
      { b = 1 }, "/a: required, but missing; expected array",
    },
    ["an unknown property"] = { closed({ a = true, b = true }), { c = 1 },
      "/c: unknown property; expected \"a\" or \"b\"" },
    ["a property with letters that differ"] = { closed({ title = true, id = true }), { titel = 1 },
      "/titel: unknown property; expected \"id\" or \"title\" (did you mean title?)" },
    ["a property in another spelling"] = { closed({ dueDate = true, dueDay = true }), { due_date = 1 },
      "/due_date: unknown property; expected \"dueDate\" or \"dueDay\" (did you mean dueDate?)" },
    ["the beginning of a property"] = { closed({ priority = true }), { prio = 1 },
      "/prio: unknown property; expected \"priority\" (did you mean priority?)" },
    ["a property that is like none"] = { closed({ id = true, [("x"):rep(65)] = true }), { [("x"):rep(66)] = 1 },
      "/" .. ("x"):rep(66) .. ": unknown property; expected \"id\" or \"" .. ("x"):rep(60) .. "...\"" },
    ["a number that is none"] = { { type = "string" }, 0 / 0, ": expected string, got NaN" },
    ["a long text"] = { { type = "integer" }, ("x"):rep(70), ': expected integer, got "' .. ("x"):rep(60) .. '..."' },
    ["any property"] = { { additionalProperties = false }, { c = 1 }, "/c: unknown property" },
    ["another property"] = { { additionalProperties = { type = "string" } }, { c = 1 },
      "/c: expected string, got 1" },
    ["a property by a pattern"] = { { patternProperties = { ["^x"] = { type = "string" } } }, { x1 = 1 },
      "/x1: expected string, got 1" },
    ["a property's name"] = { { propertyNames = { maxLength = 2 } }, { abc = 1 },
      "/abc: this name does not fit: expected at most 2 characters, got 3" },
    ["a dependent property"] = { { dependentRequired = { a = { "b" } } }, { a = 1 },
      "/b: required because \"a\" is present, but missing" },
    ["a dependent schema"] = { { dependentSchemas = { a = { minProperties = 2 } } }, { a = 1 },
      ": expected at least 2 properties, got 1" },
    ["an unevaluated property"] = { { allOf = { { properties = { a = true } } }, unevaluatedProperties = false },
      { a = 1, b = 1 }, "/b: unknown property" },
    ["an unevaluated property's type"] = { { unevaluatedProperties = { type = "string" } }, { b = 1 },
      "/b: expected string, got 1" },
    ["an unevaluated item"] = { { prefixItems = { true }, unevaluatedItems = false }, { 1, 2 },
      "/1: no value is allowed here" },
    ["an enum"] = { { enum = { "a", 1, json.null, true, { 1 }, {} } }, "x",
      ": expected one of \"a\", 1, null, true, an array or an empty object, got \"x\"" },
    ["a const"] = { { const = "a" }, ("x"):rep(70), ": expected \"a\", got \"" .. ("x"):rep(60) .. "...\"" },
    ["a const that is a table"] = { { const = { a = 1 } }, { a = 2 }, ": expected an object, got another one" },
    ["not"] = { { ["not"] = { type = "null" } }, json.null,
      ": expected a value that does not fit the schema of not" },
    ["then"] = { { ["if"] = { type = "string" }, ["then"] = { minLength = 2 } }, "x",
      ": expected at least 2 characters, got 1" },
    ["else"] = { { ["if"] = { type = "string" }, ["else"] = { minimum = 2 } }, 1,
      ": expected a number of at least 2, got 1" },
    ["keys that are numbers"] = { { additionalProperties = { type = "integer" } }, { x = 1, [5] = 2 },
      ": the keys of an object are strings, got a number" },
    ["names in an array where anything goes"] = { { properties = { a = true } }, { a = { 1, x = 2 } },
      "/a: expected an array, got a table with holes or other keys" },
    ["a hole in an item that may be anything"] = { { items = {} }, { 1, { [1] = 1, [5] = 2 } },
      "/1: expected an array, got a table with holes or other keys" },
    ["a key that is a boolean"] = { { properties = { a = true }, additionalProperties = false }, { a = 1, [true] = 2 },
      ": the keys of an object are strings, got a boolean" },
    ["several types"] = { { type = { "number", "boolean", "array", "object" } }, "x",
      ': expected number, boolean, array or object, got "x"' },
    ["the types of a missing property"] = { { properties = { a = { type = { "integer", "string", "null" } } },
      required = { "a" } }, { b = 1 }, "/a: required, but missing; expected string, integer or null" },
    ["a const array"] = { { const = { 1 } }, { 2 }, ": expected an array, got another one" },
    ["a const object of another kind"] = { { const = json.decode("{}") }, { 2 },
      ": expected an empty object, got an array" },
    ["an enum of scalars of every type"] = { { enum = { json.null, false, 1.5, "x" } }, true,
      ": expected one of null, false, 1.5 or \"x\", got true" },
    ["a tag that is a table"] = { { anyOf = { tagged("t1"), tagged("t2") } }, { tag = { a = 1 } },
      "/tag: expected \"t1\" or \"t2\", got an object" },
    ["a text without the beginning of a character"] = { { const = "a" }, ("\128"):rep(61),
      ": expected \"a\", got \"...\"" },
    ["an enum of nothing"] = { { enum = json.decode("[]") }, 1, ": expected nothing, got 1" },
    ["a union of nothing"] = { { anyOf = json.decode("[]") }, 1, ": expected nothing, got 1" },
    ["an unknown property where none is described"] = { { required = { "a" }, additionalProperties = false },
      { a = 1 }, "/a: unknown property; expected nothing" },
    ["a table with holes"] = { { type = "array" }, { 1, nil, 3 },
      ": expected an array, got a table with holes or other keys" },
    ["an array with names"] = { { properties = { a = { type = "array" } } }, { a = { 1, x = 2 } },
      "/a: expected an array, got a table with holes or other keys" },
  }) do
    it("say " .. name .. " for people", function()
      assert.same({ case[3] }, (issues(case[1], case[2])))
    end)
  end

  it("are of the misfits, and of nothing else that was asked for", function()
    local text = { type = "string", minLength = 2, maxLength = 5, pattern = "^[a@]", format = "email" }
    local number = { type = "number", minimum = 1, maximum = 9, exclusiveMinimum = 0, exclusiveMaximum = 11,
      multipleOf = 3 }
    local list = { type = "array", minItems = 1, maxItems = 3, uniqueItems = true, contains = { const = 1 } }
    local object = { type = "object", minProperties = 2, maxProperties = 3, required = { "a" },
      propertyNames = { maxLength = 1 }, dependentRequired = { b = { "c" } },
      patternProperties = { d = { type = "string" } } }
    for _, case in ipairs({
      { text, "a@b" }, { text, "a@bcde", "maxLength" }, { text, "b@c", "pattern" }, { text, "abc", "format" },
      { text, "@", "format", "minLength" },
      { number, 3 }, { number, 4, "multipleOf" }, { number, 0.3, "minimum", "multipleOf" },
      { number, -3, "exclusiveMinimum", "minimum" }, { number, 12, "exclusiveMaximum", "maximum" },
      { list, { 1 } }, { list, { 1, 2, 3, 4 }, "maxItems" }, { list, { 1, 2, 2 }, "uniqueItems" },
      { list, { 2 }, "contains" }, { list, json.decode("[]"), "contains", "minItems" },
      { object, { a = 1, c = 1 } }, { object, { a = 1 }, "minProperties" }, { object, { c = 1, e = 1 }, "required" },
      { object, { a = 1, b = 1, c = 1, e = 1 }, "maxProperties" }, { object, { a = 1, ee = 1 }, "propertyNames" },
      { object, { a = 1, b = 1 }, "dependentRequired" }, { object, { a = 1, d = 1 }, "type" },
    }) do
      for _, definition in ipairs({ case[1], { allOf = { case[1] } }, { title = "t", ["not"] = { const = 0 },
        ["if"] = true, ["then"] = case[1] } }) do
        local _, found = assert(schema.compile(definition, { formats = true })):check(case[2])
        local keywords = {}
        for at, issue in ipairs(found or {}) do
          keywords[at] = issue.keyword
        end
        table.sort(keywords)
        assert.same({ case[3], case[4] }, keywords)
      end
    end
  end)

  it("say formats for people", function()
    local on = { formats = true }
    assert.same({ ": expected a string of format date, got \"x\"" }, (issues({ format = "date" }, "x", on)))
    assert.same({ ": expected a number of format int32, got 4294967296" },
      (issues({ format = "int32" }, 4294967296, on)))
  end)

  it("come all at once, known properties first, the others by name", function()
    assert.same({
      "/a: required, but missing; expected string", '/b: expected integer, got "1"',
      "/x: unknown property; expected \"a\" or \"b\"", "/y: unknown property; expected \"a\" or \"b\"",
    }, (issues(closed({ a = { type = "string" }, b = { type = "integer" } }, { "a" }), { b = "1", y = 1, x = 2 })))
  end)

  it("stop at the limit", function()
    local value = {}
    for i = 1, 500 do
      value[i] = "x"
    end
    assert.equal(100, #issues({ items = { type = "integer" } }, value))
    assert.equal(3, #issues({ items = { type = "integer" } }, value, { max_issues = 3 }))
  end)

  it("name the type of a missing member, and the tags of branches, through 32 references", function()
    local function through(count, last)
      local definitions = { ["d" .. count] = last }
      for i = 1, count - 1 do
        definitions["d" .. i] = { ["$ref"] = "#/$defs/d" .. i + 1 }
      end
      return { ["$ref"] = "#/$defs/d1" }, definitions
    end
    for _, case in ipairs({
      { 1, "/a: required, but missing; expected array", "/t: expected \"x\" or \"y\", got \"z\"" },
      { 32, "/a: required, but missing; expected array", "/t: expected \"x\" or \"y\", got \"z\"" },
      { 33, "/a: required, but missing", "/t: expected \"x\", got \"z\"" },
    }) do
      local reference, definitions = through(case[1], { type = "array" })
      assert.same({ case[2] }, (issues({ ["$defs"] = definitions, required = { "a" },
        properties = { a = reference } }, { b = 1 })))
      reference, definitions = through(case[1], { type = "object", required = { "t" },
        properties = { t = { const = "x" } } })
      assert.same({ case[3] }, (issues({ ["$defs"] = definitions, oneOf = { reference,
        { type = "object", required = { "t" }, properties = { t = { const = "y" } } } } }, { t = "z" })))
    end
  end)

  it("count, of the names that they leave out, only those of declared properties", function()
    for count, ending in pairs({ [24] = 'p9"', [25] = 'p9" or 1 more' }) do
      local required = many.items(25, function(i) return i < 25 and "p" .. i or "undeclared" end)
      local value = many.members(24, function() return 1 end)
      value.undeclared, value.other = 1, 1
      for _, line in ipairs((issues(closed(many.members(count, function() return true end), required), value))) do
        assert.equal(ending, line:match('p9".*$'))
      end
    end
  end)

  it("show 60 bytes of a text, and no part of a character", function()
    local function shown(given)
      return (issues({ const = "a" }, given))[1]:match("got (.*)$")
    end
    for length = 58, 63 do
      local text = ("x"):rep(length)
      assert.equal(length <= 60 and '"' .. text .. '"' or '"' .. ("x"):rep(60) .. '..."', shown(text))
      for _, character in ipairs({ "\195\164", "\226\130\172", "\240\159\152\128" }) do
        for before = 55, 60 do
          local start = ("x"):rep(before)
          local whole = before + #character <= 60
          assert.equal('"' .. start .. (whole and character .. ("y"):rep(60 - before - #character) or "") .. '..."',
            shown(start .. character .. ("y"):rep(length)))
        end
      end
    end
    assert.equal('"..."', shown(("\128"):rep(61)))
  end)

  it("have paths as JSON Pointers", function()
    local _, list = issues({ properties = { ["a/b~c"] = { items = { type = "null" } } } }, { ["a/b~c"] = { 1 } })
    assert.equal("/a~1b~0c/0", list[1].path)
    assert.equal("/properties/a~1b~0c/items/type", list[1].schemaPath)
  end)

  it("have each byte of a name in their paths", function()
    for name, token in pairs({ ["a\0/b\0~c"] = "a\0~1b\0~0c", [""] = "", ["~/"] = "~0~1", ["//"] = "~1~1",
      ["~0"] = "~00", [("/"):rep(5000)] = ("~1"):rep(5000), [("x"):rep(5000)] = ("x"):rep(5000) }) do
      local _, list = issues({ properties = { [name] = { type = "null" } } }, { [name] = 1 })
      assert.equal("/" .. token, list[1].path)
      assert.equal("/properties/" .. token .. "/type", list[1].schemaPath)
    end
  end)

  it("have whole paths at any depth", function()
    for _, levels in ipairs({ 1, 14, 15, 16, 17, 30, 31, 32, 33, 34, 63, 64, 65, 100 }) do
      local definition, value, path, place = { type = "null" }, 1, "", ""
      for i = 1, levels do
        local name = "n~/" .. i
        definition = { properties = { [name] = { prefixItems = { true, definition } } } }
        value = { [name] = { 0, value } }
        path = "/n~0~1" .. i .. "/1" .. path
        place = "/properties/n~0~1" .. i .. "/prefixItems/1" .. place
      end
      local _, list = issues(definition, value)
      assert.same({ path, place .. "/type" }, { list[1].path, list[1].schemaPath })
    end
  end)

  it("carry values for programs in params", function()
    local function params(definition, value)
      local _, list = issues(definition, value)
      return list[1].params
    end
    assert.same({ limit = 2 }, params({ maxLength = 2 }, "abc"))
    assert.same({ limit = 2 }, params({ minimum = 2 }, 1))
    assert.same({ multipleOf = 2 }, params({ multipleOf = 2 }, 1))
    assert.same({ allowedValues = { 1, 2 } }, params({ enum = { 1, 2 } }, 3))
    assert.same({ allowedValue = 1 }, params({ const = 1 }, 3))
    assert.same({ pattern = "a" }, params({ pattern = "a" }, "b"))
    assert.same({ missingProperty = "a" }, params({ required = { "a" } }, { b = 1 }))
    assert.same({ additionalProperty = "b" }, params({ additionalProperties = false }, { b = 1 }))
    assert.same({ i = 0, j = 1 }, params({ uniqueItems = true }, { 1, 1 }))
  end)

  describe("of a union", function()
    local text = { type = "object", required = { "type", "text" },
      properties = { type = { const = "text" }, text = { type = "string" } } }
    local image = { type = "object", required = { "type", "data" },
      properties = { type = { const = "image" }, data = { type = "string" } } }

    it("are those of the branch that the value names", function()
      assert.same({ "/text: expected string, got 5" }, (issues({ anyOf = { image, text } },
        { type = "text", text = 5 })))
    end)

    it("list the names when none is given or it is unknown", function()
      assert.same({ "/type: expected \"image\" or \"text\", got \"sound\"" },
        (issues({ anyOf = { image, text } }, { type = "sound" })))
      assert.same({ "/type: required, but missing; expected \"image\" or \"text\"" },
        (issues({ oneOf = { image, text } }, { data = "x" })))
    end)

    it("list the tags where a required property tells all branches for objects apart", function()
      local function branch(tag, more)
        local made = { type = "object", required = { "tag", "sort" },
          properties = { tag = tag, sort = { type = "string" } } }
        for name, value in pairs(more or {}) do
          made[name] = value
        end
        return made
      end
      local a, b = { const = "A" }, { const = "B" }
      local of_tag = "expected \"A\" or \"B\", got \"Z\""
      local function sorts(sort)
        return { properties = { tag = a, sort = sort } }
      end
      for _, case in ipairs({
        { { branch(a), branch(b) }, "/tag", of_tag },
        { { branch(a), { type = "string" }, branch(b) }, "/tag", of_tag },
        { { { type = "string" }, branch(a), branch(b) }, "/tag", of_tag },
        { { branch(a), { required = { "tag" }, properties = { tag = b } } } },
        { { branch(a), branch(b, { type = { "object", "null" } }) } },
        { { branch(a), branch(b), branch(a) } },
        { { branch(a, sorts({ enum = { "x", "y" } })), branch(a, sorts({ const = "z" })) }, "/sort",
          "expected \"x\", \"y\" or \"z\", got \"w\"" },
        { { branch({ enum = { "A", "B" } }), branch({ const = "C" }) }, "/tag",
          "expected \"A\", \"B\" or \"C\", got \"Z\"" },
        { { branch({ enum = { "A", "B" } }), branch({ enum = { "B", "C" } }) } },
        { { branch({ enum = { "A", 1 } }), branch(b) } },
        { { branch({ const = 1 }), branch({ const = 2 }) } },
        { { branch(a), branch(b, { required = { "sort" } }) } },
        { { branch(a, { required = { "sort" } }), branch(b) } },
        { { { type = "object", minProperties = 9 }, branch(b) } },
        { { branch(b), { type = "object", minProperties = 9 } } },
        { { { ["$ref"] = "#/$defs/a" }, branch({ ["$ref"] = "#/$defs/b" }) }, "/tag", of_tag },
        { { branch({ enum = json.decode("[]") }), branch(b) } },
        { { branch({ const = "A", type = "string" }), branch({ const = "B", pattern = "B" }) }, "/tag", of_tag },
      }) do
        for _, keyword in ipairs({ "anyOf", "oneOf" }) do
          local definition = { [keyword] = case[1], ["$defs"] = { a = branch(a), b = b } }
          local _, list = issues(definition, { tag = "Z", sort = "w" })
          assert.equal(1, #list)
          local listed = list[1].keyword == keyword
          assert.same({ case[2], case[3] }, { listed and list[1].path or nil, listed and list[1].message or nil })
        end
      end
    end)

    it("are those of the closest branch otherwise", function()
      local point = closed({ x = { type = "integer" }, y = { type = "integer" } }, { "x", "y" })
      local name = closed({ first = { type = "string" }, last = { type = "string" } }, { "first", "last" })
      assert.same({ "/last: expected string, got 1" },
        (issues({ anyOf = { point, name, { type = "string" } } }, { first = "a", last = 1 })))
      assert.same({ '/y: expected integer, got "1"' }, (issues({ oneOf = { point, name } }, { x = 1, y = "1" })))
    end)

    it("are those of the first of equally close branches; a wrong const counts as much as 17 others", function()
      local function lacking(count)
        return { type = "object", required = many.items(count, function(i) return "p" .. i end) }
      end
      for _, keyword in ipairs({ "const", "enum" }) do
        local wrong = { type = "object", properties = { k = { [keyword] = keyword == "const" and "x" or { "x" } } } }
        for _, case in ipairs({ { lacking(16), wrong, 16 }, { wrong, lacking(16), 16 }, { lacking(17), wrong, 17 },
          { wrong, lacking(17), 1 }, { lacking(18), wrong, 1 }, { lacking(2), lacking(1), 1 } }) do
          assert.equal(case[3], #issues({ anyOf = { case[1], case[2] } }, { k = "y" }))
        end
      end
      local first, second = { required = { "a" }, type = "object" }, { required = { "b" }, type = "object" }
      assert.same({ "/a: required, but missing" }, (issues({ anyOf = { first, second } }, { k = 1 })))
      assert.same({ "/b: required, but missing" }, (issues({ oneOf = { second, first } }, { k = 1 })))
    end)

    it("name the types when none is right", function()
      assert.same({ ": expected string or integer, got true" },
        (issues({ anyOf = { { type = "integer" }, { type = "string" } } }, true)))
    end)

    it("name the branches of a oneOf that fit both", function()
      assert.same({ ": expected to fit one alternative only, fits 0 and 2 of oneOf" },
        (issues({ oneOf = { { type = "integer" }, { type = "string" }, { minimum = 0 } } }, 5)))
      assert.same({ ": expected to fit one alternative only, fits 1 and 2 of oneOf" },
        (issues({ oneOf = { { type = "string" }, { type = "integer" }, { minimum = 1 }, { maximum = 9 } } }, 5)))
    end)
  end)

  it("end where a branch that was not taken refers to itself", function()
    assert.same({ "/a: expected string, got 1" }, (issues({
      allOf = { { properties = { a = { type = "string" } } } }, ["if"] = false, ["then"] = { ["$ref"] = "#/$defs/r" },
      ["$defs"] = { r = { ["$ref"] = "#/$defs/r" } }, unevaluatedProperties = false,
    }, { a = 1, b = 1 })))
  end)

  it("report unknown properties once, when another misfit hides what was evaluated", function()
    assert.same({ "/a: expected string, got 1", "/z: unknown property" }, (issues({
      allOf = { { anyOf = { { properties = { a = { type = "string" } } } } } }, unevaluatedProperties = false,
    }, { a = 1, z = 1 })))
  end)
end)

describe("an empty table without a mark", function()
  it("has the type that the schema allows, and is an object where it allows neither", function()
    for _, case in ipairs({
      { { type = "string" }, "expected string, got object" }, { { type = "integer" }, "expected integer, got object" },
      { { type = { "null", "boolean" } }, "expected boolean or null, got object" },
      { { type = "array", minItems = 1 }, "expected at least 1 item, got 0" },
      { { type = "object", minProperties = 1 }, "expected at least 1 property, got 0" },
      { { type = { "array", "object" }, minProperties = 1 }, "expected at least 1 property, got 0" },
      { { type = { "array", "object" }, minItems = 1 } }, { { type = { "array", "null" } } },
    }) do
      local _, found = assert(schema.compile(case[1])):check({})
      assert.equal(case[2], found and found[1].message)
    end
    local _, found = assert(schema.compile({ type = { "array", "null" } })):check({ x = 1 })
    assert.equal("expected array or null, got object", found[1].message)
  end)
end)

describe("a value that JSON cannot express", function()
  it("is reported at the schema itself where only a name is required", function()
    local _, found = assert(schema.compile({ required = { "a" } })):check({ a = print })
    assert.equal("/a", found[1].path)
    assert.equal("", found[1].schemaPath)
  end)
end)

local json = require("operations.base.json")
local many = require("spec.support.many")
local schema = require("operations.schema")
local sources = require("spec.support.sources")

local function problems(definition, options)
  local compiled, err = schema.compile(definition, options)
  assert.is_nil(compiled)
  assert.equal("VALIDATION_ERROR", err.code)
  local list = {}
  for i, issue in ipairs(err.details) do
    list[i] = issue.path .. ": " .. issue.message
  end
  table.sort(list)
  return list
end

local itself = {}
itself.a = itself

-- The options with which each URI names this document.
local function resolving(document)
  return { resolve = function() return document end }
end

describe("a keyword", function()
  it("has its row in the order of the alphabet, where the search finds it", function()
    local count, last = 0, ""
    for name in sources.read("src/schema/program/keyword.h"):gmatch('ROW%(KEYWORD_[%u%d_]+,%s+\\?%s*"([%$%a]+)"') do
      assert.is_true(last < name, name)
      count, last = count + 1, name
    end
    assert.is_true(count > 50)
  end)

  it("is its whole name, a part beyond a NUL included", function()
    for _, name in ipairs({ "type\0", "type\0x", "$ref\0", "\0type", "\0", "" }) do
      assert.is_true((assert(schema.compile({ [name] = "string" })):check(5)))
      assert(schema.compile({ [name] = 5 }))
    end
  end)
end)

describe("compiling a schema", function()
  it("reports everything that is wrong with it, by path", function()
    assert.same({
      "/items/type: unknown type \"text\"; expected null, boolean, integer, number, string, array or object",
      "/maxLength: expected a non-negative integer, got -1",
      "/properties/a/enum: expected an array, got string",
      "/properties/b: expected a schema (a table or a boolean), got string",
      "/required: expected an array of property names, got boolean",
    }, problems({
      maxLength = -1, required = true, items = { type = "text" }, properties = { a = { enum = "x" }, b = "string" },
    }))
  end)

  for name, case in pairs({
    ["a count that is no integer"] = { { minItems = 1.5 }, "/minItems: expected a non-negative integer, got 1.5" },
    ["a count that is no number"] = { { minItems = "1" }, "/minItems: expected a non-negative integer, got string" },
    ["a bound that is no number"] = { { minimum = "1" }, "/minimum: expected a number, got string" },
    ["an infinite bound"] = { { maximum = math.huge }, "/maximum: expected a number, got infinity" },
    ["a multipleOf that is NaN"] = { { multipleOf = 0 / 0 }, "/multipleOf: expected a number, got NaN" },
    ["a const that contains itself"] = { { const = itself }, "/const: a table that contains itself is not a JSON" },
    ["an enum with a function"] = { { enum = { 1, print } }, "/enum: function is not a JSON value" },
    ["a default with NaN"] = { { default = { 0 / 0 } }, "/default: NaN is not a JSON value" },
    ["a multipleOf of zero"] = { { multipleOf = 0 }, "/multipleOf: expected a number above 0, got 0" },
    ["a pattern that is none"] = { { pattern = "(" }, "/pattern: \"(\" is not a regular expression" },
    ["a patternProperties name that is no pattern"] = {
      { patternProperties = { ["["] = true } }, "/patternProperties: \"[\" is not a regular expression",
    },
    ["a long pattern that is invalid, whose beginning is in the message"] = {
      { pattern = ("\195\164"):rep(99) .. "a\195\164(" },
      "/pattern: \"" .. ("\195\164"):rep(99) .. "a...\" is not a regular expression",
    },
    ["a pattern that is no string"] = { { pattern = 1 }, "/pattern: expected a string, got integer" },
    ["a type that is no name"] = { { type = { 1 } }, "/type: expected the name of a type, or an array of them" },
    ["a flag that is no boolean"] = { { uniqueItems = 1 }, "/uniqueItems: expected a boolean, got integer" },
    ["branches that are no array"] = { { anyOf = { x = 1 } }, "/anyOf: expected an array of schemas, got object" },
    ["properties that are an array"] = { { properties = { true } }, "/properties: expected an object, got array" },
    ["names that are numbers"] = { { properties = { [2.5] = true } }, "/properties: names are strings, got a number" },
    ["keys that are numbers"] = { { [7] = true }, "the keys of a schema are strings, got a number" },
    ["an array for a schema"] = { { ["not"] = { true } }, "/not: expected a schema (a table or a boolean), got array" },
    ["names of dependents that are none"] = {
      { dependentRequired = { a = "b" } }, "/dependentRequired: expected arrays of property names, got string",
    },
    ["a reference to nowhere"] = { { ["$ref"] = "#/$defs/x" }, "/$ref: \"#/$defs/x\" does not point to a schema" },
    ["a reference to an item that is no number as JSON writes it"] = { { ["$ref"] = "#/allOf/00", allOf = { {} } },
      "/$ref: \"#/allOf/00\" does not point to a schema" },
    ["a reference to an unknown anchor"] = { { ["$ref"] = "#x" }, "/$ref: \"#x\" does not point to a schema" },
    ["a reference to a value that is not a schema"] = {
      { ["$ref"] = "#/title", title = "x" }, "/$ref: \"#/title\" does not point to a schema",
    },
    ["an unknown dialect"] = { { ["$schema"] = "http://example.com/x" }, "\"http://example.com/x\" is an unknown" },
    ["a count that is infinite"] = { { minItems = math.huge },
      "/minItems: expected a non-negative integer, got infinity" },
    ["an exclusive bound of draft 4 that is a text"] = { { exclusiveMaximum = "x" },
      "/exclusiveMaximum: expected a boolean, got string", { draft = "4" } },
    ["a nullable of OpenAPI 3.0 that is a number"] = { { nullable = 1 }, "/nullable: expected a boolean, got integer",
      { draft = "openapi-3.0" } },
    ["a type that is a boolean"] = { { type = true },
      "/type: expected the name of a type, or an array of them, got boolean" },
    ["a function for a schema"] = { { ["if"] = print }, "/if: expected a schema (a table or a boolean), got function" },
    ["items of draft 7 that are no schema"] = { { items = { true, "x" } },
      "/items/1: expected a schema (a table or a boolean), got string", { draft = "7" } },
    ["dependencies of draft 7 that are no schema"] = { { dependencies = { d = 5 } },
      "/dependencies/d: expected a schema (a table or a boolean), got integer", { draft = "7" } },
    ["branches that are a text"] = { { oneOf = "x" }, "/oneOf: expected an array of schemas, got string" },
    ["dependent schemas that are a text"] = { { dependentSchemas = "x" },
      "/dependentSchemas: expected an object, got string" },
    ["names that are booleans"] = { { properties = { [true] = true } },
      "/properties: names are strings, got a boolean" },
    ["dependents that are not names"] = { { dependentRequired = { c = { 1 } } },
      "/dependentRequired: expected arrays of property names, got array" },
    ["required names that are numbers"] = { { required = { "a", 1 } },
      "/required: expected an array of property names, got array" },
    ["required names in an object"] = { { required = { a = "b" } },
      "/required: expected an array of property names, got object" },
    ["a format that is a table"] = { { format = {} }, "/format: expected a string, got object" },
    ["a default with infinity"] = { { default = { a = { math.huge } } }, "/default: infinity is not a JSON value" },
    ["an enum that contains itself"] = { { enum = { itself } },
      "/enum: a table that contains itself is not a JSON value" },
    ["an enum that is an object"] = { { enum = { a = 1 } }, "/enum: expected an array, got object" },
    ["a path with characters that JSON Pointer escapes"] = { { properties = { ["b/c~"] = { type = "x" } } },
      "/properties/b~1c~0/type: unknown type \"x\"" },
    ["a quantifier after another"] = { { patternProperties = { ["a**"] = true } },
      "/patternProperties: \"a**\" is not a regular expression: nothing to repeat at offset 2" },
    ["a reference from a base to no document"] = { { ["$id"] = "https://example.test/a/b",
      items = { ["$id"] = "d/", ["$ref"] = "e" } },
      "/items/$ref: \"https://example.test/a/d/e\" is not in any of the given documents" },
    ["a dynamic reference to no document"] = { { ["$id"] = "https://example.test/a/b",
      ["not"] = { ["$dynamicRef"] = "f#g" } },
      "/not/$dynamicRef: \"https://example.test/a/f#g\" is not in any of the given documents" },
    ["a reference to what a document lacks"] = { { ["$ref"] = "a:b#/x" },
      "/$ref: \"a:b#/x\" does not point to a schema", resolving({}) },
    ["a reference to a flaw in a document"] = { { ["$ref"] = "a:b#/d/1" }, "a:b#/d/1/type: unknown type \"x\"",
      resolving({ d = { true, { type = "x" } } }) },
    ["an array as the whole schema"] = { { true }, ": expected a schema (a table or a boolean), got array" },
  }) do
    it("refuses " .. name, function()
      local list = problems(case[1], case[3])
      assert.equal(1, #list)
      assert.is_truthy(list[1]:find(case[2], 1, true), list[1])
    end)
  end

  it("counts the issues beyond the first in the message", function()
    local _, err = schema.compile({ minimum = "1", maximum = "2", title = 3 })
    assert.equal("VALIDATION_ERROR: /maximum: expected a number, got string (and 1 more)", tostring(err))
  end)

  it("accepts schemas nested 256 levels deep, and says where the next one is", function()
    local definition = true
    for _ = 1, 256 do
      definition = { items = definition }
    end
    local value = 1
    for _ = 1, 256 do
      value = { value }
    end
    assert.is_true((assert(schema.compile(definition)):check(value)))
    local _, err = schema.compile({ items = { items = definition } })
    assert.equal(("/items"):rep(256), err.details[1].path)
    assert.equal("schemas within schemas deeper than 256 levels", err.details[1].message)
    assert.equal(1, #err.details)
  end)

  it("refuses schemas nested too deeply, without touching the C stack's end", function()
    local definition = true
    for _ = 1, 1000 do
      definition = { items = definition }
    end
    assert.is_truthy(problems(definition)[1]:find("deeper than 256 levels", 1, true))
  end)

  it("takes schemas of 256 levels, and reports the level below", function()
    local definition = true
    for _ = 1, 256 do
      definition = { items = definition }
    end
    definition = { allOf = { definition } }
    assert.same({ "/allOf/0" .. ("/items"):rep(255) .. ": schemas within schemas deeper than 256 levels" },
      problems(definition))
    assert(schema.compile(definition.allOf[1]))
  end)

  it("takes 256 levels at the target of a reference, too", function()
    for _, ref in ipairs({ "a:b", "a:b#/x", "#/x" }) do
      for levels = 256, 257 do
        local definition = true
        for _ = 1, levels do
          definition = { items = definition }
        end
        local compiled = schema.compile({ ["$ref"] = ref, x = definition }, { resolve = function()
          return ref == "a:b" and definition or { x = definition }
        end })
        assert.equal(levels == 256, compiled ~= nil, ref)
      end
    end
  end)

  it("finds a default through 33 references, and no further", function()
    for _, case in ipairs({ { 1, 5 }, { 33, 5 }, { 34 } }) do
      local definitions = {}
      for i = 1, case[1] do
        definitions["d" .. i] = { ["$ref"] = "#/$defs/d" .. i + 1 }
      end
      definitions["d" .. case[1]] = { default = 5 }
      local compiled = assert(schema.compile({ ["$defs"] = definitions,
        properties = { a = { ["$ref"] = "#/$defs/d1" } } }))
      assert.same({ a = case[2] }, compiled:fill({}))
      assert.same({ a = case[2] }, (compiled:cast({})))
    end
  end)

  it("reads the dialect of a metaschema through nine others, and no further", function()
    local function compile(count)
      return schema.compile({ ["$schema"] = "a:1", definitions = { a = { minimum = 3, exclusiveMinimum = true } } }, {
        resolve = function(uri)
          local i = tonumber(uri:match("^a:(%d+)$"))
          return { ["$schema"] = i < count and "a:" .. i + 1 or "http://json-schema.org/draft-04/schema#" }
        end,
      })
    end
    assert(compile(1))
    assert(compile(9))
    local compiled, err = compile(10)
    assert.is_nil(compiled)
    assert.equal("/$schema", err.details[1].path)
    assert.equal("\"a:1\" is an unknown dialect; expected the URI of draft 2020-12, 2019-09, 7, 6 or 4",
      err.details[1].message)
  end)

  it("finds a metaschema whose URI ends in #, and none by a fragment", function()
    for uri, found in pairs({ ["a:meta"] = true, ["a:meta#"] = true, ["a:meta##"] = false, ["a:meta#x"] = false }) do
      local asked = {}
      local compiled, err = schema.compile({ ["$schema"] = uri, minimum = 3, exclusiveMinimum = true }, {
        resolve = function(document)
          asked[#asked + 1] = document
          return { ["$schema"] = "http://json-schema.org/draft-04/schema#" }
        end,
      })
      assert.equal(found, compiled ~= nil, uri)
      assert.equal(found and "none" or "/$schema", err and err.details[1].path or "none")
      assert.same({ "a:meta" }, asked)
    end
  end)

  it("reads an embedded schema by its own dialect, else by the one around it", function()
    local tuple = { items = { { type = "integer" } } } -- 2020-12 has no such list
    local function compile(outer, embedded, properties)
      embedded["$id"], embedded.items = "a:x", tuple.items
      return schema.compile({ ["$schema"] = outer, definitions = { a = embedded }, properties = properties })
    end
    local old, new = "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"
    local reference = { p = { ["$ref"] = "a:x" } }
    for _, case in ipairs({ { old, nil, true }, { old, old, true }, { old, new, false }, { new, nil, false },
      { new, old, true }, { nil, old, true }, { nil, nil, false } }) do
      local compiled = compile(case[1], { ["$schema"] = case[2] }, reference)
      assert.equal(case[3], compiled ~= nil)
      assert.equal(not case[3], compiled == nil or compiled:check({ p = { "x" } }))
    end
    assert.same({ "/$schema: \"a:none\" is an unknown dialect; expected the URI of draft 2020-12, 2019-09, 7, 6 or 4" },
      problems({ ["$defs"] = { a = { ["$id"] = "a:x", ["$schema"] = "a:none" }, b = { ["$schema"] = "a:none" } } }))
    assert(schema.compile({ ["$defs"] = { b = { ["$schema"] = "a:none" } } }))
  end)

  it("takes a metaschema without a dialect for one of the draft that is given", function()
    local options = { draft = "4", resolve = function() return {} end }
    local compiled = assert(schema.compile({ ["$schema"] = "a:meta", minimum = 3, exclusiveMinimum = true }, options))
    assert.is_false((compiled:check(3)))
    options.draft = "7"
    assert.is_nil((schema.compile({ ["$schema"] = "a:meta", minimum = 3, exclusiveMinimum = true }, options)))
  end)

  it("knows a draft by its URI with https and with a fragment, and by no other URI", function()
    local limit = { minimum = 3, exclusiveMinimum = true }
    local function is_draft_4(uri)
      limit["$schema"] = uri
      return schema.compile(limit) ~= nil
    end
    for _, uri in ipairs({ "http://json-schema.org/draft-04/schema", "http://json-schema.org/draft-04/schema#",
      "https://json-schema.org/draft-04/schema", "https://json-schema.org/draft-04/schema#" }) do
      assert.is_true(is_draft_4(uri), uri)
    end
    for _, uri in ipairs({ "http://json-schema.org/draft-04/schem", "http://json-schema.org/draft-04/schema##",
      "http://json-schema.org/draft-04/schema#a", "http://json-schema.org/draft-04/schemas", "", "#", "https://",
      "https://json-schema.org/draft-04/schem", "https://json-schema.org/draft-04/schemas",
      "https://json-schema.org/draft-0", "https://json-schema.org/draft-04", "http://json-schema.org/draft-05/schema#",
      "https://json-schema.org/draft-05/schema" }) do
      assert.is_false(is_draft_4(uri), uri)
    end
    for _, name in ipairs({ "4", "04", "draft4", "draft04", "draft-4", "draft-04" }) do
      limit["$schema"] = nil
      assert.equal(name ~= "04", (pcall(schema.compile, limit, { draft = name })), name)
    end
    for _, name in ipairs({ "", "draft", "draft-", "draft-0", "draft-044", "5", "draft-4 ", "openapi", "draf4" }) do
      assert.is_false((pcall(schema.compile, true, { draft = name })), name)
    end
  end)

  it("takes a schema table that contains itself as recursion", function()
    local list = { type = "object", required = { "value" } }
    list.properties = { next = list }
    local compiled = assert(schema.compile(list))
    assert.is_true(compiled:check({ value = 1, next = { value = 2 } }))
    assert.is_false((compiled:check({ value = 1, next = { next = { value = 2 } } })))
  end)

  it("takes a schema table that contains itself for a recursive schema", function()
    local function deep()
      return { x = { y = { n = "1" }, z = 1 }, l = { { n = "2" }, { l = { { n = "3" } } } }, n = "4", b = true }
    end
    local function answers(definition, value, root)
      local compiled = assert(schema.compile(definition))
      local _, issues = compiled:check(value)
      local lines = {}
      for i, issue in ipairs(issues) do
        lines[i] = issue.path:sub(root and #"/root" + 1 or 1) .. " " .. issue.message
      end
      local cast, filled = compiled:cast(value), compiled:fill(value)
      local forced = compiled:cast(value, "force")
      return { lines, root and cast.root or cast, root and filled.root or filled, root and forced.root or forced }
    end
    local function within(name)
      return function(t, keyword) t.properties[name] = { [keyword] = t } end
    end
    for keyword, put in pairs({
      additionalProperties = function(t) t.additionalProperties = t end,
      unevaluatedProperties = function(t) t.unevaluatedProperties = t end,
      patternProperties = function(t) t.patternProperties = { ["^[xy]$"] = t } end,
      properties = function(t) t.properties.x, t.properties.y = t, t end,
      dependentSchemas = function(t) t.properties.x = { dependentSchemas = { y = t } } end,
      prefixItems = function(t) t.properties.l = { prefixItems = { t, t } } end,
      anyOf = function(t) t.properties.x = { anyOf = { t, { type = "null" } } } end,
      oneOf = function(t) t.properties.x = { oneOf = { { type = "null" }, t } } end,
      allOf = function(t) t.properties.x = { allOf = { t } } end,
      ["then"] = function(t) t.properties.x = { ["if"] = true, ["then"] = t } end,
      ["else"] = function(t) t.properties.x = { ["if"] = false, ["else"] = t } end,
      ["if"] = function(t) t.properties.x = { ["if"] = t, ["then"] = { required = { "q" } } } end,
      items = within("l"), unevaluatedItems = within("l"), contains = within("l"), ["not"] = within("x"),
      propertyNames = within("x"),
    }) do
      local recursive = { properties = { n = { type = "integer" }, d = { default = 0 } } }
      put(recursive, keyword)
      local inside = answers({ properties = { root = recursive } }, { root = deep() }, true)
      assert.same(inside, answers(recursive, deep()), keyword)
    end
  end)

  it("finds an anchor by each URI of a document: that it is asked for by and that it declares", function()
    local function document(uri, reference)
      return { ["$id"] = uri, ["$defs"] = { a = { ["$anchor"] = "x", type = "integer" } },
        properties = { p = reference and { ["$ref"] = reference } or nil } }
    end
    for _, reference in ipairs({ "#x", "a:one#x", "a:two#x" }) do
      local compiled = assert(schema.compile(document("a:two", reference), { uri = "a:one" }))
      assert.is_false((compiled:check({ p = "text" })))
      compiled = assert(schema.compile({ ["$id"] = "a:zero", properties = { q = { ["$ref"] = "a:one" },
        r = { ["$ref"] = "a:one#x" } } }, { resolve = function() return document("a:two", reference) end }))
      assert.is_false((compiled:check({ q = { p = "text" } })))
      assert.is_false((compiled:check({ r = "text" })))
      assert.is_true((compiled:check({ q = { p = 1 }, r = 1 })))
    end
    assert.same({ '/properties/p/$ref: "a:one#y" does not point to a schema' },
      problems(document("a:two", "a:one#y"), { uri = "a:one" }))
  end)

  it("reads only the schemas that are referred to of another document, all of them for a dynamic reference", function()
    local function problem(keyword)
      local definition = { properties = { a = { [keyword] = "a:doc#/good" } } }
      local compiled, err = schema.compile(definition, { resolve = function()
        return { ["$schema"] = "https://json-schema.org/draft/2020-12/schema", ["$id"] = "a:doc",
          good = { type = "integer" }, properties = { bad = { type = "none" } } }
      end })
      return compiled and "compiled" or err.details[1].path
    end
    assert.equal("compiled", problem("$ref"))
    assert.equal("a:doc/properties/bad/type", problem("$dynamicRef"))
  end)

  it("finds a schema by its own URI in a document of which only another part was read", function()
    for _, reference in ipairs({ "a:inside", "a:inside#", "a:inside#/x", "a:inside#y", "inside#/x" }) do
      local compiled = assert(schema.compile({ ["$id"] = "a:/", properties = { p = { ["$ref"] = "a:doc#/good" },
        q = { ["$ref"] = reference }, r = { ["$ref"] = "a:doc#/good" } } }, { resolve = function(uri)
        local inside = { ["$id"] = "a:inside", type = "integer", x = { type = "integer" },
          ["$defs"] = { y = { ["$anchor"] = "y", type = "integer" } } }
        return uri:find("doc") and { good = { type = "string" }, allOf = { { ["$id"] = "a:/inside", x = inside.x } },
          properties = { ["in"] = inside } } or nil
      end }))
      assert.is_true((compiled:check({ p = "x", q = 1, r = "x" })), reference)
      assert.is_false((compiled:check({ q = "x" })), reference)
      assert.is_false((compiled:check({ r = 1 })), reference)
    end
    assert.same({ "/properties/q/$ref: \"a:outside#y\" is not in any of the given documents" },
      problems({ properties = { p = { ["$ref"] = "a:doc#/good" }, q = { ["$ref"] = "a:outside#y" } } }, {
        resolve = function(uri) return uri == "a:doc" and { good = true } or nil end,
      }))
  end)

  it("applies a relative $id once, whatever of its document was read first", function()
    local function asked_for(reference)
      local asked = {}
      local compiled = assert(schema.compile({ ["$id"] = "a:/", properties = {
        p = { ["$ref"] = "doc#/inside/good" }, q = reference and { ["$ref"] = reference } } }, {
        resolve = function(uri)
          asked[#asked + 1] = uri
          if uri == "a:/doc" then
            return { inside = { ["$id"] = "d/e", good = true, ["$ref"] = reference and "f",
              ["$defs"] = { y = { ["$anchor"] = "y", ["$ref"] = "g" }, ["then"] = { ["$id"] = "h/i",
                ["$anchor"] = "z", ["$ref"] = "j" } } } }
          end
          return not uri:find("[dh]/[ei]$") and { type = "string" } or nil
        end,
      }))
      table.sort(asked)
      return table.concat(asked, " "), compiled
    end
    assert.equal("a:/doc", (asked_for(nil)))
    for _, reference in ipairs({ "d/e#y", "d/e", "d/e#/$defs/y", "doc#/inside/$defs/y", "d/h/i", "d/h/i#z" }) do
      local asked, compiled = asked_for(reference)
      for uri in asked:gmatch("%S+") do
        assert.is_true(uri == "a:/doc" or uri == "a:/d/e" or uri == "a:/d/f" or uri == "a:/d/g" or uri == "a:/d/h/i"
          or uri == "a:/d/h/j", reference .. ": " .. asked)
      end
      assert.is_false((compiled:check({ q = 5 })), reference)
      assert.is_true((compiled:check({ q = "x" })), reference)
    end
  end)

  it("resolves thousands of references of each kind, and as many schemas with every keyword", function()
    local deep = {}
    deep.a = deep
    local definition = { ["$defs"] = { n = { ["$anchor"] = "n" }, i = { ["$id"] = "a:i", ["$anchor"] = "n" } },
      x = { deep = deep, y = { type = "integer" } } }
    local references = { "#n", "#/x/y", "#/$defs/n", "a:i", "a:i#n", "#", "a:d", "a:d#m",
      "#/x/deep" .. ("/a"):rep(5000) }
    definition.allOf = many.items(9000, function(i) return { ["$ref"] = references[(i - 1) % #references + 1] } end)
    definition.properties = many.members(2000, function(i)
      local shape = { ["$defs"] = { [("n"):rep(50) .. i] = true }, minLength = i, maxLength = i, pattern = "x",
        format = "date", minimum = i, maximum = i, multipleOf = i, minItems = i, maxItems = i, prefixItems = { true },
        items = true, contains = true, minContains = 1, maxContains = 2, uniqueItems = true, required = { "a" },
        properties = { [("n"):rep(50) .. i] = true }, patternProperties = { a = true }, additionalProperties = false,
        propertyNames = true, dependentRequired = { a = { "b" } }, dependentSchemas = { a = true }, const = { i },
        enum = { i, {} }, default = { i }, ["not"] = true, ["if"] = true, ["then"] = true, ["else"] = true,
        type = { "string", "null" }, unevaluatedItems = false, unevaluatedProperties = false }
      shape.oneOf = { { ["$ref"] = "#/$defs/n" }, { ["$ref"] = "#/x/y" } }
      shape.discriminator = { propertyName = "a", mapping = { b = "#/$defs/n", c = "none" } }
      return shape
    end)
    assert(schema.compile(definition, { formats = true, resolve = function() return { ["$anchor"] = "m" } end }))
  end)

  it("keeps a tilde in a pointer that escapes nothing", function()
    for pointer, name in pairs({ ["a~"] = "a~", ["a~2"] = "a~2", ["~01"] = "~1", ["~10"] = "/0", ["~0"] = "~",
      ["~~1"] = "~/", ["~1~0~"] = "/~~", ["a~/b"] = "a~" }) do
      local integer = { type = "integer" }
      local compiled = assert(schema.compile({ ["$ref"] = "#/x/" .. pointer,
        x = { [name] = pointer:find("/") and { b = integer } or integer } }), pointer)
      assert.is_false((compiled:check("x")), pointer)
    end
  end)

  it("takes URIs and pointers of up to a mebibyte, and raises where one is longer", function()
    local most = 2 ^ 20
    for _, make in ipairs({
      function(length) return { ["$id"] = ("x"):rep(length) } end,
      function(length) return { ["$ref"] = ("x"):rep(length) } end,
      function(length) return { ["$ref"] = "#/" .. ("x"):rep(length - 2) } end,
      function(length) return { ["$ref"] = "//" .. ("x"):rep(length - 3) .. "/." } end,
      function(length) return { ["$id"] = "a:/" .. ("x"):rep(10), ["$ref"] = ("y"):rep(length - 3) } end,
    }) do
      local compiled, err = schema.compile(make(most))
      assert.is_true(compiled ~= nil or err.code == "VALIDATION_ERROR")
      assert.error_matches(function() schema.compile(make(most + 1)) end, "not enough memory")
    end
  end)

  it("takes a tuple of no schemas, and the items after it", function()
    local none = json.decode("[]")
    for _, draft in ipairs({ "4", "6", "7", "2019-09" }) do
      for _, case in ipairs({ { nil, true, { 1 } }, { true, true, { 1 } }, { false, false, { 1 } },
        { { type = "string" }, false, { "1" } } }) do
        local compiled = assert(schema.compile({ items = none, additionalItems = case[1] }, { draft = draft }))
        assert.equal(case[2], (compiled:check({ 1 })))
        assert.same(case[3], (compiled:cast({ 1 })))
        assert.is_true((compiled:check({})))
        assert.equal("text", compiled:fill("text"))
      end
    end
    assert.is_false((assert(schema.compile({ prefixItems = none, items = false })):check({ 1 })))
    for draft, tuple in pairs({ ["7"] = { type = "array", items = none },
      ["2020-12"] = { type = "array", prefixItems = none } }) do
      local compiled = assert(schema.compile(tuple, { draft = draft }))
      assert.is_true((compiled:check({ 1, "x" })))
      assert.is_false((compiled:check({ 1, nil, 3 })))
      assert.is_false((compiled:check("x")))
      assert.same({ 1, { "2" } }, (compiled:cast({ 1, { "2" } })))
      tuple.unevaluatedItems = false
      if draft == "2020-12" then
        assert.is_false((assert(schema.compile(tuple)):check({ 1 })))
      end
    end
  end)

  it("finds NaN within 512 tables of a constant and among its first 100000 values, and no further", function()
    local function nested(levels)
      local value = 0 / 0
      for _ = 1, levels do
        value = { value }
      end
      return value
    end
    local function listed(count)
      local values = {}
      for i = 1, count do
        values[i] = 0
      end
      values[#values + 1] = 0 / 0
      return values
    end
    local function is_refused(definition)
      return schema.compile(definition) == nil
    end
    for levels, refused in pairs({ [511] = true, [512] = true, [513] = false }) do
      assert.equal(refused, is_refused({ const = nested(levels) }), levels)
    end
    for count, refused in pairs({ [99998] = true, [99999] = false }) do
      assert.equal(refused, is_refused({ default = listed(count) }), count)
    end
    assert.is_true(is_refused({ default = { many.items(100000, function() return "" end),
      many.items(100000, function() return true end), { 0 / 0 } } }))
  end)

  it("takes a table that schemas with other base URIs share for a part of each", function()
    local shared = { properties = { p = { ["$ref"] = "x" } } }
    local integer, text = { ["$id"] = "x", type = "integer" }, { ["$id"] = "x", type = "string" }
    local compiled = assert(schema.compile({ ["$id"] = "a:a/", ["$defs"] = { x = integer }, properties = { a = shared,
      b = { ["$id"] = "a:b/", ["$defs"] = { x = text }, properties = { a = shared, b = shared } }, c = shared,
      d = { properties = { a = shared } },
    } }))
    for _, case in ipairs({ { 1, "x", true }, { "x", "x", false }, { 1, 1, false } }) do
      local a, b = { p = case[1] }, { p = case[2] }
      assert.equal(case[3], (compiled:check({ a = a, b = { a = b, b = b }, c = a, d = { a = a } })))
    end
    assert.is_false((compiled:check({ c = { p = "x" } })))
    assert.is_false((compiled:check({ d = { a = { p = "x" } } })))
    assert.is_false((compiled:check({ b = { b = { p = 1 } } })))
    assert.is_true(compiled:check({ c = { a = 1, b = 1, c = 1, p = 1 } }))
  end)

  it("knows names and tags of any length, among few and among many", function()
    for _, length in ipairs({ 6, 39, 40, 41, 80 }) do
      for _, count in ipairs({ 1, 2, 16, 17, 60 }) do
        local function name(i)
          return ("n"):rep(length - 3) .. ("%03d"):format(i)
        end
        local function named(make)
          local map = {}
          for i = 1, count do
            map[name(i)] = make(i)
          end
          return map
        end
        local function number(i) return i end
        local place = length .. " " .. count
        local compiled = assert(schema.compile({ additionalProperties = false, required = { name(count) },
          properties = named(function(i) return { type = "integer", maximum = i } end) }))
        assert.is_true((compiled:check(named(number))), place)
        assert.same(named(number), (compiled:cast(named(tostring))))
        for _, other in ipairs({ name(count + 1), name(0), name(1) .. "x", name(1):sub(1, -2) }) do
          local value = named(number)
          value[other] = 1
          assert.is_false((compiled:check(value)), place)
        end
        for i = 1, count do
          local value = named(number)
          value[name(i)] = i + 1
          assert.is_false((compiled:check(value)), place)
        end
        local tagged = assert(schema.compile({ oneOf = many.items(count, function(i)
          return { type = "object", required = { name(1) },
            properties = { [name(1)] = { const = name(i) }, n = { type = "integer", maximum = i } } }
        end) }))
        for i = 1, count do
          assert.is_true((tagged:check({ [name(1)] = name(i), n = i })), place)
          assert.is_false((tagged:check({ [name(1)] = name(i), n = i + 1 })), place)
        end
        assert.is_false((tagged:check({ [name(1)] = name(count + 1), n = 1 })), place)
        local listed = assert(schema.compile({ enum = many.items(count, name) }))
        assert.is_true((listed:check(name(1))) and listed:check(name(count)), place)
        assert.is_false((listed:check(name(count + 1))) or listed:check(name(1) .. "x"), place)
      end
    end
  end)

  it("tells branches apart by a second property where the first has the same tags twice", function()
    for _, count in ipairs({ 2, 3, 8, 9, 16, 17, 40 }) do
      local compiled = assert(schema.compile({ oneOf = many.items(count, function(i)
        return { type = "object", required = { "a", "b" }, properties = { b = { const = "b" .. i },
          a = { enum = { "a" .. i, "a" .. i + 1 } }, n = { type = "integer", maximum = i } } }
      end) }))
      for i = 1, count do
        local value = { a = "a" .. i, b = "b" .. i, n = i }
        assert.is_true((compiled:check(value)))
        value.n = i + 1
        local _, issues = compiled:check(value)
        assert.equal("/n", issues[1].path)
        assert.equal(("/oneOf/%d/properties/n/maximum"):format(i - 1), issues[1].schemaPath)
        value.n, value.a = i, "a" .. i + 2
        assert.equal("/a", select(2, compiled:check(value))[1].path)
      end
    end
  end)

  it("resolves references within each of two schemas with the same $id", function()
    local function twin(kind)
      return { ["$id"] = "a:x/", properties = { p = { ["$ref"] = "y" }, q = { type = kind } } }
    end
    local compiled = assert(schema.compile({ ["$defs"] = { a = twin("string"),
      y = { ["$id"] = "a:x/y", type = "null" } },
      allOf = { twin("string"), twin("string"), { properties = { r = { ["$ref"] = "a:x/" } } } } }))
    assert.is_true((compiled:check({ p = json.null, q = "x", r = { p = json.null, q = "x" } })))
    assert.is_false((compiled:check({ p = 1 })))
    assert.is_false((compiled:check({ r = { p = 1 } })))
    assert.is_false((compiled:check({ r = { q = 1 } })))
  end)

  it("finds a schema by an anchor and by an identifier in the drafts that have them", function()
    local function finds(draft, reference, keyword, name)
      return schema.compile({ ["$ref"] = reference, definitions = { x = { [keyword] = name, type = "integer" } } },
        { draft = draft, uri = "a:b" }) ~= nil
    end
    for _, draft in ipairs({ "4", "6", "7", "2019-09", "2020-12", "openapi-3.0", "swagger-2.0" }) do
      local number = tonumber(draft:match("^%d+"))
      local since_2019, old = number ~= nil and number >= 2019, number == 6 or number == 7
      assert.equal(since_2019, finds(draft, "#n", "$anchor", "n"), draft)
      assert.equal(number == 2020, finds(draft, "#n", "$dynamicAnchor", "n"), draft)
      assert.equal(old, finds(draft, "#n", "$id", "#n"), draft)
      assert.equal(number == 4, finds(draft, "#n", "id", "#n"), draft)
      assert.equal(since_2019 or old, finds(draft, "a:n", "$id", "a:n"), draft)
      assert.equal(number == 4, finds(draft, "a:n", "id", "a:n"), draft)
      assert.is_false(finds(draft, "#n", "$id", "n"), draft)
      assert.is_false(finds(draft, "#n", "$anchor", 5), draft)
    end
    for draft, finds_it in pairs({ ["6"] = true, ["7"] = true, ["2019-09"] = true, ["4"] = false }) do
      assert.equal(finds_it, finds(draft, "a:n#", "$id", "a:n#"), draft)
    end
  end)

  it("reports at most 100 flaws", function()
    for count, reported in pairs({ [99] = 99, [100] = 100, [101] = 100, [300] = 100 }) do
      local definition = { properties = many.members(count, function() return { type = "none" } end) }
      assert.equal(reported, #problems(definition))
      definition = { allOf = many.items(count, function() return 5 end) }
      assert.equal(reported, #problems(definition))
    end
  end)

  it("takes one table used in many places", function()
    local shared = { type = "string" }
    local compiled = assert(schema.compile({ properties = { a = shared, b = shared } }))
    assert.is_false((compiled:check({ a = "x", b = 1 })))
  end)

  it("refuses a vocabulary that it does not have", function()
    local metaschema = {
      ["$schema"] = "https://json-schema.org/draft/2020-12/schema",
      ["$vocabulary"] = { ["http://example.com/vocabulary"] = true },
    }
    local list = problems({ ["$schema"] = "http://example.com/meta" }, { resolve = function() return metaschema end })
    assert.is_truthy(list[1]:find("needs vocabulary http://example.com/vocabulary", 1, true))
    for name, known in pairs({ ["draft/2020-12/vocab/none"] = false, ["draft/2020-12/vocabulary/core"] = false,
      ["draft/2020-12/vocab/"] = false, ["draft/2020-12/vocab/core"] = true, ["draft/2019-09/vocab/content"] = true,
      ["draft/2020-12/vocab/contents"] = false, ["draft/1999/vocab/core"] = false }) do
      local uri = "https://json-schema.org/" .. name
      metaschema["$vocabulary"] = { [uri] = true, [1] = true, [2] = false }
      local compiled, err = schema.compile({ ["$schema"] = "a:b" }, { resolve = function() return metaschema end })
      assert.equal(known, compiled ~= nil, uri)
      assert.is_true(known or err.details[1].message == "needs vocabulary " .. uri .. ", which is not supported")
      metaschema["$vocabulary"][uri] = false
      assert(schema.compile({ ["$schema"] = "a:b" }, { resolve = function() return metaschema end }))
    end
  end)

  it("reads every draft by its name and by its URI", function()
    local limit = { minimum = 3, exclusiveMinimum = true }
    local old = { "4", "draft-04", "http://json-schema.org/draft-04/schema#", "openapi-3.0", "swagger-2.0" }
    for _, draft in ipairs(old) do
      local compiled = assert(schema.compile(limit, { draft = draft }))
      assert.is_false((compiled:check(3)), draft)
      assert.is_true(compiled:check(4), draft)
    end
    for _, draft in ipairs({ "6", "7", "2019-09", "2020-12", "openapi-3.1" }) do
      assert.is_nil((schema.compile(limit, { draft = draft })), draft)
      assert.is_false((assert(schema.compile({ exclusiveMinimum = 3 }, { draft = draft })):check(3)), draft)
    end
    assert(schema.compile({ ["$schema"] = "https://json-schema.org/draft-07/schema", ["if"] = true }))
  end)

  it("follows OpenAPI 3.0: nullable, nothing beside $ref", function()
    local compiled = assert(schema.compile({
      type = "object",
      properties = { a = { type = "string", nullable = true }, b = { ["$ref"] = "#/definitions/b", type = "string" } },
      definitions = { b = { type = "integer" } },
    }, { draft = "openapi-3.0" }))
    assert.is_true(compiled:check({ a = json.null, b = 1 }))
    assert.is_false((compiled:check({ b = "x" })))
  end)

  it("takes Swagger 2.0's type file for anything", function()
    assert.is_true(assert(schema.compile({ type = "file" }, { draft = "swagger-2.0" })):check("x"))
  end)

  it("follows pointers through escapes, arrays and places that are no keywords", function()
    local compiled = assert(schema.compile({
      ["$defs"] = { ["a/b~c d"] = { type = "integer" } },
      components = { list = { { type = "string" } } },
      properties = {
        x = { ["$ref"] = "#/$defs/a~1b~0c%20d" }, y = { ["$ref"] = "#/components/list/0" },
        z = { ["$ref"] = "#/$defs/a~1b~0c%20d" },
      },
    }))
    assert.is_true(compiled:check({ x = 1, y = "s", z = 2 }))
    local _, issues = compiled:check({ x = "s", y = 1 })
    assert.equal("/$defs/a~1b~0c d/type", issues[1].schemaPath)
    assert.equal(2, #issues)
  end)
end)

--- Whole results of cast and force: the value, whether it conforms, and each change, sorted.
local json = require("operations.base.json")
local operations = require("operations")
local schema = require("operations.schema")

local I, S, N, B = { type = "integer" }, { type = "string" }, { type = "null" }, { type = "boolean" }

local function object(properties, more)
  local made = { type = "object", properties = properties }
  for name, value in pairs(more or {}) do
    made[name] = value
  end
  return made
end

local function empty()
  return operations.object({})
end

-- What it is; a definition and a value; what cast gives, and force where that is something else.
local cases = {
  { "scalars of another type",
    { object({ a = I, b = S, c = B, d = N, e = { type = "number" } }), { a = "1", b = 2, c = "true", d = "null",
      e = "2.5" } },
    {
      '{"a":1,"b":"2","c":true,"d":"null","e":2.5} false | /a converted "1" -> 1; /b converted 2 -> ' ..
        '"2"; /c converted "true" -> true; /e converted "2.5" -> 2.5',
      '{"a":1,"b":"2","c":true,"d":null,"e":2.5} true | /a converted "1" -> 1; /b converted 2 -> ' ..
        '"2"; /c converted "true" -> true; /d replaced "null" -> null; /e converted "2.5" -> 2.5',
    } },
  { "scalars that stay",
    { object({ a = I, b = S, c = B, d = N }), { a = "1x", b = true, c = 1, d = "" } },
    {
      '{"a":"1x","b":true,"c":1,"d":""} false |',
      '{"a":0,"b":"","c":false,"d":null} true | /a replaced "1x" -> 0; /b replaced true -> ""; /c ' ..
        'replaced 1 -> false; /d replaced "" -> null',
    } },
  { "a scalar beyond its bound",
    { object({ a = { type = "integer", maximum = 5 }, b = { type = "string", maxLength = 1 } }), { a = "9",
      b = 12 } },
    {
      '{"a":9,"b":"12"} false | /a converted "9" -> 9; /b converted 12 -> "12"',
      '{"a":0,"b":""} true | /a converted "9" -> 9; /a replaced 9 -> 0; /b converted 12 -> "12"; /b ' ..
        'replaced "12" -> ""',
    } },
  { "a text that is allowed as it is",
    { object({ a = { type = { "integer", "string" } }, b = { enum = { 1, "1" } } }), { a = "1", b = "1" } },
    {
      '{"a":"1","b":"1"} true |',
    } },
  { "an enum of numbers and texts",
    { object({ a = { enum = { 1, 2 } }, b = { enum = { "1", "x" } }, c = { const = true } }), { a = "2", b = 1,
      c = "true" } },
    {
      '{"a":2,"b":"1","c":true} true | /a converted "2" -> 2; /b converted 1 -> "1"; /c converted ' ..
        '"true" -> true',
    } },
  { "a table in place of a scalar",
    { object({ a = I, b = S }), { a = { 1 }, b = { x = 1 } } },
    {
      '{"a":[1],"b":{"x":1}} false |',
      '{"a":0,"b":""} true | /a replaced [1] -> 0; /b replaced {"x":1} -> ""',
    } },
  { "a scalar in place of a table",
    { object({ a = { type = "array" }, b = { type = "object" } }), { a = 1, b = "x" } },
    {
      '{"a":1,"b":"x"} false |',
      '{"a":[],"b":{}} true | /a replaced 1 -> []; /b replaced "x" -> {}',
    } },
  { "an array in place of an object",
    { object({ a = object({ x = I }) }), { a = { 1, 2 } } },
    {
      '{"a":[1,2]} false |',
      '{"a":{}} true | /a replaced [1,2] -> {}',
    } },
  { "an object in place of an array",
    { object({ a = { type = "array", items = I } }), { a = { x = "1" } } },
    {
      '{"a":{"x":"1"}} false |',
      '{"a":[]} true | /a replaced {"x":"1"} -> []',
    } },
  { "empty tables",
    { object({ a = { type = "array" }, b = { type = "object" }, c = { type = { "array", "object" } }, d = {} }),
      { a = {}, b = {}, c = {}, d = {} } },
    {
      '{"a":[],"b":{},"c":{},"d":{}} true |',
    } },
  { "null for a table",
    { object({ a = { type = { "array", "null" } }, b = object({ x = I }) }), { a = json.null, b = json.null } },
    {
      '{"a":null,"b":null} false |',
      '{"a":null,"b":{}} true | /b replaced null -> {}',
    } },
  { "members to strip",
    { object({ a = object({ x = I }) }), { a = { x = 1, y = 2 }, b = 3 } },
    {
      '{"a":{"x":1}} true | /a/y stripped 2; /b stripped 3',
    } },
  { "members of an open object",
    { object({ a = I }, { additionalProperties = true }), { a = "1", b = "2" } },
    {
      '{"a":1,"b":"2"} true | /a converted "1" -> 1',
    } },
  { "members of a type",
    { object({ a = I }, { additionalProperties = S }), { a = "1", b = 2 } },
    {
      '{"a":1,"b":"2"} true | /a converted "1" -> 1; /b converted 2 -> "2"',
    } },
  { "members by patterns",
    { object({ a = I }, { patternProperties = { ["^x"] = I, ["y$"] = { maximum = 5 } } }), { a = "1", xy = "2",
      x = "3", y = "4", z = 5 } },
    {
      '{"a":1,"x":3,"xy":2,"y":"4"} true | /a converted "1" -> 1; /x converted "3" -> 3; /xy ' ..
        'converted "2" -> 2; /z stripped 5',
    } },
  { "members by patterns and the rest",
    { object({ a = I }, { patternProperties = { ["^x"] = I }, additionalProperties = S }), { a = "1", x = "2",
      z = 5 } },
    {
      '{"a":1,"x":2,"z":"5"} true | /a converted "1" -> 1; /x converted "2" -> 2; /z converted 5 -> "5"',
    } },
  { "a required member that is stripped",
    { object({ a = I }, { required = { "b" }, additionalProperties = false }), { a = 1, b = 2 } },
    {
      '{"a":1} false | /b stripped 2',
    } },
  { "a required member that is kept",
    { object({ a = I }, { required = { "b" } }), { a = 1, b = 2, c = 3 } },
    {
      '{"a":1,"b":2} true | /c stripped 3',
    } },
  { "defaults",
    { object({ a = { type = "integer", default = 1 }, b = { default = { 1, {} } }, c = { default = "5",
      type = "integer" } }), empty() },
    {
      '{"a":1,"b":[1,{}],"c":5} true | /a defaulted -> 1; /b defaulted -> [1,{}]; /c converted "5" ' ..
        '-> 5; /c defaulted -> 5',
    } },
  { "defaults through references",
    { object({ a = { ["$ref"] = "#/$defs/a" }, b = { allOf = { { ["$ref"] = "#/$defs/b" }, {} } } },
      { ["$defs"] = { a = { default = 1 }, b = { default = 2 } } }), empty() },
    {
      '{"a":1,"b":2} true | /a defaulted -> 1; /b defaulted -> 2',
    } },
  { "defaults of tables with defaults",
    { object({ a = object({ x = { default = 1 } }, { default = {} }) }), empty() },
    {
      '{"a":{"x":1}} true | /a defaulted -> {"x":1}; /a/x defaulted -> 1',
    } },
  { "a default that does not conform",
    { object({ a = { type = "integer", default = "x" }, b = I }), { b = "1" } },
    {
      '{"a":"x","b":1} false | /a defaulted -> "x"; /b converted "1" -> 1',
      '{"a":0,"b":1} true | /a defaulted -> "x"; /a replaced "x" -> 0; /b converted "1" -> 1',
    } },
  { "const and enum of required members",
    { object({ a = { const = 1 }, b = { enum = { 2 } }, c = { enum = { 3, 4 } }, d = { const = 5 } },
      { required = { "a", "b", "c" } }), empty() },
    {
      '{"a":1,"b":2} false | /a defaulted -> 1; /b defaulted -> 2',
      '{"a":1,"b":2,"c":3} true | /a defaulted -> 1; /b defaulted -> 2; /c replaced -> 3',
    } },
  { "required members without a value",
    { object({ a = I, b = S, c = B, d = N, e = { type = "array" }, f = object({ x = I }, { required = { "x" } }),
      g = {} }, { required = { "a", "b", "c", "d", "e", "f", "g", "h" } }), empty() },
    {
      '{} false |',
      '{"a":0,"b":"","c":false,"d":null,"e":[],"f":{"x":0},"g":null,"h":null} true | /a replaced -> ' ..
        '0; /b replaced -> ""; /c replaced -> false; /d replaced -> null; /e replaced -> []; /f ' ..
        'replaced -> {"x":0}; /g replaced -> null; /h replaced -> null',
    } },
  { "numbers within bounds",
    { object({ a = { type = "integer", minimum = 3 }, b = { type = "number", exclusiveMinimum = 3 },
      c = { type = "number", maximum = -3 }, d = { type = "number", exclusiveMaximum = -3 }, e = { type = "number",
      minimum = 0.5, multipleOf = 0.25 }, f = { type = "integer", exclusiveMinimum = 3, multipleOf = 5 },
      g = { type = "integer", minimum = 2.5 }, h = { type = "integer", exclusiveMaximum = -2.5 },
      i = { type = "number", exclusiveMinimum = 0.1, exclusiveMaximum = 0.35, multipleOf = 0.1 } },
      { required = { "a", "b", "c", "d", "e", "f", "g", "h", "i" } }), empty() },
    {
      '{} false |',
      '{"a":3,"b":4,"c":-3,"d":-4,"e":0.5,"f":5,"g":3,"h":-3,"i":0.2} true | /a replaced -> 3; /b ' ..
        'replaced -> 4; /c replaced -> -3; /d replaced -> -4; /e replaced -> 0.5; /f replaced -> 5; /g ' ..
        'replaced -> 3; /h replaced -> -3; /i replaced -> 0.2',
    } },
  { "numbers for which there is none",
    { object({ a = { type = "integer", minimum = 3, maximum = 2 }, b = { type = "number", exclusiveMinimum = 1,
      exclusiveMaximum = 1 }, c = { type = "integer", minimum = 1, maximum = 2, multipleOf = 4 } },
      { required = { "a", "b", "c" } }), empty() },
    {
      '{} false |',
    } },
  { "numbers out of bounds",
    { object({ a = { type = "integer", minimum = 3 }, b = { type = "number", maximum = 5 }, c = { type = "integer",
      minimum = 1, maximum = 9, multipleOf = 4 } }), { a = 1, b = 7, c = 3 } },
    {
      '{"a":1,"b":7,"c":3} false |',
      '{"a":3,"b":0,"c":4} true | /a replaced 1 -> 3; /b replaced 7 -> 0; /c replaced 3 -> 4',
    } },
  { "texts that do not conform",
    { object({ a = { type = "string", minLength = 2 }, b = { type = "string", maxLength = 2 },
      c = { type = "string", pattern = "^x", default = "xy" }, d = { enum = { "u", "v" } } }), { a = "", b = "abc",
      c = "y", d = "w" } },
    {
      '{"a":"","b":"abc","c":"y","d":"w"} false |',
      '{"a":"","b":"","c":"xy","d":"u"} false | /b replaced "abc" -> ""; /c replaced "y" -> "xy"; /d ' ..
        'replaced "w" -> "u"',
    } },
  { "arrays that do not conform",
    { object({ a = { type = "array", minItems = 2 }, b = { type = "array", maxItems = 1 }, c = { type = "array",
      uniqueItems = true }, d = { type = "array", items = I, default = { 1 }, minItems = 1 } }), { a = { 1 },
      b = { 1, 2 }, c = { 1, 1 }, d = {} } },
    {
      '{"a":[1],"b":[1,2],"c":[1,1],"d":[]} false |',
      '{"a":[1],"b":[],"c":[],"d":[1]} false | /b replaced [1,2] -> []; /c replaced [1,1] -> []; /d ' ..
        'replaced [] -> [1]',
    } },
  { "items that do not conform",
    { { type = "array", items = object({ n = I }, { required = { "n" } }) }, { { n = "1" }, { n = "x" }, empty(),
      5 } },
    {
      '[{"n":1},{"n":"x"},{},5] false | /0/n converted "1" -> 1',
      '[{"n":1},{"n":0},{"n":0},{"n":0}] true | /0/n converted "1" -> 1; /1/n replaced "x" -> 0; ' ..
        '/2/n replaced -> 0; /3 replaced 5 -> {"n":0}',
    } },
  { "tuples",
    { { type = "array", prefixItems = { I, S }, items = B }, { "1", 2, "true", "x" } },
    {
      '[1,"2",true,"x"] false | /0 converted "1" -> 1; /1 converted 2 -> "2"; /2 converted "true" -> true',
      '[1,"2",true,false] true | /0 converted "1" -> 1; /1 converted 2 -> "2"; /2 converted "true" ' ..
        '-> true; /3 replaced "x" -> false',
    } },
  { "tuples with nothing after them",
    { { type = "array", prefixItems = { I, S }, items = false }, { "1", 2, 3 } },
    {
      '[1,"2",3] false | /0 converted "1" -> 1; /1 converted 2 -> "2"',
    } },
  { "all of two",
    { { allOf = { object({ a = I, d = { default = 1 } }), object({ a = { maximum = 5 }, b = S },
      { required = { "b" } }) } }, { a = "3", b = 4, c = 5 } },
    {
      '{"a":3,"b":"4","d":1} true | /a converted "3" -> 3; /b converted 4 -> "4"; /c stripped 5; /d ' ..
        'defaulted -> 1',
    } },
  { "all of two for items",
    { { allOf = { { items = I }, { prefixItems = { { minimum = 2 } } } } }, { "1", "2" } },
    {
      '[1,2] false | /0 converted "1" -> 1; /1 converted "2" -> 2',
      '[2,2] true | /0 converted "1" -> 1; /0 replaced 1 -> 2; /1 converted "2" -> 2',
    } },
  { "all of two types",
    { { allOf = { { type = { "integer", "string" } }, { type = { "integer", "null" } } } }, "5" },
    {
      '5 true |  converted "5" -> 5',
    } },
  { "a reference beside properties",
    { { ["$ref"] = "#/$defs/a", properties = { b = I }, ["$defs"] = { a = object({ a = I }) } }, { a = "1", b = "2",
      c = "3" } },
    {
      '{"a":1,"b":2} true | /a converted "1" -> 1; /b converted "2" -> 2; /c stripped "3"',
    } },
  { "any of two, both",
    { { anyOf = { object({ a = I }, { required = { "a" } }), object({ b = I }, { required = { "b" } }) } }, { a = 1,
      b = 2, c = 3 } },
    {
      '{"a":1,"b":2} true | /c stripped 3',
    } },
  { "any of two, the second",
    { { anyOf = { object({ a = I }, { required = { "a" } }), object({ b = I }, { required = { "b" } }) } },
      { b = "2", c = 3 } },
    {
      '{"b":2} true | /b converted "2" -> 2; /c stripped 3',
    } },
  { "any of two, none",
    { { anyOf = { object({ a = I }, { required = { "a" } }), object({ b = I, c = I }, { required = { "b" } }) } },
      { b = "x", c = "3" } },
    {
      '{"b":"x","c":3} false | /c converted "3" -> 3',
      '{"b":0,"c":3} true | /b replaced "x" -> 0; /c converted "3" -> 3',
    } },
  { "any of two, nothing of them",
    { { anyOf = { object({ a = I }, { required = { "a" } }), object({ b = I }, { required = { "b" } }) } },
      { c = 3 } },
    {
      '{} false | /c stripped 3',
      '{"a":0} true | /a replaced -> 0; /c stripped 3',
    } },
  { "one of types",
    { { oneOf = { I, B, { type = "array", items = I } } }, { "1" } },
    {
      '[1] true | /0 converted "1" -> 1',
    } },
  { "one of types for a text",
    { { oneOf = { I, B } }, "true" },
    {
      'true true |  converted "true" -> true',
    } },
  { "one of types for none",
    { { oneOf = { I, B } }, "x" },
    {
      '"x" false |',
      '0 true |  replaced "x" -> 0',
    } },
  { "one of tagged branches",
    { { oneOf = { object({ t = { const = "a" }, n = I }, { required = { "t" } }), object({ t = { const = "b" },
      n = S }, { required = { "t" } }) } }, { t = "b", n = 1, x = 2 } },
    {
      '{"n":"1","t":"b"} true | /n converted 1 -> "1"; /x stripped 2',
    } },
  { "one of tagged branches, none",
    { { oneOf = { object({ t = { const = "a" }, n = I }, { required = { "t" } }), object({ t = { const = "b" },
      n = S }, { required = { "t" } }) } }, { t = "c", n = "1", x = 2 } },
    {
      '{"n":"1","t":"c"} false | /x stripped 2',
      '{"n":"1","t":"b"} true | /t replaced "c" -> "b"; /x stripped 2',
    } },
  { "one of tagged branches without a tag",
    { { oneOf = { object({ t = { const = "a" }, n = I }, { required = { "t" } }), object({ t = { const = "b" },
      n = S }, { required = { "t" } }) } }, { n = "1" } },
    {
      '{"n":1,"t":"a"} true | /n converted "1" -> 1; /t defaulted -> "a"',
    } },
  { "one of consts",
    { { oneOf = { { const = 1 }, { const = "b" } } }, "1" },
    {
      '1 true |  converted "1" -> 1',
    } },
  { "one of consts, none",
    { { oneOf = { { const = 1 }, { const = "b" } } }, "c" },
    {
      '"c" false |',
      '1 true |  replaced "c" -> 1',
    } },
  { "then",
    { { ["if"] = { properties = { k = { const = 1 } } }, ["then"] = object({ a = I, k = I }),
      ["else"] = object({ b = I, k = I }) }, { k = 1, a = "1", b = "2" } },
    {
      '{"a":1,"k":1} true | /a converted "1" -> 1; /b stripped "2"',
    } },
  { "else",
    { { ["if"] = { properties = { k = { const = 1 } } }, ["then"] = object({ a = I, k = I }),
      ["else"] = object({ b = I, k = I }) }, { k = 2, a = "1", b = "2" } },
    {
      '{"b":2,"k":2} true | /a stripped "1"; /b converted "2" -> 2',
    } },
  { "what a member depends on",
    { object({ a = I }, { dependentSchemas = { a = { properties = { b = I } } }, dependentRequired = { a = { "c",
      "b" } } }), { a = "1", b = "2", z = 1 } },
    {
      '{"a":1,"b":2} false | /a converted "1" -> 1; /b converted "2" -> 2; /z stripped 1',
      '{"a":1,"b":2,"c":null} true | /a converted "1" -> 1; /b converted "2" -> 2; /c replaced -> ' ..
        'null; /z stripped 1',
    } },
  { "what an absent member would depend on",
    { object({ a = I, b = S }, { dependentSchemas = { a = { properties = { b = I } } },
      dependentRequired = { a = { "c" } } }), { b = 2 } },
    {
      '{"b":"2"} true | /b converted 2 -> "2"',
    } },
  { "unevaluated members",
    { object({ a = I }, { allOf = { { properties = { b = I } } }, unevaluatedProperties = S }), { a = "1", b = "2",
      c = 3 } },
    {
      '{"a":1,"b":2,"c":"3"} true | /a converted "1" -> 1; /b converted "2" -> 2; /c converted 3 -> "3"',
    } },
  { "no unevaluated members",
    { object({ a = I }, { allOf = { { properties = { b = I } } }, unevaluatedProperties = false }), { a = "1",
      b = "2", c = 3 } },
    {
      '{"a":1,"b":2} true | /a converted "1" -> 1; /b converted "2" -> 2; /c stripped 3',
    } },
  { "not",
    { object({ a = { type = "integer", ["not"] = { const = 0 } } }, { required = { "a" } }), empty() },
    {
      '{} false |',
    } },
  { "the schema false",
    { object({ a = false, b = I }), { a = 1, b = "2" } },
    {
      '{"a":1,"b":2} false | /b converted "2" -> 2',
    } },
  { "a required member that may not be",
    { object({ a = false }, { required = { "a" } }), empty() },
    {
      '{} false |',
    } },
  { "few members",
    { object({ a = I }, { minProperties = 2 }), { a = 1, b = 2 } },
    {
      '{"a":1,"b":2} true |',
    } },
  { "many members",
    { object({ a = I, b = I }, { maxProperties = 1 }), { a = "1", b = 2 } },
    {
      '{"a":1,"b":2} false | /a converted "1" -> 1',
      '{} true |  replaced {"a":1,"b":2} -> {}; /a converted "1" -> 1',
    } },
  { "names of members",
    { { type = "object", propertyNames = { maxLength = 1 }, additionalProperties = I }, { a = "1", bb = "2" } },
    {
      '{"a":1,"bb":2} false | /a converted "1" -> 1; /bb converted "2" -> 2',
      '{} true |  replaced {"a":1,"bb":2} -> {}; /a converted "1" -> 1; /bb converted "2" -> 2',
    } },
  { "a root of another type",
    { I, true },
    {
      'true false |',
      '0 true |  replaced true -> 0',
    } },
  { "a root that is null",
    { object({ a = { default = 1 } }), json.null },
    {
      'null false |',
      '{"a":1} true |  replaced null -> {"a":1}',
    } },
  { "a default for the root",
    { { type = "integer", default = 7 }, "x" },
    {
      '"x" false |',
      '7 true |  replaced "x" -> 7',
    } },
}

local function text(value)
  return assert(json.encode(value, { sort_keys = true }))
end

local function told(compiled, value, mode)
  local result, changes, err = compiled:cast(value, mode)
  local lines = {}
  for i, change in ipairs(changes) do
    lines[i] = change.path .. " " .. change.kind .. (change.old ~= nil and " " .. text(change.old) or "") ..
      (change.new ~= nil and " -> " .. text(change.new) or "")
  end
  table.sort(lines)
  assert.is_nil(err)
  local line = ("%s %s | %s"):format(text(result), tostring((compiled:check(result))), table.concat(lines, "; "))
  return (line:gsub("%s+$", ""))
end

describe("cast and force", function()
  for _, case in ipairs(cases) do
    it(case[1], function()
      local compiled, before = assert(schema.compile(case[2][1])), text(case[2][2])
      assert.equal(case[3][1], told(compiled, case[2][2], "cast"))
      assert.equal(case[3][2] or case[3][1], told(compiled, case[2][2], "force"))
      assert.equal(before, text(case[2][2]))
    end)
  end
end)

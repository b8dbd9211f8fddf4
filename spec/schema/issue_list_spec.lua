--- Whole issues, in their order: path, keyword, place in the schema, message and params.
local json = require("operations.base.json")
local many = require("spec.support.many")
local operations = require("operations")
local schema = require("operations.schema")

local list = many.items

local tagged = list(30, function(i)
  return { type = "object", required = { "tag" }, properties = { tag = { const = "t" .. i } } }
end)
local props = {}
for i = 1, 30 do
  props["p" .. i] = true
end

-- What it is; its definition, value and limit of issues; the issues.
local cases = {
  { "each of several flaws of an object",
    { { type = "object", properties = { a = { type = "integer", minimum = 3 }, b = { type = "string" } },
      required = { "a", "b", "c" }, minProperties = 5, propertyNames = { maxLength = 1 },
      additionalProperties = false }, { a = 1, zz = 1 } },
    {
      ' | minProperties | /minProperties | expected at least 5 properties, got 2 | {"limit":5}',
      '/a | minimum | /properties/a/minimum | expected a number of at least 3, got 1 | {"limit":3}',
      '/b | required | /required | required, but missing; expected string | {"missingProperty":"b"}',
      '/c | required | /required | required, but missing | {"missingProperty":"c"}',
      '/zz | additionalProperties | /additionalProperties | unknown property; expected "a" or "b" | ' ..
        '{"additionalProperty":"zz"}',
      '/zz | propertyNames | /propertyNames | this name does not fit: expected at most 1 character, ' ..
        'got 2 | {"propertyName":"zz"}',
    } },
  { "each of several flaws of an array",
    { { type = "array", minItems = 5, uniqueItems = true, contains = { type = "string" },
      items = { type = "integer", multipleOf = 2 } }, { 2, 3, 3, true } },
    {
      ' | minItems | /minItems | expected at least 5 items, got 4 | {"limit":5}',
      '/1 | multipleOf | /items/multipleOf | expected a number that is a multiple of 2, got 3 | ' ..
        '{"multipleOf":2}',
      '/2 | multipleOf | /items/multipleOf | expected a number that is a multiple of 2, got 3 | ' ..
        '{"multipleOf":2}',
      '/3 | type | /items/type | expected integer, got boolean | {"type":["integer"]}',
      ' | contains | /contains | expected at least 1 item of the contained kind, found 0 | {"minContains":1}',
      ' | uniqueItems | /uniqueItems | expected different items, 1 and 2 are equal | {"i":1,"j":2}',
    } },
  { "each of several flaws of a text",
    { { type = "string", minLength = 5, pattern = "^a", format = "date", enum = { "x", "y" } }, "b" },
    {
      ' | minLength | /minLength | expected at least 5 characters, got 1 | {"limit":5}',
      ' | pattern | /pattern | expected a string that matches ^a, got "b" | {"pattern":"^a"}',
      ' | format | /format | expected a string of format date, got "b" | {"format":"date"}',
      ' | enum | /enum | expected one of "x" or "y", got "b" | {"allowedValues":["x","y"]}',
    } },
  { "each of several flaws of a number",
    { { type = "integer", minimum = 5, multipleOf = 2, enum = { 6, 8 }, ["not"] = { maximum = 4 } }, 3 },
    {
      ' | minimum | /minimum | expected a number of at least 5, got 3 | {"limit":5}',
      ' | multipleOf | /multipleOf | expected a number that is a multiple of 2, got 3 | {"multipleOf":2}',
      ' | enum | /enum | expected one of 6 or 8, got 3 | {"allowedValues":[6,8]}',
      ' | not | /not | expected a value that does not fit the schema of not | -',
    } },
  { "flaws within other things",
    { { allOf = { { properties = { a = { items = { properties = { b = { type = "null" } } } } } },
      { ["$ref"] = "#/$defs/r" } }, ["$defs"] = { r = { properties = { a = { maxItems = 1 } } } } },
      { a = { { b = 1 }, { b = json.null }, { b = "x" } } } },
    {
      '/a/0/b | type | /allOf/0/properties/a/items/properties/b/type | expected null, got integer | ' ..
        '{"type":["null"]}',
      '/a/2/b | type | /allOf/0/properties/a/items/properties/b/type | expected null, got string | ' ..
        '{"type":["null"]}',
      '/a | maxItems | /$defs/r/properties/a/maxItems | expected at most 1 item, got 3 | {"limit":1}',
    } },
  { "a name's flaws",
    { { propertyNames = { type = "string", pattern = "^a", maxLength = 2 } }, { bbb = 1 } },
    {
      '/bbb | propertyNames | /propertyNames | this name does not fit: expected at most 2 characters, ' ..
        'got 3 | {"propertyName":"bbb"}',
    } },
  { "a name that may not be",
    { { propertyNames = false }, { b = 1 } },
    {
      '/b | propertyNames | /propertyNames | this name does not fit: no value is allowed here | ' ..
        '{"propertyName":"b"}',
    } },
  { "many names",
    { { additionalProperties = false, properties = props }, { x = 1 } },
    {
      '/x | additionalProperties | /additionalProperties | unknown property; expected "p1", "p10", ' ..
        '"p11", "p12", "p13", "p14", "p15", "p16", "p17", "p18", "p19", "p2", "p20", "p21", "p22", ' ..
        '"p23", "p24", "p25", "p26", "p27", "p28", "p29", "p3", "p30" or 6 more | {"additionalProperty":"x"}',
    } },
  { "names of which one is only required",
    { { additionalProperties = false, properties = { a = true, b = true }, required = { "c" } }, { x = 1,
      c = 1 } },
    {
      '/c | additionalProperties | /additionalProperties | unknown property; expected "a" or "b" | ' ..
        '{"additionalProperty":"c"}',
      '/x | additionalProperties | /additionalProperties | unknown property; expected "a" or "b" | ' ..
        '{"additionalProperty":"x"}',
    } },
  { "many tags",
    { { oneOf = tagged }, { tag = "t0" } },
    {
      '/tag | oneOf | /oneOf | expected "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8", "t9", "t10", ' ..
        '"t11", "t12", "t13", "t14", "t15", "t16", "t17", "t18", "t19", "t20", "t21", "t22", "t23", ' ..
        '"t24" or 6 more, got "t0" | ' ..
        '{"allowedValues":["t1","t2","t3","t4","t5","t6","t7","t8","t9","t10","t11","t12","t13","t14","t1' ..
        '5","t16","t17","t18","t19","t20","t21","t22","t23","t24","t25","t26","t27","t28","t29","t30"]}',
    } },
  { "no tag",
    { { anyOf = tagged }, operations.object({}) },
    {
      '/tag | anyOf | /anyOf | required, but missing; expected "t1", "t2", "t3", "t4", "t5", "t6", ' ..
        '"t7", "t8", "t9", "t10", "t11", "t12", "t13", "t14", "t15", "t16", "t17", "t18", "t19", "t20", ' ..
        '"t21", "t22", "t23", "t24" or 6 more | ' ..
        '{"allowedValues":["t1","t2","t3","t4","t5","t6","t7","t8","t9","t10","t11","t12","t13","t14","t1' ..
        '5","t16","t17","t18","t19","t20","t21","t22","t23","t24","t25","t26","t27","t28","t29","t30"]}',
    } },
  { "a tag of another type",
    { { anyOf = { tagged[1], tagged[2] } }, { tag = 5 } },
    {
      '/tag | anyOf | /anyOf | expected "t1" or "t2", got 5 | {"allowedValues":["t1","t2"]}',
    } },
  { "a tag that is a table",
    { { anyOf = { tagged[1], tagged[2] } }, { tag = { a = 1 } } },
    {
      '/tag | anyOf | /anyOf | expected "t1" or "t2", got an object | {"allowedValues":["t1","t2"]}',
    } },
  { "many values",
    { { enum = list(30, function(i) return i end) }, 31 },
    {
      ' | enum | /enum | expected one of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, ' ..
        '18, 19, 20, 21, 22, 23, 24 or 6 more, got 31 | ' ..
        '{"allowedValues":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30]}',
    } },
  { "24 values",
    { { enum = list(24, function(i) return i end) }, 31 },
    {
      ' | enum | /enum | expected one of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, ' ..
        '18, 19, 20, 21, 22, 23 or 24, got 31 | ' ..
        '{"allowedValues":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24]}',
    } },
  { "25 values",
    { { enum = list(25, function(i) return i end) }, 31 },
    {
      ' | enum | /enum | expected one of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, ' ..
        '18, 19, 20, 21, 22, 23, 24 or 1 more, got 31 | ' ..
        '{"allowedValues":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25]}',
    } },
  { "one value",
    { { enum = { 1 } }, 2 },
    {
      ' | enum | /enum | expected 1, got 2 | {"allowedValues":[1]}',
    } },
  { "a const array",
    { { const = { 1 } }, { 2 } },
    {
      ' | const | /const | expected an array, got another one | {"allowedValue":[1]}',
    } },
  { "a const object of another kind",
    { { const = operations.object({}) }, { 2 } },
    {
      ' | const | /const | expected an empty object, got an array | {"allowedValue":{}}',
    } },
  { "a long text",
    { { const = ("x"):rep(60) }, ("y"):rep(61) },
    {
      ' | const | /const | expected "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", ' ..
        'got "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy..." | ' ..
        '{"allowedValue":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}',
    } },
  { "a text cut after a character",
    { { enum = { "a" } }, ("y"):rep(57) .. "\226\130\172" .. "zz" },
    {
      ' | enum | /enum | expected "a", got ' ..
        '"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy€..." | {"allowedValues":["a"]}',
    } },
  { "a text cut within a character",
    { { enum = { "a" } }, ("y"):rep(59) .. "\226\130\172" .. "z" },
    {
      ' | enum | /enum | expected "a", got ' ..
        '"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy..." | {"allowedValues":["a"]}',
    } },
  { "a long text in which no character begins",
    { { const = "a" }, ("\128"):rep(61) },
    {
      ' | const | /const | expected "a", got "..." | {"allowedValue":"a"}',
    } },
  { "a text as long as is shown",
    { { const = "a" }, ("\195\164"):rep(30) },
    {
      ' | const | /const | expected "a", got "' .. ("\195\164"):rep(30) .. '" | {"allowedValue":"a"}',
    } },
  { "an enum of nothing",
    { { enum = json.decode("[]") }, 1 },
    {
      ' | enum | /enum | expected nothing, got 1 | {"allowedValues":[]}',
    } },
  { "a union of nothing",
    { { anyOf = json.decode("[]") }, 1 },
    {
      ' | anyOf | /anyOf | expected nothing, got integer | {"type":[]}',
    } },
  { "names of which all are only required",
    { { required = { "a" }, additionalProperties = false }, { a = 1 } },
    {
      '/a | additionalProperties | /additionalProperties | unknown property; expected nothing | ' ..
        '{"additionalProperty":"a"}',
    } },
  { "scalars of any kind",
    { { items = { enum = { json.null, false, 1.5, "x" } } }, { true, 2.5, "y", { 1 }, {} } },
    {
      '/0 | enum | /items/enum | expected one of null, false, 1.5 or "x", got true | ' ..
        '{"allowedValues":[null,false,1.5,"x"]}',
      '/1 | enum | /items/enum | expected one of null, false, 1.5 or "x", got 2.5 | ' ..
        '{"allowedValues":[null,false,1.5,"x"]}',
      '/2 | enum | /items/enum | expected one of null, false, 1.5 or "x", got "y" | ' ..
        '{"allowedValues":[null,false,1.5,"x"]}',
      '/3 | enum | /items/enum | expected one of null, false, 1.5 or "x", got an array | ' ..
        '{"allowedValues":[null,false,1.5,"x"]}',
      '/4 | enum | /items/enum | expected one of null, false, 1.5 or "x", got an empty object | ' ..
        '{"allowedValues":[null,false,1.5,"x"]}',
    } },
  { "bounds of one and of none",
    { { prefixItems = { { maxLength = 1 }, { maxItems = 0 }, { minProperties = 1 }, { maxProperties = 0 },
      { contains = { const = 2 }, minContains = 0, maxContains = 0 } } },
      { "ab", { 1 }, operations.object({}), { a = 1 }, { 2, 2 } } },
    {
      '/0 | maxLength | /prefixItems/0/maxLength | expected at most 1 character, got 2 | {"limit":1}',
      '/1 | maxItems | /prefixItems/1/maxItems | expected at most 0 items, got 1 | {"limit":0}',
      '/2 | minProperties | /prefixItems/2/minProperties | expected at least 1 property, got 0 | {"limit":1}',
      '/3 | maxProperties | /prefixItems/3/maxProperties | expected at most 0 properties, got 1 | {"limit":0}',
      '/4 | contains | /prefixItems/4/contains | expected at most 0 items of the contained kind, found 2 | ' ..
        '{"maxContains":0}',
    } },
  { "the types of a missing member",
    { { properties = { a = { type = { "integer", "string", "null" } } }, required = { "a" } }, { b = 1 } },
    {
      '/a | required | /required | required, but missing; expected string, integer or null | ' ..
        '{"missingProperty":"a"}',
    } },
  { "integers and numbers",
    { { type = { "number", "boolean", "array", "object" } }, "x" },
    {
      ' | type | /type | expected number, boolean, array or object, got string | ' ..
        '{"type":["number","boolean","array","object"]}',
    } },
  { "a member for which there is no schema",
    { { properties = { a = { type = "string" } }, patternProperties = { ["^b"] = { minimum = 2 } },
      additionalProperties = { type = "boolean" } }, { a = 1, b1 = 1, c = 1 } },
    {
      '/a | type | /properties/a/type | expected string, got integer | {"type":["string"]}',
      '/b1 | minimum | /patternProperties/^b/minimum | expected a number of at least 2, got 1 | {"limit":2}',
      '/c | type | /additionalProperties/type | expected boolean, got integer | {"type":["boolean"]}',
    } },
  { "few and many of a kind",
    { { allOf = { { contains = { type = "integer" }, minContains = 2 }, { contains = { type = "string" },
      maxContains = 1 } } }, { 1, "a", "b" } },
    {
      ' | contains | /allOf/0/contains | expected at least 2 items of the contained kind, found 1 | ' ..
        '{"minContains":2}',
      ' | contains | /allOf/1/contains | expected at most 1 item of the contained kind, found 2 | ' ..
        '{"maxContains":1}',
    } },
  { "what a member requires",
    { { dependentRequired = { a = { "b", "c" } }, dependentSchemas = { a = { required = { "d" } } } },
      { a = 1 } },
    {
      '/b | dependentRequired | /dependentRequired | required because "a" is present, but missing | ' ..
        '{"missingProperty":"b"}',
      '/c | dependentRequired | /dependentRequired | required because "a" is present, but missing | ' ..
        '{"missingProperty":"c"}',
      '/d | required | /dependentSchemas/a/required | required, but missing | {"missingProperty":"d"}',
    } },
  { "unevaluated members beside a misfit",
    { { properties = { a = { type = "string" } }, unevaluatedProperties = false }, { a = 1, b = 1 } },
    {
      '/a | type | /properties/a/type | expected string, got integer | {"type":["string"]}',
      '/b | unevaluatedProperties | /unevaluatedProperties | unknown property; expected "a" | ' ..
        '{"unevaluatedProperty":"b"}',
    } },
  { "unevaluated members of a union",
    { { anyOf = { { properties = { a = true }, required = { "a" } }, { properties = { b = true },
      required = { "b" } } }, unevaluatedProperties = false }, { a = 1, b = 1, c = 1 } },
    {
      '/c | unevaluatedProperties | /unevaluatedProperties | unknown property | {"unevaluatedProperty":"c"}',
    } },
  { "unevaluated members that a wrong branch would know",
    { { anyOf = { { properties = { a = true }, required = { "a" } }, { properties = { b = true },
      required = { "x" } } }, unevaluatedProperties = { type = "string" } }, { a = 1, b = 1 } },
    {
      '/b | type | /unevaluatedProperties/type | expected string, got integer | {"type":["string"]}',
    } },
  { "unevaluated items of a type",
    { { prefixItems = { true }, unevaluatedItems = { type = "string" } }, { 1, 2, "c", 4 } },
    {
      '/1 | type | /unevaluatedItems/type | expected string, got integer | {"type":["string"]}',
      '/3 | type | /unevaluatedItems/type | expected string, got integer | {"type":["string"]}',
    } },
  { "no alternative, of which two are as close",
    { { anyOf = { { required = { "a" }, properties = { a = { type = "string" } } }, { required = { "b" },
      properties = { b = { type = "string" } } } } }, operations.object({}) },
    {
      '/a | required | /anyOf/0/required | required, but missing; expected string | {"missingProperty":"a"}',
    } },
  { "no alternative, of which a const is further",
    { { anyOf = { { type = "object", properties = { kind = { const = 1 } } }, { type = "object",
      required = { "a", "b", "c" } } } }, { kind = 2 } },
    {
      '/a | required | /anyOf/1/required | required, but missing | {"missingProperty":"a"}',
      '/b | required | /anyOf/1/required | required, but missing | {"missingProperty":"b"}',
      '/c | required | /anyOf/1/required | required, but missing | {"missingProperty":"c"}',
    } },
  { "no alternative, of which an enum is further",
    { { anyOf = { { type = "object", properties = { kind = { enum = { 1, 3 } } } }, { type = "object",
      required = { "a", "b", "c" } } } }, { kind = 2 } },
    {
      '/a | required | /anyOf/1/required | required, but missing | {"missingProperty":"a"}',
      '/b | required | /anyOf/1/required | required, but missing | {"missingProperty":"b"}',
      '/c | required | /anyOf/1/required | required, but missing | {"missingProperty":"c"}',
    } },
  { "no alternative through references",
    { { anyOf = { { ["$ref"] = "#/$defs/a" }, { ["$ref"] = "#/$defs/b" } },
      ["$defs"] = { a = { type = "integer" }, b = { type = "array" } } }, "x" },
    {
      ' | anyOf | /anyOf | expected integer or array, got string | {"type":["integer","array"]}',
    } },
  { "two alternatives",
    { { oneOf = { { type = "string" }, { type = "integer" }, { minimum = 1 }, { maximum = 9 } } }, 5 },
    {
      ' | oneOf | /oneOf | expected to fit one alternative only, fits 1 and 2 of oneOf | ' ..
        '{"passingSchemas":[1,2]}',
    } },
  { "no alternative of oneOf",
    { { oneOf = { { minimum = 6 }, { maximum = 4, multipleOf = 2 } } }, 5 },
    {
      ' | minimum | /oneOf/0/minimum | expected a number of at least 6, got 5 | {"limit":6}',
    } },
  { "keys that are not strings",
    { { properties = { a = true }, additionalProperties = false }, { a = 1, [true] = 2 } },
    {
      ' | - |  | the keys of an object are strings, got a boolean | -',
    } },
  { "keys of a table of any kind",
    { true, { a = { b = 1, [2] = 2 } } },
    {
      '/a | - |  | the keys of an object are strings, got a number | -',
    } },
  { "values of a table of any kind",
    { { items = true }, { { 1, { a = print } } } },
    {
      '/0/1/a | - | /items | expected a JSON value, got function | ' ..
        '{"type":["string","number","boolean","array","object","null"]}',
    } },
  { "then",
    { { ["if"] = { required = { "a" } }, ["then"] = { properties = { a = { const = 1 } } },
      ["else"] = { required = { "b" } } }, { a = 2 } },
    {
      '/a | const | /then/properties/a/const | expected 1, got 2 | {"allowedValue":1}',
    } },
  { "else",
    { { ["if"] = { required = { "a" } }, ["then"] = { properties = { a = { const = 1 } } },
      ["else"] = { required = { "b" } } }, { c = 2 } },
    {
      '/b | required | /else/required | required, but missing | {"missingProperty":"b"}',
    } },
  { "a limit of one issue",
    { { type = "object", required = { "a", "b" }, properties = { c = { type = "string" } } }, { c = 1 }, 1 },
    {
      '/a | required | /required | required, but missing | {"missingProperty":"a"}',
    } },
  { "a limit within items",
    { { items = { type = "string" }, minItems = 9 }, { 1, 2, 3 }, 2 },
    {
      ' | minItems | /minItems | expected at least 9 items, got 3 | {"limit":9}',
      '/0 | type | /items/type | expected string, got integer | {"type":["string"]}',
    } },
  { "a limit within names",
    { { propertyNames = { maxLength = 1 } }, { aa = 1, bb = 2, cc = 3 }, 2 },
    {
      '/aa | propertyNames | /propertyNames | this name does not fit: expected at most 1 character, ' ..
        'got 2 | {"propertyName":"aa"}',
      '/bb | propertyNames | /propertyNames | this name does not fit: expected at most 1 character, ' ..
        'got 2 | {"propertyName":"bb"}',
    } },
  { "a limit within other members",
    { { additionalProperties = { type = "string" }, minProperties = 7 }, { aa = 1, bb = 2, cc = 3 }, 2 },
    {
      ' | minProperties | /minProperties | expected at least 7 properties, got 3 | {"limit":7}',
      '/aa | type | /additionalProperties/type | expected string, got integer | {"type":["string"]}',
    } },
  { "a limit within a dependency",
    { { dependentRequired = { a = { "b", "c", "d" } } }, { a = 1 }, 2 },
    {
      '/b | dependentRequired | /dependentRequired | required because "a" is present, but missing | ' ..
        '{"missingProperty":"b"}',
      '/c | dependentRequired | /dependentRequired | required because "a" is present, but missing | ' ..
        '{"missingProperty":"c"}',
    } },
  { "a limit within unevaluated members",
    { { unevaluatedProperties = false }, { a = 1, b = 2, c = 3 }, 2 },
    {
      '/a | unevaluatedProperties | /unevaluatedProperties | unknown property | {"unevaluatedProperty":"a"}',
      '/b | unevaluatedProperties | /unevaluatedProperties | unknown property | {"unevaluatedProperty":"b"}',
    } },
  { "a limit within unevaluated items",
    { { unevaluatedItems = false }, { 1, 2, 3 }, 2 },
    {
      '/0 | - | /unevaluatedItems | no value is allowed here | -',
      '/1 | - | /unevaluatedItems | no value is allowed here | -',
    } },
  { "a limit within an alternative",
    { { anyOf = { { required = { "a", "b", "c" } }, { type = "string" } } }, { d = 1 }, 2 },
    {
      '/a | required | /anyOf/0/required | required, but missing | {"missingProperty":"a"}',
      '/b | required | /anyOf/0/required | required, but missing | {"missingProperty":"b"}',
    } },
  { "a limit within a table of any kind",
    { true, { a = print, b = print, c = print }, 2 },
    {
      '/a | - |  | expected a JSON value, got function | ' ..
        '{"type":["string","number","boolean","array","object","null"]}',
      '/b | - |  | expected a JSON value, got function | ' ..
        '{"type":["string","number","boolean","array","object","null"]}',
    } },
  { "a limit within a list of any kind",
    { true, { print, print, print }, 2 },
    {
      '/0 | - |  | expected a JSON value, got function | ' ..
        '{"type":["string","number","boolean","array","object","null"]}',
      '/1 | - |  | expected a JSON value, got function | ' ..
        '{"type":["string","number","boolean","array","object","null"]}',
    } },
}

local function line_of(issue)
  local params = issue.params and json.encode(issue.params, { sort_keys = true })
  return table.concat({ issue.path, issue.keyword or "-", issue.schemaPath, issue.message, params or "-" }, " | ")
end

describe("the issues are", function()
  for _, case in ipairs(cases) do
    it(case[1], function()
      local definition, value, most = case[2][1], case[2][2], case[2][3]
      local ok, issues = assert(schema.compile(definition, { max_issues = most, formats = true })):check(value)
      local lines = {}
      for i, issue in ipairs(issues) do
        lines[i] = line_of(issue)
      end
      assert.is_false(ok)
      assert.same(case[3], lines)
      assert.equal(json.array_mt, getmetatable(issues))
    end)
  end
end)

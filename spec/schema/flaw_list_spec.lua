--- Everything that is wrong with a schema: path, keyword and message of each flaw, and the documents that are missing.
local core = require("operations.core")
local schema = require("operations.schema")

local TYPES = " expected null, boolean, integer, number, string, array or object"
local loop = {}
loop.loop = { loop }

-- What it is; a definition and options; the flaws, sorted.
local cases = {
  { "counts",
    { { maxLength = -1, minLength = 1.5, maxItems = "1", minItems = math.huge, maxProperties = -0.5,
      minProperties = true, minContains = {}, maxContains = -2 } },
    {
      '/maxContains | maxContains | expected a non-negative integer, got -2',
      '/maxItems | maxItems | expected a non-negative integer, got string',
      '/maxLength | maxLength | expected a non-negative integer, got -1',
      '/maxProperties | maxProperties | expected a non-negative integer, got -0.5',
      '/minContains | minContains | expected a non-negative integer, got object',
      '/minItems | minItems | expected a non-negative integer, got infinity',
      '/minLength | minLength | expected a non-negative integer, got 1.5',
      '/minProperties | minProperties | expected a non-negative integer, got boolean',
    } },
  { "numbers",
    { { minimum = "1", maximum = {}, exclusiveMinimum = true, exclusiveMaximum = 0 / 0, multipleOf = 0 } },
    {
      '/exclusiveMaximum | exclusiveMaximum | expected a number, got NaN',
      '/exclusiveMinimum | exclusiveMinimum | expected a number, got boolean',
      '/maximum | maximum | expected a number, got object',
      '/minimum | minimum | expected a number, got string',
      '/multipleOf | multipleOf | expected a number above 0, got 0',
    } },
  { "limits of draft 4",
    { { exclusiveMinimum = 1, exclusiveMaximum = "x", multipleOf = -1 }, { draft = "4" } },
    {
      '/exclusiveMaximum | exclusiveMaximum | expected a boolean, got string',
      '/exclusiveMinimum | exclusiveMinimum | expected a boolean, got integer',
      '/multipleOf | multipleOf | expected a number above 0, got -1',
    } },
  { "limits of OpenAPI 3.0",
    { { exclusiveMinimum = 1, nullable = 1 }, { draft = "openapi-3.0" } },
    {
      '/exclusiveMinimum | exclusiveMinimum | expected a boolean, got integer',
      '/nullable | nullable | expected a boolean, got integer',
    } },
  { "types",
    { { type = "text", items = { type = { "string", "nul", 5 } }, ["not"] = { type = true },
      ["if"] = { type = { a = 1 } } } },
    {
      '/if/type | type | expected the name of a type, or an array of them, got object',
      '/items/type | type | expected the name of a type, or an array of them, got integer',
      '/items/type | type | unknown type "nul";' .. TYPES,
      '/not/type | type | expected the name of a type, or an array of them, got boolean',
      '/type | type | unknown type "text";' .. TYPES,
    } },
  { "file in another draft",
    { { type = "file" } },
    {
      '/type | type | unknown type "file";' .. TYPES,
    } },
  { "schemas",
    { { ["not"] = 5, items = { 1 }, contains = "x", propertyNames = { true }, ["if"] = print,
      additionalProperties = "no" } },
    {
      '/additionalProperties | - | expected a schema (a table or a boolean), got string',
      '/contains | - | expected a schema (a table or a boolean), got string',
      '/if | - | expected a schema (a table or a boolean), got function',
      '/items | - | expected a schema (a table or a boolean), got array',
      '/not | - | expected a schema (a table or a boolean), got integer',
      '/propertyNames | - | expected a schema (a table or a boolean), got array',
    } },
  { "arrays of schemas",
    { { allOf = { true, 5, { type = "x" } }, anyOf = { a = true }, oneOf = "x", prefixItems = { 5 } } },
    {
      '/allOf/1 | - | expected a schema (a table or a boolean), got integer',
      '/allOf/2/type | type | unknown type "x";' .. TYPES,
      '/anyOf | anyOf | expected an array of schemas, got object',
      '/oneOf | oneOf | expected an array of schemas, got string',
      '/prefixItems/0 | - | expected a schema (a table or a boolean), got integer',
    } },
  { "items of draft 7",
    { { items = { true, "x", { type = "y" } } }, { draft = "7" } },
    {
      '/items/1 | - | expected a schema (a table or a boolean), got string',
      '/items/2/type | type | unknown type "y";' .. TYPES,
    } },
  { "maps of schemas",
    { { properties = { a = 5, ["b/c~"] = { type = "x" }, d = true }, patternProperties = { ["a("] = true, b = "x" },
      ["$defs"] = { true }, dependentSchemas = "x" } },
    {
      '/$defs | $defs | expected an object, got array',
      '/dependentSchemas | dependentSchemas | expected an object, got string',
      '/patternProperties/b | - | expected a schema (a table or a boolean), got string',
      '/properties/a | - | expected a schema (a table or a boolean), got integer',
      '/properties/b~1c~0/type | type | unknown type "x";' .. TYPES,
    } },
  { "names of maps that are not strings",
    { { properties = { a = true, [2.5] = true, [true] = true } } },
    {
      '/properties | properties | names are strings, got a boolean',
      '/properties | properties | names are strings, got a number',
    } },
  { "names",
    { { required = { "a", 1 }, dependentRequired = { a = { "b" }, c = { 1 }, d = "e" } } },
    {
      '/dependentRequired | dependentRequired | expected arrays of property names, got array',
      '/dependentRequired | dependentRequired | expected arrays of property names, got string',
      '/required | required | expected an array of property names, got array',
    } },
  { "required that is no array",
    { { required = { a = "b" } } },
    {
      '/required | required | expected an array of property names, got object',
    } },
  { "dependencies of draft 7",
    { { dependencies = { a = { "b", 1 }, c = { type = "x" }, d = 5, e = { "f" } } }, { draft = "7" } },
    {
      '/dependencies | dependencies | expected arrays of property names, got array',
      '/dependencies/c/type | type | unknown type "x";' .. TYPES,
      '/dependencies/d | - | expected a schema (a table or a boolean), got integer',
    } },
  { "strings",
    { { pattern = 1, format = {}, title = 5, description = true, ["$comment"] = {}, ["$ref"] = 5 } },
    {
      '/$ref | $ref | expected a string, got integer',
      '/format | format | expected a string, got object',
      '/pattern | pattern | expected a string, got integer',
    } },
  { "flags",
    { { uniqueItems = 1, deprecated = "x", readOnly = {}, writeOnly = 0 } },
    {
      '/uniqueItems | uniqueItems | expected a boolean, got integer',
    } },
  { "constants",
    { { const = print, enum = { 1, print, { { 0 / 0 } } }, default = { a = { math.huge } } } },
    {
      '/const | const | function is not a JSON value',
      '/default | default | infinity is not a JSON value',
      '/enum | enum | NaN is not a JSON value',
      '/enum | enum | function is not a JSON value',
    } },
  { "constants that contain themselves",
    { { const = loop, default = loop, enum = { loop } } },
    {
      '/const | const | a table that contains itself is not a JSON value',
      '/default | default | a table that contains itself is not a JSON value',
      '/enum | enum | a table that contains itself is not a JSON value',
    } },
  { "an enum that is no array",
    { { enum = "x", items = { enum = { a = 1 } } } },
    {
      '/enum | enum | expected an array, got string',
      '/items/enum | enum | expected an array, got object',
    } },
  { "patterns",
    { { pattern = "(", patternProperties = { ["["] = true, ["a**"] = true } } },
    {
      '/pattern | pattern | "(" is not a regular expression: ( without ) at offset 0',
      '/patternProperties | patternProperties | "[" is not a regular expression: [ without ] at offset 0',
      '/patternProperties | patternProperties | "a**" is not a regular expression: nothing to repeat ' ..
        'at offset 2',
    } },
  { "references",
    { { ["$ref"] = "#/$defs/x", items = { ["$ref"] = "#x" }, ["$defs"] = { a = { ["$ref"] = "other#/a" },
      b = { ["$ref"] = "#/title" } }, title = "x" } },
    {
      '/$defs/a/$ref | $ref | "other#/a" is not in any of the given documents',
      '/$defs/b/$ref | $ref | "#/title" does not point to a schema',
      '/$ref | $ref | "#/$defs/x" does not point to a schema',
      '/items/$ref | $ref | "#x" does not point to a schema',
      'no document: other',
    } },
  { "references from a base",
    { { ["$id"] = "https://example.test/a/b", ["$ref"] = "c#/d", items = { ["$id"] = "d/", ["$ref"] = "e" },
      ["not"] = { ["$dynamicRef"] = "f#g" } } },
    {
      '/$ref | $ref | "https://example.test/a/c#/d" is not in any of the given documents',
      '/items/$ref | $ref | "https://example.test/a/d/e" is not in any of the given documents',
      '/not/$dynamicRef | $dynamicRef | "https://example.test/a/f#g" is not in any of the given documents',
      'no document: https://example.test/a/c',
      'no document: https://example.test/a/d/e',
      'no document: https://example.test/a/f',
    } },
  { "references into a document",
    { { ["$ref"] = "a:b#/x", items = { ["$ref"] = "a:b#y" }, ["not"] = { ["$ref"] = "a:b#/d/1" },
      contains = { ["$ref"] = "a:b#/d/2" } }, { documents = { ["a:b"] = { d = { true, { type = "x" } } } } } },
    {
      '/$ref | $ref | "a:b#/x" does not point to a schema',
      '/contains/$ref | $ref | "a:b#/d/2" does not point to a schema',
      '/items/$ref | $ref | "a:b#y" does not point to a schema',
      'a:b#/d/1/type | type | unknown type "x";' .. TYPES,
    } },
  { "an unknown dialect",
    { { ["$schema"] = "http://example.test/x" } },
    {
      '/$schema | $schema | "http://example.test/x" is an unknown dialect; expected the URI of draft ' ..
        '2020-12, 2019-09, 7, 6 or 4',
      'no document: http://example.test/x',
      'no document: http://example.test/x',
    } },
  { "an unknown dialect further inside",
    { { ["$defs"] = { a = { ["$id"] = "a:a", ["$schema"] = "http://example.test/x" } } } },
    {
      '/$schema | $schema | "http://example.test/x" is an unknown dialect; expected the URI of draft ' ..
        '2020-12, 2019-09, 7, 6 or 4',
      'no document: http://example.test/x',
      'no document: http://example.test/x',
    } },
  { "a vocabulary",
    { { ["$schema"] = "a:meta" }, { documents = { ["a:meta"] = { ["$vocabulary"] = { ["a:v"] = true,
      ["a:w"] = false } } } } },
    {
      '/$schema | $schema | needs vocabulary a:v, which is not supported',
    } },
  { "an array",
    { { true } },
    {
      ' | - | expected a schema (a table or a boolean), got array',
    } },
  { "what old drafts do not know",
    { { ["$ref"] = "#/definitions/a", type = "x", definitions = { a = { type = "y" } } }, { draft = "7" } },
    {
      '/definitions/a/type | type | unknown type "y";' .. TYPES,
    } },
  { "siblings of references in new drafts",
    { { ["$ref"] = "#/$defs/a", type = "x", ["$defs"] = { a = { type = "y" } } }, { draft = "2019-09" } },
    {
      '/$defs/a/type | type | unknown type "y";' .. TYPES,
      '/type | type | unknown type "x";' .. TYPES,
    } },
}

describe("the flaws of a schema are those of", function()
  for _, case in ipairs(cases) do
    it(case[1], function()
      local compiled, err, missing = core.schema_compile(case[2][1], case[2][2])
      assert.is_nil(compiled)
      assert.equal("VALIDATION_ERROR", err.code)
      local lines = {}
      for _, issue in ipairs(err.details) do
        assert.equal(issue.path, issue.schemaPath)
        lines[#lines + 1] = table.concat({ issue.path, issue.keyword or "-", issue.message }, " | ")
      end
      for _, uri in ipairs(missing) do
        lines[#lines + 1] = "no document: " .. uri
      end
      table.sort(lines)
      assert.same(case[3], lines)
    end)
  end

  it("256 levels are not too deep", function()
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
end)

local phrase = require("operations.tools.phrase")

describe("what a subset cannot say", function()
  it("follows the description, in brackets", function()
    assert.equal("A name (at least 1 character; at most 3 characters)",
      phrase.of({ description = "A name", minLength = 1, maxLength = 3 }, {}))
    assert.equal("(matches the pattern ^a%d)", phrase.of({ pattern = "^a%d" }, {}))
  end)

  it("leaves out what the subset says itself", function()
    assert.equal("A name", phrase.of({ description = "A name", minLength = 1 }, { minLength = true }))
    assert.is_nil(phrase.of({ type = "string" }, {}))
  end)

  it("tells of which schema a JSON text is", function()
    assert.equal('Any (JSON text of a value of this JSON Schema: {"type":"object"})',
      phrase.of_text({ description = "Any", type = "object" }))
    assert.equal("(JSON text of any value)", phrase.of_text(true))
  end)
end)

describe("the words for a keyword", function()
  local json = require("operations.base.json")

  for schema, words in pairs({
    ['{"const":"x"}'] = "always x", ['{"const":{"a":1}}'] = 'always {"a":1}', ['{"enum":["a",1]}'] = 'one of ["a",1]',
    ['{"format":"date"}'] = "format date", ['{"minLength":2}'] = "at least 2 characters",
    ['{"maxLength":1}'] = "at most 1 character", ['{"minimum":0}'] = "at least 0",
    ['{"exclusiveMinimum":0}'] = "above 0", ['{"maximum":5}'] = "at most 5", ['{"exclusiveMaximum":5}'] = "below 5",
    ['{"multipleOf":2}'] = "a multiple of 2", ['{"minItems":1}'] = "at least 1 item", ['{"maxItems":2}'] =
    "at most 2 items", ['{"uniqueItems":true}'] = "no item twice", ['{"minProperties":1}'] = "at least 1 member",
    ['{"maxProperties":0}'] = "at most 0 members", ['{"contentEncoding":"base64"}'] = "encoded as base64",
    ['{"contentMediaType":"a/b"}'] = "of the media type a/b", ['{"default":false}'] = "default false",
    ['{"examples":[1]}'] = "examples [1]", ['{"example":"x"}'] = "example x", ['{"anyOf":[true]}'] = "anyOf: [true]",
    ['{"not":{}}'] = "not: {}", ['{"contains":true,"minContains":2}'] = "contains: true; minContains: 2",
    ['{"dependentRequired":{"a":["b"]}}'] = 'dependentRequired: {"a":["b"]}',
    ['{"propertyNames":false,"unevaluatedItems":false}'] = "propertyNames: false; unevaluatedItems: false",
  }) do
    it("of " .. schema .. " are " .. words, function()
      assert.equal("(" .. words .. ")", phrase.of(json.decode(schema), {}))
    end)
  end

  it("are left out where there are no values, or too many", function()
    assert.is_nil(phrase.of({ uniqueItems = false }, {}))
    assert.equal("D", phrase.of({ description = "D", uniqueItems = false }, {}))
    assert.is_nil(phrase.of({ description = "" }, {}))
    assert.is_nil(phrase.of({ description = 7 }, {}))
    assert.equal(('(one of ["%s"])'):format(("x"):rep(596)), phrase.of({ enum = { ("x"):rep(596) } }, {}))
    assert.is_nil(phrase.of({ enum = { ("x"):rep(597) } }, {}))
    assert.is_nil(phrase.of({ anyOf = { { const = ("x"):rep(600) } } }, {}))
  end)

  it("are those of any value where the schema of a JSON text says nothing, or too much", function()
    assert.equal("D (JSON text of any value)", phrase.of_text({ description = "D", ["$defs"] = {}, ["$schema"] = "x",
      definitions = {} }))
    assert.equal("(JSON text of any value)", phrase.of_text({ description = 7 }))
    assert.equal("(JSON text of any value)", phrase.of_text({ const = ("x"):rep(600) }))
  end)
end)

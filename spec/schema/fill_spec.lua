local json = require("operations.base.json")
local operations = require("operations")
local schema = require("operations.schema")

local function fill(definition, value)
  return assert(schema.compile(definition)):fill(value)
end

local function text(value)
  return assert(json.encode(value, { sort_keys = true }))
end

describe("defaults deep inside", function()
  local has = { properties = { a = { default = 1 } } }
  local filled, empty = { a = 1 }, {}
  for name, case in pairs({
    properties = { { properties = { x = has } }, { x = empty }, { x = filled } },
    patternProperties = { { patternProperties = { ["^y"] = true, ["^x"] = has } }, { x = empty }, { x = filled } },
    additionalProperties = { { additionalProperties = has }, { x = empty }, { x = filled } },
    items = { { items = has }, { empty }, { filled } },
    prefixItems = { { prefixItems = { true, has } }, { empty, empty }, { empty, filled } },
    ["items after prefixItems"] = { { prefixItems = { true }, items = has }, { empty, empty }, { empty, filled } },
    allOf = { { allOf = { true, has } }, empty, filled },
    ["$ref"] = { { ["$ref"] = "#/$defs/a", ["$defs"] = { a = has } }, empty, filled },
    ["$ref with siblings"] = { { ["$ref"] = "#/$defs/a", ["$defs"] = { a = has }, type = "object" }, empty, filled },
    ["$dynamicRef"] = { { ["$dynamicRef"] = "#a", ["$defs"] = { a = { ["$dynamicAnchor"] = "a",
      properties = has.properties } } }, empty, filled },
    ["a chain of them"] = { { properties = { x = { items = { allOf = { { additionalProperties = has } } } } } },
      { x = { { y = empty } } }, { x = { { y = filled } } } },
  }) do
    it("are filled in below " .. name, function()
      local compiled = assert(schema.compile(case[1]))
      assert.same(case[3], (compiled:fill(case[2])))
      assert.same(case[3], (compiled:cast(case[2])))
    end)
  end
end)

describe("defaults in branches", function()
  local has = { type = "object", properties = { a = { default = 1 } } }
  local tagged = { oneOf = {
    { properties = { k = { const = "x" }, n = { default = 1 } }, required = { "k" } },
    { properties = { k = { const = "y" }, m = { default = 2 } }, required = { "k" } } } }
  local chosen = { ["if"] = { properties = { k = { const = "x" } }, required = { "k" } },
    ["then"] = { properties = { n = { default = 1 } } }, ["else"] = { properties = { m = { default = 2 } } } }
  local fitting = { { properties = { n = { default = 1 } }, required = { "x" } },
    { properties = { m = { default = 2 } }, required = { "y" } } }
  for name, case in pairs({
    ["the only one for objects"] = { { anyOf = { has, { type = "null" } } }, {}, { a = 1 } },
    ["the one of a tag"] = { tagged, { k = "y" }, { k = "y", m = 2 } },
    ["the one of a tag, by $ref"] = { { ["$ref"] = "#/$defs/t", ["$defs"] = { t = tagged } }, { k = "x" },
      { k = "x", n = 1 } },
    ["the only one that fits, of oneOf"] = { { oneOf = fitting }, { y = 1 }, { y = 1, m = 2 } },
    ["the only one that fits, of anyOf"] = { { anyOf = fitting }, { x = 1 }, { x = 1, n = 1 } },
    ["unions in unions"] = { { anyOf = { { oneOf = fitting }, { type = "string" } } }, { y = 1 }, { y = 1, m = 2 } },
    ["then"] = { chosen, { k = "x" }, { k = "x", n = 1 } }, ["else"] = { chosen, { k = "z" }, { k = "z", m = 2 } },
    ["allOf and then"] = { { allOf = { chosen } }, { k = "x" }, { k = "x", n = 1 } },
    ["items"] = { { items = tagged }, { { k = "x" }, { k = "y" } }, { { k = "x", n = 1 }, { k = "y", m = 2 } } },
    ["none of several that fit"] = { { anyOf = { { properties = { n = { default = 1 } } },
      { properties = { m = { default = 2 } } } } }, { k = "b" }, { k = "b" } },
    ["none where none fits"] = { { oneOf = fitting }, {}, {} },
    ["none where the defaults would choose another one"] = { { oneOf = { { properties = { n = { default = 1 } } },
      { required = { "n" } } } }, {}, {} },
    ["none where the defaults would change the condition"] = { { ["if"] = { required = { "n" } }, ["else"] = {
      properties = { n = { default = 1 } } } }, {}, {} },
  }) do
    it("are filled in where it is decided: " .. name, function()
      assert.same(case[3], fill(case[1], case[2]))
    end)
  end

  it("reach the handlers of a registry", function()
    local registry = operations.registry()
    local id = assert(registry:register({ namespace = "a", name = "b", type = "query", inputSchema = tagged,
      description = "gives its input", outputSchema = true, handler = function(input) return input end }))
    assert.same({ k = "x", n = 1 }, assert(registry:execute(id, { k = "x" })).data)
  end)
end)

describe("filling in defaults", function()
  it("gives back the value itself when nothing is missing", function()
    local value = { a = { b = 1 } }
    local definition = { properties = { a = { properties = { b = { default = 2 } } } } }
    assert.equal(value, fill(definition, value))
    assert.equal(value, fill({ properties = { a = true } }, value))
    assert.equal("x", fill(definition, "x"))
    local list = { 1 }
    assert.equal(list, fill(definition, list))
  end)

  it("copies only changed tables", function()
    local value = { a = {}, same = { 1 } }
    local filled = fill({ properties = { a = { properties = { b = { default = 2 } } } } }, value)
    assert.equal('{"a":{"b":2},"same":[1]}', text(filled))
    assert.equal(value.same, filled.same)
    assert.is_nil(value.a.b)
  end)

  it("reaches through items, patterns, additionalProperties, $ref and allOf", function()
    local point = { type = "object", properties = { x = { type = "integer", default = 0 } } }
    local filled = fill({
      ["$defs"] = { point = point },
      allOf = { { properties = { list = { items = { ["$ref"] = "#/$defs/point" } } } } },
      properties = { pair = { prefixItems = { true, point } } },
      patternProperties = { ["^p"] = { properties = { tag = { default = "p" } } } },
      additionalProperties = point,
    }, { list = { {}, { x = 1 } }, pair = { 1, {} }, p1 = {}, other = {} })
    assert.equal('{"list":[{"x":0},{"x":1}],"other":{"x":0},"p1":{"tag":"p"},"pair":[1,{"x":0}]}', text(filled))
  end)

  it("fills defaults that are objects themselves", function()
    local filled = fill({
      properties = { o = { default = {}, properties = { a = { default = json.null } } } },
    }, {})
    assert.equal('{"o":{"a":null}}', text(filled))
  end)

  it("takes the default of the schema that a property refers to", function()
    assert.equal('{"n":3}', text(fill({
      ["$defs"] = { n = { default = 3 } }, properties = { n = { ["$ref"] = "#/$defs/n" } },
    }, {})))
  end)

  it("takes no default beside a reference", function()
    for keyword, value in pairs({ enum = { "x" }, const = "x", ["not"] = { default = 1 }, ["if"] = { default = 1 },
      anyOf = { { default = 1 }, { default = 1 } }, oneOf = { { default = 1 } }, properties = { b = { default = 1 } },
      items = { default = 1 }, contains = { default = 1 }, unevaluatedItems = { default = 1 } }) do
      local compiled = assert(schema.compile({ default = 2, properties = { a = { [keyword] = value } } }))
      assert.same({}, compiled:fill({}), keyword)
      compiled = assert(schema.compile({ default = 2, properties = { a = { [keyword] = value,
        allOf = { true, { ["$ref"] = "#/$defs/x" } } } }, ["$defs"] = { x = { default = 3 } } }))
      local fits = keyword ~= "enum" and keyword ~= "const" and keyword ~= "not"
      assert.same({ a = fits and 3 or nil }, compiled:fill({}), keyword)
    end
  end)

  it("leaves out a default that does not fit its own schema", function()
    for _, member in ipairs({ { type = "string", default = json.decode("null") },
      { oneOf = { { type = "string" } }, default = 1 }, { type = "array", minItems = 1, default = {} },
      { ["$ref"] = "#/$defs/closed", default = "x" } }) do
      assert.equal('{"b":2}', text(fill({ properties = { a = member, b = { default = 2 } },
        ["$defs"] = { closed = { enum = { "y" } } } }, {})))
    end
  end)

  it("is a list where an empty table is the default of one", function()
    local member = { ["$ref"] = "#/$defs/list" }
    assert.equal('{"a":[],"b":{}}', text(fill({ ["$defs"] = { list = { type = "array", default = {} } },
      properties = { a = member, b = { type = { "array", "object" }, default = {} } } }, {})))
  end)

  it("keeps a default that fits once the defaults inside it are filled in", function()
    assert.equal('{"a":{"b":1}}', text(fill({ properties = { a = { type = "object", default = json.decode("{}"),
      required = { "b" }, properties = { b = { default = 1 } } } } }, {})))
  end)

  it("fills in only required members, if that is asked for", function()
    local member = { required = { "k" }, properties = { k = { default = 1 }, o = { default = 2 } } }
    local compiled = assert(schema.compile({ properties = { a = member, o = { default = 3 } }, required = { "r" },
      allOf = { { properties = { r = { default = 4 } } }, { ["$ref"] = "#/$defs/s" } },
      ["$defs"] = { s = { required = { "s" },
        allOf = { { properties = { s = { default = 5 }, t = { default = 6 } } } } } } }))
    assert.equal('{"a":{"k":1},"r":4,"s":5}', text(compiled:fill({ a = json.decode("{}") }, true)))
    assert.equal('{"a":{"k":1,"o":2},"o":3,"r":4,"s":5,"t":6}', text(compiled:fill({ a = json.decode("{}") })))
  end)

  it("follows $dynamicRef to the outermost schema, and $recursiveRef", function()
    local definition = {
      ["$id"] = "a:outer", ["$dynamicAnchor"] = "node", properties = {
        d = { default = 1 },
        x = { ["$id"] = "a:inner", ["$dynamicAnchor"] = "node", properties = { e = { default = 2 },
          y = { ["$dynamicRef"] = "#node" } } },
      },
    }
    assert.equal('{"d":1,"x":{"e":2,"y":{"d":1}}}', text(fill(definition, { x = { y = {} } })))
    assert.equal('{"d":1,"x":{"e":2,"y":{"d":1}}}', text((assert(schema.compile(definition)):cast({ x = { y = {} } }))))
    local alone = { ["$ref"] = "a:inner", ["$defs"] = { outer = definition } }
    assert.equal('{"e":2,"y":{"e":2}}', text(fill(alone, { y = {} })))
    assert.equal('{"e":2,"y":{"e":2}}', text((assert(schema.compile(alone)):cast({ y = {} }))))
    for _, value in ipairs({ definition, definition.properties.x }) do
      value["$dynamicAnchor"], value["$recursiveAnchor"] = nil, true
    end
    definition.properties.x.properties.y = { ["$recursiveRef"] = "#" }
    local compiled = assert(schema.compile(definition, { draft = "2019-09" }))
    assert.equal('{"d":1,"x":{"e":2,"y":{"d":1}}}', text(compiled:fill({ x = { y = {} } })))
    assert.equal('{"d":1,"x":{"e":2,"y":{"d":1}}}', text((compiled:cast({ x = { y = {} } }))))
  end)

  it("converts nothing and strips nothing", function()
    assert.equal('{"a":"1","n":5,"z":1}', text(fill({
      type = "object", properties = { a = { type = "integer" }, n = { default = 5 } }, additionalProperties = false,
    }, { a = "1", z = 1 })))
  end)

  it("fails where a default would need itself for ever", function()
    local filled, err = fill({ properties = { next = { ["$ref"] = "#", default = {} } } }, {})
    assert.is_nil(filled)
    assert.equal("VALIDATION_ERROR", err.code)
    assert.equal("/next/next", err.details[1].path:sub(1, 10))
    assert.equal("nested too deeply to fill in values", err.details[1].message)
  end)

  it("fails where a name is too costly to match", function()
    local name = ("a"):rep(40) .. "b"
    local filled, err = fill({ patternProperties = { ["^(a+)+\\1$"] = { properties = { x = { default = 1 } } } } },
      { [name] = {} })
    assert.is_nil(filled)
    assert.equal("/" .. name .. ": its name is too costly to match",
      err.details[1].path .. ": " .. err.details[1].message)
  end)
end)

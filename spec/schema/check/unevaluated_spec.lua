-- What counts as evaluated, by every keyword that can say so; each case: the schema, what fits, what does not.
local operations = require("operations")
local schema = require("operations.schema")

local array = operations.array

local function const(name, value)
  return { properties = { [name] = { const = value } }, required = { name } }
end

local properties = {
  ["properties"] = { { properties = { a = {} } }, { a = 1 }, { b = 1 } },
  ["patternProperties"] = { { patternProperties = { ["^a"] = {} } }, { ab = 1 }, { ba = 1 } },
  ["additionalProperties"] = { { allOf = { { additionalProperties = {} } } }, { z = 1 } },
  ["a reference"] = { { ["$ref"] = "#/$defs/a" }, { a = 1 }, { b = 1 } },
  ["allOf"] = { { allOf = { { properties = { a = {} } }, { properties = { b = {} } } } }, { a = 1, b = 1 }, { c = 1 } },
  ["the branch of anyOf that fits"] = { { anyOf = { const("a", 1), const("b", 1) } }, { b = 1 }, { a = 1, b = 2 } },
  ["the branch of oneOf that fits"] = { { oneOf = { const("a", 1), const("b", 1) } }, { a = 1 }, { a = 1, b = 2 } },
  ["if"] = { { ["if"] = const("a", 1) }, { a = 1 }, { a = 2 } },
  ["then"] = { { ["if"] = const("a", 1), ["then"] = { properties = { b = {} } } }, { a = 1, b = 1 }, { b = 1 } },
  ["else"] = { { ["if"] = const("a", 1), ["else"] = { properties = { b = {} } } }, { b = 1 }, { a = 1, b = 1 } },
  ["else, only what it names"] = { { ["if"] = const("a", 1), ["else"] = { properties = { b = {} } } }, {}, { c = 1 } },
  ["then beside else"] = { { ["if"] = const("a", 1), ["then"] = { properties = { b = {} } },
    ["else"] = { properties = { c = {} } } }, { a = 1, b = 1 }, { a = 1, c = 1 } },
  ["else beside then"] = { { ["if"] = const("a", 1), ["then"] = { properties = { b = {} } },
    ["else"] = { properties = { c = {} } } }, { c = 1 }, { b = 1 } },
  ["dependentSchemas"] = {
    { properties = { a = {} }, dependentSchemas = { a = { properties = { b = {} } } } }, { a = 1, b = 1 }, { b = 1 },
  },
  ["unevaluatedProperties within"] = { { allOf = { { unevaluatedProperties = true } } }, { z = 1 } },
  ["nothing under not"] = { { ["not"] = { ["not"] = { properties = { a = {} } } } }, {}, { a = 1 } },
}

local items = {
  ["prefixItems"] = { { prefixItems = { {} } }, array({ 1 }), array({ 1, 2 }) },
  ["items"] = { { allOf = { { items = {} } } }, array({ 1, 2 }) },
  ["the items that contains matches"] = { { contains = { const = 1 } }, array({ 1, 1 }), array({ 1, 2 }) },
  ["unevaluatedItems within"] = { { allOf = { { unevaluatedItems = {} } } }, array({ 1 }) },
  ["the branch of anyOf that fits"] = {
    { anyOf = { { prefixItems = { { const = 1 } } }, { prefixItems = { {}, { const = 2 } } } } }, array({ 3, 2 }),
    array({ 1, 3 }),
  },
  ["then"] = { { ["if"] = { prefixItems = { { const = 1 } } }, ["then"] = { prefixItems = { {}, {} } } },
    array({ 1, 2 }), array({ 2, 2 }) },
}

local function check_cases(cases, keyword)
  for name, case in pairs(cases) do
    it("counts: " .. name, function()
      case[1][keyword] = false
      case[1]["$defs"] = { a = { properties = { a = {} } } }
      local compiled = assert(schema.compile(case[1]))
      assert.is_true((compiled:check(case[2])))
      if case[3] then
        local ok, issues = compiled:check(case[3])
        assert.is_false(ok)
        assert.is_truthy(issues[1].path)
      end
    end)
  end
end

describe("an unevaluated property", function()
  check_cases(properties, "unevaluatedProperties")

  it("is checked by the schema there is for it", function()
    local compiled = assert(schema.compile({ properties = { a = {} }, unevaluatedProperties = { type = "string" } }))
    assert.is_true((compiled:check({ a = 1, b = "x" })))
    local ok, issues = compiled:check({ a = 1, b = 2 })
    assert.is_false(ok)
    assert.equal("/b", issues[1].path)
  end)

  it("is known by the schema that $dynamicRef finds", function()
    local compiled = assert(schema.compile({
      ["$id"] = "http://x/tree", ["$dynamicAnchor"] = "node", ["$ref"] = "base", unevaluatedProperties = false,
      properties = { own = {} },
      ["$defs"] = { base = { ["$id"] = "base", ["$dynamicAnchor"] = "node",
        properties = { child = { ["$dynamicRef"] = "#node" } } } },
    }))
    assert.is_true((compiled:check({ own = 1, child = { own = 2 } })))
    assert.is_false((compiled:check({ child = { other = 2 } })))
  end)
end)

describe("the keywords beside an unevaluated member or item", function()
  it("may be a dynamic reference", function()
    local compiled = assert(schema.compile({ ["$dynamicRef"] = "#d", unevaluatedProperties = false,
      unevaluatedItems = false, ["$defs"] = { d = { ["$dynamicAnchor"] = "d", properties = { a = {} },
        prefixItems = array({ {} }) } } }))
    assert.is_true((compiled:check({ a = 1 })))
    assert.is_false((compiled:check({ a = 1, b = 1 })))
    assert.is_true((compiled:check(array({ 1 }))))
    assert.is_false((compiled:check(array({ 1, 2 }))))
    local _, issues = compiled:check({ a = 1, b = 1 })
    assert.same({ 1, "/b" }, { #issues, issues[1].path })
  end)
end)

describe("an unevaluated item", function()
  check_cases(items, "unevaluatedItems")

  it("is checked by the schema there is for it", function()
    local compiled = assert(schema.compile({ prefixItems = array({ {} }), unevaluatedItems = { type = "string" } }))
    assert.is_true((compiled:check(array({ 1, "x" }))))
    local ok, issues = compiled:check(array({ 1, 2 }))
    assert.is_false(ok)
    assert.equal("/1", issues[1].path)
  end)
end)

describe("a schema that contains itself", function()
  local function of_required(name, branch, whole)
    return { ["if"] = { required = { name } }, [branch] = whole, unevaluatedProperties = false }
  end
  local function closed()
    return { ["$ref"] = "#", unevaluatedItems = false, unevaluatedProperties = false }
  end

  -- What the schema becomes; members of x that it knows; one that it does not.
  for keyword, case in pairs({
    items = { function(t) t.items, t.properties.x = t, closed() end, array({ 1, 2 }) },
    additionalProperties = { function(t) t.additionalProperties, t.properties.x = t, closed() end, { p = 1, q = 1 } },
    ["then"] = { function(t) t.properties.x = of_required("p", "then", t) end, { p = 1 }, { q = 1 } },
    ["else"] = { function(t) t.properties.x = of_required("q", "else", t) end, { p = 1 }, { q = 1 } },
    ["if"] = { function(t) t.properties.x = { ["if"] = t, unevaluatedProperties = false } end, { p = 1 }, { q = 1 } },
  }) do
    it("knows the members that it describes, for a schema that refers to it by " .. keyword, function()
      local whole = { properties = { p = { type = "integer" } } }
      case[1](whole)
      local compiled = assert(schema.compile(whole))
      assert.is_true((compiled:check({ x = case[2] })))
      local _, issues = compiled:check({ x = case[3] or { p = "text" } })
      assert.same({ case[3] and "/x/q" or "/x/p", 1 }, { issues[1].path, #issues })
      whole.properties.x.required = array({ "r" })
      _, issues = assert(schema.compile(whole)):check({ x = case[2] })
      assert.equal(keyword == "items" and 0 or 1, #(issues or {}))
    end)
  end
end)

describe("a member that is unevaluated within", function()
  local function within(inner)
    return {
      allOf = { allOf = { inner } }, anyOf = { anyOf = { inner, false } }, oneOf = { oneOf = { false, inner } },
      ["if"] = { ["if"] = inner }, ["then"] = { ["if"] = true, ["then"] = inner },
      ["else"] = { ["if"] = false, ["else"] = inner }, reference = { ["$ref"] = "#/$defs/inner" },
      dependentSchemas = { dependentSchemas = { x = inner } },
      ["dynamic reference"] = { ["$dynamicRef"] = "#inner" },
    }
  end

  local function compiled_of(definition, inner)
    definition["$defs"] = { inner = { ["$dynamicAnchor"] = "inner", allOf = { inner } } }
    return assert(schema.compile(definition))
  end

  it("counts as evaluated, also beside another misfit", function()
    local inner = { unevaluatedProperties = { type = "integer" } }
    for name, definition in pairs(within(inner)) do
      definition.unevaluatedProperties = false
      local compiled = compiled_of(definition, inner)
      assert.is_true((compiled:check({ x = 1 })), name)
      assert.is_false((compiled:check({ x = "text" })), name)
      definition.properties = { b = { type = "null" } }
      local _, issues = compiled_of(definition, inner):check({ x = 1, b = 2 })
      assert.same({ "/b" }, { issues[1].path, issues[2] and issues[2].path }, name)
    end
  end)

  it("counts as evaluated in an array", function()
    local inner = { unevaluatedItems = { type = "integer" } }
    for name, definition in pairs(within(inner)) do
      definition.unevaluatedItems, definition.dependentSchemas = false, nil
      local compiled = compiled_of(definition, inner)
      assert.equal(name ~= "dependentSchemas", (compiled:check(array({ 1 }))), name)
      assert.is_false((compiled:check(array({ "text" }))), name)
    end
  end)
end)

local json = require("operations.base.json")
local members = require("operations.base.members")
local parameters = require("operations.tools.parameters")
local property_order = require("operations.base.property_order")
local sources = require("spec.support.sources")

local cases = assert(json.decode(sources.read("spec/vectors/tools/strict.json")))

describe("the strict form", function()
  for _, format in ipairs({ "openai", "anthropic", "gemini" }) do
    for _, case in ipairs(cases) do
      it("for " .. format .. " is as its vector says: " .. case.name, function()
        local made = parameters.of(case.schema, format, true)
        assert.equal(json.encode(case[format], { sort_keys = true }), json.encode(made.schema, { sort_keys = true }))
        assert.is_true(made.strict)
      end)
    end
  end

  it("takes any text for the items of an array that says nothing of them", function()
    for format, text in pairs({ openai = "string", anthropic = "string", gemini = "STRING" }) do
      local made = parameters.of({ type = "object", required = { "l" }, properties = { l = { type = "array" } } },
        format, true)
      assert.same({ type = text, description = "(JSON text of any value)" }, made.schema.properties.l.items)
      assert.same({ l = { 5, "x" } }, parameters.input(made, { l = { "5", '"x"' } }))
    end
  end)

  it("keeps names of properties up to 64 characters where the vendor limits them", function()
    local function name_of(format, length)
      return next(parameters.of({ type = "object", properties = { [("x"):rep(length)] = true } }, format, true)
        .schema.properties)
    end
    for _, format in ipairs({ "anthropic", "gemini" }) do
      assert.equal(("x"):rep(64), name_of(format, 64))
      assert.equal("p_" .. ("x"):rep(58), name_of(format, 65))
    end
    assert.equal(("x"):rep(65), name_of("openai", 65))
  end)

  it("keeps the order of properties, with those that are not declared at the end", function()
    local T = require("operations").type
    for _, format in ipairs({ "openai", "anthropic", "gemini" }) do
      local made = parameters.of(T.object({ { "z", T.string() }, { "a", T.optional(T.integer()) } },
        { additionalProperties = T.number() }), format, true)
      local names = { "z", "a", "additional_properties" }
      assert.same(names, property_order.names(made.schema.properties))
      assert.same(format == "openai" and names or { "z" }, made.schema.required)
      assert.same({ z = "z", a = 1 }, parameters.input(made, { z = "z", a = 1, additional_properties = json.null }))
    end
  end)

  it("keeps the restrictions and formats that the vendor knows", function()
    local range = { minimum = 1, maximum = 9, exclusiveMinimum = 0, exclusiveMaximum = 10, multipleOf = 1 }
    local given = {
      string = { pattern = "^a", format = "date-time", minLength = 1, maxLength = 9 }, number = range, integer = range,
      array = { minItems = 1, maxItems = 9, uniqueItems = true },
    }
    local all, limits = "exclusiveMaximum exclusiveMinimum maximum minimum multipleOf", "maximum minimum"
    for format, expected in pairs({
      openai = { string = "format pattern", number = all, integer = all, array = "maxItems minItems" },
      anthropic = { string = "format", number = "", integer = "", array = "minItems" },
      gemini = { string = "format", number = limits, integer = limits, array = "" },
    }) do
      for kind, restrictions in pairs(given) do
        local schema = members.merged({ type = kind, items = { type = "string" } }, restrictions)
        local made = parameters.of({ type = "object", properties = { a = schema }, required = { "a" } }, format, true)
        local offered = made.schema.properties.a
        local kept = {}
        for name in pairs(restrictions) do
          kept[#kept + 1] = offered[name] ~= nil and name or nil
        end
        table.sort(kept)
        assert.equal(expected[kind], table.concat(kept, " "), format .. " " .. kind)
      end
    end
    local shared = "date date-time duration email hostname ipv4 ipv6 time uuid"
    for format, expected in pairs({ openai = shared, anthropic = shared .. " uri", gemini = "date-time" }) do
      local kept = {}
      for name in (shared .. " uri regex"):gmatch("%S+") do
        local schema = { type = "object", properties = { a = { type = "string", format = name } }, required = { "a" } }
        kept[#kept + 1] = parameters.of(schema, format, true).schema.properties.a.format
      end
      assert.equal(expected, table.concat(kept, " "), format)
    end
  end)

  it("has objects as deep as the vendor takes them; what is deeper is text", function()
    for format, depth in pairs({ openai = 10, anthropic = 64, gemini = 16 }) do
      local schema = { type = "string" }
      for _ = 1, 70 do
        schema = { type = "object", properties = { o = schema }, required = { "o" } }
      end
      local offered, objects = parameters.of(schema, format, true).schema, 0
      while offered.properties do
        offered, objects = offered.properties.o, objects + 1
      end
      assert.same({ depth, "string" }, { objects, offered.type:lower() })
    end
  end)

  it("is text for a union with a reference that leads back to where it is", function()
    local object = { type = "object", properties = { k = { type = "string" } } }
    local function offered(branches, definitions)
      return parameters.of({ type = "object", properties = { x = { anyOf = branches } }, required = { "x" },
        ["$defs"] = definitions }, "openai", true).schema.properties.x.type
    end
    local a, b = { ["$ref"] = "#/$defs/a" }, { ["$ref"] = "#/$defs/b" }
    assert.equal("string", offered({ a, object }, { a = b, b = a }))
    assert.equal("string", offered({ a }, { a = { anyOf = { a, object } } }))
    assert.equal("string", offered({ a }, { a = { anyOf = { object, a } } }))
  end)

  it("has an enum for Gemini where its values are texts, or null", function()
    local function of(...)
      local schema = { type = "object", properties = { x = { enum = { ... } } }, required = { "x" } }
      local x = parameters.of(schema, "gemini", true).schema.properties.x
      return { x.type, x.nullable or false, x.enum or false }
    end
    assert.same({ "STRING", true, { "a" } }, of("a", json.null))
    assert.same({ "STRING", true, false }, of("a", json.null, 1))
    assert.same({ "STRING", false, false }, of("a", 1))
  end)

  it("is left again where a reference in a union is to another union, beside which objects are text", function()
    local T = require("operations").type
    local u = { ["$ref"] = "#/$defs/u" }
    local function made(one, other)
      return parameters.of({ type = "object", required = { "x" }, properties = { x = { anyOf = { one, other } } },
        ["$defs"] = { u = { anyOf = { T.object({ a = T.optional(T.string()) }), T.string() } } } }, "openai", true)
    end
    for _, other in ipairs({ { type = "null" }, { type = "integer" } }) do
      for _, form in ipairs({ made(u, other), made(other, u) }) do
        assert.same({ x = {} }, (parameters.input(form, { x = { a = json.null } })))
        assert.equal(7, parameters.input(form, { x = 7 }).x)
      end
    end
    for _, other in ipairs({ T.object({ b = T.optional(T.string()) }), T.array({}), u }) do
      assert.equal("string", made(u, other).schema.properties.x.type)
      assert.equal("string", made(other, u).schema.properties.x.type)
    end
  end)

  it("keeps what is said beside a reference, within an allOf too", function()
    local function said(property)
      local x = parameters.of({ type = "object", properties = { x = property }, required = { "x" },
        ["$defs"] = { d = { type = "object", properties = { a = { type = "string" } } } } }, "openai", true)
        .schema.properties.x
      return x.anyOf[1]["$ref"], x.description
    end
    local beside = { ["$ref"] = "#/$defs/d", description = "beside" }
    for _, property in ipairs({ beside, { allOf = { beside } },
      { allOf = { { ["$ref"] = "#/$defs/d" } }, description = "beside" },
      { allOf = { { ["$ref"] = "#/$defs/d", description = "below" } }, description = "beside" } }) do
      assert.same({ "#/$defs/d", "beside" }, { said(property) })
    end
  end)

  -- Definitions each of which has the next one `width` times.
  local function chain(keyword, length, width)
    local definitions = { ["D" .. length] = { type = "string" } }
    for i = 1, length - 1 do
      local list = {}
      for j = 1, width do
        list[j] = { ["$ref"] = "#/$defs/D" .. i + 1 }
      end
      definitions["D" .. i] = { [keyword] = list }
    end
    return { type = "object", properties = { x = { ["$ref"] = "#/$defs/D1" } }, ["$defs"] = definitions }
  end

  it("is made at once of definitions that lead to the same ones in millions of ways", function()
    for _, keyword in ipairs({ "allOf", "anyOf", "oneOf" }) do
      for format, has_references in pairs({ openai = true, anthropic = true, gemini = false }) do
        local made = parameters.of(chain(keyword, 25, 3), format, true)
        assert.equal(keyword == "allOf" or has_references, made.strict)
        assert.is_not_nil(made.schema.properties.x)
      end
    end
  end)

  it("is not made where it has too many parts with the references written out", function()
    local function more(name)
      return { allOf = { { ["$ref"] = "#/$defs/Node" }, { properties = { [name] = { type = "integer" } } } } }
    end
    local tree = { type = "object", properties = { root = { ["$ref"] = "#/$defs/Node" } }, ["$defs"] = {
      Node = { type = "object", properties = { left = more("l"), right = more("r") } } } }
    local made = parameters.of(tree, "anthropic", true)
    assert.is_false(made.strict)
    assert.same(tree.properties, made.schema.properties)
    assert.is_true(parameters.of(tree, "openai", true).strict)
  end)
end)

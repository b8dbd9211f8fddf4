local operations = require("operations")
local schema_text = require("operations.people.schema_text")
local T = operations.type

local describe_schema = schema_text.describe

describe("a schema for people", function()
  it("is its type and its limits", function()
    assert.equal("  any\n", describe_schema(true))
    assert.equal("  nothing\n", describe_schema(false))
    assert.equal("  string, 1 to 9 characters, email\n",
      describe_schema(T.string({ minLength = 1, maxLength = 9, format = "email" })))
    assert.equal("  string, at least 1 character\n", describe_schema(T.string({ minLength = 1 })))
    assert.equal("  integer, at most 3, default 2\n", describe_schema(T.integer({ maximum = 3, default = 2 })))
    assert.equal("  number, 0.5 to 1\n", describe_schema(T.number({ minimum = 0.5, maximum = 1 })))
    assert.equal("  any, 1 to 3 members\n", describe_schema({ minProperties = 1, maxProperties = 3 }))
    assert.equal("  string | null\n", describe_schema(T.nullable(T.string())))
  end)

  it("spells out values and combinations", function()
    assert.equal('  "a" | 1 | null\n', describe_schema(T.enum({ "a", 1, operations.null })))
    assert.equal("  7\n", describe_schema(T.const(7)))
    assert.equal("  string | integer[]\n", describe_schema(T.any_of({ T.string(), T.array(T.integer()) })))
    assert.equal("  (string | null)[]\n", describe_schema(T.array(T.nullable(T.string()))))
    assert.equal("  [string, integer], at least 2 items\n", describe_schema(T.tuple({ T.string(), T.integer() })))
    assert.equal("  A\n", describe_schema(T.all_of({ T.ref("#/$defs/A"), { minProperties = 1 } })))
    assert.equal("  A & B\n", describe_schema(T.all_of({ T.ref("#/$defs/A"), T.ref("#/$defs/B") })))
  end)

  it("lists the properties of an object, in the order that is known, else sorted", function()
    local notes, adult = T.optional(T.array(T.string())), T.boolean({ default = false })
    local name = T.string({ description = "Who\n  it is." })
    assert.equal([[
  name   string, required
         Who it is.
  notes  string[]
  adult  boolean, default false
]], describe_schema(T.object({ { "name", name }, { "notes", notes }, { "adult", adult } })))
    assert.equal([[
  adult  boolean, default false
  name   string, required
         Who it is.
  notes  string[]
]], describe_schema(T.object({ name = name, notes = notes, adult = adult })))
  end)

  it("indents nested objects and lists of them", function()
    assert.equal([[
  object[]
  owner  object, required
    id  integer, required
]], describe_schema(T.array(T.object({ owner = T.object({ id = T.integer() }) }))))
  end)

  it("follows references, also ones that lead back", function()
    assert.equal([[
  child  Node
    next   Node, as above
    value  integer
]], describe_schema({
      ["$defs"] = {
        Node = { type = "object", properties = { value = { type = "integer" }, next = { ["$ref"] = "#/$defs/Node" } } },
      },
      type = "object",
      properties = { child = { ["$ref"] = "#/$defs/Node" } },
    }))
    assert.equal("  next  the whole schema, as above\n",
      describe_schema({ type = "object", properties = { next = { ["$ref"] = "#" } } }))
  end)

  it("spells out what scalars references lead to, and names the rest", function()
    assert.equal([[
  level  "low" | "high"
         How urgent.
  pet    Pet
    name  string, at least 1 character
]], describe_schema({
      ["$defs"] = {
        Level = { enum = { "low", "high" }, description = "How urgent." },
        Pet = { properties = { name = { type = "string", minLength = 1 } } },
      },
      properties = { level = { ["$ref"] = "#/$defs/Level" }, pet = { ["$ref"] = "#/$defs/Pet" } },
    }))
  end)

  it("lists the branches of a union, each schema once", function()
    local schema = {
      ["$defs"] = {
        Event = { oneOf = { { ["$ref"] = "#/$defs/Open" }, { ["$ref"] = "#/$defs/Close" }, { type = "null" } } },
        Open = { properties = { by = { ["$ref"] = "#/$defs/User" } } },
        Close = { allOf = { { ["$ref"] = "#/$defs/Base" }, { properties = { by = { ["$ref"] = "#/$defs/User" } } } } },
        Base = { properties = { at = { type = "integer" } }, required = { "at" } },
        User = { properties = { id = { type = "integer" } } },
      },
      type = "array", items = { ["$ref"] = "#/$defs/Event" },
    }
    assert.equal([[
  Event[]
  either  Open
    by  User
      id  integer
  or      Close
    at  integer, required
    by  User, as above
]], describe_schema(schema))
  end)

  it("shows the one object that may be null", function()
    local object = { properties = { id = { type = "integer" } } }
    assert.equal("  x  object | null\n    id  integer\n",
      describe_schema({ properties = { x = { anyOf = { object, { type = "null" } } } } }))
  end)

  it("breaks long texts, and counts what a long union holds", function()
    local text = describe_schema({ properties = {
      x = { description = ("many words "):rep(30) },
      y = { anyOf = { T.const(("a"):rep(40)), T.const(("b"):rep(40)), T.object({ id = T.integer() }) } },
    } })
    for line in text:gmatch("[^\n]+") do
      assert.is_true(#line <= 100)
    end
    assert.matches("\n  y  one of 3\n", text, 1, true)
  end)

  it("leaves deep objects out where there are more lines than people read", function()
    local properties = {}
    for i = 1, 40 do
      local inner = {}
      for j = 1, 10 do
        inner["p" .. j] = { type = "integer" }
      end
      properties["o" .. i] = { type = "object", properties = inner }
    end
    local text = describe_schema({ properties = properties })
    assert.equal(41, select(2, text:gsub("\n", "")))
    assert.matches("\n  o9   object\n  %(deeper objects are left out; %-%-json shows them%)\n$", text)
  end)

  it("names the sixth object within others, and shows none in there", function()
    local inner = { type = "integer" }
    for depth = 8, 1, -1 do
      inner = { type = "object", properties = { ["d" .. depth] = inner } }
    end
    local text = describe_schema(inner)
    assert.matches("\n +d6 +object\n$", text)
  end)

  it("copes with references that lead nowhere", function()
    assert.equal("  Gone\n", describe_schema({ ["$ref"] = "#/$defs/Gone" }))
    assert.equal("  other.json\n", describe_schema({ ["$ref"] = "https://example.com/other.json" }))
    assert.equal("  A\n", describe_schema({ ["$ref"] = "#/$defs/A", ["$defs"] = { A = { ["$ref"] = "#/$defs/A" } } }))
  end)
end)

describe("the lines that describe", function()
  local json = require("operations.base.json")
  local sources = require("spec.support.sources")

  for _, case in ipairs(assert(json.decode(sources.read("spec/vectors/people/schema_text.json")))) do
    it(case.name .. " are as their vector says", function()
      assert.equal(case.text, describe_schema(case.schema))
    end)
  end

  it("a union are spelled out up to 72 columns, then counted", function()
    local function union(length)
      return { anyOf = { T.const(("a"):rep(length)), T.const("b") } }
    end
    assert.equal(("  %q | \"b\"\n"):format(("a"):rep(64)), describe_schema(union(64)))
    assert.equal("  one of 2\n", describe_schema(union(65)))
  end)

  it("a reference to values spell them out up to 72 columns, then name them", function()
    local function reference(length)
      return { ["$ref"] = "#/$defs/a", ["$defs"] = { a = { const = ("a"):rep(length) } } }
    end
    assert.equal(("  %q\n"):format(("a"):rep(70)), describe_schema(reference(70)))
    assert.equal("  a\n", describe_schema(reference(71)))
  end)

  it("words are shorter than the width, but for a word that is not", function()
    local described = T.object({ a = T.string({ description = "one two three" }) })
    assert.equal("  a  string,\n     required\n     one two\n     three\n", describe_schema(described, 14))
    assert.equal("  a  string, required\n     one two three\n", describe_schema(described, 21))
    assert.equal("  a  string,\n     required\n     one two three\n", describe_schema(described, 20))
  end)

  it("a union of scalars beside properties have no branches", function()
    assert.equal("  x  string | integer\n    y  integer\n", describe_schema({ properties = {
      x = { properties = { y = { type = "integer" } }, anyOf = { { type = "string" }, { type = "integer" } } } } }))
  end)

  it("unions and parts within each other go six deep", function()
    local null, text = { type = "null" }, { type = "string" }
    for shown, around in pairs({ ["  id  integer\n"] = function(inner) return { allOf = { inner } } end,
      ["| null\n    id  integer\n"] = function(inner) return { anyOf = { inner, null } } end,
      ["or      string\n"] = function(inner) return { anyOf = { inner, text } } end }) do
      local schema = { properties = { id = { type = "integer" } } }
      for _ = 1, 6 do
        schema = around(schema)
      end
      assert.matches(shown, describe_schema({ properties = { x = schema } }), 1, true)
      assert.is_nil(describe_schema({ properties = { x = around(schema) } }):find(shown, 1, true))
      local whole = shown:gsub("\n    ", "\n  ")
      assert.matches(whole, describe_schema(schema), 1, true)
      assert.is_nil(describe_schema(around(schema)):find(whole, 1, true))
    end
    assert.equal("  the whole schema\n", describe_schema({ allOf = { { ["$ref"] = "#" } } }))
    assert.equal("  the whole schema | null\n", describe_schema({ anyOf = { { ["$ref"] = "#" }, null } }))
    assert.equal("  the whole schema | string\n", describe_schema({ anyOf = { { ["$ref"] = "#" }, text } }))
  end)

  it("many properties without deeper objects are complete", function()
    local properties = {}
    for i = 1, 301 do
      properties["p" .. i] = { type = "integer" }
    end
    local text = describe_schema({ properties = properties })
    assert.equal(301, select(2, text:gsub("integer\n", "")))
    assert.equal(301, select(2, text:gsub("\n", "")))
  end)

  it("a schema with as many lines as people read are complete", function()
    local properties = { last = T.object({ x = T.integer() }) }
    for i = 1, 298 do
      properties[("p%03d"):format(i)] = { type = "integer" }
    end
    local text = describe_schema({ properties = properties })
    assert.equal(300, select(2, text:gsub("\n", "")))
    assert.matches("\n    x  integer, required\n", text, 1, true)
    properties.p299 = { type = "integer" }
    text = describe_schema({ properties = properties })
    assert.equal(301, select(2, text:gsub("\n", "")))
    assert.is_nil(text:find("\n    x  integer, required\n", 1, true))
    assert.matches("\n  (deeper objects are left out; --json shows them)\n", text, 1, true)
  end)
end)

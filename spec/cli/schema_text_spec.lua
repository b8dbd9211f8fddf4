local operations = require("operations")
local schema_text = require("operations.cli.schema_text")
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
    assert.equal("  string | null\n", describe_schema(T.nullable(T.string())))
  end)

  it("spells out values and combinations", function()
    assert.equal('  "a" | 1 | null\n', describe_schema(T.enum({ "a", 1, operations.null })))
    assert.equal("  7\n", describe_schema(T.const(7)))
    assert.equal("  string | integer[]\n", describe_schema(T.any_of({ T.string(), T.array(T.integer()) })))
    assert.equal("  (string | null)[]\n", describe_schema(T.array(T.nullable(T.string()))))
    assert.equal("  [string, integer], at least 2 items\n", describe_schema(T.tuple({ T.string(), T.integer() })))
    assert.equal("  A & B\n", describe_schema(T.all_of({ T.ref("#/$defs/A"), T.ref("#/$defs/B") })))
  end)

  it("lists the properties of an object, required ones first", function()
    assert.equal([[
  name   string, required
         Who it is.
  adult  boolean, default false
  notes  string[]
]], describe_schema(T.object({
      notes = T.optional(T.array(T.string())),
      name = T.string({ description = "Who\n  it is." }),
      adult = T.boolean({ default = false }),
    })))
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
    next   Node
    value  integer
]], describe_schema({
      ["$defs"] = {
        Node = { type = "object", properties = { value = { type = "integer" }, next = { ["$ref"] = "#/$defs/Node" } } },
      },
      type = "object",
      properties = { child = { ["$ref"] = "#/$defs/Node" } },
    }))
    assert.equal("  next  the whole schema\n",
      describe_schema({ type = "object", properties = { next = { ["$ref"] = "#" } } }))
  end)

  it("copes with references that lead nowhere", function()
    assert.equal("  Gone\n", describe_schema({ ["$ref"] = "#/$defs/Gone" }))
    assert.equal("  other.json\n", describe_schema({ ["$ref"] = "https://example.com/other.json" }))
    assert.equal("  A\n", describe_schema({ ["$ref"] = "#/$defs/A", ["$defs"] = { A = { ["$ref"] = "#/$defs/A" } } }))
  end)
end)

local core = require("operations.core")
local marked = require("operations.marked")

-- Is the empty table that `value` holds under `list` an array now?
local function marks(schema, value)
  local new = marked.value(value, schema, schema)
  return core.kind(new.list) == "array"
end

local function object_of(list, definitions)
  return { type = "object", properties = { list = list }, ["$defs"] = definitions }
end

describe("an empty table", function()
  local arrays = {
    object_of({ type = "array" }),
    object_of({ type = { "null", "array" } }),
    object_of({ anyOf = { { type = "string" }, { type = "array", items = { type = "string" } } } }),
    object_of({ ["$ref"] = "#/$defs/list" }, { list = { type = "array" } }),
    { type = "object", additionalProperties = { type = "array" } },
  }
  local others = {
    object_of({ type = "object" }), object_of({ type = { "object", "null" } }), object_of({}), { type = "object" },
  }

  it("is marked as an array where the schema says so", function()
    for i, schema in ipairs(arrays) do
      assert(marked.concerns(schema), i)
      assert(marks(schema, { list = {} }), i)
    end
  end)

  it("is left alone where no part of the schema is an array", function()
    for i, schema in ipairs(others) do
      assert(not marked.concerns(schema), i)
      assert(not marks(schema, { list = {} }), i)
    end
    assert.is_false(marked.concerns(nil))
  end)
end)

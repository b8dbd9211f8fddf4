local command = require("spec.support.command")
local core = require("operations.core")
local json = require("operations.base.json")
local marked = require("operations.base.marked")
local operations = require("operations")

describe("marks", function()
  it("keep an empty table an array or an object", function()
    assert.equal("array", core.kind(operations.array()))
    assert.equal("array", core.kind(operations.array({})))
    assert.equal("object", core.kind(operations.object({ 1 })))
  end)

  it("return the table they were given", function()
    local t = {}
    assert.equal(t, operations.array(t))
    assert.equal(t, operations.object(t))
  end)

  it("refuse anything but a table", function()
    assert.has_error(function() operations.array("x") end, "bad argument #1 to 'array' (table expected, got string)")
    assert.has_error(function() operations.object(1) end, "bad argument #1 to 'object' (table expected, got number)")
  end)

  local has_cjson, cjson = pcall(require, "cjson") -- it is not packaged for Lua 5.5
  local it_beside_cjson = has_cjson and it or pending

  it_beside_cjson("share null with lua-cjson", function()
    assert.equal(cjson.null, operations.null)
  end)

  it_beside_cjson("are those of a lua-cjson that marks arrays, as OpenResty's does", function()
    local result = command.run([[lua - <<'END'
      local cjson = require("cjson")
      cjson.array_mt, cjson.empty_array_mt = { name = "array" }, { name = "empty" }
      local operations = require("operations")
      local list = operations.json.decode('{"list":[]}').list
      print(getmetatable(list).name, getmetatable(operations.array()).name)
      print(operations.json.encode({ setmetatable({}, cjson.array_mt), setmetatable({}, cjson.empty_array_mt) }))
END]])
    assert.equal("array\tarray\n[[],[]]\n", result.out .. result.err)
  end)
end)

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

  it("is marked on a copy, however deep it lies", function()
    local schema = {
      type = "object",
      properties = { rows = { type = "array", items = { ["$ref"] = "#/$defs/row" } }, rest = { type = "object" } },
      ["$defs"] = { row = { allOf = { { properties = { list = { type = "array" } } }, true } } },
    }
    local value = { rows = { { list = {}, other = {} }, { list = { 1 } } }, rest = { a = {} } }
    local new = marked.value(value, schema, schema)
    assert.equal(core.array_mt, getmetatable(new.rows[1].list))
    assert.is_nil(getmetatable(new.rows[1].other))
    assert.is_nil(getmetatable(value.rows[1].list))
    assert(new.rows[2] == value.rows[2] and new.rest == value.rest)
  end)

  it("keeps the mark that it has", function()
    local schema, list = object_of({ type = "array" }), setmetatable({}, core.object_mt)
    assert.equal(list, marked.value({ list = list }, schema, schema).list)
  end)

  it("is not made where the schema asks for none", function()
    local schema, value = object_of({ type = "array" }), { a = "b" }
    assert.equal(value, marked.value(value, schema, schema))
    assert.equal("text", marked.value("text", schema, schema))
    assert.equal(core.array_mt, getmetatable(marked.value({}, { type = "array" }, {})))
    for _, boolean in ipairs({ true, false }) do
      local list = { list = {} }
      assert.equal(list, marked.value(list, boolean, {}))
      assert.equal(list, marked.value(list, object_of(boolean), {}))
      assert.equal(list, marked.value(list, object_of({ type = "object", items = boolean }), {}))
    end
  end)

  it("is left alone where references go in a circle, or nowhere", function()
    local circle = object_of({ ["$ref"] = "#/$defs/a" }, { a = { anyOf = { { ["$ref"] = "#/$defs/a" } } } })
    local chain = object_of({ ["$ref"] = "#/$defs/a" }, { a = { ["$ref"] = "#/$defs/a" } })
    local nowhere = object_of({ ["$ref"] = "#/$defs/b" })
    for _, schema in ipairs({ circle, chain, nowhere }) do
      assert.is_false(marks(schema, { list = {} }))
    end
  end)

  it("is marked in a value that contains itself", function()
    local schema, value = object_of({ type = "array" }), { list = {} }
    schema.properties.again, value.again = schema, value
    assert.equal(core.array_mt, getmetatable(marked.value(value, schema, schema).again.list))
  end)
end)

describe("the order of a value's members", function()
  local function ordered(value, schema)
    schema = json.decode(schema, { property_order = true })
    marked.order(value, schema, schema)
    return json.encode(value, { keep_order = true })
  end

  it("is that of the schema that is asked, whatever the value was ordered by before", function()
    local value, given = { a = 1, b = 2, c = 3 }, json.decode('{"c":3,"b":2,"a":1}', { keep_order = true })
    for _ = 1, 2 do
      for _, one in ipairs({ value, given }) do
        assert.equal('{"b":2,', ordered(one, '{"properties":{"b":{}}}'):sub(1, 7))
      end
      assert.equal('{"a":1,"b":2,"c":3}', ordered(value, "{}"))
      assert.equal('{"c":3,"b":2,"a":1}', ordered(given, "{}"))
    end
  end)

  it("is that of its schemas' properties, then its own, then sorted", function()
    local value = json.decode('{"own2":1,"own1":1,"a":1,"z":1}', { keep_order = true })
    value.new2, value.new1 = 1, 1
    assert.equal('{"z":1,"a":1,"own2":1,"own1":1,"new1":1,"new2":1}', ordered(value, '{"properties":{"z":{},"a":{}}}'))
  end)

  it("stays the same when a value is used again", function()
    local schema = json.decode('{"properties":{"z":{},"a":{}}}', { property_order = true })
    local value = json.decode('{"own":1,"a":1,"z":1}', { keep_order = true })
    for _ = 1, 3 do
      marked.order(value, schema, schema)
      assert.same({ "z", "a", "own" }, core.property_order[value])
    end
  end)

  it("is found behind references and branches, in lists and members", function()
    local value = { list = { { a = 1, z = 2 } }, map = { k = { a = 1, z = 2 } }, one = { a = 1, z = 2, y = 3 } }
    assert.equal('{"list":[{"z":2,"a":1}],"one":{"z":2,"y":3,"a":1},"map":{"k":{"z":2,"a":1}}}', ordered(value, [[{
      "allOf":[{"properties":{"one":{"allOf":[{"$ref":"#/$defs/o"},{"properties":{"y":{},"a":{}}}]},
        "map":{"additionalProperties":{"$ref":"#/$defs/o"}}}}],
      "properties":{"list":{"items":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/o"}]}}, "x":{}},
      "$defs":{"o":{"properties":{"z":{}}}}}]]))
  end)

  it("is found in schemas whose branches are themselves, in no time", function()
    local schema = '{"$ref":"#/$defs/v","$defs":{"v":{"anyOf":[{"$ref":"#/$defs/v"},{"$ref":"#/$defs/v"},'
      .. '{"$ref":"#/$defs/v"},{"properties":{"z":{},"v":{"$ref":"#/$defs/v"}}}]}}}'
    assert.equal('{"z":1,"v":{"z":3,"v":{"b":2}}}', ordered({ v = { v = { b = 2 }, z = 3 }, z = 1 }, schema))
  end)
end)

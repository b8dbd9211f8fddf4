local operations = require("operations")
local property_order = require("operations.base.property_order")

local T, json = operations.type, operations.json

local function names(schema)
  return table.concat(operations.schema.properties(schema), " ")
end

describe("the order of properties", function()
  it("is sorted where none is known", function()
    assert.equal("a b c", names({ properties = { b = {}, c = {}, a = {} } }))
    assert.equal("a b", names(json.decode('{"properties":{"b":{},"a":{}}}')))
    assert.same({}, operations.schema.properties({ type = "string" }))
    assert.same({}, operations.schema.properties(true))
    assert.same({}, operations.schema.properties({ properties = "none" }))
  end)

  it("is that of the list that T.object was given", function()
    local schema = T.object({ { "title", T.string() }, { "due", T.optional(T.string()) }, { "done", T.boolean() } })
    assert.equal("title due done", names(schema))
    assert.same({ "title", "done" }, schema.required)
    assert.equal("string", schema.properties.due.type)
    for message, list in pairs({
      ["T.object: property 2: expected { name, schema }, got string"] = { { "a", true }, "b" },
      ["T.object: property 1: expected { name, schema }, got table"] = { { "a" } },
      ['T.object: property 2: "a" is listed already'] = { { "a", true }, { "a", true } },
    }) do
      assert.error_matches(function() T.object(list) end, message, 1, true)
    end
  end)

  it("is that of a JSON text, read whole or in pieces, however many there are", function()
    local members, expected = {}, {}
    for i = 1, 300 do
      expected[i] = ("p%d"):format(i * 37 % 301)
      members[i] = ('%q:{"type":"string"}'):format(expected[i])
    end
    expected = table.concat(expected, " ")
    local text = ('{"x":{"properties":{%s}},"properties":{"z":{"properties":{"b":1,"a":[{}]}},"properties":{},"a":1,'
      .. '"z":{}}}'):format(table.concat(members, ","))
    local whole = assert(json.decode(text, { property_order = true }))
    assert.equal(expected, names(whole.x))
    assert.equal("z properties a", names(whole))
    local decoder = json.decoder({ property_order = true })
    for i = 1, #text, 7 do
      assert(decoder:feed(text:sub(i, i + 6)))
    end
    local pieced = assert(decoder:finish())
    assert.equal(expected, names(pieced.x))
    assert.equal("b a", names(json.decode('{"properties":{"b":1,"a":2}}', { property_order = true })))
    assert.same(json.decode(text), whole)
    assert.same(whole, pieced)
  end)

  it("continues with copies, and includes members that were added and removed", function()
    local schema = T.object({ { "b", T.array() }, { "a", T.string() }, { "c", T.string() } })
    local registry = operations.registry()
    assert(registry:register({ namespace = "n", name = "o", inputSchema = schema, handler = print }))
    local copy = registry:get_spec("n.o").inputSchema
    assert.equal("b a c", names(copy))
    copy.properties.a, copy.properties.A = nil, true
    assert.equal("b c A", names(copy))
    assert.equal("b a c", names(registry:specs()[1].inputSchema))
    local map = operations.call_map()
    operations.call_handler(registry, map)
    schema.properties.b.default = {} -- is marked as an array on its way
    assert.equal("b a c", names(map:call("services.schema", { operationId = "n.o" }).data.inputSchema))
  end)

  it("keeps nothing alive", function()
    local weak = setmetatable({ json.decode('{"properties":{"a":1}}', { property_order = true }).properties },
      { __mode = "v" })
    property_order.set({}, { "a" })
    collectgarbage()
    collectgarbage()
    assert.is_nil(weak[1])
  end)
end)

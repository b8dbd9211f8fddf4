local openapi = require("spec.support.openapi")

local function ref(name)
  return { ["$ref"] = "#/components/schemas/" .. name }
end

local function names(map)
  local list = {}
  for name in pairs(map) do
    list[#list + 1] = name
  end
  table.sort(list)
  return table.concat(list, " ")
end

local schemas = {
  A = { properties = { b = ref("B") } }, B = { properties = { c = ref("C"), leaf = ref("Leaf") } },
  C = { properties = { a = ref("A") } }, Leaf = { type = "integer" }, Out = { properties = { b = ref("B") } },
  Other = { properties = { leaf = ref("Leaf") } },
}

--- The `$defs` of a list of what the named schemas refer to.
local function definitions(...)
  local paths = {}
  for i, list in ipairs({ ... }) do
    local any = {}
    for name in list:gmatch("%S+") do
      any[#any + 1] = ref(name)
    end
    paths["/" .. i] = { get = { operationId = "op" .. i, responses = { ["200"] = { content = {
      ["application/json"] = { schema = { anyOf = any } },
    } } } } }
  end
  local api = openapi.api({ paths = paths, components = { schemas = schemas } })
  local found = {}
  for i = 1, select("#", ...) do
    found[i] = api.by_name["op" .. i].outputSchema["$defs"]
  end
  return found
end

describe("the definitions of a schema", function()
  it("are those that it reaches, and no others", function()
    local found = definitions("A", "Leaf", "Out", "Other", "Other Out", "Leaf Other")
    assert.equal("A B C Leaf", names(found[1]))
    assert.equal("Leaf", names(found[2]))
    assert.equal("A B C Leaf Out", names(found[3]))
    assert.equal("Leaf Other", names(found[4]))
    assert.equal("A B C Leaf Other Out", names(found[5]))
    assert.equal("Leaf Other", names(found[6]))
  end)

  it("are one table for all that need the same", function()
    local found = definitions("A", "B", "C", "A B", "C Leaf", "Out A")
    for i = 2, 5 do
      assert.equal(found[1], found[i])
    end
    assert.not_equal(found[1], found[6])
  end)
end)

local operations = require("operations")
local support = require("spec.support.openapi")

local function ref(name)
  return { ["$ref"] = "#/components/schemas/" .. name }
end

local function pet(more)
  return { type = "object", required = { "kind" }, properties = { kind = { type = "string" }, name = more } }
end

--- The schemas of an operation that takes and gives `schema`.
local function import(schemas, schema, version)
  local content = { ["application/json"] = { schema = schema } }
  local api = support.api(support.one({ requestBody = { content = content }, responses = { ["200"] = {
    content = content,
  } } }, { method = "post", doc = { openapi = version or "3.1.0", components = { schemas = schemas } } }))
  assert.same({}, api.report)
  local definition = api.definitions[1]
  return assert(operations.schema.compile(definition.inputSchema)),
    assert(operations.schema.compile(definition.outputSchema))
end

local pets = { Cat = pet({ type = "string" }), Dog = pet({ type = "integer" }) }

describe("a discriminator", function()
  for _, version in ipairs({ "3.0.3", "3.1.0" }) do
    for _, union in ipairs({ "oneOf", "anyOf" }) do
      it("tells the alternatives of " .. union .. " by the names of their schemas in " .. version, function()
        local input = import(pets,
          { [union] = { ref("Cat"), ref("Dog") }, discriminator = { propertyName = "kind" } }, version)
        assert.is_true(input:check({ body = { kind = "Cat" } }))
        assert.is_true(input:check({ body = { kind = "Dog", name = 7 } }))
        assert.is_false(input:check({ body = { kind = "Cat", name = 7 } }))
        assert.is_false(input:check({ body = { kind = "Bird" } }))
        assert.is_false(input:check({ body = {} }))
      end)
    end
  end

  it("tells them by its mapping: of names, references, and several values for one", function()
    local input = import(pets, { oneOf = { ref("Cat"), ref("Dog") }, discriminator = {
      propertyName = "kind", mapping = { cat = "Cat", kitten = "#/components/schemas/Cat", Dog = "Cat", dog = "Dog" },
    } })
    for kind, name in pairs({ cat = "a", kitten = "a", Cat = "a", dog = 1, Dog = "a" }) do
      assert.is_true(input:check({ body = { kind = kind, name = name } }))
      assert.is_false(input:check({ body = { kind = kind, name = name == 1 and "a" or 1 } }))
    end
  end)

  it("narrows the values that a common parent lists", function()
    local parent = { type = "object", properties = { kind = { enum = { "Cat", "Dog" } } } }
    local input = import({
      Pet = parent, Cat = { allOf = { ref("Pet"), { type = "object" } } }, Dog = { allOf = { ref("Pet") } },
    }, { oneOf = { ref("Cat"), ref("Dog") }, discriminator = { propertyName = "kind" } })
    assert.is_true(input:check({ body = { kind = "Dog" } }))
  end)

  it("leaves alternatives alone whose property has other values, of their own or of a part", function()
    local function fixed(value)
      return { type = "object", required = { "kind" }, properties = { kind = { const = value } } }
    end
    local whole = { Cat = fixed("c"), Dog = fixed("d") }
    local parts = {
      C = fixed("c"), D = fixed("d"),
      Cat = { allOf = { { type = "object" }, ref("C") } }, Dog = { allOf = { ref("D") } },
    }
    for _, schemas in ipairs({ whole, parts }) do
      local input = import(schemas,
        { oneOf = { ref("Cat"), ref("Dog"), { type = "null" } }, discriminator = { propertyName = "kind" } })
      assert.is_true(input:check({ body = { kind = "c" } }))
      assert.is_true(input:check({ body = { kind = "d" } }))
      assert.is_true(input:check({ body = operations.null }))
      assert.is_false(input:check({ body = { kind = "Dog" } }))
    end
  end)

  it("may be left out where the schemas allow that", function()
    local function open(key)
      return { type = "object", properties = { kind = { type = "string" } }, required = { key } }
    end
    local input = import({ Cat = open("purrs"), Dog = open("barks") },
      { oneOf = { ref("Cat"), ref("Dog") }, discriminator = { propertyName = "kind" } })
    assert.is_true(input:check({ body = { barks = 1 } }))
    assert.is_true(input:check({ body = { barks = 1, purrs = 1, kind = "Dog" } }))
    assert.is_false(input:check({ body = { barks = 1, purrs = 1 } }))
  end)

  it("may stand beside nullable", function()
    local input = import(pets, {
      oneOf = { ref("Cat"), ref("Dog") }, nullable = true, discriminator = { propertyName = "kind" },
    }, "3.0.3")
    assert.is_true(input:check({ body = operations.null }))
    assert.is_true(input:check({ body = { kind = "Cat" } }))
  end)

  it("casts an answer by the alternative that it names", function()
    local _, output = import({ Cat = pet({ type = "string" }), Dog = pet({ type = "integer" }) },
      { oneOf = { ref("Cat"), ref("Dog") }, discriminator = { propertyName = "kind" } })
    assert.same({ kind = "Dog", name = 7 }, (output:cast({ kind = "Dog", name = "7", excess = true })))
    assert.same({ kind = "Cat", name = "7" }, (output:cast({ kind = "Cat", name = "7" })))
  end)

  it("has its mapping rewritten with the references, as far as alternatives are there", function()
    local given = {
      propertyName = "kind", mapping = { cat = "Cat", kitten = "#/components/schemas/Cat", bird = "Bird", no = "#/no" },
    }
    local doc = { openapi = "3.1.0", components = { schemas = {
      Cat = pets.Cat, Dog = pets.Dog, Bird = pets.Cat, -- the same table at another place
      Pet = { type = "object", properties = { kind = { type = "string" } }, discriminator = given },
    } } }
    local function schema_of(schema)
      local content = { ["application/json"] = { schema = schema } }
      local api = support.api(support.one({ requestBody = { content = content } }, { method = "post", doc = doc }))
      return api.definitions[1].inputSchema
    end
    local whole = schema_of({ oneOf = { ref("Cat"), ref("Dog") }, discriminator = given })
    assert.same({ cat = "#/$defs/Cat", kitten = "#/$defs/Cat" }, whole.properties.body.discriminator.mapping)
    assert.same(pets.Cat, whole["$defs"].Cat)
    assert.is_nil(whole["$defs"].Bird)
    local parent = schema_of({ type = "array", items = ref("Pet") })
    assert.same({ propertyName = "kind" }, parent["$defs"].Pet.discriminator)
    assert.equal("#/no", given.mapping.no)
  end)

  it("of a schema that others extend keeps the members that they add to an answer", function()
    local parent = { type = "object", properties = { kind = { type = "string" } }, discriminator = {
      propertyName = "kind",
    } }
    local cat = { allOf = { ref("Pet"), { properties = { hunts = { type = "boolean" } } } } }
    local _, output = import({ Pet = parent, Cat = cat }, { type = "array", items = ref("Pet") })
    local value, changes = output:cast({ { kind = "Cat", hunts = true } })
    assert.same({ { kind = "Cat", hunts = true } }, value)
    assert.same({}, changes)
  end)

  it("is done with schemas that are made of each other many times over", function()
    local all = {}
    for i = 1, 100 do
      all[i] = ref(i % 2 == 0 and "Cat" or "Dog")
    end
    import({ Cat = { allOf = all }, Dog = { allOf = all } },
      { type = "array", items = { oneOf = { ref("Dog") }, discriminator = { propertyName = "kind" } } })
  end)

  it("that names no property, or leads nowhere, is passed over", function()
    for _, given in ipairs({ {}, { propertyName = 7 }, { propertyName = "kind", mapping = { a = 7, b = "#/no" } } }) do
      local input = import(pets, { anyOf = { ref("Cat"), ref("Dog") }, discriminator = given })
      assert.is_true(input:check({ body = { kind = "Cat" } }))
    end
  end)
end)

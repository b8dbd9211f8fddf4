local exposures = require("operations.cli.exposure")

local function opened(patterns, id)
  local namespace, name = id:match("^([^.]+)%.(.+)$")
  local definition = { namespace = namespace, name = name, _meta = { source = "openapi", exposed = false } }
  exposures.new({ options = { expose = patterns } }):open(definition)
  return definition._meta.exposed
end

describe("--expose", function()
  it("opens what its patterns name, and nothing else", function()
    assert.is_true(opened({ "pets.get" }, "pets.get"))
    assert.is_false(opened({ "pets.get" }, "pets.get_all"))
    assert.is_true(opened({ "pets.*" }, "pets.get_all"))
    assert.is_false(opened({ "pets.*" }, "petsx.get"))
    assert.is_true(opened({ "x", "*.get*" }, "pets.get_all"))
    assert.is_true(opened({ "*" }, "pets.get"))
    assert.is_false(opened({ "pets%.get", "pets.g?t", "pets.[a-z]*" }, "pets.get"))
    assert.is_false(opened({}, "pets.get"))
  end)

  it("leaves the rest of a definition's meta as it is", function()
    local meta = { source = "openapi", exposed = false }
    local definition = { namespace = "pets", name = "get", _meta = meta }
    exposures.new({ options = { expose = { "*" } } }):open(definition)
    assert.same({ source = "openapi", exposed = true }, definition._meta)
    assert.same({ source = "openapi", exposed = false }, meta)
  end)

  it("knows whether there are any", function()
    assert.is_true(exposures.new({ options = { expose = { "*" } } }):any())
    assert.is_false(exposures.new({ options = {} }):any())
  end)
end)

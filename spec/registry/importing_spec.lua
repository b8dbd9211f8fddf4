local importing = require("operations.registry.importing")

describe("an import", function()
  it("takes what is included and not excluded", function()
    local function wants(options)
      return { importing.wants(options, { name = "a" }, { a = true, tag = true }),
        importing.wants(options, { name = "b" }, { b = true }) }
    end
    assert.same({ true, true }, wants({}))
    assert.same({ true, false }, wants({ include = { "a" } }))
    assert.same({ true, false }, wants({ include = { "tag" } }))
    assert.same({ false, true }, wants({ exclude = { "a" } }))
    assert.same({ false, false }, wants({ include = { "a" }, exclude = { "a" } }))
    local function is_a(info)
      return info.name == "a"
    end
    assert.same({ true, false }, wants({ include = is_a }))
    assert.same({ false, true }, wants({ exclude = is_a }))
  end)

  it("sets how operations are checked, and returns their access control", function()
    local definition = { name = "a" }
    local access = { requiredScopes = { "x" } }
    assert.equal(access, importing.finish(definition, { accessControl = access, normalize = "off", validate = "warn" }))
    assert.same({ name = "a", normalize = "off", fill = "required", validate = "warn" }, definition)
    assert.is_nil(importing.finish(definition, { fill = false }))
    assert.same({ name = "a", fill = "none" }, definition)
    assert.equal(access, importing.finish(definition, { accessControl = function(given)
      return given == definition and access or nil
    end }))
  end)
end)

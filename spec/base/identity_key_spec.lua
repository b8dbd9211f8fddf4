local identities = require("spec.support.identities")
local identity_key = require("operations.base.identity_key")

describe("the key of a caller", function()
  it("differs for different identities, types included", function()
    local seen = {}
    for i, identity in ipairs(identities.different) do
      local key = identity_key.of(identity)
      assert.matches("^%x+$", key)
      assert.equal(64, #key)
      assert.is_nil(seen[key], i .. " has the key of " .. tostring(seen[key]))
      seen[key] = i
    end
  end)

  it("stays the same with other rights and a renewed token", function()
    assert.equal(identity_key.of(identities.same[1]), identity_key.of(identities.same[2]))
  end)

  it("takes any table: functions, cycles and boundaries of texts", function()
    local cyclic = { id = "a" }
    cyclic.self = cyclic
    assert.equal(identity_key.of(cyclic), identity_key.of(cyclic))
    assert.equal(identity_key.of({ id = "a" }), identity_key.of({ id = "a", log = print }))
    assert.are_not.equal(identity_key.of({ id = "a", b = "c1:d" }), identity_key.of({ id = "a", b = "c", d = "" }))
    assert.are_not.equal(identity_key.of({ id = 2 ^ 53 }), identity_key.of({ id = 2 ^ 53 + 2 }))
    assert.are_not.equal(identity_key.of({ claims = { a = "b" } }), identity_key.of({ a = "b" }))
  end)

  it("has the rights in it where answers may depend on them", function()
    local key = identity_key.with_rights(identities.same[1])
    assert.are_not.equal(key, identity_key.with_rights(identities.same[2]))
    assert.are_not.equal(identity_key.with_rights({ id = 1 }), identity_key.with_rights({ id = "1" }))
    assert.is_nil(identity_key.with_rights({ id = "a", log = print }))
  end)
end)

local operations = require("operations")

local function registry_with_guarded()
  local registry = operations.registry({ log = function() end })
  assert(registry:register({
    namespace = "vault",
    name = "open",
    accessControl = { requiredScopes = { "vault" } },
    handler = function(input)
      return { opened = input.door }
    end,
  }))
  return registry
end

describe("env", function()
  it("calls operations by namespace and name", function()
    local env = registry_with_guarded():env()
    assert.equal("front", env.vault.open({ door = "front" }).data.opened)
  end)

  it("trusts calls that a handler makes", function()
    local registry = registry_with_guarded()
    assert(registry:register({ namespace = "user", name = "enter", handler = function(input, context)
      return assert(context.env.vault.open({ door = input.door })).data
    end }))
    assert.equal("back", assert(registry:execute("user.enter", { door = "back" })).data.opened)
    assert.equal("ACCESS_DENIED", select(2, registry:execute("vault.open", {})).code)
  end)

  it("leaves no trust behind in the context of the trusted call", function()
    local registry = registry_with_guarded()
    local inner
    assert(registry:register({ namespace = "user", name = "leak", handler = function(_, context)
      inner = context
    end }))
    assert(registry:env().user.leak())
    assert.equal("ACCESS_DENIED", select(2, registry:execute("vault.open", {}, inner)).code)
  end)

  it("sees what is registered, replaced and removed later", function()
    local registry = operations.registry()
    local env = registry:env()
    assert.equal("OPERATION_NOT_FOUND", select(2, env.late.one()).code)
    local function returning(value)
      return { namespace = "late", name = "one", handler = function() return value end }
    end
    assert(registry:register(returning(1)))
    assert.equal(1, env.late.one().data)
    assert(registry:register(returning(2), { replace = true }))
    assert.equal(2, env.late.one().data)
    registry:unregister("late.one")
    assert.equal("OPERATION_NOT_FOUND", select(2, env.late.one()).code)
  end)

  it("reaches only the namespaces it was made for", function()
    local registry = registry_with_guarded()
    local env = registry:env(nil, { namespaces = { "user" } })
    local envelope, err = env.vault.open({})
    assert.is_nil(envelope)
    assert.equal("OPERATION_NOT_FOUND", err.code)
  end)

  it("raises on options that would leave it open", function()
    local registry = registry_with_guarded()
    assert.error_matches(function()
      registry:env(nil, { namespace = { "user" } })
    end, "bad option 'namespace' to 'env' %(unknown%)")
    assert.error_matches(function()
      registry:env(nil, { namespaces = "user" })
    end, "bad option 'namespaces' to 'env' %(table expected, got string%)")
  end)

  it("subscribes to subscriptions", function()
    local registry = operations.registry()
    assert(registry:register({ namespace = "a", name = "count", type = "subscription", handler = function()
      coroutine.yield(1)
      coroutine.yield(2)
    end }))
    local seen = {}
    for envelope in assert(registry:env().a.count()) do
      seen[#seen + 1] = envelope.data
    end
    assert.same({ 1, 2 }, seen)
  end)
end)

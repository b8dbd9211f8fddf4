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
    local env = registry_with_guarded():env({ identity = { id = "ann", scopes = { "vault" } } })
    assert.equal("front", env.vault.open({ door = "front" }).data.opened)
  end)

  it("made by a program asks for access with the identity of its context, on each call", function()
    local registry = registry_with_guarded()
    local given = { identity = { id = "ann", scopes = {} } }
    local env = registry:env(given)
    assert.equal("ACCESS_DENIED", select(2, env.vault.open()).code)
    given.identity.scopes = { "vault" }
    assert(env.vault.open())
    given.identity = nil
    assert.equal("ACCESS_DENIED", select(2, env.vault.open()).code)
  end)

  it("made by a program without a context is anonymous", function()
    local registry = registry_with_guarded()
    assert(registry:register({ namespace = "vault", name = "watch", type = "subscription",
      accessControl = { requiredScopes = { "vault" } }, handler = function() end }))
    for _, env in ipairs({ registry:env(), registry:env({}), registry:env(nil, { namespaces = { "vault" } }) }) do
      assert.equal("ACCESS_DENIED", select(2, env.vault.open()).code)
      assert.equal("ACCESS_DENIED", select(2, env.vault.watch()).code)
    end
  end)

  it("of a registry asks for access inside a handler, too", function()
    local registry = registry_with_guarded()
    assert(registry:register({ namespace = "user", name = "enter", handler = function(_, context)
      local opened, err = registry:env(context).vault.open()
      return { opened = opened ~= nil, code = err and err.code or nil, trusted = context.env.vault.open() ~= nil }
    end }))
    assert.same({ opened = false, code = "ACCESS_DENIED", trusted = true }, registry:execute("user.enter").data)
    assert.same({ opened = true, trusted = true },
      registry:execute("user.enter", {}, { identity = { id = "ann", scopes = { "vault" } } }).data)
  end)

  it("of a handler is its own, whatever env its caller gives", function()
    local registry = registry_with_guarded()
    assert(registry:register({ namespace = "user", name = "enter", handler = function(_, context)
      return context.env.vault.open({ door = "own" }).data
    end }))
    local foreign = setmetatable({}, { __index = function() error("not to be used") end })
    local given = setmetatable({}, { __index = { env = foreign } })
    assert.equal("own", assert(registry:execute("user.enter", {}, given)).data.opened)
  end)

  it("is not trusted for a context that claims to run", function()
    local registry = registry_with_guarded()
    local forged = setmetatable({}, { __index = { _registry = registry, _running = true, trusted = true } })
    assert.equal("ACCESS_DENIED", select(2, registry:env(forged).vault.open()).code)
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
    assert(registry:register({ namespace = "user", name = "call", handler = function(_, context)
      assert(context.env.user.leak())
    end }))
    assert(registry:execute("user.call"))
    assert.equal("ACCESS_DENIED", select(2, registry:execute("vault.open", {}, inner)).code)
  end)

  describe("of a call that has ended", function()
    local registry, env, kept
    local allowed = { identity = { id = "ann", scopes = { "vault" } } }

    local function keep(_, context)
      kept, env = context, context.env
      assert(env.vault.open())
    end

    local function subscription(handler)
      return { namespace = "user", name = "watch", type = "subscription", handler = handler }
    end

    local function assert_denied(of)
      local envelope, err = of.vault.open()
      assert.is_nil(envelope)
      assert.equal("ACCESS_DENIED", err.code)
    end

    before_each(function()
      registry = registry_with_guarded()
      assert(registry:register({ namespace = "user", name = "keep", handler = keep }))
      assert(registry:register({ namespace = "user", name = "fail", handler = function(input, context)
        keep(input, context)
        error("broken")
      end }))
    end)

    it("is not trusted, whether it returned or failed, also with a deadline", function()
      assert(registry:execute("user.keep"))
      assert_denied(env)
      assert_denied(registry:env(kept))
      assert.is_nil((registry:execute("user.fail")))
      assert_denied(env)
      assert(registry:execute("user.keep", nil, { timeout = 60000 }))
      assert_denied(env)
    end)

    it("is not trusted when it is first asked for then", function()
      assert(registry:register({ namespace = "user", name = "late", handler = function(_, context)
        kept = context
      end }))
      assert(registry:execute("user.late"))
      assert_denied(kept.env)
    end)

    it("asks for access with the identity of that call", function()
      assert(registry:execute("user.keep", nil, allowed))
      assert(env.vault.open())
    end)

    it("is not trusted though the outer call still runs", function()
      assert(registry:register({ namespace = "user", name = "outer", handler = function(_, context)
        assert(context.env.user.keep())
        assert_denied(env)
        assert(context.env.vault.open())
      end }))
      assert(registry:execute("user.outer"))
    end)

    it("is trusted in a task while the call lasts, not after", function()
      local late
      assert(registry:register({ namespace = "user", name = "spawn", handler = function(_, context)
        assert(operations.spawn(context.env.vault.open):wait())
        late = operations.spawn(function()
          operations.sleep(0.001)
          return context.env.vault.open()
        end)
      end }))
      operations.run(function()
        assert(registry:execute("user.spawn"))
        assert.equal("ACCESS_DENIED", select(2, late:wait()).code)
      end)
    end)

    it("is trusted until a subscription has ended, its cleanup included", function()
      local opened
      assert(registry:register(subscription(function(input, context)
        context.defer(function()
          opened = context.env.vault.open()
        end)
        keep(input, context)
        context.emit(1)
        assert(env.vault.open())
        context.emit(2)
      end)))
      local stream = registry:subscribe("user.watch")
      stream:next()
      assert(env.vault.open())
      assert.equal(2, stream:next().data)
      stream:close()
      assert.equal("vault.open", opened.meta.operationId)
      assert_denied(env)
    end)

    it("asks for access to subscriptions, too", function()
      local guarded = subscription(function() end)
      guarded.accessControl = { requiredScopes = { "watch" } }
      assert(registry:register(guarded))
      assert(registry:execute("user.keep"))
      assert.equal("ACCESS_DENIED", select(2, env.user.watch()).code)
    end)
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
    end, "bad option 'namespace' to 'env' %(unknown; did you mean namespaces%?%)")
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

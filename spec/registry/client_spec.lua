local operations = require("operations")

describe("a client", function()
  local registry, seen

  before_each(function()
    registry, seen = operations.registry(), {}
    registry:register_all({
      { namespace = "shop", name = "buy", inputSchema = operations.type.object({ id = operations.type.integer() }),
        handler = function(input, context)
          seen[#seen + 1] = context.identity and context.identity.id or "nobody"
          return { id = input.id }
        end },
      { namespace = "shop", name = "nothing", handler = function() end },
      { namespace = "shop", name = "no", handler = function() return false end },
      { namespace = "shop", name = "null", handler = function() return operations.null end },
      { namespace = "shop", name = "sold_out", handler = function()
        return nil, operations.error("GONE", "no more")
      end },
      { namespace = "shop", name = "count", type = "subscription", handler = function(_, context)
        context.defer(function() seen[#seen + 1] = "ended" end)
        for i = 1, 3 do
          context.emit(i)
        end
      end },
    })
  end)

  it("returns the data of an operation, or nil and the error", function()
    local shop = operations.client(registry, "shop")
    assert.same({ id = 7 }, shop.buy({ id = 7 }))
    local data, err = shop.sold_out()
    assert.is_nil(data)
    assert.equal("GONE", err.code)
    assert.equal("VALIDATION_ERROR", select(2, shop.buy({})).code)
    assert.equal("OPERATION_NOT_FOUND", select(2, shop.rent()).code)
  end)

  it("tells an answer without data, null and false from a failure", function()
    local shop = operations.client(registry, "shop")
    assert.equal(operations.null, shop.nothing())
    assert.equal(operations.null, shop.null())
    assert.is_false(shop.no())
  end)

  it("gives the events of a subscription to a loop", function()
    local shop, sum = operations.client(registry, "shop"), 0
    for i in assert(shop.count()) do
      sum = sum + i
    end
    assert.equal(6, sum)
    assert.same({ "ended" }, seen)
  end)

  it("closes a subscription once its events are closed", function()
    local events = assert(operations.client(registry, "shop").count())
    assert.equal(1, events())
    events:close()
    assert.same({ "ended" }, seen)
  end)

  it("calls on behalf of its context, and with() on behalf of another", function()
    local shop = operations.client(registry, "shop", { identity = { id = "ada", scopes = {} } })
    shop.buy({ id = 1 })
    operations.with(shop, { identity = { id = "bob", scopes = {} } }).buy({ id = 1 })
    operations.with(shop).buy({ id = 1 })
    shop.buy({ id = 1 })
    assert.same({ "ada", "bob", "nobody", "ada" }, seen)
  end)

  it("calls what is registered after it was made", function()
    local shop = operations.client(registry, "shop")
    assert.equal("OPERATION_NOT_FOUND", select(2, shop.late()).code)
    registry:register({ namespace = "shop", name = "late", handler = function() return "here" end })
    assert.equal("here", shop.late())
  end)
end)

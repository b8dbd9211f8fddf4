--- A program as a user writes it, for lua-language-server: nothing of it is wrong. It runs, too.
local operations = require("operations")

---@param registry operations.Registry
return function(registry)
  local shop = operations.client(registry, "shop")

  ---@param items shop.Item[]
  ---@return integer
  local function total(items)
    local cents = 0
    for _, item in ipairs(items) do
      local stock = item.stock
      if type(stock) == "number" then
        cents = cents + item.price.cents * stock
      end
    end
    return cents
  end

  ---@param category shop.Category
  ---@return integer
  local function depth(category)
    local deepest = 0
    for _, inner in ipairs(category.inside) do
      deepest = math.max(deepest, depth(inner))
    end
    return deepest + 1
  end

  local items = assert(shop.list({ state = "all", limit = 10 }))
  assert(#items == 2 and total(items) == 1750)
  assert(items[1].labels.de == "Tee" and items[1].price.currency == "EUR")

  local none, err = shop.get({ id = 99 })
  assert(none == nil and err ~= nil and err.code == "NO_ITEM")

  local price = assert(shop.set_price({ id = 1, price = { cents = 300, currency = "EUR" } }))
  assert(price.cents == 300)

  local bought, problem = shop.buy({ lines = { { id = 1, count = 1000 } } })
  assert(bought == nil and problem ~= nil and problem.code == "OUT_OF_STOCK" and problem.details.left == 7)
  bought = assert(shop.buy({ lines = { { id = 1, count = 2 }, { id = 2, count = 1 } }, coupon = operations.null }))
  assert(bought.total.cents == 1500 and bought.counts["1"] == 2)

  for _, event in ipairs(assert(shop.history())) do
    assert(event.kind == "sold" and event.count > 0)
  end

  local ids = {}
  local events = assert(shop.sold({ count = 3 }))
  for event in events do
    ids[#ids + 1] = event.id
  end
  events:close()
  assert(#ids == 3)

  local pong = assert(shop.ping())
  assert(pong == "pong" and depth(assert(shop.categories())) == 2)

  local envelope = assert(registry:execute("shop.get", { id = 1 }))
  assert(envelope.data.title == "Tea" and envelope.meta.source == "local")

  local anonymous = operations.with(shop, { timeout = 1000 })
  assert(anonymous.ping() == "pong")
end

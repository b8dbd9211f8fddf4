--- A registry written by hand, for the programs in TypeScript beside this file.
local operations = require("operations")

local T = operations.type

local money = T.object({ cents = T.integer(), currency = T.enum({ "EUR", "USD" }) })

local category = { type = "object", required = { "name", "inside" }, properties = {
  name = { type = "string" }, inside = { type = "array", items = { ["$ref"] = "#/$defs/Category" } } } }

local item = { type = "object", required = { "id", "title", "price", "stock", "tags", "labels", "size" }, properties = {
  id = { type = "integer" }, title = { type = "string", description = "What customers read." }, price = money,
  stock = { type = { "integer", "null" }, description = "How many there are; null: made to order." },
  tags = { type = "array", items = { type = "string" } },
  labels = { type = "object", additionalProperties = { type = "string" } },
  size = { anyOf = { { type = "string" }, { type = "number" } } },
  note = { type = "string" }, old_code = { type = "string", deprecated = true } } }

local goods = {
  { id = 1, title = "Tea", price = { cents = 250, currency = "EUR" }, stock = 7, tags = { "hot" }, size = "L",
    labels = { de = "Tee" } },
  { id = 2, title = "Cup", price = { cents = 900, currency = "EUR" }, stock = operations.null, tags = {}, size = 0.3,
    labels = {} },
}

local function find(id)
  for _, one in ipairs(goods) do
    if one.id == id then
      return one
    end
  end
  return nil, operations.error("NO_ITEM", ("there is no item %d"):format(id))
end

local line = T.object({ id = T.integer(), count = T.integer({ minimum = 1 }) })

local function happened(kind, more)
  local properties = { kind = T.const(kind), id = T.integer(), count = T.integer() }
  for name, schema in pairs(more or {}) do
    properties[name] = schema
  end
  return T.object(properties)
end

local history = operations.array()

-- Sells all lines or none.
local function buy(lines)
  local total = 0
  for _, wanted in ipairs(lines) do
    local one, err = find(wanted.id)
    if not one then
      return nil, err
    elseif one.stock ~= operations.null and one.stock < wanted.count then
      return nil, operations.error("OUT_OF_STOCK", "too few are left", { id = wanted.id, left = one.stock })
    end
    total = total + one.price.cents * wanted.count
  end
  local counts = operations.object()
  for _, wanted in ipairs(lines) do
    counts[tostring(wanted.id)] = wanted.count
    history[#history + 1] = { kind = "sold", id = wanted.id, count = wanted.count }
  end
  return { order = 1, total = { cents = total, currency = "EUR" }, counts = counts }
end

return {
  { namespace = "shop", name = "list", type = "query", title = "The items of a state",
    inputSchema = T.object({ state = T.optional(T.enum({ "all", "in_stock" })), limit = T.optional(T.integer()) }),
    outputSchema = { type = "array", items = { ["$ref"] = "#/$defs/Item" }, ["$defs"] = { Item = item } },
    handler = function(input)
      local list = operations.array()
      for i = 1, math.min(#goods, input.limit or #goods) do
        if input.state ~= "in_stock" or goods[i].stock ~= operations.null then
          list[#list + 1] = goods[i]
        end
      end
      return list
    end },
  { namespace = "shop", name = "get", type = "query", inputSchema = T.object({ id = T.integer() }),
    outputSchema = { ["$ref"] = "#/$defs/Item", ["$defs"] = { Item = item } },
    errorSchemas = { { code = "NO_ITEM", description = "There is no such item.", schema = true, statusCode = 404 } },
    handler = function(input) return find(input.id) end },
  { namespace = "shop", name = "set_price", inputSchema = T.object({ id = T.integer(), price = money }),
    outputSchema = money,
    handler = function(input)
      local one = assert(find(input.id))
      one.price = input.price
      return one.price
    end },
  { namespace = "shop", name = "categories", type = "query",
    outputSchema = { ["$ref"] = "#/$defs/Category", ["$defs"] = { Category = category } },
    handler = function()
      return { name = "all", inside = { { name = "drinks", inside = operations.array() } } }
    end },
  { namespace = "shop", name = "buy", title = "Buy items, all or none",
    inputSchema = T.object({ lines = T.array(line), coupon = T.optional(T.nullable(T.string())) }),
    outputSchema = T.object({ order = T.integer(), total = money, counts = T.map(T.integer()) }),
    errorSchemas = {
      { code = "NO_ITEM", description = "There is no such item.", schema = true, statusCode = 404 },
      { code = "OUT_OF_STOCK", description = "Too few are left.", statusCode = 409,
        schema = T.object({ id = T.integer(), left = T.integer() }) } },
    handler = function(input) return buy(input.lines) end },
  { namespace = "shop", name = "restock", inputSchema = line, outputSchema = T.object({ stock = T.integer() }),
    handler = function(input)
      local one = assert(find(input.id))
      one.stock = (one.stock == operations.null and 0 or one.stock) + input.count
      history[#history + 1] = { kind = "restocked", id = input.id, count = input.count, by = "ada" }
      return { stock = one.stock }
    end },
  { namespace = "shop", name = "history", type = "query", title = "What happened, the oldest first",
    outputSchema = { type = "array", items = { anyOf = { happened("sold"),
      happened("restocked", { by = T.optional(T.string()) }) } } },
    handler = function() return history end },
  { namespace = "shop", name = "ping", type = "query", outputSchema = { const = "pong" },
    handler = function() return "pong" end },
  { namespace = "shop", name = "sold", type = "subscription", inputSchema = T.object({ count = T.integer() }),
    outputSchema = T.object({ id = T.integer() }),
    handler = function(input, context)
      for i = 1, input.count do
        context.emit({ id = i })
      end
    end },
}

-- Eight mistakes, each in the line behind its comment; lua-language-server has to find all of them, and nothing else.
local operations = require("operations")

local registry = operations.registry()
local shop = operations.client(registry, "shop")

---@param cents integer
local function pay(cents)
  print(cents)
end

-- MISTAKE: an operation that is not there
print(shop.lst)
-- MISTAKE: a required member is missing
shop.get({})
-- MISTAKE: a member has another kind
shop.get({ id = "1" })
-- MISTAKE: a value that the enum lacks
shop.list({ state = "sold" })
local found = shop.get({ id = 1 })
-- MISTAKE: the error is not looked for
print(found.title)
local item = assert(found)
-- MISTAKE: an optional member is taken for one that is there
pay(item.note)
-- MISTAKE: null is not looked for
pay(item.stock)
-- MISTAKE: a function of the library that is not there
operations.registri()

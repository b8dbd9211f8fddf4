-- Copies every item of a paged API to a file, which is replaced whole or not at all.
--     lua sync.lua http://127.0.0.1:8080 items.json
local operations = require("operations")
local url, path = arg[1], arg[2]

local registry = operations.registry({ middleware = { operations.middleware.rate_limit({ rate = 20, wait = 60000 }) } })
registry:register_all(assert(operations.from_openapi.url(url .. "/openapi.json", {
  namespace = "shop", retry = true, next_page = { from = "/next", to = "cursor" },
})))

local items = operations.array({})
for page in assert(registry:pages("shop.items", {})) do
  for _, item in ipairs(page.data.items) do
    items[#items + 1] = item
  end
end

local file = assert(io.open(path .. ".new", "wb"))
assert(file:write(assert(operations.json.encode(items, { indent = 2, sort_keys = true })), "\n"))
assert(file:close())
assert(os.rename(path .. ".new", path)) -- one step: readers see the old file or the new one
print(#items .. " items")

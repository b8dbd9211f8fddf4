-- Shows what happens on the wire: each exchange and retry, and which request an error is about.
--     OPERATIONS_LOG=http,calls lua debug.lua http://127.0.0.1:8080
local operations = require("operations")

local registry = operations.registry()
registry:register_all(assert(operations.from_openapi.url(arg[1] .. "/openapi.json", {
  namespace = "shop", retry = { attempts = 3, delay = 10 },
})))

print(operations.describe(registry:get_spec("shop.sometimes")):match("[^\n]*"))
print(assert(registry:execute("shop.sometimes", { key = tostring(operations.now()) })).data)

local _, err = registry:execute("shop.file", { size = "many" })
print(err.code)
for _, issue in ipairs(err.details) do
  print(issue.path, issue.message)
end

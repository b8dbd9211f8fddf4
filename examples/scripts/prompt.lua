-- A prompt with the operations of an API: lines of Lua, whose values are shown.
--     lua prompt.lua http://127.0.0.1:8080
local operations = require("operations")

local registry = operations.registry()
registry:register_all(assert(operations.from_openapi.url(arg[1] .. "/openapi.json", { namespace = "shop" })))
local environment = setmetatable({ operations = operations, registry = registry }, { __index = _G })
for _, spec in ipairs(registry:specs()) do -- shop_items{ cursor = 5 } calls shop.items
  local id = spec.namespace .. "." .. spec.name
  environment[spec.namespace .. "_" .. spec.name] = function(input)
    return assert(registry:execute(id, input or {})).data
  end
end

print(registry)
for line in io.lines() do
  local chunk = load("return " .. line, "=prompt", "t", environment)
  local problem
  if not chunk then
    chunk, problem = load(line, "=prompt", "t", environment)
  end
  local ok, value = pcall(chunk or error, problem)
  print(ok and operations.show(value) or tostring(value))
end

--- What a state does whose allocator refuses: each call ends in its result or in an error, and the next one succeeds.
-- luacheck: globals ceiling
local operations = require("operations")
local T = operations.type

operations.on_error(function() end)
local function registry_of(count)
  local registry = operations.registry()
  for i = 1, count do
    assert(registry:register({
      namespace = "text" .. i, name = "repeat", type = "query", inputSchema = T.object({ { "n", T.integer() } }),
      handler = function(input) return { text = ("x"):rep(input.n) } end,
    }))
  end
  return registry
end

local registry = registry_of(1)
local large = "[" .. ("1234567,"):rep(1310720) .. "1]" -- 10 MiB
operations.run(function()
  local server = assert(operations.to_http(registry))
  local listener = assert(server:listen({ port = 0 }))
  local url = ("http://127.0.0.1:%d/text1/repeat"):format(listener.port)
  local function call(n)
    return assert(operations.http.request({ url = url, query = { n = n }, timeout = 1000 }))
  end
  local does = {
    { "register", function() registry_of(50) end },
    { "execute", function() assert(registry:execute("text1.repeat", { n = 100000 })) end },
    { "http", function() call(500000) end },
    { "decode", function() assert(operations.json.decode(large)) end },
    { "tasks", function()
      for _ = 1, 50 do
        operations.spawn(operations.sleep, 0.0001)
      end
      operations.sleep(0.001)
    end },
  }
  for _, case in ipairs(does) do
    local refused = 0
    for size = 8, 22 do
      collectgarbage()
      collectgarbage()
      ceiling(math.floor(2 ^ size))
      local ok = pcall(case[2])
      ceiling()
      refused = refused + (ok and 0 or 1)
      operations.sleep(0.001)
      assert(registry:execute("text1.repeat", { n = 3 }).data.text == "xxx")
      assert(call(3).body == '{"text":"xxx"}')
    end
    assert(refused > 0, case[1])
  end
  listener:close()
  server:close()
end)

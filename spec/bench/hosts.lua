--- The same work on every host, beside plain Lua on LuaJIT; and how an OpenResty worker answers others meanwhile.
package.path = "./?.lua;" .. package.path
local core = require("operations.core")
local http = require("operations.net.http")
local inside = require("spec.support.inside")
local task = require("operations.task")
local test_server = require("spec.support.server")

local INSIDE = "spec/bench/hosts_inside.lua"

local server = test_server.start()
local environment = "TASKS_URL=" .. server.url

local function report(name, result)
  local one, slow, many, events, gap = result.out:match("(%d+) (%d+) (%d+) (%d+) (%d+)\n$")
  assert(result.code == 0 and one, result.out)
  local line = "%-9s  GET %3d us, %4d us when the answer takes 2 ms, %6d req/s at 64   100,000 events beside 64 tasks:"
    .. " %6d/s, worst gap of a 5 ms tick %d ms"
  print(line:format(name, one, slow, many, events, gap))
end

-- A worker's own page while 64 slow operations wait in it.
local function ping()
  local app = test_server.start({ app = true })
  local waiting, times = 64, {}
  task.run(function()
    for _ = 1, 64 do
      task.spawn(function()
        assert(http.request({ url = app.url .. "/proxy?url=" .. server.url .. "/slow%3Fhead=1" }))
        waiting = waiting - 1
      end)
    end
    task.sleep(0.2)
    while waiting == 64 do
      local began = core.now()
      assert(http.request({ url = app.url .. "/ping" }))
      times[#times + 1] = core.now() - began
    end
  end)
  app:stop()
  table.sort(times)
  print(("openresty  /ping while 64 slow operations wait: %d pings, p99 %.0f ms"):format(
    #times, times[math.ceil(#times * 0.99)]))
end

report("plain", inside.shell(inside.modules .. environment .. " luajit " .. INSIDE))
if not inside.missing("nvim") then
  report("nvim", inside.nvim(INSIDE, environment, "-c 'qa!'"))
end
if not inside.missing("nginx") then
  report("openresty", inside.nginx(INSIDE, environment))
  ping()
end
server:stop()

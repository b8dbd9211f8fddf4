--- Many requests, one after the other, at the same time and cancelled, and what they leave behind.
local http = require("operations.net.http")
local reactor_loop = require("operations.hosts.reactor")
local task = require("operations.task")
local usage = require("spec.support.usage")

local soak = {}

local function references()
  local count = 0
  for _ in pairs(debug.getregistry()) do
    count = count + 1
  end
  return count
end

--- What the process holds.
---@return { descriptors: integer, resident: integer, lua: number, references: integer, inflight: integer }  KiB
function soak.measure()
  return {
    lua = usage.heap(), descriptors = usage.descriptors(), resident = usage.resident(), references = references(),
    inflight = reactor_loop.get():inflight(),
  }
end

--- Requests from one task, one after the other.
function soak.sequential(url, count)
  task.run(function()
    for _ = 1, count do
      assert(assert(http.request({ url = url .. "/small" })).status == 200)
    end
  end)
end

--- Requests from 64 tasks.
function soak.concurrent(url, count)
  local left = count
  task.run(function()
    for _ = 1, 64 do
      task.spawn(function()
        while left > 0 do
          left = left - 1
          assert(assert(http.request({ url = url .. "/small" })).status == 200)
        end
      end)
    end
  end)
end

--- Requests that are cancelled while the server works, 50 at a time.
function soak.cancelled(url, count)
  for _ = 1, count / 50 do
    task.run(function()
      local children = {}
      for i = 1, 50 do
        children[i] = task.spawn(http.request, { url = url .. "/slow?head=30" })
      end
      task.sleep(0.01)
      for _, child in ipairs(children) do
        child:cancel()
        child:wait()
      end
    end)
  end
end

--- Streams of which one event is read, closed or forgotten.
function soak.streams(url, count)
  for i = 1, count do
    local stream = assert(http.open({ url = url .. "/sse?count=1000&delay=0.05" }))
    assert(stream:read())
    if i % 2 == 0 then
      stream:close()
    elseif i % 50 == 1 then
      collectgarbage()
    end
  end
end

return soak

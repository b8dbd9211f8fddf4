--- A program that abandons subscriptions among tasks, errors, callbacks of C functions and collections, in an order of
--- which arg[1] is the seed. Each has a cleanup, which waits, raises or collects in its turn. Prints how many cleanups
--- did not run once.
local operations = require("operations")

math.randomseed(tonumber(arg[1]))
local random = math.random
operations.on_error = function() end

local function garbage()
  local kept
  for i = 1, random(2000) do
    kept = { i, tostring(i), kept and kept[1] }
  end
end

local cleanups = {
  function() operations.sleep(0) end,
  function() operations.sleep(0.001) end,
  function() pcall(error, "caught") end,
  function() coroutine.resume(coroutine.create(error), "of a coroutine") end,
  function() pcall(operations.run, function() operations.sleep(0) error("of a task") end) end,
  function() garbage() collectgarbage() end,
  function() end,
}

local opened, cleaned = 0, 0
local registry = operations.registry()
registry:register({ namespace = "events", name = "get", type = "subscription", handler = function(_, context)
  context.defer(function()
    cleaned = cleaned + 1
    cleanups[random(#cleanups)]()
  end)
  while true do
    coroutine.yield(1)
    if random(3) == 1 then
      operations.sleep(0)
    end
  end
end })

local function abandon()
  opened = opened + 1
  registry:subscribe("events.get"):next()
end

local function abandon_and_raise()
  abandon()
  garbage()
  error("expected")
end

local steps = {
  abandon, abandon, garbage, collectgarbage,
  function() collectgarbage("step") end,
  function() operations.sleep(0) end,
  function() pcall(abandon_and_raise) end,
  function()
    local co = coroutine.wrap(function()
      garbage()
      coroutine.yield()
      abandon_and_raise()
    end)
    co()
    pcall(co)
  end,
  function()
    string.gsub("abc", ".", function()
      abandon()
      garbage()
      operations.sleep(0)
    end)
  end,
  function() pcall(string.gsub, "a", ".", abandon_and_raise) end,
  function()
    operations.all({ abandon_and_raise, function()
      garbage()
      operations.sleep(0)
    end })
  end,
  function()
    operations.spawn(function()
      abandon()
      operations.sleep(0.001)
      garbage()
    end):cancel()
  end,
  function()
    operations.spawn(function()
      for _ = 1, 3 do
        abandon()
        operations.sleep(0)
      end
    end)
  end,
}

local function work()
  for _ = 1, random(20) do
    steps[random(#steps)]()
  end
end

for i = 1, 60 do
  if i % 2 == 0 then
    operations.run(work)
  else
    work()
  end
end
for _ = 1, 5 do
  collectgarbage()
  collectgarbage()
  operations.sleep(0.002)
end
print(opened - cleaned)

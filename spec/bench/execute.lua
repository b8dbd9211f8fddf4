--- `execute` and `subscribe` beside the same work on Node (execute_peer.mjs) and in plain Lua (pure.lua), in one run.
--- `execute.lua PATTERN` runs only the cases whose name matches, without the peer.
--- Prints nanoseconds of CPU per call, calls per second and ratios: above 1 means that operations is the faster one.
package.path = "./spec/bench/?.lua;" .. package.path
local core = require("operations.core")
local json = require("operations.base.json")
local operations = require("operations")
local cases = require("cases")
local measure = require("measure")
local pure = require("pure")

-- What is to be reached, as a ratio to the peer.
local targets = { b_moderate = 3.5, c_array100 = 6 }

local function same(a, b)
  return assert(json.encode(a, { sort_keys = true })) == assert(json.encode(b, { sort_keys = true }))
end

-- A handler that gives its values in turn. Beside plain Lua, which makes a context for every call, it takes one.
local function rotating(values, takes_context)
  local at, n = 0, #values
  if takes_context then
    return function(_, _)
      at = at % n + 1
      return values[at]
    end
  end
  return function()
    at = at % n + 1
    return values[at]
  end
end

local function register(registry, case)
  return assert(registry:register({
    namespace = "bench",
    name = case.name,
    inputSchema = case.input_schema,
    outputSchema = case.output_schema,
    accessControl = case.access,
    handler = rotating(case.outputs, case.takes_context),
  }))
end

local function check(case, envelope, err)
  if case.expected then
    assert(envelope, tostring(err))
    if not same(envelope.data, case.expected) then
      error(case.name .. ": wrong data: " .. json.encode(envelope.data))
    end
  elseif not err or err.code ~= "VALIDATION_ERROR" then
    error(case.name .. ": the input was taken")
  end
end

local function time_execute(registry, case)
  local id = register(registry, case)
  local context = { requestId = "r1", identity = case.identity }
  local inputs, n_inputs = case.inputs, #case.inputs
  check(case, registry:execute(id, inputs[1], context))
  local kept
  local time = measure.call(function(n)
    for i = 1, n do
      kept = registry:execute(id, inputs[i % n_inputs + 1], context)
    end
  end)
  assert((kept ~= nil) == (case.expected ~= nil))
  return time
end

local function time_subscribe(registry)
  assert(registry:register({
    namespace = "bench",
    name = "subscribe",
    type = "subscription",
    inputSchema = { type = "object" },
    handler = function()
      for i = 0, 999 do
        coroutine.yield({ i = i })
      end
    end,
  }))
  return measure.call(function(n)
    for _ = 1, n do
      local sum = 0
      for envelope in assert(registry:subscribe("bench.subscribe", {}, { requestId = "r1" })) do
        sum = sum + envelope.data.i
      end
      assert(sum == 499500)
    end
  end) / 1000
end

local function time_pure(case)
  local execute = pure.registry({
    ["bench.pure"] = {
      accessControl = { requiredScopes = {} },
      input_is_object = true,
      output_is_object = case.output_schema ~= true,
      handler = rotating(case.outputs, true),
    },
  }, core.now)
  local context = { requestId = "r1" }
  local inputs, n_inputs = case.inputs, #case.inputs
  for _, list in ipairs({ case.inputs, case.outputs }) do
    for _, value in ipairs(list) do
      setmetatable(value, nil)
    end
  end
  return measure.call(function(n)
    for i = 1, n do
      assert(execute("bench.pure", inputs[i % n_inputs + 1], context))
    end
  end)
end

local function time_peer(list)
  local path = os.tmpname()
  local file = assert(io.open(path, "wb"))
  file:write(assert(json.encode(list)))
  file:close()
  local pipe = assert(io.popen("node spec/bench/execute_peer.mjs " .. path))
  local text = pipe:read("*a")
  pipe:close()
  os.remove(path)
  return assert(json.decode(text))
end

local function row(name, ours, peer, target)
  peer = peer or 0 / 0
  print(("%-16s %9.0f ns %11.0f /s   typebox %9.0f ns   ratio %5.2f%s"):format(
    name, ours, 1e9 / ours, peer, peer / ours, target and ("   (to reach: %.1f)"):format(target) or ""))
end

local only = ...
local list = cases.execute()
local peer = only and {} or time_peer(list)
local registry = operations.registry()
for _, case in ipairs(list) do
  if not only or case.name:find(only) then
    row(case.name, time_execute(registry, case), peer[case.name], targets[case.name])
  end
end
if not only or ("subscribe_1000"):find(only) then
  local yield = time_subscribe(registry)
  row("subscribe_1000", yield, peer.subscribe_1000)
  print(("subscribe: %.2f million yields/s   (to reach: 1)"):format(1e3 / yield))
end
for _, i in ipairs({ 1, 2 }) do
  local case = list[i]
  for _, value in ipairs(case.outputs) do
    setmetatable(value, nil)
  end
  local plain = time_pure(case)
  case.name, case.takes_context = case.name .. "_plain", true
  local ours = time_execute(registry, case)
  print(("%-16s %9.0f ns   the same in plain Lua %6.0f ns: %.2f times its time   (to reach: at most 1.3)"):format(
    case.name, ours, plain, ours / plain))
end

--- Schemas beside ajv and TypeBox on Node (schema_peer.mjs), in one run: check, cast, compile; then many schemas in
--- random order, memory. Every call gets another copy. Ratios above 1: operations is faster.
--- Peers and operations take turns for a few rounds; of each the least time counts, so that neither's luck decides.
--- The key orders of a copy's objects are drawn from one of four seeds, as of JSON from writers that keep no order: of
--- many objects of a kind V8 then has more shapes than its caches hold. "rotated" gives all objects one of four orders
--- instead, which is the most that V8 takes without loss.
--- Arguments: a case's name (that one only), "alone" (no peers), "rotated", "memory" (of one case).
package.path = "./spec/bench/?.lua;" .. package.path
local json = require("operations.base.json")
local schema = require("operations.schema")
local cases = require("schema_cases")
local measure = require("measure")
local schema_floor = require("schema_floor")
local usage = require("spec.support.usage")

local SCHEMAS = 64 -- in random order
local ROUNDS = 3

local only, alone, rotated, memory_only
for _, argument in ipairs(arg) do
  if argument == "alone" then
    alone = true
  elseif argument == "rotated" then
    rotated = true
  elseif argument == "memory" then
    memory_only = true
  else
    only = argument
  end
end

local function ask_peers(list)
  local path = os.tmpname()
  local file = assert(io.open(path, "wb"))
  file:write(assert(json.encode(list)))
  file:close()
  local pipe = assert(io.popen("node spec/bench/schema_peer.mjs " .. path))
  local text = pipe:read("*a")
  pipe:close()
  os.remove(path)
  return assert(json.decode(text))
end

local function decode_all(texts)
  local values = {}
  for i, text in ipairs(texts) do
    values[i] = assert(json.decode(text))
  end
  return values
end

local function time(name)
  return name < 1e4 and ("%.0f ns"):format(name) or name < 1e7 and ("%.1f us"):format(name / 1e3)
    or ("%.2f ms"):format(name / 1e6)
end

local kept -- so that no work can be left out

local function each(values, work)
  local count = #values
  return measure.least(function(n)
    for i = 1, n do
      kept = work(values[i % count + 1])
    end
  end)
end

local logs = {}

-- Prints one row. `wanted` is the least ratio peer / ours to reach, for the best of the peers.
local function row(what, name, ours, peers, wanted)
  local parts, best = {}, nil
  for _, peer in ipairs({ "ajv", "typebox", "typebox_repair", "typebox_parse" }) do
    if peers and peers[peer] then
      parts[#parts + 1] = ("%s %s (%.2f)"):format(peer, time(peers[peer]), peers[peer] / ours)
      best = math.min(best or peers[peer], peers[peer])
    end
  end
  print(("%-10s %-13s %10s   %s%s"):format(what, name, time(ours), table.concat(parts, "   "),
    best and wanted and ("   to reach: %.2f"):format(wanted) or ""))
  if peers and peers.ajv then
    logs[what] = logs[what] or {}
    table.insert(logs[what], math.log(ours / peers.ajv))
  end
end

local function time_check(case, compiled)
  local values = decode_all(case.valid)
  for _, value in ipairs(values) do
    local valid, issues = compiled:check(value)
    assert(valid, case.name .. ": " .. tostring(issues and issues[1].path .. issues[1].message))
  end
  local count = #values
  return measure.least(function(n)
    for i = 1, n do
      kept = compiled:check(values[i % count + 1])
    end
  end), schema_floor.time(values)
end

-- Without the list of changes, which the peers do not make either.
local function time_cast(case, texts, compiled)
  local values = decode_all(texts)
  for _, value in ipairs(values) do
    assert(compiled:check((compiled:cast(value))), case.name .. ": the cast value does not fit")
  end
  local count = #values
  return measure.least(function(n)
    for i = 1, n do
      kept = compiled:cast(values[i % count + 1], "cast", false)
    end
  end)
end

local function measure_case(case)
  local compiled = assert(schema.compile(case.schema))
  local times = {}
  times.check, times.floor, times["floor next"] = time_check(case, compiled)
  times.cast = time_cast(case, case.valid, compiled)
  times["cast dirty"] = #case.dirty > 0 and time_cast(case, case.dirty, compiled) or nil
  times.compile = each({ case.schema }, schema.compile)
  kept = nil
  return times
end

-- Keeps in `least` the lesser of two, at every place.
local function take_least(least, times)
  for name, spent in pairs(times) do
    if type(spent) == "table" then
      least[name] = take_least(least[name] or {}, spent)
    else
      least[name] = math.min(least[name] or spent, spent)
    end
  end
  return least
end

-- Each row: which of the peers' times it stands beside, and the ratio to reach.
local ROWS = {
  { "check", "check", 0.5 },
  { "floor", "check" },
  { "floor next", "check" },
  { "cast", "cast_valid" },
  { "cast dirty", "cast_dirty", 3 },
  { "compile", "compile" },
}

local function print_case(name, times, peers)
  for _, entry in ipairs(ROWS) do
    if times[entry[1]] then
      row(entry[1], name, times[entry[1]], peers[entry[2]], entry[3])
    end
  end
end

local function shuffled(n)
  local order, state = {}, 12345
  for i = 1, n do
    order[i] = i
  end
  for i = n, 2, -1 do
    state = state * 16807 % 2147483647
    local j = state % i + 1
    order[i], order[j] = order[j], order[i]
  end
  return order
end

-- Schemas of a handful of fields each, all different, as a process that serves many operations has.
local function many_schemas()
  local list = {}
  for i = 1, SCHEMAS do
    local suffix = "_" .. i
    list[i] = {
      compiled = assert(schema.compile({
        type = "object",
        additionalProperties = false,
        required = { "id" .. suffix, "name" .. suffix },
        properties = {
          ["id" .. suffix] = { type = "integer", minimum = i },
          ["name" .. suffix] = { type = "string", minLength = 1, maxLength = 50 + i },
          ["tags" .. suffix] = { type = "array", items = { type = "string" }, maxItems = i },
          ["kind" .. suffix] = { enum = { "a" .. i, "b" .. i } },
          ["place" .. suffix] = { type = "object", properties = { x = { type = "number" }, y = { type = "number" } } },
        },
      })),
      value = { ["id" .. suffix] = i, ["name" .. suffix] = "n" .. i, ["tags" .. suffix] = { "x" },
        ["kind" .. suffix] = "b" .. i, ["place" .. suffix] = { x = 1, y = 2 } },
    }
  end
  return list
end

local function time_many()
  local list, order = many_schemas(), shuffled(SCHEMAS * 16)
  for i = 1, #order do
    order[i] = list[order[i] % SCHEMAS + 1]
  end
  local spent = each(order, function(entry)
    return entry.compiled:check(entry.value)
  end)
  assert(kept == true)
  print(("%d schemas in random order: %s a check"):format(SCHEMAS, time(spent)))
end

local function memory(case)
  local held = {}
  usage.collect()
  local before = usage.resident() -- what C allocates is not in the heap of Lua
  for i = 1, math.floor(8e6 / #json.encode(case.schema)) do
    held[i] = assert(schema.compile(case.schema))
  end
  usage.collect()
  return (usage.resident() - before) / #held
end

local function chosen()
  local list = {}
  for _, case in ipairs(cases.all(rotated)) do
    if not only or case.name == only then
      list[#list + 1] = case
    end
  end
  return list
end

local list = chosen()
if memory_only then
  print(("memory     %-13s %7.1f KiB a compiled schema (text: %.1f KiB)"):format(only, memory(list[1]),
    #json.encode(list[1].schema) / 1024))
  os.exit(0)
end
local ours, peers = {}, {}
for _ = 1, ROUNDS do
  take_least(peers, alone and {} or ask_peers(list))
  for _, case in ipairs(list) do
    ours[case.name] = take_least(ours[case.name] or {}, measure_case(case))
  end
end
for _, case in ipairs(list) do
  print_case(case.name, ours[case.name], peers[case.name] or {})
end
for _, entry in ipairs(ROWS) do
  local sum = 0
  for _, log in ipairs(logs[entry[1]] or {}) do
    sum = sum + log
  end
  if logs[entry[1]] then
    print(("%s: geometric mean of our time to ajv's %.2f"):format(entry[1], math.exp(sum / #logs[entry[1]])))
  end
end
time_many()
-- A process of its own for each, so that none lives on what another gave back.
for _, case in ipairs(list) do
  os.execute(("%s spec/bench/schema.lua memory %s"):format(arg[-1], case.name))
end

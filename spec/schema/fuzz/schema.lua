--- `make fuzz-schema`: random schemas and values, judged by operations and by ajv, and the laws of cast.
--- Usage: schema.lua [pairs = 100000] [seed = 1]. Disagreements are made small, then printed; the status tells.
package.path = "./spec/schema/fuzz/?.lua;" .. package.path
local json = require("operations.base.json")
local operations = require("operations")
local schema = require("operations.schema")
local known = require("schema_known")
local laws = require("schema_laws")
local random = require("spec.support.random")
local schema_random = require("schema_random")
local shrink = require("schema_shrink")

local VALUES = 5 -- per schema
local BATCH = 2000 -- schemas per run of the peer
local PRINTED = 20

local function write_lines(path, cases)
  local file = assert(io.open(path, "wb"))
  for _, case in ipairs(cases) do
    file:write(assert(json.encode({ schema = case.schema, values = operations.array(case.values) })), "\n")
  end
  file:close()
end

--- What a peer says of each case: an array of verdicts, or why it does not compile.
local function ask_peer(name, cases)
  local given, answered = os.tmpname(), os.tmpname()
  write_lines(given, cases)
  local pipe = assert(io.popen(("node spec/schema/fuzz/schema_peer.mjs %s %s %s 2>&1"):format(name, given, answered)))
  local output = pipe:read("*a")
  pipe:close()
  local answers = {}
  for line in io.lines(answered) do
    answers[#answers + 1] = assert(json.decode(line))
  end
  os.remove(given)
  os.remove(answered)
  assert(#answers == #cases, "the peer failed: " .. output)
  return answers
end

--- The same of operations.
local function ask_us(case)
  local compiled, err = schema.compile(case.schema, { formats = true })
  if not compiled then
    return tostring(err)
  end
  local verdicts = {}
  for i, value in ipairs(case.values) do
    verdicts[i] = compiled:check(value)
  end
  return verdicts, compiled
end

--- Cases of one value on which the two differ, with both verdicts.
local function disagreements(cases)
  local found, answers = {}, ask_peer("ajv", cases)
  for i, case in ipairs(cases) do
    local ours, theirs = ask_us(case), answers[i]
    for j, value in ipairs(case.values) do
      local a = type(ours) == "table" and ours[j] or type(ours) == "string" and ours
      local b = type(theirs) == "table" and theirs[j] or type(theirs) == "string" and theirs
      if a ~= b then
        found[#found + 1] = { schema = case.schema, values = { value }, ours = a, theirs = b }
      end
    end
  end
  return found
end

local function new_case()
  local case = { schema = schema_random.schema(), values = {} }
  for i = 1, VALUES do
    case.values[i] = schema_random.value_for(case.schema)
  end
  return case
end

local function law_breach(case)
  local _, compiled = ask_us(case)
  if not compiled then
    return
  end
  for _, value in ipairs(case.values) do
    local problem = laws.broken(compiled, value)
    if problem then
      return { schema = case.schema, values = { value }, ours = problem, theirs = "a law of cast" }
    end
  end
end

local function kind_of(problem)
  return problem and problem:match("^[%a ]+")
end

-- The same law as `kind` broken by a smaller case.
local function breaks(kind)
  return function(case)
    local _, compiled = ask_us(case)
    return compiled and kind_of(laws.broken(compiled, case.values[1])) == kind
  end
end

local function show(case)
  print("schema " .. laws.text(case.schema))
  print("value  " .. laws.text(case.values[1]))
  print(("  operations: %s\n  ajv:        %s\n  hyperjump:  %s"):format(
    tostring(case.ours), tostring(case.theirs), tostring(case.referee)))
end

local total = tonumber(arg[1]) or 100000
random.seed(tonumber(arg[2]) or 1)

local counts = { pairs = 0, valid = 0, unexplained = 0, laws = 0 }
local explained = {}

-- A difference is explained when its kind is known and a third implementation says what operations says.
local function sort_out(found)
  local strange, referee = {}, #found > 0 and ask_peer("hyperjump", found)
  for i, case in ipairs(found) do
    local reason = known.reason(case)
    case.referee = type(referee[i]) == "table" and referee[i][1] or referee[i]
    if reason and type(referee[i]) == "table" and referee[i][1] == case.ours then
      explained[reason] = (explained[reason] or 0) + 1
    else
      counts.unexplained = counts.unexplained + 1
      strange[#strange + 1] = case
    end
  end
  return strange
end

local function run_batch(size)
  local cases, breaches = {}, {}
  for i = 1, size do
    cases[i] = new_case()
    counts.pairs = counts.pairs + VALUES
    breaches[#breaches + 1] = law_breach(cases[i])
    local verdicts = ask_us(cases[i])
    for _, verdict in ipairs(type(verdicts) == "table" and verdicts or {}) do
      counts.valid = counts.valid + (verdict and 1 or 0)
    end
  end
  counts.laws = counts.laws + #breaches
  for i = 1, math.min(#breaches, PRINTED) do
    show(shrink.one(breaches[i], breaks(kind_of(breaches[i].ours))))
  end
  local strange = sort_out(disagreements(cases))
  for i = #strange, PRINTED + 1, -1 do
    strange[i] = nil
  end
  for _, case in ipairs(shrink.all(strange, disagreements)) do
    show(case)
  end
end

while counts.pairs < total and counts.unexplained + counts.laws < 200 do
  run_batch(math.min(BATCH, math.ceil((total - counts.pairs) / VALUES)))
end

for reason, count in pairs(explained) do
  print(("%6d explained: %s"):format(count, reason))
end
print(("%d pairs, %d of them valid: %d unexplained disagreements, %d breaches of the laws of cast"):format(
  counts.pairs, counts.valid, counts.unexplained, counts.laws))
os.exit(counts.unexplained + counts.laws == 0 and 0 or 1)

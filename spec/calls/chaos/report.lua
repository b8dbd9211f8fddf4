local members = require("operations.base.members")

--- What a history tells, in a few lines.

local report = {}

local function add(counts, key)
  counts[key] = (counts[key] or 0) + 1
end

local function listed(counts)
  local list = {}
  for _, key in ipairs(members.names(counts)) do
    list[#list + 1] = counts[key] .. " " .. key
  end
  return #list > 0 and table.concat(list, ", ") or "none"
end

local function at(sorted, share)
  return sorted[math.max(1, math.ceil(#sorted * share))] or 0
end

--- Counts what happened.
---@param records table[]
---@return table
function report.count(records)
  local told = { call = {}, subscription = {}, faults = {}, latencies = {}, submitted = 0, events = 0, runs = 0,
    again = 0 }
  local submitted, ran = {}, {}
  for _, record in ipairs(records) do
    local asked = submitted[record.id]
    if record.what == "submitted" then
      submitted[record.id] = record
      if record.kind == "call" then
        told.submitted = told.submitted + 1
      end
    elseif record.what == "terminal" and asked then
      add(told[asked.kind], record.code or record.outcome)
      if record.outcome == "answered" then
        table.insert(told.latencies, record.at - asked.at)
      end
    elseif record.what == "event" then
      told.events = told.events + 1
    elseif record.what == "started" then
      told.runs, told.again = told.runs + 1, told.again + (ran[record.id] and 1 or 0)
      ran[record.id] = true
    elseif record.what == "did" then
      add(told.faults, record.fault)
    end
  end
  table.sort(told.latencies)
  return told
end

--- Prints it, and the verdict.
---@param told table  as `count` made it
---@param faults spec.Fault[]
---@param directory? string  where the histories are
function report.print(told, faults, directory)
  local latencies = told.latencies
  print("  made           " .. listed(told.faults))
  print("  calls          " .. listed(told.call))
  if #latencies > 0 then
    print(("  answered in    p50 %d ms, p99 %d ms, at most %d ms"):format(at(latencies, 0.5), at(latencies, 0.99),
      at(latencies, 1)))
  end
  print(("  subscriptions  %s; %d events"):format(listed(told.subscription), told.events))
  print(("  runs           %d, %d of them of what had run before"):format(told.runs, told.again))
  for i = 1, math.min(#faults, 20) do
    print(("  fault          %s: %s: %s"):format(faults[i].kind, faults[i].id or "-", faults[i].message))
  end
  print(#faults == 0 and "  verdict        OK" or ("  verdict        FAILED: %d faults"):format(#faults))
  if directory then
    print("  histories      " .. directory)
  end
end

return report

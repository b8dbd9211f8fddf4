--- Judges a history: what callers, workers and whoever killed them wrote down. Knows nothing of how they talked.
---
--- A record is a table `{ what, at, process, ... }`, `at` in ms since the epoch; those of one process are in order.
---
--- | what      | by      | says                                                                                     |
--- |-----------|---------|------------------------------------------------------------------------------------------|
--- | submitted | caller  | `id`, `mode` (fast, reliable), `kind` (call, subscription), `events?`, `deadline?`         |
--- | accepted  | caller  | `id`: the transport has it                                                               |
--- | event     | caller  | `id`, `seq`, counted from 1 by the handler                                               |
--- | terminal  | caller  | `id`, `outcome` ("answered", "completed", "failed"), `run?`, `code?`, `mayHaveRun?`      |
--- | aborted   | caller  | `id`: it did not want it any more                                                        |
--- | left      | caller  | `pending`: requests that its call map still knows when all have ended                    |
--- | started   | worker  | `id`, `run` (of its own), `attempt?`: above 1 it may be a duplicate                      |
--- | ended     | worker  | `id`, `run`, `code?` of the error that it failed with                                    |
--- | killed    | anybody | `victim`, a process                                                                      |
local checker = {}

-- How long after a request's deadline its handler may have written that it started, ms.
local GRACE = 1000

local function new_request(id)
  return { id = id, submitted = {}, heard = {}, terminals = {}, runs = {}, run_of = {} }
end

local takes = {}

function takes.submitted(request, record)
  table.insert(request.submitted, record)
end

function takes.accepted(request)
  request.accepted = true
end

function takes.aborted(request)
  request.aborted = true
end

function takes.event(request, record)
  table.insert(request.heard, record)
end

function takes.terminal(request, record)
  table.insert(request.heard, record)
  table.insert(request.terminals, record)
end

function takes.started(request, record)
  local run = { record = record }
  table.insert(request.runs, run)
  request.run_of[record.run] = run
end

function takes.ended(request, record)
  local run = request.run_of[record.run]
  if run then
    run.ended = record
  else
    request.endless = record
  end
end

-- Everything about each request, in the order in which they are first mentioned, and who was killed.
local function collect(records)
  local requests, by_id, killed = {}, {}, {}
  for _, record in ipairs(records) do
    if record.what == "killed" then
      killed[record.victim] = true
    elseif takes[record.what] then
      local request = by_id[record.id]
      if not request then
        request = new_request(record.id)
        by_id[record.id], requests[#requests + 1] = request, request
      end
      takes[record.what](request, record)
    end
  end
  return requests, killed
end

local function mode_of(request)
  return request.submitted[1] and request.submitted[1].mode
end

-- What a call fails with because of what is between the caller and the handler.
local between = { ABORTED = true, BUSY = true, DRAINING = true, TIMEOUT = true, TRANSPORT_LOST = true,
  UNAVAILABLE = true, WORKER_LOST = true }

-- What is refused was not accepted, or not for long, as long as nobody ran it.
local refusals = { BUSY = true, UNAVAILABLE = true }

-- The error that a terminal event tells of is one that the handler itself failed with.
local function is_told(request, terminal)
  for _, run in ipairs(request.runs) do
    if run.ended and run.ended.code == terminal.code and not between[terminal.code] then
      return true
    end
  end
  return false
end

-- Events by what is wrong with their order: each list holds numbers.
local function order_of(request)
  local seen, last, wrong = {}, 0, { repeated = {}, swapped = {}, missing = {} }
  for _, record in ipairs(request.heard) do
    local seq = record.seq
    if record.what ~= "event" then -- luacheck: ignore 542
    elseif seen[seq] then
      table.insert(wrong.repeated, seq)
    else
      if seq < last then
        table.insert(wrong.swapped, seq)
      end
      seen[seq], last = true, math.max(last, seq)
    end
  end
  local terminal, asked = request.terminals[1], request.submitted[1]
  local whole = terminal and terminal.outcome == "completed" and asked and asked.events or last
  for seq = 1, whole do
    if not seen[seq] then
      table.insert(wrong.missing, seq)
    end
  end
  return wrong
end

local function listed(numbers, text)
  return #numbers > 0 and text:format(table.concat(numbers, ", ", 1, math.min(#numbers, 5))) or nil
end

-- What can be wrong with a request: each rule says what is, or nothing.
local rules = {}

rules["unknown"] = function(request)
  return #request.submitted == 0 and "nobody made this request" or nil
end

rules["submitted twice"] = function(request)
  return #request.submitted > 1 and ("submitted %d times"):format(#request.submitted) or nil
end

rules["no terminal"] = function(request, killed)
  local asked = request.submitted[1]
  return asked and #request.terminals == 0 and not killed[asked.process] and "it never ended" or nil
end

rules["two terminals"] = function(request)
  return #request.terminals > 1 and ("it ended %d times"):format(#request.terminals) or nil
end

rules["after the end"] = function(request)
  local over = false
  for _, record in ipairs(request.heard) do
    if over and record.what == "event" then
      return ("event %d came after the terminal one"):format(record.seq)
    end
    over = over or record.what == "terminal"
  end
end

rules["repeated"] = function(request)
  return listed(order_of(request).repeated, "events came twice: %s")
end

rules["swapped"] = function(request)
  return listed(order_of(request).swapped, "events came after later ones: %s")
end

rules["missing"] = function(request)
  return listed(order_of(request).missing, "events did not come: %s")
end

rules["lost"] = function(request)
  local terminal = request.terminals[1]
  if mode_of(request) ~= "reliable" or not request.accepted or request.aborted then
    return nil
  elseif terminal and refusals[terminal.code] and terminal.mayHaveRun == false then
    return nil
  elseif terminal and terminal.outcome == "failed" and not is_told(request, terminal) then
    return ("accepted, but it ended with %s"):format(terminal.code)
  elseif not terminal then
    for _, run in ipairs(request.runs) do
      if run.ended then
        return nil
      end
    end
    return "accepted, but nobody did it"
  end
end

rules["ran twice"] = function(request)
  return mode_of(request) == "fast" and #request.runs > 1
    and ("at most once, and it ran %d times"):format(#request.runs) or nil
end

rules["unmarked"] = function(request)
  local unmarked = 0
  for _, run in ipairs(request.runs) do
    if (run.record.attempt or 1) <= 1 then
      unmarked = unmarked + 1
    end
  end
  return mode_of(request) == "reliable" and unmarked > 1
    and ("%d of %d runs say that they are the first"):format(unmarked, #request.runs) or nil
end

rules["unfounded"] = function(request)
  local terminal = request.terminals[1]
  if not terminal or terminal.outcome == "failed" then
    return request.endless and ("run %s ended, but never started"):format(request.endless.run) or nil
  end
  local run = request.run_of[terminal.run]
  if not run then
    return ("%s by a run that there was not: %s"):format(terminal.outcome, tostring(terminal.run))
  elseif not run.ended or run.ended.code then
    return ("%s by a run that did not end so: %s"):format(terminal.outcome, terminal.run)
  end
end

rules["untrue"] = function(request)
  local terminal = request.terminals[1]
  return terminal and terminal.mayHaveRun == false and #request.runs > 0
    and ("%s says that it was not started, but it was"):format(terminal.code) or nil
end

rules["started late"] = function(request)
  local deadline = request.submitted[1] and request.submitted[1].deadline
  for _, run in ipairs(deadline and request.runs or {}) do
    if run.record.at > deadline + GRACE then
      return ("started %d ms after its deadline"):format(run.record.at - deadline)
    end
  end
end

rules["left running"] = function(request, killed)
  for _, run in ipairs(request.runs) do
    if not run.ended and not killed[run.record.process] then
      return ("run %s has not ended, in %s"):format(run.record.run, run.record.process)
    end
  end
end

local kinds = {}
for kind in pairs(rules) do
  kinds[#kinds + 1] = kind
end
table.sort(kinds)

---@class spec.Fault
---@field kind string
---@field id? string  of the request
---@field message string

-- What is wrong with records that are about no request.
local function check_others(records, faults)
  for _, record in ipairs(records) do
    if record.what == "left" and record.pending > 0 then
      table.insert(faults, { kind = "left pending",
        message = ("%s: %d requests that have ended are pending"):format(record.process, record.pending) })
    elseif record.what == "unreadable" then
      table.insert(faults, { kind = "unreadable", message = record.message })
    end
  end
end

--- Every kind of fault that a request can have.
---@return string[]
function checker.kinds()
  return kinds
end

--- Judges a history.
---@param records table[]
---@return spec.Fault[]  none: nothing is wrong with it
function checker.check(records)
  local faults = {}
  local requests, killed = collect(records)
  for _, request in ipairs(requests) do
    for _, kind in ipairs(kinds) do
      local message = rules[kind](request, killed)
      if message then
        faults[#faults + 1] = { kind = kind, id = request.id, message = message }
      end
    end
  end
  check_others(records, faults)
  return faults
end

return checker

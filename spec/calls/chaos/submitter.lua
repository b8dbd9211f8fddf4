--- A program that submits jobs and writes down which ones are stored. It may be killed at any time: the next one of its
--- name continues, and submits again what may not be stored. Arguments: URL, directory of the histories, name, number
--- of the process of that name, seconds that it is to take, jobs, a seed.
local core = require("operations.core")
local history = require("spec.calls.chaos.history")
local operations = require("operations")
local random = require("spec.support.random")
local transports = require("spec.calls.chaos.transports")

local url, directory, name, number = arg[1], arg[2], arg[3], tonumber(arg[4])
local seconds, jobs = tonumber(arg[5]), tonumber(arg[6])
random.seed(tonumber(arg[7]))

local LANES = 16

local function read_before()
  local submitted, accepted = {}, {}
  for _, record in ipairs(number > 1 and history.read(directory) or {}) do
    if record.what == "submitted" then
      submitted[record.id] = true
    elseif record.what == "accepted" then
      accepted[record.id] = true
    end
  end
  return submitted, accepted
end

local submitted, accepted = read_before()
local record = history.open(directory, ("%s.%d"):format(name, number))

local function submit(map, i)
  local id = ("%s-job-%d"):format(name, i)
  if accepted[id] then
    return
  elseif not submitted[id] then
    record("submitted", { id = id, mode = "reliable", kind = "call" })
  end
  local input = { pause = random.upto(60) / 1000, fails = random.chance(1) }
  local options = { requestId = id, delay = random.chance(10) and random.upto(1000) or 0 }
  local job, err
  repeat
    job, err = map:submit("chaos.work", input, options)
  until job or err.code ~= "TRANSPORT_LOST" and err.code ~= "BUSY"
  if job then
    record("accepted", { id = id })
  else
    record("terminal", { id = id, outcome = "failed", code = err.code, message = err.message,
      mayHaveRun = err.mayHaveRun })
  end
end

local function lane(map, first)
  return function()
    local begun = core.now()
    for i = first, jobs, LANES do
      local due = begun + i / jobs * seconds * 1000
      if not accepted[("%s-job-%d"):format(name, i)] and due > core.now() then
        operations.sleep((due - core.now()) / 1000)
      end
      submit(map, i)
    end
    return true
  end
end

operations.run(function()
  local transport
  while not transport do -- Redis may be down
    transport = transports.connect(url, "reliable")
    if not transport then
      operations.sleep(0.05)
    end
  end
  local map = operations.call_map(transport, { log = function() end })
  io.stdout:write("ready\n")
  io.stdout:flush()
  local lanes = {}
  for i = 1, LANES do
    lanes[i] = lane(map, i)
  end
  assert(operations.all(lanes))
  map:close()
end)

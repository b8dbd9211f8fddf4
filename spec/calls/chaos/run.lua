--- One run of chaos: four workers and two callers, or two programs that submit jobs, around a Redis, all of them
--- processes; for some time workers and submitters are killed, workers stopped and Redis restarted, by chance, from a
--- seed.
local checker = require("spec.calls.chaos.checker")
local command = require("spec.support.command")
local core = require("operations.core")
local history = require("spec.calls.chaos.history")
local operations = require("operations")
local random = require("spec.support.random")
local redis = require("spec.support.redis")
local report = require("spec.calls.chaos.report")
local transports = require("spec.calls.chaos.transports")

local WORKERS, CALLERS = 4, 2

local function start(...)
  local words = { command.interpreter(), ... }
  for i, word in ipairs(words) do
    words[i] = tostring(word)
  end
  words.env = command.environment()
  words.on_stderr = function(line)
    io.stderr:write(line, "\n")
  end
  return assert(operations.process.spawn(words))
end

local function start_worker(self, i)
  self.started = self.started + 1
  local name = ("worker-%d.%d"):format(i, self.started)
  local child = start("spec/calls/chaos/worker.lua", self.server.url, self.mode, self.directory, name)
  self.workers[i] = { name = name, child = child }
  return child
end

local function kill(self, victim)
  self.record("killed", { victim = victim.name })
  os.execute("kill -9 " .. victim.child.pid)
  victim.child:wait()
end

local function start_submitter(self, i)
  local before = self.submitters[i]
  local number = before and before.number + 1 or 1
  local name = "submitter-" .. i
  self.submitters[i] = { number = number, name = ("%s.%d"):format(name, number),
    child = start("spec/calls/chaos/submitter.lua", self.server.url, self.directory, name, number, self.seconds,
      math.ceil(self.jobs / CALLERS), self.seed + i) }
  return self.submitters[i].child
end

local function moment(ms)
  operations.sleep(random.upto(ms) / 1000)
end

-- The faults: each takes its time, and all processes run again at its end.
local deeds = {}

deeds["workers killed"] = function(self)
  local i = random.upto(WORKERS)
  kill(self, self.workers[i])
  moment(500)
  start_worker(self, i)
end

deeds["submitters killed"] = function(self)
  local i = random.upto(CALLERS)
  kill(self, self.submitters[i])
  moment(500)
  start_submitter(self, i)
end

deeds["workers stopped for a while"] = function(self)
  local worker = self.workers[random.upto(WORKERS)]
  os.execute("kill -STOP " .. worker.child.pid)
  moment(2000)
  os.execute("kill -CONT " .. worker.child.pid)
end

deeds["Redis restarts"] = function(self)
  self.server.stop()
  moment(500)
  self.server = redis.start(self.server.port, self.keeps)
end

-- Mostly workers.
local choices = {
  "workers killed", "workers killed", "workers killed", "workers stopped for a while", "Redis restarts",
}

local function make_trouble(self)
  local stop = core.now() + self.seconds * 1000
  -- Each once, so that a short run has them all.
  local first = { "workers killed", "Redis restarts", "workers stopped for a while" }
  if self.jobs then
    first[4] = "submitters killed"
  end
  while first[1] or core.now() < stop do
    moment(self.seconds < 20 and 200 or 1000)
    local deed = table.remove(first, 1) or self.jobs and random.chance(25) and "submitters killed"
      or random.pick(choices)
    self.record("did", { fault = deed })
    deeds[deed](self)
  end
end

local function start_all(self)
  for i = 1, WORKERS do
    start_worker(self, i)
  end
  for i = 1, WORKERS do
    assert(self.workers[i].child:read_line() == "ready", "a worker does not start")
  end
  local callers = {}
  if self.jobs then
    for i = 1, CALLERS do
      callers[i] = start_submitter(self, i)
    end
    return callers
  end
  local calls, subscriptions = math.ceil(self.calls / CALLERS), math.ceil(self.subscriptions / CALLERS)
  for i = 1, CALLERS do
    callers[i] = start("spec/calls/chaos/caller.lua", self.server.url, self.mode, self.claimed or self.mode,
      self.directory, "caller-" .. i, self.seconds, calls, subscriptions, self.seed + i)
  end
  for i = 1, CALLERS do
    assert(callers[i]:read_line() == "ready", "a caller does not start")
  end
  return callers
end

-- Writes down the outcome of each job that is stored, and looks again: there is only one.
local function fetch_outcomes(self)
  local map = operations.call_map(assert(transports.connect(self.server.url, "reliable")), { log = function() end })
  local record, seen = history.open(self.directory, "witness"), {} -- read after the submitters' histories
  for pass = 1, 2 do
    for _, stored in ipairs(history.read(self.directory)) do
      if stored.what == "accepted" then
        local id = stored.id
        local envelope, err = map:outcome(id, 60000)
        local told = envelope and envelope.data.run or err.code
        if pass == 1 and not seen[id] or seen[id] ~= told then
          record("terminal", { id = id, outcome = envelope and "answered" or "failed",
            run = envelope and envelope.data.run, code = err and err.code, message = err and err.message })
        end
        seen[id] = told
      end
    end
  end
  map:close()
end

-- One that does not end has a request without a terminal event.
local function await_callers(self, callers)
  if self.jobs then
    for i, submitter in ipairs(self.submitters) do
      callers[i] = submitter.child
    end
  end
  local patience = operations.spawn(function()
    operations.sleep(self.patience)
    for _, caller in ipairs(callers) do
      os.execute("kill -9 " .. caller.pid)
    end
  end)
  for _, caller in ipairs(callers) do
    caller:wait()
  end
  patience:cancel()
  self.submitters = {} -- they have ended
end

-- Handlers of requests that were given up have a while to end.
local function judge(self)
  local stop = core.now() + 20000
  while true do
    local records = history.read(self.directory)
    local faults = checker.check(records)
    local running = false
    for _, fault in ipairs(faults) do
      running = running or fault.kind == "left running"
    end
    if not running or core.now() > stop then
      return faults, records
    end
    operations.sleep(0.2)
  end
end

-- Nothing is wrong with a history in which nothing happened, either.
local function check_contents(self, told, faults)
  local answered = told.call.answered or 0
  local made = self.jobs or self.calls
  if answered < made / 10 then
    local message = ("only %d of %d calls were answered"):format(answered, made)
    table.insert(faults, 1, { kind = "idle", message = message })
  end
end

local function make_directory(path)
  local pipe = io.popen(path and ("mkdir -p '%s' && rm -rf '%s'/* && echo '%s'"):format(path, path, path)
    or "mktemp -d")
  local made = pipe:read("*l")
  pipe:close()
  return made
end

local function stop_all(self)
  for _, each in ipairs({ self.workers, self.submitters }) do
    for _, started in pairs(each) do
      os.execute(("kill -9 %d 2>/dev/null"):format(started.child.pid))
    end
  end
  self.server.stop()
end

---@class spec.Chaos
---@field mode "fast"|"reliable"
---@field claimed? "fast"|"reliable"  what it is judged as, default: what it is
---@field forgetful? boolean  Redis keeps nothing when it is restarted; default: in mode "reliable" it does
---@field seconds number
---@field seed integer
---@field calls integer
---@field subscriptions integer
---@field jobs? integer  mode "reliable": submitted instead of the calls
---@field directory? string  for the histories, which stay there; default: one that goes when nothing is wrong

--- Makes it and judges it.
---@param options spec.Chaos
---@return spec.Fault[] faults
---@return table told  as `report.count` says
---@return string? directory  where the histories are
return function(options)
  local self = setmetatable({
    directory = make_directory(options.directory), workers = {}, submitters = {}, started = 0,
    patience = options.seconds + 120,
  }, { __index = options })
  random.seed(self.seed)
  self.record = history.open(self.directory, "main")
  self.keeps = not self.forgetful and self.mode == "reliable" and self.directory or nil
  local faults, records
  operations.run(function()
    self.server = redis.start(nil, self.keeps)
    local ok, raised = pcall(function()
      local callers = start_all(self)
      make_trouble(self)
      await_callers(self, callers)
      if self.jobs then
        fetch_outcomes(self)
      end
      faults, records = judge(self)
    end)
    stop_all(self)
    assert(ok, raised)
  end)
  local told = report.count(records)
  told.latencies = self.jobs and {} or told.latencies -- outcomes are fetched at the end
  check_contents(self, told, faults)
  if #faults == 0 and not options.directory then
    os.execute(("rm -r '%s'"):format(self.directory))
    return faults, told
  end
  return faults, told, self.directory
end

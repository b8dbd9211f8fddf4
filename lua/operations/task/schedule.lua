--- Schedules: functions that run at intervals, or at the times of a line of cron.
local argument = require("operations.base.argument")
local hosts = require("operations.hosts")
local members = require("operations.base.members")
local task = require("operations.task")

local schedule = {}

-- The longest single wait, ms: the clock may be set meanwhile.
local LOOK = 60000

-- Days after which a line of cron that never fits is given up: February 29 comes within eight years.
local HORIZON = 366 * 8

-- Fields of cron: name, least and greatest value, names of values from the least on.
local fields = {
  { "min", 0, 59 },
  { "hour", 0, 23 },
  { "day", 1, 31 },
  { "month", 1, 12, { "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec" } },
  { "wday", 0, 7, { "sun", "mon", "tue", "wed", "thu", "fri", "sat" } },
}

local short = {
  ["@yearly"] = "0 0 1 1 *", ["@monthly"] = "0 0 1 * *", ["@weekly"] = "0 0 * * 0", ["@daily"] = "0 0 * * *",
  ["@hourly"] = "0 * * * *",
}

local function number_of(field, text)
  for i, name in ipairs(field[4] or {}) do
    if text:lower() == name then
      return field[2] + i - 1
    end
  end
  local value = text:find("^%d+$") and tonumber(text)
  return value and value >= field[2] and value <= field[3] and value or nil
end

-- Adds the values of "*", "5", "1-5", "*/15" or "10-50/10" to a set; false for anything else.
local function add(set, field, text)
  local range, step = text:match("^([^/]+)/([1-9]%d*)$")
  range = range or text
  local first, last = range:match("^([^-]+)-([^-]+)$")
  if range == "*" then
    first, last = field[2], field[3]
  else
    first = number_of(field, first or range)
    last = last and number_of(field, last) or not last and (step and field[3] or first)
  end
  if not first or not last or first > last then
    return false
  end
  for value = first, last, tonumber(step or 1) do
    set[value] = true
  end
  return true
end

-- Reads a line of cron; nil and what is wrong.
local function read(line)
  local words, times = {}, {}
  for word in (short[line] or line):gmatch("%S+") do
    words[#words + 1] = word
  end
  if #words ~= #fields then
    return nil, "minute hour day month weekday expected"
  end
  for i, field in ipairs(fields) do
    local set = {}
    for part in (words[i] .. ","):gmatch("([^,]*),") do
      if not add(set, field, part) then
        return nil, ("%q is no value of %s"):format(part, field[1])
      end
    end
    times[field[1]] = set
  end
  times.wday[0] = times.wday[0] or times.wday[7]
  -- As in every cron: where both days are restricted, one of them is enough.
  times.either = words[3]:sub(1, 1) ~= "*" and words[5]:sub(1, 1) ~= "*"
  return times
end

local function fits_day(times, at)
  local day, wday = times.day[at.day], times.wday[at.wday - 1]
  return times.month[at.month] and (times.either and (day or wday) or day and wday)
end

-- Seconds since the epoch of the first minute after `now` that fits; nil: none does.
local function next_minute(times, now)
  local start = os.date("*t", now + 60)
  local last = now + HORIZON * 86400
  local at = os.time({ year = start.year, month = start.month, day = start.day, hour = start.hour, min = start.min })
  if at <= now then
    at = at + 60 -- the hour that a clock repeats in autumn
  end
  while at < last do
    local now_at = os.date("*t", at)
    if not fits_day(times, now_at) then
      at = os.time({ year = now_at.year, month = now_at.month, day = now_at.day + 1, hour = 0 })
    elseif not times.hour[now_at.hour] then
      at = at + (60 - now_at.min) * 60
    elseif not times.min[now_at.min] then
      at = at + 60
    else
      return at
    end
  end
end

---@class operations.Schedule
---@field _task operations.Task
---@field _running operations.Task[]  runs that have not ended
local Schedule = {}
Schedule.__index = Schedule
Schedule.__name = "operations.schedule"

-- Waits until a time of the host's clock, which may be set meanwhile.
local function wait_until(due)
  local left = due - hosts.current().now()
  while left > 0 do
    task.sleep(math.min(left, LOOK) / 1000)
    left = due - hosts.current().now()
  end
end

-- Makes a run a task of its own: what it raises goes to `on_error`, and the schedule continues.
local function start(self, fn, due)
  local run = task.spawn(function()
    if not self._stopped then
      return fn(due)
    end
  end)
  self._running[run] = true
  return task.spawn(function()
    local _, err = run:wait()
    self._running[run] = nil
    if err ~= nil and not self._stopped then
      task.on_error(err, tostring(err))
    end
  end)
end

local function loop(self, following, fn, options)
  local due = following(hosts.current().now())
  while due and not self._stopped do
    wait_until(due + math.random() * (options.jitter or 0) * 1000)
    local ended = start(self, fn, math.floor(due))
    if not options.overlap then
      ended:wait()
    end
    due = following(math.max(due, hosts.current().now()))
  end
end

--- Ends the schedule: no further run begins. Waits until the running one has ended, at most `ms`; then it is cancelled.
---@param ms? number  default: cancels at once
function Schedule:stop(ms)
  argument.optional(ms, "number", 1, "stop")
  self._stopped = true
  local function ended()
    for run in pairs(self._running) do
      run:wait()
    end
  end
  if ms and next(self._running) then
    pcall(task.within, ms, ended)
  end
  self._task:cancel("the schedule was stopped")
end

--- Waits until the schedule is stopped: a program that only runs schedules ends with it.
function Schedule:wait()
  self._task:wait()
end

local kinds = { jitter = "number", now = "boolean", overlap = "boolean" }

-- The function that gives the time of the next run, ms since the epoch.
local function following_of(when, options)
  if type(when) == "string" then
    local times, flaw = read(when)
    if not times then
      error(("bad argument #1 to 'every' (%s: %s)"):format(when, flaw), 3)
    end
    return function(now)
      local at = next_minute(times, math.floor(now / 1000))
      return at and at * 1000
    end
  elseif type(when) ~= "number" or not (when > 0 and when < math.huge) then
    error(("bad argument #1 to 'every' (seconds above 0 or a line of cron expected, got %s)"):format(tostring(when)), 3)
  end
  local interval, last = when * 1000, nil
  return function(now)
    if not last then
      last = options.now and now or now + interval
    else
      last = last + interval * math.max(1, math.ceil((now - last) / interval))
    end
    return last
  end
end

---@class operations.EveryOptions
---@field jitter? number  seconds, up to which chance delays each run: many machines do not begin at once
---@field now? boolean  the first run is now, not after the first interval
---@field overlap? boolean  a run begins while the previous one still runs; without it, runs that are missed are left
---  out

--- Calls `fn(due)` again and again, `due` in ms since the epoch. What it raises goes to `on_error`. The schedule is a
--- task of the running one: it ends with it.
---@param when number|string  seconds between two runs, or a line of cron in local time: "*/5 * * * mon-fri", "@daily"
---@param fn fun(due: integer)
---@param options? operations.EveryOptions
---@return operations.Schedule
function schedule.every(when, fn, options)
  argument.expect(fn, "function", 2, "every")
  argument.optional(options, "table", 3, "every")
  options = members.copy(options or {})
  argument.options(options, kinds, "every")
  local following = following_of(when, options)
  local self = setmetatable({ _running = {} }, Schedule)
  self._task = task.spawn(loop, self, following, fn, options)
  return self
end

return schedule

--- Counts and durations of calls in the text format of Prometheus (exposition format 0.0.4).
local argument = require("operations.base.argument")
local dictionary = require("operations.task.dictionary")
local disclosure = require("operations.base.disclosure")
local hold = require("operations.task.hold")
local layer = require("operations.middleware.layer")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local number_text = require("operations.base.number_text")
local scheduler = require("operations.task.scheduler")

local metrics = {}

---@class operations.Figures
---@field add fun(self, id: string, name: string, amount: number)
---@field all fun(self): table<string, table<string, number>>  by id and name

---@class operations.LocalFigures : operations.Figures
local Local = {}
Local.__index = Local

function Local:add(id, name, amount)
  local sums = self._sums[id]
  if not sums then
    sums = {}
    self._sums[id] = sums
  end
  sums[name] = (sums[name] or 0) + amount
end

function Local:all()
  return self._sums
end

local PREFIX = "operations:figures:"

---@class operations.SharedFigures : operations.Figures
local Shared = {}
Shared.__index = Shared

function Shared:add(id, name, amount)
  self._dictionary:incr(PREFIX .. id .. "\n" .. name, amount, 0)
end

function Shared:all()
  local all = {}
  for _, key in ipairs(self._dictionary:get_keys(0)) do
    local id, name = key:match("^" .. PREFIX .. "([^\n]*)\n(.*)$")
    if id then
      all[id] = all[id] or {}
      all[id][name] = self._dictionary:get(key)
    end
  end
  return all
end

-- Sums by operation and name: in this process, or for all workers of nginx in a shared dictionary.
local function new_figures(shared)
  if shared then
    return setmetatable({ _dictionary = shared }, Shared)
  end
  return setmetatable({ _sums = {} }, Local)
end

---@class operations.MetricsOptions
---@field buckets? number[]  seconds, rising; default 0.005 to 10
---@field store? table|string  a shared dictionary of nginx or its name, for the figures of all workers; default: this
---  process
---@field public? boolean  `to_http` also shows them to callers without credentials
---@field max_series? integer  pairs of operation and code counted separately, default 10,000; others count as "other"

local kinds = { buckets = "table", store = "string or table or userdata", public = "boolean", max_series = "number" }
local seconds = { 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10 }

---@class operations.Metrics  a middleware
---@field public boolean
---@field _buckets number[]  ms
---@field _figures operations.Figures
---@field _running table<string, integer>
---@field _series integer
---@field _seen table<string, table<string, string>>  series by operation and code
---@field _names string[]  of the buckets
---@field _max_series integer
local Metrics = {}
Metrics.__index = Metrics

local function check_buckets(buckets)
  for i, bound in ipairs(buckets) do
    if type(bound) ~= "number" or not (bound > (buckets[i - 1] or 0) and bound < math.huge) then
      error("bad option 'buckets' to 'metrics' (rising numbers above 0 expected)", 3)
    end
  end
end

-- The series of a call: its code, and after a line break the kind of a failed exchange with an upstream. Codes can be
-- any texts, so the number of series is limited.
local function name_of(self, id, err)
  local seen, code = self._seen[id], "OK"
  if err then
    local _, kind = disclosure.failure(err)
    code = kind and err.code .. "\n" .. kind or err.code
  end
  if not seen[code] then
    if self._series >= self._max_series then
      return "code other"
    end
    seen[code], self._series = "code " .. code, self._series + 1
  end
  return seen[code]
end

local function bucket_of(buckets, ms)
  for i = 1, #buckets do
    if ms <= buckets[i] then
      return i
    end
  end
  return #buckets + 1
end

local function note(err, self, id, start)
  local kept, ms = self._figures, scheduler.host().now() - start
  self._running[id] = self._running[id] - 1
  kept:add(id, name_of(self, id, err), 1)
  kept:add(id, self._names[bucket_of(self._buckets, ms)], 1)
  kept:add(id, "ms", ms)
end

local function store_of(given)
  local store = dictionary.of(given, "store", "metrics", 3)
  if store and not (type(store.incr) == "function" and type(store.get_keys) == "function") then
    error("bad option 'store' to 'metrics' (a shared dictionary of nginx, or its name, expected)", 3)
  end
  return store
end

function Metrics:__call(handler, spec)
  return self._wrap(handler, spec)
end

local escapes = { ["\\"] = "\\\\", ['"'] = '\\"', ["\n"] = "\\n" }

local function quoted(text)
  return '"' .. text:gsub('[\\"\n]', escapes) .. '"'
end

-- The labels of a code.
local function labels_of(code)
  local own, kind = code:match("^(%u[%u%d_]*)\n(%l+)$")
  return kind and ("code=%s,kind=%s"):format(quoted(own), quoted(kind)) or "code=" .. quoted(code)
end

-- The counted codes, sorted.
local function codes_of(fields)
  local codes = {}
  for name in pairs(fields) do
    codes[#codes + 1] = name:match("^code (.*)$")
  end
  table.sort(codes)
  return codes
end

local function write_durations(self, lines, id, fields)
  local total, label = 0, "{operation=" .. quoted(id)
  local name = "operations_call_duration_seconds"
  for i = 1, #self._buckets + 1 do
    total = total + (fields[self._names[i]] or 0)
    local bound = self._buckets[i] and number_text.of(self._buckets[i] / 1000) or "+Inf"
    lines[#lines + 1] = ("%s_bucket%s,le=\"%s\"} %s"):format(name, label, bound, number_text.of(total))
  end
  lines[#lines + 1] = ("%s_sum%s} %s"):format(name, label, number_text.of((fields.ms or 0) / 1000))
  lines[#lines + 1] = ("%s_count%s} %s"):format(name, label, number_text.of(total))
end

local function head(lines, name, kind, help)
  lines[#lines + 1] = ("# HELP %s %s\n# TYPE %s %s"):format(name, help, name, kind)
end

local function everything()
  return true
end

local function ids_of(figures_by_id, shows)
  local ids = {}
  for _, id in ipairs(members.names(figures_by_id)) do
    ids[#ids + 1] = shows(id) and id or nil
  end
  return ids
end

--- The figures as text: `operations_calls_total` by operation and code ("OK" or the error code; where the exchange with
--- an upstream failed, also by its kind), the histogram `operations_call_duration_seconds`, and the gauge
--- `operations_calls_running` of this process, by operation.
---@param shows? fun(id: string): boolean  which operations are shown; default: all
---@return string
function Metrics:text(shows)
  shows = shows or everything
  local all, lines = self._figures:all(), {}
  local ids = ids_of(all, shows)
  head(lines, "operations_calls_total", "counter", "Calls that ended, by operation and error code.")
  for _, id in ipairs(ids) do
    for _, code in ipairs(codes_of(all[id])) do
      lines[#lines + 1] = ("operations_calls_total{operation=%s,%s} %s"):format(quoted(id), labels_of(code),
        number_text.of(all[id]["code " .. code]))
    end
  end
  head(lines, "operations_call_duration_seconds", "histogram", "Time from the start of a call to its end.")
  for _, id in ipairs(ids) do
    write_durations(self, lines, id, all[id])
  end
  head(lines, "operations_calls_running", "gauge", "Calls that are running in this process.")
  for _, id in ipairs(ids_of(self._running, shows)) do
    lines[#lines + 1] = ("operations_calls_running{operation=%s} %d"):format(quoted(id), self._running[id])
  end
  return table.concat(lines, "\n") .. "\n"
end

--- Counts calls by operation and code, and their durations; a subscription counts when it ends. `metrics:text()` writes
--- the figures; `to_http(registry, { metrics = metrics })` serves them at /metrics.
---@param options? operations.MetricsOptions
---@return operations.Metrics
function metrics.new(options)
  argument.optional(options, "table", 1, "metrics")
  options = options or {}
  argument.options(options, kinds, "metrics")
  check_buckets(options.buckets or seconds)
  local bounds, names = {}, { "bucket 1" }
  for i, bound in ipairs(options.buckets or seconds) do
    bounds[i], names[i + 1] = bound * 1000, "bucket " .. i + 1
  end
  local self = setmetatable({ public = options.public or false, _buckets = bounds, _names = names, _running = {},
    _seen = {}, _series = 0, _max_series = options.max_series or limits.metrics_series,
    _figures = new_figures(store_of(options.store)) }, Metrics)
  self._wrap = layer.new(function(inner, spec)
    local id = layer.id(spec)
    self._running[id], self._seen[id] = self._running[id] or 0, self._seen[id] or {}
    return function(input, context)
      self._running[id] = self._running[id] + 1
      return layer.follow(hold.new(note, self, id, scheduler.host().now()), inner, input, context)
    end
  end)
  return self
end

return metrics

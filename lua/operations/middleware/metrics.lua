--- Counts and durations of calls, what other middleware does with them, and the answers of servers, in the text format
--- of Prometheus (exposition format 0.0.4).
local argument = require("operations.base.argument")
local dictionary = require("operations.task.dictionary")
local disclosure = require("operations.base.disclosure")
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

-- Figures of all workers of nginx. Each sum has a number, under which its name is found: `get_keys` would hold up all
-- workers. No value is dropped to make room for another.
---@class operations.SharedFigures : operations.Figures
local Shared = {}
Shared.__index = Shared

local COUNT = PREFIX .. "count"

-- Adds to a sum that may be new; the sum, or nil and why not.
local function increase(store, key, amount)
  local sum, why = store:incr(key, amount)
  if sum or why ~= "not found" then
    return sum, why
  end
  sum, why = store:safe_add(key, amount)
  if sum then
    return amount, nil, true
  elseif why == "exists" then -- of another worker, meanwhile
    return store:incr(key, amount)
  end
  return nil, why
end

function Shared:add(id, name, amount)
  local store, text = self._dictionary, id .. "\n" .. name
  local sum, why, is_new = increase(store, PREFIX .. text, amount)
  if is_new then
    sum, why = increase(store, COUNT, 1)
    if sum then
      sum, why = store:safe_set(COUNT .. sum, text)
    end
  end
  if not sum then
    dictionary.failed("figures", "refused", ("metrics: the shared dictionary does not count: %s; give it one of its "
      .. "own, or a larger one"):format(tostring(why)))
  end
end

function Shared:all()
  local store, all = self._dictionary, {}
  for i = 1, store:get(COUNT) or 0 do
    local text = store:get(COUNT .. i)
    local id, name = (text or ""):match("^([^\n]*)\n(.*)$")
    if id then
      all[id] = all[id] or {}
      all[id][name] = store:get(PREFIX .. text)
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
---@field store? table|string  a shared dictionary of nginx or its name, for the figures of all workers: one that
---  nothing else uses; default: this process
---@field public? boolean  `to_http` also shows them to callers without credentials
---@field max_series? integer  pairs of operation and code counted separately, default 10,000; others count as "other"
---  (codes), or not at all (breakers)

local kinds = { buckets = "table", store = "string or table or userdata", public = "boolean", max_series = "number" }
local seconds = { 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10 }

---@class operations.Metrics  a middleware
---@field public boolean
---@field _buckets number[]  ms
---@field _figures operations.Figures
---@field _running table<string, integer>
---@field _waiting table<string, integer>
---@field _breakers table<string, { state: string, ids: table<string, true> }>  by key
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

--- Counts what another middleware did with a call: one of `counted`, or a text that begins with its name and a space.
---@param id string  of the operation
---@param what string
function Metrics:_note(id, what)
  self._figures:add(id, what, 1)
end

--- Adds to the calls that wait for a place.
---@param id string
---@param amount integer
function Metrics:_waits(id, amount)
  self._waiting[id] = (self._waiting[id] or 0) + amount
end

--- Records the state of a breaker.
---@param id string  the operation whose call changed it
---@param key string  of the breaker
---@param state "open"|"half-open"|"closed"
function Metrics:_breaker(id, key, state)
  local known = self._breakers[key]
  if not known then
    if self._series >= self._max_series then
      return
    end
    known, self._series = { ids = {} }, self._series + 1
    self._breakers[key] = known
  end
  known.state, known.ids[id] = state, true
  self._figures:add(id, ("breaker %s %s"):format(state, key), 1)
end

--- Counts an answer of a server.
---@param part "http"|"mcp"
---@param status integer
---@param code? string  of the error
function Metrics:answered(part, status, code)
  local answers = self._seen[""]
  local name = ("%s %d %s"):format(part, status, code or "")
  if not answers[name] then
    if self._series >= self._max_series then
      name = ("%s %d other"):format(part, status)
    else
      answers[name], self._series = name, self._series + 1
    end
  end
  self._figures:add("", name, 1)
end

local function bucket_of(buckets, ms)
  for i = 1, #buckets do
    if ms <= buckets[i] then
      return i
    end
  end
  return #buckets + 1
end

local function note(self, id, start, err)
  local kept, ms = self._figures, scheduler.now() - start
  self._running[id] = self._running[id] - 1
  kept:add(id, name_of(self, id, err), 1)
  kept:add(id, self._names[bucket_of(self._buckets, ms)], 1)
  kept:add(id, "ms", ms)
end

local function store_of(given)
  local store = dictionary.of(given, "store", "metrics", 3)
  if store and not (type(store.incr) == "function" and type(store.safe_add) == "function") then
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

-- What other middleware counts: the beginning of a name, its metric, label and help.
local counted = {
  { "retry", "operations_retries_total", nil, "Attempts after the first one." },
  { "cache", "operations_cache_total", "result", "Calls of queries that the cache saw: hit, shared (the answer of an "
    .. "equal call), miss, confirmed (304)." },
  { "refused", "operations_refusals_total", "reason", "Calls that a middleware refused, by its name." },
}

-- Writes a metric; `rows` are { labels, value }, in any order.
local function write_rows(lines, name, kind, help, rows)
  if rows[1] then
    head(lines, name, kind, help)
    local texts = {}
    for i, row in ipairs(rows) do
      texts[i] = ("%s%s %s"):format(name, row[1] == "" and "" or "{" .. row[1] .. "}", number_text.of(row[2]))
    end
    table.sort(texts)
    lines[#lines + 1] = table.concat(texts, "\n")
  end
end

local function write_counted(lines, all, ids)
  for _, row in ipairs(counted) do
    local kind, name, label, help = row[1], row[2], row[3], row[4]
    local rows = {}
    for _, id in ipairs(ids) do
      for field, sum in pairs(all[id]) do
        local found, value = field:match("^(%l+) ?(.*)$")
        if found == kind and not field:find("^%l+ %d+$") then
          local more = label and (",%s=%s"):format(label, quoted(value)) or ""
          rows[#rows + 1] = { "operation=" .. quoted(id) .. more, sum }
        end
      end
    end
    write_rows(lines, name, "counter", help, rows)
  end
end

local function write_breakers(self, lines, all, ids, shows)
  local sums, changes, states = {}, {}, {}
  for _, id in ipairs(ids) do
    for field, sum in pairs(all[id]) do
      local state, key = field:match("^breaker (%S+) (.*)$")
      if state then
        local labels = ("breaker=%s,state=%s"):format(quoted(key), quoted(state))
        sums[labels] = (sums[labels] or 0) + sum
      end
    end
  end
  for labels, sum in pairs(sums) do
    changes[#changes + 1] = { labels, sum }
  end
  for key, known in pairs(self._breakers) do
    for id in pairs(known.ids) do
      if shows(id) then
        states[#states + 1] = { ("breaker=%s,state=%s"):format(quoted(key), quoted(known.state)), 1 }
        break
      end
    end
  end
  write_rows(lines, "operations_breaker_changes_total", "counter", "Changes of breakers to a state.", changes)
  write_rows(lines, "operations_breaker_state", "gauge", "The state of each breaker of this process that has changed.",
    states)
end

local function write_answers(lines, answers)
  local rows = {}
  for field, sum in pairs(answers or {}) do
    local part, status, code = field:match("^(%l+) (%d+) (.*)$")
    if part then
      rows[#rows + 1] = { ("part=%s,status=\"%s\",class=\"%sxx\",code=%s"):format(quoted(part), status,
        status:sub(1, 1), quoted(code)), sum }
    end
  end
  write_rows(lines, "operations_http_responses_total", "counter",
    "Answers of the server, refusals too, by status and error code.", rows)
end

local function write_failures(lines)
  local rows = {}
  for store, reasons in pairs(dictionary.failures) do
    for reason, sum in pairs(reasons) do
      rows[#rows + 1] = { ("store=%s,reason=%s"):format(quoted(store), quoted(reason)), sum }
    end
  end
  write_rows(lines, "operations_store_failures_total", "counter",
    "Failures of shared dictionaries and of Redis as a store, in this process.", rows)
end

local function ids_of(figures_by_id, shows)
  local ids = {}
  for _, id in ipairs(members.names(figures_by_id)) do
    ids[#ids + 1] = id ~= "" and shows(id) and id or nil
  end
  return ids
end

--- The figures as text: `operations_calls_total` by operation and code ("OK" or the error code; where the exchange with
--- an upstream failed, also by its kind), the histogram `operations_call_duration_seconds`, the gauge
--- `operations_calls_running` of this process, by operation, and those that doc/middleware.md lists.
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
  local waiting = {}
  for _, id in ipairs(ids_of(self._waiting, shows)) do
    waiting[#waiting + 1] = { "operation=" .. quoted(id), self._waiting[id] }
  end
  write_rows(lines, "operations_calls_waiting", "gauge", "Calls of this process that wait for a place (concurrency).",
    waiting)
  write_counted(lines, all, ids)
  write_breakers(self, lines, all, ids, shows)
  write_answers(lines, all[""])
  write_failures(lines)
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
    _waiting = {}, _breakers = {}, _seen = { [""] = {} }, _series = 0,
    _max_series = options.max_series or limits.metrics_series,
    _figures = new_figures(store_of(options.store)) }, Metrics)
  self._wrap = layer.new(function(inner, spec)
    local id = layer.id(spec)
    self._running[id], self._seen[id] = self._running[id] or 0, self._seen[id] or {}
    local followed = layer.followed(inner, function(err, _, start)
      note(self, id, start, err)
    end)
    return function(input, context)
      self._running[id] = self._running[id] + 1
      layer.counts(context, self)
      return followed(input, context, scheduler.now())
    end
  end)
  return self
end

return metrics

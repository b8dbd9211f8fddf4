--- `operations call --each`: a call for each line of standard input, a line of output for each in the same order. A
--- call that fails is a line, too: `{"error":{...},"line":7}`.
local core = require("operations.core")
local errors = require("operations.base.error")
local json = require("operations.base.json")
local map = require("operations.task.map")
local members = require("operations.base.members")
local outcome = require("operations.cli.outcome")
local output = require("operations.cli.output")
local request = require("operations.cli.request")
local stdin = require("operations.cli.stdin")
local system = require("operations.system")
local task = require("operations.task")
local wait = require("operations.task.wait")

local each = {}

local STDIN = 0
local AHEAD = 100 -- finished calls for each job that wait for one before them
local PAUSE = 0.02 -- seconds between looks at an input that gives nothing, while calls run

---@class operations.cli.Each
---@field asked operations.cli.Request
---@field skip integer  lines that are left out
---@field stops boolean  at the first failure; calls that run then are waited for
---@field ahead integer  how far calls may be ahead of the output
---@field printed integer  lines whose result, and that of all before them, is printed
---@field done table<integer, table>  results that wait for one before them
---@field waiting table  calls that wait for the output
---@field count integer  calls that ended
---@field failed integer
---@field code integer  of the last failure
---@field first_failed number  its line
local Each = {}
Each.__index = Each

local excluded = { "dry-run", "curl", "lua-code", "all", "max-items", "remote-name" }

--- The reason for refusing the options; nil when they are right.
---@param options table<string, any>
---@return string?
function each.problem(options)
  for _, name in ipairs(excluded) do
    if options[name] then
      return ("--each and --%s exclude each other"):format(name)
    end
  end
  if options.format and options.format ~= "json" and options.format ~= "ndjson" then
    return ("--format: --each prints lines: expected json or ndjson, got %q"):format(options.format)
  elseif options.jobs and not (options.jobs:find("^[1-9]%d*$") and tonumber(options.jobs) <= 1000) then
    return ("--jobs: expected a whole number from 1 to 1000, got %q"):format(options.jobs)
  elseif options.skip and not options.skip:find("^%d+$") then
    return ("--skip: expected a whole number, got %q"):format(options.skip)
  elseif system.is_terminal(STDIN) then
    return "--each reads a line of JSON for each call from standard input: operations call ... --each <FILE"
  end
end

-- The next line that is not blank, with its number; waits without holding the calls that run.
local function next_line(_, number)
  repeat
    while stdin.current._rest == "" and not system.readable(STDIN, 0) do
      task.sleep(PAUSE)
    end
    local line = io.stdin:read("*l")
    if not line then
      return nil
    end
    number = number + 1
    if line:find("%S") then
      return number, line
    end
  until false
end

-- The input of a line behind that of the command line.
local function input_of(asked, line)
  local whole, err = json.decode(line)
  if whole == nil then
    return nil, errors.new("VALIDATION_ERROR", err.message)
  end
  local value, message = request.build(asked, members.joined(asked.items, { { whole = whole } }))
  if value == nil then
    return nil, errors.new("VALIDATION_ERROR", message)
  end
  return value
end

local function context_of(asked)
  local seconds = tonumber(asked.answer.options.timeout)
  return members.merged(asked.context, { deadline = seconds and core.now() + math.ceil(seconds * 1000) or nil })
end

-- The outcome of one call: the text to print, and its error.
local function call(asked, line)
  local value, err = input_of(asked, line)
  if value == nil then
    return { err = err }
  end
  local envelope
  envelope, err = asked.registry:execute(asked.id, value, context_of(asked))
  if not envelope then
    return { err = request.hinted(err, asked.spec.inputSchema) }
  end
  local data = envelope
  if not asked.answer.options.envelope then
    data = envelope.data == nil and core.null or envelope.data
  end
  if envelope.meta.isError == true then
    return { err = errors.new("EXECUTION_ERROR", "the tool failed", data) }
  end
  local part, problem = asked.answer:select(data)
  if part == nil then
    return { err = errors.new("SELECTION", problem, data), code = output.codes.SELECTION }
  end
  return { data = part }
end

-- An error as data; the head of an HTTP answer is left out.
local function shown(err)
  if type(err) ~= "table" then
    return { message = tostring(err) }
  end
  local details = err.details
  if core.kind(details) == "object" and details.headers then
    details = members.copy(details)
    details.headers, details.method, details.url, details.operation, details.attempts = nil, nil, nil, nil, nil
  end
  return { code = err.code, message = err.message, details = details }
end

-- Prints the results whose turn it is.
function Each:flush()
  while self.done[self.printed + 1] ~= nil do
    local result = self.done[self.printed + 1]
    self.done[self.printed + 1], self.printed = nil, self.printed + 1
    if result.err then
      self.asked.answer:line({ error = shown(result.err), line = self.printed })
    elseif result.data ~= nil then
      self.asked.answer:item(result.data)
    end
  end
  local waiting = self.waiting
  self.waiting = {}
  wait.wake(waiting)
end

-- Makes the call of a line, unless that is left out.
function Each:take(number, line)
  while number > self.printed + self.ahead do
    task.await(function(wake)
      return wait.add(self.waiting, wake)
    end)
  end
  local result = number > self.skip and call(self.asked, line) or {}
  self.count = self.count + (number > self.skip and 1 or 0)
  if result.err then
    self.failed, self.code = self.failed + 1, result.code or output.exit_code(result.err)
    self.first_failed = math.min(self.first_failed, number)
  end
  self.done[number] = result
  self:flush()
  output.progress(("%d calls, %d failed"):format(self.count, self.failed))
end

-- Blank lines have no result, but a number.
local function numbered(self)
  return function(state, number)
    if self.stops and self.failed > 0 then
      return nil
    end
    local following, line = next_line(state, number)
    for blank = number + 1, (following or number + 1) - 1 do
      self.done[blank] = {}
    end
    return following, line
  end
end

--- Makes the calls.
---@param asked? operations.cli.Request
---@param code? integer  the exit code if there is none
---@return integer code
function each.run(asked, code)
  if not asked then
    return code or output.codes.USAGE
  elseif asked.spec.type == "subscription" then
    return output.usage("%s is a subscription: use operations watch", asked.id)
  end
  local options = asked.answer.options
  local opened, message = asked.answer:open(asked.exchange)
  if not opened then
    return output.usage("%s", message)
  end
  local jobs = tonumber(options.jobs) or 1
  local self = setmetatable({ asked = asked, skip = tonumber(options.skip) or 0, stops = options["fail-fast"] == true,
    ahead = AHEAD * jobs, printed = 0, done = {}, waiting = {}, count = 0, failed = 0, code = output.codes.OK,
    first_failed = math.huge }, Each)
  local ok, raised, err = pcall(map.map, numbered(self), function(...) return self:take(...) end,
    { limit = jobs, control = 0 })
  if not ok or err or self.stops and self.failed > 0 then
    local last = self.printed == self.first_failed and self.printed - 1 or self.printed -- repeats a failed last one
    output.notice("stopped after line %d: --skip %d continues there", last, last)
  end
  if not ok or err then
    error(err or raised, 0)
  elseif self.failed > 0 then
    output.notice("%d of %d calls failed", self.failed, self.count)
  end
  local finished = outcome.finish(asked, output.codes.OK)
  return finished ~= output.codes.OK and finished or self.code
end

return each

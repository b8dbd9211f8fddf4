--- Supervises the connection of a session: when it was lost, or could not be made, connects again after pauses that
--- grow, until that succeeds, the failure is final, or the session ends. It knows the state that programs see.
local backoff = require("operations.base.backoff")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local scheduler = require("operations.task.scheduler")
local task = require("operations.task")
local task_wait = require("operations.task.wait")
local waits = require("operations.mcp.client.waits")

local supervisor = {}

---@class operations.mcp.Supervisor
---@field err? operations.Error  why there is no connection; nil: there is one, or it is the first attempt
---@field failures integer  consecutive attempts that failed, or whose connection was soon lost
---@field next_at? number  ms since the epoch: the beginning of the next attempt
local Supervisor = {}
Supervisor.__index = Supervisor

local now = scheduler.now

---@param name string  of the server
---@param is_on boolean  false: only requests connect again
---@param start fun(): boolean?, operations.Error?  connects; concurrent callers share one attempt
---@param is_wanted fun(): boolean  is the connection still needed?
---@param tell fun(state: operations.mcp.State, err: operations.Error?)
---@return operations.mcp.Supervisor
function supervisor.new(name, is_on, start, is_wanted, tell)
  return setmetatable({ _name = name, _is_on = is_on, _start = start, _is_wanted = is_wanted, _tell = tell,
    failures = 0, _soon = 0, _since = 0, _wakes = {} }, Supervisor)
end

-- Statuses that another attempt does not change: credentials are missing or refused.
local refused = { [401] = true, [403] = true, [407] = true }
-- Kinds of failures that need a person: the configuration, a login.
local final = members.set({ "version", "command", "cwd", "oauth", "credential", "configuration" })

local function is_final(err)
  local details = type(err.details) == "table" and err.details or {}
  return err.code == "VALIDATION_ERROR" or err.code == "ACCESS_DENIED" or refused[details.statusCode] == true
    or final[details.kind] == true
end

-- The pause before the next attempt, ms: none after a connection that had lasted; never shorter than the server asked.
local function pause_of(self, err)
  local pause = self.failures == 0 and 0
    or backoff.spread(backoff.delay(limits.mcp_retry, self.failures, limits.mcp_max_retry), -0.25)
  return math.max(pause, math.min(tonumber(err.retryAfter) or 0, limits.reconnect_wait))
end

-- Wakes the requests that wait for an attempt.
local function announce(self)
  local wakes = self._wakes
  self._wakes = {}
  task_wait.wake(wakes)
end

-- Attempts until one succeeds. Another attempt, of a request or of the program, may succeed meanwhile.
local function run(self)
  while self.next_at and self._is_wanted() do
    local left = self.next_at - now()
    if left > 0 then
      task.sleep(math.min(left, limits.mcp_max_retry) / 1000)
    else
      self.next_at = nil
      pcall(self._start) -- the outcome is told to `failed` or `succeeded`
    end
  end
  self._is_running = false
  announce(self) -- requests wait only for further attempts
end

-- Plans the next attempt, if there is to be one.
local function plan(self, err)
  self.err = err
  self.next_at = self._is_on and self._is_wanted() and not is_final(err) and now() + pause_of(self, err) or nil
  if self.next_at and not self._is_running then
    self._is_running = true
    task.detach(run, self)
  end
  self._tell(self.next_at and self.failures > 0 and "retrying" or "lost", err)
  announce(self)
end

--- An attempt begins.
function Supervisor:attempt()
  if self.failures == 0 then
    self._tell("connecting")
  end
end

--- An attempt failed.
---@param err operations.Error
function Supervisor:failed(err)
  self._lost_at = self._lost_at or now()
  self.failures = self.failures + 1
  plan(self, err)
end

--- An attempt succeeded.
function Supervisor:succeeded()
  self.err, self.next_at, self._lost_at, self._since, self.failures = nil, nil, nil, now(), 0
  self._tell("connected")
  announce(self)
end

--- The connection was lost. One that lasted is made again at once.
---@param err operations.Error
function Supervisor:lost(err)
  if self.err then
    return
  end
  self._lost_at = now()
  self._soon = now() - self._since < limits.mcp_stable and self._soon + 1 or 0
  self.failures = math.max(self._soon - 1, 0) -- a server that ends again and again is not started at once each time
  plan(self, err)
end

-- The cause without the place of the server.
local function cause_of(err)
  local command = type(err.details) == "table" and err.details.command
  local text = err.message:gsub("^%u+ https?://%S+: ", "")
  if command and text:sub(1, #command + 2) == command .. ": " then
    return text:sub(#command + 3)
  end
  return text
end

--- The error of a request that is not sent because there is no connection.
---@param err operations.Error  why
---@return operations.Error  `details.state`
function Supervisor:refusal(err)
  local left = self.next_at and math.max(self.next_at - now(), 0) or nil
  local when = left and ("retrying in %d s"):format(math.ceil(left / 1000)) or self._is_on and not is_final(err)
    and "retrying" or "lost"
  local copy = errors.new(err.code, ("%s is not connected (%s): %s"):format(self._name, when, cause_of(err)),
    members.merged(type(err.details) == "table" and err.details or {}, { state = left and "retrying" or "lost" }))
  copy.retryable, copy.mayHaveRun, copy.retryAfter = left ~= nil, false, left
  return copy
end

--- Connects for a request. While attempts fail it waits for the next ones, at most until some time after the loss:
--- what has not begun survives a restart of the server, and a server that stays away costs that time once.
---@param timeout number  ms, of the request
---@return true?
---@return operations.Error? err
function Supervisor:connect(timeout)
  local began = now()
  if self.failures == 0 or not self._is_running then
    local ok, err = self._start()
    if ok or err ~= self.err or not self._is_running then
      return ok, err
    end
  end
  while self.err do
    local limit = math.min(self._lost_at + limits.mcp_recovery, began + timeout)
    if now() >= limit or not (self._is_running and self._is_wanted()) then
      return nil, self:refusal(self.err)
    end
    local interruption = waits.woken(self._wakes, limit - now())
    if interruption ~= nil then
      return nil, errors.from(interruption)
    end
  end
  return true
end

--- Ends: no more attempts are made, and requests that wait for one fail.
function Supervisor:stop()
  self.next_at = nil
  announce(self)
end

return supervisor

--- Begins a session (`server/discover` in 2026-07-28, `initialize` before): performs the negotiation's steps, and
--- remembers each server's era while this program runs.
local compat = require("operations.base.compat")
local message = require("operations.mcp.protocol.message")
local metadata = require("operations.mcp.protocol.metadata")
local negotiation = require("operations.mcp.protocol.negotiation")
local results = require("operations.mcp.protocol.result")

local handshake = {}

-- Verdicts.

-- The most remembered servers; beyond that, all are forgotten.
local MAX = 1000

local known, count = {}, 0

local function key_of(config)
  if config.url then
    return (config.url:gsub("[?#].*$", ""))
  end
  return table.concat({ config.command, config.cwd or "", compat.unpack(config.args or {}) }, "\0")
end

-- Stores a verdict.
local function keep_verdict(config, verdict)
  local key = key_of(config)
  if known[key] == nil then
    count = count + 1
    if count > MAX then
      known, count = {}, 1
    end
  end
  known[key] = verdict
end

-- Steps.

local steps = {}

-- Sends one request of the handshake; an unusable answer counts as none.
local function ask(self, method, params, timeout)
  local reply, err = self:_ask(self._link.pending:next_id(), method, params, timeout, {})
  local problem = reply and reply.result and results.problem(method, reply.result)
  if problem then
    return nil, problem
  end
  return reply, err
end

function steps.discover(self, state)
  self._self.modern, self._self.version = true, state.version
  self._link:speak(true, state.version)
  return state:discovered(ask(self, "server/discover", metadata.params(self._self, {}, {}), self._config.probe_timeout))
end

function steps.initialize(self, state)
  if state.fresh and self._link.closed then
    self._link:close() -- it ended because of an unknown message
    local ok, err = self:_connect()
    if not ok then
      return state:initialized(nil, err)
    end
  end
  self._link:speak(false)
  local params = metadata.initialize(self._self, state.version)
  return state:initialized(ask(self, "initialize", params, self._config.connect_timeout))
end

function steps.events(self, state)
  if self._link then
    self._link:close()
  end
  local ok, err = self:_connect("events")
  if not ok then
    local is_telling = err.details and err.details.kind == "protocol" -- it speaks this transport, but wrongly
    state.step, state.err = "failed", not is_telling and state.err or err
    return state
  end
  return steps.initialize(self, state)
end

local function take_over(self, state)
  local result = state.result or {}
  self.modern, self.version = state.modern, state.version
  self._self.modern, self._self.version = state.modern, state.version
  if state.result then -- otherwise the server's capabilities are unknown
    self.known, self.capabilities = true, type(result.capabilities) == "table" and result.capabilities or {}
    self.server = metadata.server_of(result)
    self.instructions = type(result.instructions) == "string" and result.instructions or nil
  end
  self._link:speak(state.modern, state.version)
  keep_verdict(self._config, state.modern and "modern" or self._link.verdict or "legacy")
end

--- Determines the era and stores the server's description of itself.
---@param self operations.mcp.Session  with an open link
---@return true?
---@return operations.Error? err
function handshake.run(self)
  local config = self._config
  local state = negotiation.new({
    version = config.version, era = config.era, http = config.url ~= nil,
    verdict = config.verdict or self.supervisor.failures == 0 and known[key_of(config)] or nil, -- else it is asked
  })
  while steps[state.step] do
    state = steps[state.step](self, state)
  end
  if state.step == "failed" then
    return nil, state.err
  end
  take_over(self, state)
  if not state.modern then
    local ok, err = self._link:deliver(message.notification("notifications/initialized"))
    if not ok then
      self._events.log("warn", "notifications/initialized was not accepted: " .. err.message)
    end
    self._link:started()
  end
  return true
end

return handshake

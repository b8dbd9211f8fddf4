--- A session with one server over any transport: determines the era, sends requests and waits for their results,
--- answers the server's requests meanwhile.
local configs = require("operations.mcp.client.config")
local errors = require("operations.base.error")
local handshake = require("operations.mcp.client.handshake")
local incoming = require("operations.mcp.client.incoming")
local json = require("operations.base.json")
local mcp_failure = require("operations.mcp.protocol.failure")
local members = require("operations.base.members")
local message = require("operations.mcp.protocol.message")
local metadata = require("operations.mcp.protocol.metadata")
local rounds = require("operations.mcp.client.rounds")
local single_flight = require("operations.task.single_flight")
local supervisors = require("operations.mcp.client.supervisor")
local task = require("operations.task")
local trace = require("operations.mcp.client.trace")
local waits = require("operations.mcp.client.waits")

local session = {}

local none = {}

-- The number of messages of one kind that are logged individually, and the bytes shown of each.
local NOISE, NOISE_TEXT = 100, 200

-- Later ones are logged each time their number has doubled.
local function is_told(count)
  while count % (2 * NOISE) == 0 do
    count = count / 2
  end
  return count <= NOISE
end

---@class operations.mcp.Session
---@field modern boolean
---@field version string  of the protocol
---@field capabilities table  the server's; empty if it was not asked
---@field server? table  the server's description of itself
---@field instructions? string
---@field longest number  the longest time of a request in ms, regardless of progress
---@field noise integer  the number of invalid messages and answers to unknown requests
---@field owner { client: operations.mcp.Client? }  weak, so that listeners do not keep the client alive
---@field supervisor operations.mcp.Supervisor
local Session = {}
Session.__index = Session

---@class operations.mcp.SessionEvents
---@field owner { client: operations.mcp.Client? }  weak
---@field notified fun(method: string, params: table)
---@field log fun(level: string, text: string, details: any)
---@field restarted fun()
---@field renew fun(): table?  the parts of the configuration that each start makes again
---@field state fun(state: operations.mcp.State, err: operations.Error?)

--- Makes a session that is not started yet.
---@param config operations.mcp.Config
---@param open fun(config: operations.mcp.Config, events: operations.mcp.LinkEvents): table?, operations.Error?
---@param events operations.mcp.SessionEvents
---@return operations.mcp.Session
function session.new(config, open, events)
  local capabilities = incoming.capabilities(config)
  local self
  self = setmetatable({
    _config = configs.of_connection(config), _open = open, _events = events, _incoming = incoming.new(events.notified),
    _starting = single_flight.new(), _link = nil, _ended = false, owner = events.owner, noise = 0, _mended = 0,
    _watch = trace.watch(config.name, config.on_message), modern = false, capabilities = {},
    longest = config.max_timeout,
    _self = {
      client = config.client or metadata.client, capabilities = capabilities,
      extended = incoming.extended(capabilities),
      log_level = config.log_level,
    },
  }, Session)
  self.supervisor = supervisors.new(config.name, config.restart ~= false, function()
    return self:start()
  end, function()
    return not self._ended and self.owner.client ~= nil
  end, trace.state(config.name, events.state))
  return self
end

-- Counts unusable input; limits its log entries.
function Session:_noise(what, came)
  self.noise = self.noise + 1
  if not is_told(self.noise) then
    return
  elseif self.noise > NOISE then
    what = ("%s (%d so far)"):format(what, self.noise)
  end
  local text = type(came) == "table" and json.encode(came, { sort_keys = true }) or came
  self._events.log("debug", what, type(text) == "string" and text:sub(1, NOISE_TEXT) or text)
end

-- Opens the connection; `kind` "events": by the transport of 2024-11-05.
function Session:_connect(kind)
  local link, err
  link, err = self._open(self._config, {
    message = function(value, what)
      if what == "notification" then
        self._incoming:notification(value, link)
      elseif self.modern then
        self._events.log("warn", "a request from a server of the modern era: " .. value.method)
      elseif self.owner.client then -- otherwise the session is about to end
        self._incoming:request(value, link, self.owner.client)
      end
    end,
    refused = function(answer)
      if not self.modern then
        link:send(answer)
      end
    end,
    noise = function(what, came)
      self:_noise(what, came)
    end,
    watch = self._watch,
    mended = function(warning)
      self._mended = self._mended + 1
      if is_told(self._mended) then
        self._events.log("warn", warning)
      end
    end,
    closed = function(reason)
      reason.retryable = self._config.restart ~= false
      self._incoming:close() -- the server gets no answers any more
      self._events.log("info", "lost: " .. reason.message)
      if self._is_up then -- otherwise a handshake is running, which may reconnect
        self._is_up = false
        self.supervisor:lost(reason)
      end
    end,
    expired = function(reason)
      self:expire(reason)
    end,
  }, kind)
  self._link = link
  if link and self._ended then
    link:close()
    return nil, mcp_failure.unsent(self._ended)
  end
  return link, err
end

-- Failures by which a server is away, not only one request of it.
local unreachable = { dns = true, connect = true }

-- Sends one request and waits for its answer.
function Session:_ask(id, method, params, timeout, options)
  local link = self._link
  local result, err = link:exchange(id, method, params, timeout, self._config.max_timeout, options)
  if result then
    return result
  elseif unreachable[err.details and err.details.kind] and err.mayHaveRun == false then
    self:expire(err)
  elseif (err.code == "TIMEOUT" or err.code == "ABORTED") and not link.closed then
    if method ~= "initialize" then
      link:abandon(id, err.message)
    end
    if err.code == "TIMEOUT" then
      local was_sent, said, log = err.mayHaveRun ~= false, "", nil
      if link.last_words then
        said, log = link:last_words()
      end
      err = mcp_failure.new("timeout", method .. ": no answer in time" .. said, { method = method, stderr = log })
      err.mayHaveRun = was_sent
    end
  end
  return nil, err
end

local function drop_link(self)
  if self._link then
    self._link:close()
    self._link = nil
  end
end

-- Connects if necessary, and determines the era.
local function introduce(self)
  if not self._link then
    local link, err = self:_connect()
    if not link then
      return nil, err
    end
  end
  return handshake.run(self)
end

local function shake_hands(self)
  self._incoming:close()
  if self._link and self._link.closed then
    drop_link(self)
  end
  local ok, err = waits.at_most(self._config.connect_timeout, introduce, self)
  if not ok then
    drop_link(self)
  end
  return ok, err
end

-- The parts of the configuration that are made again for each start.
local function renew(self)
  local again = self._has_tried and self._events.renew and self._events.renew()
  self._has_tried = true
  if again then
    self._config = members.merged(self._config, again)
  end
end

local function attempt(self)
  renew(self)
  return shake_hands(self)
end

-- Connects, and tells the supervisor how it went.
local function start(self)
  self._is_up = false
  self.supervisor:attempt()
  local returned, ok, err = pcall(attempt, self)
  self._is_up = returned and ok == true
  if self._is_up then
    self.supervisor:succeeded()
    if self._has_begun then
      task.detach(self._events.restarted)
    end
    return true
  elseif not returned then
    ok, err = nil, errors.from(ok)
  end
  self.supervisor:failed(err)
  return ok, err
end

--- Opens the connection and determines the era. Concurrent callers share one attempt.
---@return true?
---@return operations.Error? err
function Session:start()
  return self._starting:run(function()
    if self._link and not self._link.closed and self.version and not self._link.expired then
      return true
    elseif self._ended then
      return nil, mcp_failure.unsent(self._ended)
    end
    return start(self)
  end)
end

--- Makes the first connection. Later ones are made by the supervisor and by requests, and reported as `restarted`.
---@return true?
---@return operations.Error? err
function Session:begin()
  local ok, err = self:start()
  self._has_begun = true
  return ok, err
end

--- The server has forgotten this connection, or cannot be reached over it: the next request makes another one.
---@param reason operations.Error
function Session:expire(reason)
  if self._link and self._is_up then
    self._is_up, self._link.expired = false, true
    self._events.log("info", "lost: " .. reason.message)
    if self._config.command then
      self._link:close()
    end
    self.supervisor:lost(reason)
  end
end

local function no_connection(self)
  local link = self._link
  return nil, mcp_failure.unsent(self._ended or link and link.closed or self.supervisor.err
    or mcp_failure.new("closed", "the connection was lost"))
end

-- Connects again.
local function reconnect(self, options)
  local link = self._link
  local is_over = self._config.restart == false and self.supervisor.err and (not link or link.closed)
  if self._ended or options.attached or is_over then
    return no_connection(self)
  end
  local ok, err = self.supervisor:connect(options.timeout or self._config.timeout)
  if not ok and not self._ended then
    return nil, err
  elseif ok and self._link then
    return self._link
  end
  return no_connection(self) -- it was closed meanwhile
end

-- The open connection; connects if there is none.
function Session:_ensure(options)
  local link = self._link
  if link and not (self._ended or link.closed or link.expired) then
    return link
  end
  return reconnect(self, options)
end

--- Sends a request and waits for its result, see `rounds`.
Session.request = rounds.request

--- Sets the server's log level in every request (modern).
---@param level string
function Session:set_log_level(level)
  self._self.log_level = level
end

--- Changes the revision within the same era.
---@param version string
function Session:adopt(version)
  self.version, self._self.version = version, version
  self._link:speak(self.modern, version)
end

--- Sends a notification.
---@param method string
---@param params? table
---@return true?
---@return operations.Error? err
function Session:notify(method, params)
  local link, err = self:_ensure(none)
  if not link then
    return nil, err
  end
  return link:deliver(message.notification(method, params))
end

--- Starts a task that listens for messages of the server (modern), in place of the previous one; no function: stops it.
---@param run? fun(session: operations.mcp.Session, ...)
function Session:listen(run, ...)
  if self._listening then
    self._listening:cancel("no longer listened to")
  end
  self._listening = run and task.detach(run, self, ...)
end

--- Ends the session, and the server if it is a child process.
---@param reason? operations.Error  the error of further requests
function Session:close(reason)
  self:listen()
  self._ended = self._ended or reason or mcp_failure.closed("the client was closed")
  self._incoming:close()
  self.supervisor:stop()
  if self._link then
    self._link:close()
  end
end

return session

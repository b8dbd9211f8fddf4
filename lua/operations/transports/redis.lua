--- Redis, mode `fast` (Pub/Sub): processes find each other through it, requests go to one that serves the operation, at
--- most once. Each process has a channel of its own; who serves what is announced on a common one.
local argument = require("operations.argument")
local core = require("operations.core")
local errors = require("operations.error")
local json = require("operations.json")
local limits = require("operations.limits")
local link = require("operations.transports.redis_link")
local marks = require("operations.marks")
local nodes = require("operations.transports.redis_nodes")
local scheduler = require("operations.scheduler")
local urls = require("operations.url")

local redis = {}

---@class operations.RedisOptions : operations.StreamOptions
---@field prefix? string  of all channels, default "ops"
---@field vouches? boolean  believe the identities in requests: who may publish here is trusted to say who calls
---@field user? string  instead of the URL's
---@field password? string

---@class operations.Redis : operations.Transport
---@field id string  this process, as others see it
local Redis = {}
Redis.__index = Redis

local function address_of(url, options)
  local parsed = urls.parse(url)
  if not parsed or parsed.scheme ~= "redis" and parsed.scheme ~= "rediss" then
    error(("bad argument #1 to 'redis' (URL of redis or rediss expected, got %s)"):format(url), 3)
  end
  local user, password = (parsed.userinfo or ""):match("^([^:]*):?(.*)$")
  local address = { tls = parsed.scheme == "rediss", host = (parsed.host:gsub("^%[(.*)%]$", "%1")),
    port = tonumber(parsed.port) or 6379, database = tonumber(parsed.path:match("^/(%d+)$")) }
  address.user = options.user or user ~= "" and urls.decode(user) or nil
  address.password = options.password or password ~= "" and urls.decode(password) or nil
  for _, name in ipairs({ "ca_file", "cert_file", "key_file", "public_only", "connect_timeout" }) do
    address[name] = options[name]
  end
  address.proxy = options.proxy or ""
  return address
end

local function nothing() end

local function channel(self, id)
  return self._prefix .. ":node:" .. id
end

-- What everybody is to know. What we offer is said when it has changed, or somebody asks.
local function say(self, fields)
  fields.node = self.id
  if self._commands.connected then
    self._commands:post(nothing, "PUBLISH", self._prefix .. ":nodes", (assert(json.encode(fields))))
  end
end

local function offers(self)
  local list = self._receiver.offers and self._receiver.offers() or {}
  table.sort(list)
  local text = table.concat(list, "\n")
  if text ~= self._offered then
    self._offered, self._version = text, self._version + 1
    return list, true
  end
  return list, false
end

local function hello(self, whole)
  local list, changed = offers(self)
  say(self, { version = self._version, offers = (whole or changed) and marks.array(list) or nil })
end

-- Ends what depends on a process that is gone.
local function bury(self, node, code, message)
  local ours, its = self._nodes:forget(node)
  for _, id in ipairs(ours) do
    self._receiver.deliver("call.error", { requestId = id, code = code, message = message, retryable = true,
      mayHaveRun = true }, {})
  end
  for _, id in ipairs(its) do
    self._receiver.deliver("call.aborted", { requestId = id, reason = "the caller is gone" }, {})
  end
end

local ends = { ["call.completed"] = true, ["call.error"] = true, ["call.aborted"] = true }

local function is_end(name, payload)
  return ends[name] or name == "call.responded" and payload.seq == nil
end

local function on_event(self, event)
  local from = event.from
  if type(from) ~= "string" then
    return self._receiver.event(false, {}) -- refused, logged and counted
  end
  local node = self._nodes:hear(from, core.now())
  local payload = type(event.payload) == "table" and event.payload or {}
  local id = payload.requestId
  if type(id) == "string" then
    if event.type == "call.requested" then
      node.serving[id] = true
    elseif event.type == "call.aborted" and node.serving[id] then
      node.serving[id] = nil
    elseif self._nodes:of(id) ~= node and event.type ~= "call.credit" then
      return self._receiver.event(false, {}) -- an answer from somebody who was not asked
    elseif is_end(event.type, payload) then
      self._nodes:release(id)
    end
  end
  self._receiver.event(event, { node = node, vouches = self._vouches })
end

local function on_news(self, news)
  if type(news.node) ~= "string" or news.node == self.id then
    return
  elseif news.gone then
    local node = self._nodes.by_id[news.node]
    return node and bury(self, node, "WORKER_LOST", "the process that served it has left")
  end
  local given = type(news.offers) == "table" and news.offers or nil
  local _, outdated = self._nodes:hear(news.node, core.now(), tonumber(news.version), given)
  if outdated then
    say(self, { ask = true })
  end
  if news.ask then
    hello(self, true)
  elseif given then
    local seekers = self._seekers
    self._seekers = {}
    for _, wake in ipairs(seekers) do
      wake()
    end
  end
end

local function on_message(self, from, bytes)
  local message = json.decode(bytes)
  if type(message) ~= "table" then
    return self._receiver.event(false, {})
  elseif from == self._prefix .. ":nodes" then
    return on_news(self, message)
  end
  return on_event(self, message)
end

local function check_presence(self)
  local now = core.now()
  local silent = {}
  for _, node in pairs(self._nodes.by_id) do
    if now - node.seen > 3 * self._presence then
      silent[#silent + 1] = node
    end
  end
  for _, node in ipairs(silent) do
    bury(self, node, "WORKER_LOST", "the process that served it says nothing any more")
  end
end

-- A process that was killed is no subscriber of its channel any more.
local function check_channels(self)
  for _, node in pairs(self._nodes.by_id) do
    if next(node.requests) or next(node.serving) then
      self._commands:post(function(reply)
        if reply and reply[2] == 0 and self._nodes.by_id[node.id] == node then
          bury(self, node, "WORKER_LOST", "the process that served it is gone")
        end
      end, "PUBSUB", "NUMSUB", channel(self, node.id))
    end
  end
end

local function keep_present(self)
  self._timer = scheduler.host().timer(self._presence / 2, function()
    if self._commands.connected and self._subscriber.connected then
      self._beats = self._beats + 1
      if self._beats % 2 == 0 then
        hello(self)
        check_presence(self)
      end
      check_channels(self)
    end
    keep_present(self)
  end)
end

local function on_lost(self, err)
  self._nodes = nodes.new()
  self._receiver.lost(err)
end

function Redis:open(receiver)
  self._receiver = receiver
  keep_present(self)
  hello(self, true)
  say(self, { ask = true })
end

local function encode(self, name, payload)
  if not self._commands.connected then
    local err = errors.new("TRANSPORT_LOST", "not connected to Redis", { kind = "connect" })
    err.retryable, err.mayHaveRun = not self._closed, false
    return nil, err
  end
  return json.encode({ type = name, payload = payload, from = self.id })
end

-- Waits a moment for somebody who serves it, and asks again and again meanwhile.
local function find(self, operation)
  local node, stop = self._nodes:pick(operation), core.now() + limits.discovery
  while not node and core.now() < stop do
    say(self, { ask = true })
    local failure = scheduler.try_await(function(wake)
      self._seekers[#self._seekers + 1] = wake
      return scheduler.host().timer(limits.discovery / 5, wake)
    end)
    if failure ~= nil then
      return nil, (errors.from(failure))
    end
    node = self._nodes:pick(operation)
  end
  return node
end

local function fail(self, id, code, message, may_have_run)
  self._nodes:release(id)
  self._receiver.deliver("call.error", { requestId = id, code = code, message = message, retryable = true,
    mayHaveRun = may_have_run }, {})
end

-- Sends a request to a node. When nobody heard of it, somebody else may.
local function assign(self, node, id, operation, text)
  self._nodes:assign(id, node)
  self._commands:post(function(receivers)
    if receivers ~= 0 or self._nodes:of(id) ~= node then
      return
    end
    self._nodes:release(id)
    node.offers, node.version = {}, -1
    local other = self._nodes:pick(operation)
    if other then
      return assign(self, other, id, operation, text)
    end
    fail(self, id, "UNAVAILABLE", ("nobody on this Redis serves '%s' any more"):format(operation), false)
  end, "PUBLISH", channel(self, node.id), text)
end

-- Of the operation whose spec somebody asks for, one that serves it is asked.
local function operation_of(payload)
  local id, input = payload.operationId, payload.input
  if id == "services.schema" and type(input) == "table" and type(input.operationId) == "string" then
    return input.operationId
  end
  return id
end

local function request(self, payload)
  local operation = operation_of(payload)
  local text, err = encode(self, "call.requested", payload)
  if not text then
    return nil, err
  end
  local node, failure = find(self, operation)
  if failure then
    return nil, failure
  elseif not node then
    err = errors.new("UNAVAILABLE", ("nobody on this Redis serves '%s'"):format(operation))
    err.retryable, err.mayHaveRun = true, false
    return nil, err
  end
  assign(self, node, payload.requestId, operation, text)
  return true
end

function Redis:send(name, payload, peer)
  if name == "call.requested" then
    return request(self, payload)
  end
  local id = payload.requestId
  local node = peer and peer.node or self._nodes:of(id)
  if not node then
    return nil, errors.new("TRANSPORT_LOST", "the other side is gone", { kind = "gone" })
  end
  local text, err = encode(self, name, payload)
  if not text then
    return nil, err
  end
  self._commands:post(nothing, "PUBLISH", channel(self, node.id), text)
  if peer and is_end(name, payload) then
    node.serving[id] = nil
  elseif not peer and name == "call.aborted" then
    self._nodes:release(id)
  end
  return true
end

--- The ids of all that is served on this Redis, as far as it is known here.
---@return string[]
function Redis:offered()
  return self._nodes:offered()
end

--- Says that this process leaves, and ends its connections.
function Redis:close()
  if self._closed then
    return
  end
  self._closed = true
  say(self, { gone = true })
  if self._timer then
    self._timer()
  end
  -- What was sent last is to arrive.
  self._commands:post(function()
    self._commands:close()
    self._subscriber:close()
  end, "PING")
end

--- Connects to Redis; waits for it. The transport is for one call map, which may call, serve, or both.
---@param url string  "redis://user:password@host:port/database", "rediss://" over TLS
---@param options? operations.RedisOptions
---@return operations.Redis?
---@return operations.Error? err  TRANSPORT_LOST, ABORTED, TIMEOUT
function redis.connect(url, options)
  argument.expect(url, "string", 1, "redis")
  argument.optional(options, "table", 2, "redis")
  options = options or {}
  local address = address_of(url, options)
  local self = setmetatable({
    id = core.random_id(), reconnects = true, _prefix = options.prefix or "ops", _vouches = options.vouches,
    _presence = limits.presence, _nodes = nodes.new(), _version = 0, _beats = 0, _seekers = {},
    _receiver = { event = nothing },
  }, Redis)
  local function ready()
    local both = self._commands and self._subscriber and self._commands.connected and self._subscriber.connected
    if both and self._receiver.ready then
      hello(self, true)
      say(self, { ask = true })
      self._receiver.ready()
    end
  end
  local function lost(err)
    if self._receiver.lost then
      on_lost(self, err)
    end
  end
  local err
  self._commands, err = link.connect(address, { ready = ready, lost = lost })
  if not self._commands then
    return nil, err
  end
  self._subscriber, err = link.connect(address, {
    ready = function(subscriber)
      if subscriber:subscribe(channel(self, self.id), self._prefix .. ":nodes") then
        ready()
      end
    end,
    lost = lost,
    message = function(...)
      on_message(self, ...)
    end,
  })
  if not self._subscriber then
    self._commands:close()
    return nil, err
  end
  return self
end

return redis

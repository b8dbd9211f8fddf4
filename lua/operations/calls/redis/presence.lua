--- Which processes are on this Redis. Each announces on a common channel what it serves, and that it is alive; a
--- process that is silent, or no longer subscribes to its own channel, is gone.
local call_event = require("operations.calls.event")
local core = require("operations.core")
local errors = require("operations.base.error")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local scheduler = require("operations.task.scheduler")
local task_wait = require("operations.task.wait")

local redis_presence = {}

---@class operations.RedisNode
---@field id string
---@field silence integer  checks since it was last heard
---@field version integer  of its offers; -1: unknown
---@field offers table<string, boolean>  operation ids
---@field requests table<string, table>  the payloads of our requests that it runs, by id
---@field load integer  the number of our requests that it runs
---@field serving table<string, boolean>  its requests that we run, by id
---@field peer? operations.Peer  the peer of its requests

---@class operations.RedisNodes
---@field by_id table<string, operations.RedisNode>
local Nodes = {}
Nodes.__index = Nodes

--- The other processes: what each serves, which of our requests it runs, and which of its we run. Sends and receives
--- nothing.
---@return operations.RedisNodes
function redis_presence.nodes()
  return setmetatable({ by_id = {}, _of_request = {} }, Nodes)
end

--- Records an announcement of a process.
---@param id string
---@param version? integer
---@param offers? string[]
---@return operations.RedisNode
---@return boolean changed  its offers are others than those known before
function Nodes:hear(id, version, offers)
  local node = self.by_id[id]
  if not node then
    node = { id = id, version = -1, offers = {}, requests = {}, load = 0, serving = {} }
    self.by_id[id] = node
  end
  node.silence = 0
  local changed = version ~= nil and node.version ~= version
  if offers then
    node.version, node.offers = version or -1, {}
    for _, offered in ipairs(offers) do
      if type(offered) == "string" then
        node.offers[offered] = true
      end
    end
  end
  return node, changed
end

--- A process that serves an operation: the less loaded one of two random ones.
---@param operation string
---@return operations.RedisNode?
function Nodes:pick(operation)
  local able = {}
  for _, node in pairs(self.by_id) do
    if node.offers[operation] then
      able[#able + 1] = node
    end
  end
  if #able < 2 then
    return able[1]
  end
  local i = math.random(#able)
  local j = math.random(#able - 1)
  j = j >= i and j + 1 or j
  return able[i].load <= able[j].load and able[i] or able[j]
end

--- The ids of all served operations, sorted.
---@return string[]
function Nodes:offered()
  local offers = {}
  for _, node in pairs(self.by_id) do
    for id in pairs(node.offers) do
      offers[id] = true
    end
  end
  return members.names(offers)
end

--- Records that a request of ours is sent to a node.
---@param payload table  of the request
---@param node operations.RedisNode
function Nodes:assign(payload, node)
  local id = payload.requestId
  self._of_request[id] = node
  if not node.requests[id] then
    node.requests[id], node.load = payload, node.load + 1
  end
end

--- Is it a running subscription of ours?
---@param request_id string
---@return boolean
function Nodes:streams(request_id)
  local node = self._of_request[request_id]
  return node ~= nil and node.requests[request_id].credit ~= nil
end

--- The node that runs a request of ours.
---@return operations.RedisNode?
function Nodes:of(request_id)
  return self._of_request[request_id]
end

--- Records that a request of ours has ended, or is sent to another node.
---@param request_id string
---@return table? payload
function Nodes:release(request_id)
  local node = self._of_request[request_id]
  if node then
    local payload = node.requests[request_id]
    self._of_request[request_id] = nil
    node.requests[request_id], node.load = nil, node.load - 1
    return payload
  end
end

--- Removes a node; its requests end.
---@param node operations.RedisNode
---@return table[] ours  the payloads of our requests that it ran
---@return string[] its  its requests that we run
function Nodes:forget(node)
  local ours = {}
  self.by_id[node.id] = nil
  for i, id in ipairs(members.names(node.requests)) do
    ours[i] = self:release(id)
  end
  return ours, members.names(node.serving)
end

--- The ids of the requests that we run for others.
---@return string[]
function Nodes:serving()
  local ids = {}
  for _, node in pairs(self.by_id) do
    for id in pairs(node.serving) do
      ids[#ids + 1] = id
    end
  end
  return ids
end

---@class operations.RedisPresenceEvents
---@field changed? fun(offered: table<string, boolean>)  called when the offers of this process have changed
---@field released? fun()  called when another process has left, or has released queued requests
---@field unbegun? fun(payload: table, failure: table)  called with a request of ours that a process left without
---  beginning, and the payload of its `call.error` if no other process is found

---@class operations.RedisPresence
---@field id string  of this process
---@field nodes operations.RedisNodes  the other processes
---@field offered table<string, boolean>  what this process serves, as last announced
local Presence = {}
Presence.__index = Presence

local function nothing() end

---@param prefix string  of the channels
---@param signature operations.RedisSignature
---@return operations.RedisPresence
function redis_presence.new(prefix, signature)
  return setmetatable({
    id = core.random_id(), _signature = signature, nodes = redis_presence.nodes(), offered = {},
    common = prefix .. ":nodes", _prefix = prefix .. ":node:",
    _list = {}, _text = "", _version = 0, _beats = 0, _seekers = {}, _shown = 0,
    _link = { connected = false }, _receiver = {}, -- until it begins
    _events = { changed = nothing, released = nothing },
  }, Presence)
end

--- The channel of a process.
---@param id string
---@return string
function Presence:channel(id)
  return self._prefix .. id
end

--- Encodes an event of this process as JSON.
---@param name string
---@param payload table
---@param max_message? integer  bytes
---@return string? text
---@return operations.Error? err  VALIDATION_ERROR
function Presence:encode(name, payload, max_message)
  return call_event.encode(call_event.new(name, payload, self.id), max_message or math.huge)
end

-- Sends our announcement. The list of our operations is included when it has changed, or another process asks.
local function say(self, fields)
  fields.node = self.id
  if self._link.connected then
    self._link:post(nothing, "PUBLISH", self.common,
      self._signature:seal(self.common, (assert(json.encode(fields))), true))
  end
end

-- Reads the operations that are offered now; returns whether they changed.
local function refresh(self)
  local list = self._receiver.offers and self._receiver.offers() or {}
  table.sort(list)
  local text = table.concat(list, "\n")
  if text == self._text then
    return false
  end
  self._list, self._text, self._version, self.offered = list, text, self._version + 1, members.set(list)
  return true
end

--- Announces this process, and its offers if they have changed.
---@param whole? boolean  always includes the offers
function Presence:hello(whole)
  local changed = refresh(self)
  say(self, { version = self._version, offers = (whole or changed) and marked.array(self._list) or nil })
  if changed then
    self._events.changed(self.offered)
  end
end

--- An unsigned request for offers came, and is not answered: announces that processes here sign.
function Presence:show_signature()
  if core.now() >= self._shown + limits.discovery / 5 then
    self._shown = core.now()
    say(self, { version = self._version })
  end
end

--- Announces that queued requests were released: other workers look for them.
function Presence:show_release()
  say(self, { released = true })
end

--- Asks the others for their offers.
function Presence:ask()
  say(self, { ask = true })
end

local function wake_seekers(self)
  local seekers = self._seekers
  self._seekers = {}
  task_wait.wake(seekers)
end

--- For a request without a process: asks the others for their offers, once for all requests that seek at a time.
---@param again fun()  called once: when there are new offers, or a moment later
---@return fun() leave  drops `again`
function Presence:seek(again)
  if not self._stop_seeking and not self._left then
    self:ask()
    self._stop_seeking = scheduler.host().timer(limits.discovery / 5, function()
      self._stop_seeking = nil
      wake_seekers(self)
    end)
  end
  return task_wait.add(self._seekers, again)
end

local function cancel(timer)
  if timer then
    timer()
  end
end

--- Announces that this process stops, and the requests that it still runs: it begins no others. Its own requests have
--- ended: they are not sent on.
function Presence:leave()
  say(self, { gone = true, running = marked.array(self.nodes:serving()) })
  self._left, self.nodes = true, redis_presence.nodes()
  cancel(self._timer)
  cancel(self._stop_seeking)
  wake_seekers(self)
end

-- Ends everything that depends on a process that is gone. If it announced the requests that it still ran, it has not
-- begun the others: they are sent to another process.
local function bury(self, node, message, running)
  local ours, its = self.nodes:forget(node)
  for _, payload in ipairs(ours) do
    local begun = not running or running[payload.requestId] ~= nil
    local failure = { requestId = payload.requestId, code = "WORKER_LOST", message = message, retryable = true,
      mayHaveRun = begun }
    if begun then
      self._receiver.deliver("call.error", failure, {})
    else
      self._events.unbegun(payload, failure)
    end
  end
  for _, id in ipairs(its) do
    self._receiver.deliver("call.aborted", { requestId = id, reason = "the caller is gone" }, {})
  end
end

--- Handles a message on the common channel.
---@param news table
function Presence:hear(news)
  if type(news.node) ~= "string" or news.node == self.id then
    return
  elseif news.gone then
    local node = self.nodes.by_id[news.node]
    if node then
      local running = type(news.running) == "table" and members.set(news.running) or nil
      bury(self, node, "the process that served it has left", running)
    end
    return self._events.released()
  end
  local given = type(news.offers) == "table" and news.offers or nil
  local _, changed = self.nodes:hear(news.node, tonumber(news.version), given)
  if changed and not given then
    self:ask()
  end
  if news.released then
    self._events.released()
  end
  if news.ask then
    self:hello(true)
  elseif changed and given then
    wake_seekers(self)
  end
end

-- Counts checks, not time: a program that was held up has not heard the announcements meanwhile.
local function check_silence(self)
  local silent = {}
  for _, node in pairs(self.nodes.by_id) do
    node.silence = node.silence + 1
    if node.silence > 3 then
      silent[#silent + 1] = node
    end
  end
  for _, node in ipairs(silent) do
    bury(self, node, "the process that served it has become silent")
  end
end

-- A process that was killed no longer subscribes to its channel.
local function check_channels(self)
  for _, node in pairs(self.nodes.by_id) do
    if next(node.requests) or next(node.serving) then
      self._link:post(function(reply)
        if reply and reply[2] == 0 and self.nodes.by_id[node.id] == node then
          bury(self, node, "the process that served it is gone")
        end
      end, "PUBSUB", "NUMSUB", self:channel(node.id))
    end
  end
end

local function keep_present(self)
  self._timer = scheduler.host().timer(limits.presence / 2, function()
    if self._link.connected then
      self._beats = self._beats + 1
      if self._beats % 2 == 0 then
        self:hello()
        check_silence(self)
      end
      check_channels(self)
    end
    keep_present(self)
  end)
end

--- Begins announcing.
---@param link operations.RedisLink  the link for publishing
---@param receiver operations.Receiver
---@param events? operations.RedisPresenceEvents
function Presence:begin(link, receiver, events)
  self._link, self._receiver, self._events = link, receiver, members.merged(self._events, events)
  keep_present(self)
  self:announce()
end

--- Announces everything, and asks the others for their offers.
function Presence:announce()
  self:hello(true)
  self:ask()
end

--- The connection was lost: all nodes become unknown.
function Presence:forget()
  self.nodes = redis_presence.nodes()
end

-- Waits until it is time to look again, for at most `ms`; returns the error that interrupted the wait, if any.
local function await_offers(self, ms)
  local leave
  local failure = scheduler.try_await(function(wake)
    leave = self:seek(wake)
    return scheduler.host().timer(ms, wake)
  end)
  if leave then
    leave()
  end
  return failure
end

--- When a request that finds no process from now on fails.
---@param deadline? number  ms
---@return number ms
function redis_presence.search_end(deadline)
  return math.min(core.now() + limits.discovery, deadline or math.huge)
end

--- The failure of a request whose deadline has passed before a process was found.
---@param operation string
---@param id? string  of the request
---@return table payload  of a `call.error`
function redis_presence.too_late(operation, id)
  return { requestId = id, code = "TIMEOUT", mayHaveRun = false,
    message = ("no process that serves '%s' was found before the deadline"):format(operation) }
end

--- A process that serves an operation. Waits a moment for one, and asks repeatedly meanwhile.
---@param operation string
---@param deadline? number  ms, for the wait
---@return operations.RedisNode?
---@return operations.Error? err  of the wait
function Presence:find(operation, deadline)
  local node, stop = self.nodes:pick(operation), redis_presence.search_end(deadline)
  while not node and not self._left and core.now() < stop do
    local failure = await_offers(self, stop - core.now())
    if failure ~= nil then
      return nil, (errors.from(failure))
    end
    node = self.nodes:pick(operation)
  end
  if not node and stop == deadline then
    return nil, call_event.error(redis_presence.too_late(operation))
  end
  return node
end

return redis_presence

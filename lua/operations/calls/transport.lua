--- How call maps are connected. In process, the other end has received what one end sends when `send` returns: tables
--- are passed without a copy, and a call to a call handler runs in the coroutine that makes it. Other transports are
--- loaded on first use.
local errors = require("operations.base.error")
local runtime = require("operations.base.runtime")

---@class operations.transports
---@field pair fun(): operations.Transport, operations.Transport
---@field redis fun(url: string, options?: table): operations.Transport?, operations.Error?
---@field websocket fun(url: string, options?: operations.WebSocketOptions): operations.WebSocket?, operations.Error?
---@field websocket_hub fun(options: operations.HubOptions): operations.Hub?, operations.Error?
local transports = {}

--- The interface of every transport between a call map and its peers; `peer` says where an event came from, and is
--- passed back to answer it.
---@class operations.Transport
---@field open fun(self, receiver: operations.Receiver)  called once, by the call map
---@field send fun(self, name: string, payload: table, peer?: operations.Peer, named?: boolean): boolean?,
---  operations.Error?  one event of the call protocol; fails with VALIDATION_ERROR when it cannot be encoded. `named`:
---  a request whose id its caller chose
---@field hold? fun(self, holder: table)  receives nothing until each holder was released; for transports that can make
---  the network hold the other side back
---@field release? fun(self, holder: table)  does nothing for one that does not hold
---@field settle? fun(self): operations.Error?  waits until what was sent has left; of a transport whose `send` does not
---@field close fun(self)
---@field serves? fun(self)  called when the receiver knows what it serves
---@field drains? fun(self)  called when the receiver serves no more requests, while some still run
---@field drained? fun(self)  waits until the answers of requests that have ended have left; of a transport whose `send`
---  does not
---@field offered? fun(self): string[]  the ids of operations that the other sides serve, with many peers
---@field keeps_jobs? boolean  it keeps requests until they have an outcome: a second request with an id is the same
---  one, and it has `submit`, `look`, `end_job`, `answer` and `jobs`
---@field reconnects? boolean  re-establishes a lost connection and calls `ready`
---@field executor? fun(self): operations.Executor?  in process: runs a call at once, if possible

---@class operations.Receiver
---@field announced? boolean  its sender in this program supports more than the five events
---@field event fun(event: any, peer: operations.Peer, problem?: operations.Error): boolean?  from another process,
---  unchecked; `problem` is why it is refused without a check; false: refused
---@field deliver fun(name: string, payload: table, peer: operations.Peer)  from a call map of this program
---@field offers? fun(): string[]  set by the serving side: the ids of its operations
---@field executor? operations.Executor  set by the serving side
---@field room? fun(wake?: fun()): integer  how many more calls the serving side accepts; `wake` is called when there is
---  room again
---@field lost fun(err: operations.Error, keeps?: fun(id: string): boolean)  no answers will come for anything sent so
---  far, nor can received requests be answered, except those that the transport keeps
---@field ready fun()  the connection was re-established

---@class operations.Executor
---@field enter fun(self, id: string): function?, operations.Registry|operations.Error, boolean?  begins a call; returns
---  `fn(registry, id, input, context)`, which runs it, and whether that uses the context
---@field leave fun(self)  after each call that `enter` began

---@class operations.Peer
---@field identity? operations.Identity  authenticated by the transport
---@field attempt? integer  above 1: its request may have run before
---@field vouches? boolean  the identities in its requests are trusted: it authenticates others
---@field changed? fun()  of a job that the transport keeps: called when it has other questions
---@field asking? operations.JobAsking  its questions
---@field announced? boolean  supports more than the five events and their fields; also set by its first request

local Direct = {}
Direct.__index = Direct

function Direct:open(receiver)
  self._receiver = receiver
  self._peer.announced = receiver.announced
end

local function closed()
  return nil, errors.new("TRANSPORT_LOST", "the other end is closed")
end

function Direct:send(name, payload)
  local other = self._other
  local receiver = other and other._receiver
  if not receiver then
    return closed()
  end
  receiver.deliver(name, payload, self._peer)
  return true
end

--- The executor, which runs a call at once; nil when the other end answers later.
function Direct:executor()
  local other = self._other
  local receiver = other and other._receiver
  return receiver and receiver.executor
end

function Direct:close()
  local other = self._other
  if not other then
    return
  end
  local receiver = other._receiver
  self._other, self._receiver, other._other = nil, nil, nil
  if receiver then
    receiver.lost(errors.new("TRANSPORT_LOST", "the other end was closed"))
  end
end

local function new()
  return setmetatable({ _peer = { vouches = true } }, Direct)
end

--- Two connected ends.
---@return operations.Transport
---@return operations.Transport
function transports.pair()
  local one, other = new(), new()
  one._other, other._other = other, one
  return one, other
end

--- One end connected with itself.
---@return operations.Transport
function transports.loop()
  local self = new()
  self._other = self
  return self
end

-- For each transport: its module, the function that makes it, the C module that it needs, and that module's library.
local makers = {
  redis = { "operations.calls.redis", "connect", "operations.redis", "hiredis" },
  websocket = { "operations.calls.websocket", "connect", "operations.websocket", "wslay" },
  websocket_hub = { "operations.calls.websocket.hub", "listen", "operations.websocket", "wslay" },
}

-- A C module is built only if its library's headers are installed.
local function find(name, module, fn, needed, library)
  local loaded, why = runtime.optional(needed)
  if not loaded then
    error(("transports.%s needs %s: install it (Debian: lib%s-dev) and build this library again:\n%s"):format(name,
      library, library, why), 3)
  end
  return require(module)[fn]
end

setmetatable(transports, {
  __index = function(self, name)
    local maker = makers[name]
    local make = maker and find(name, maker[1], maker[2], maker[3], maker[4])
    rawset(self, name, make)
    return make
  end,
})

return transports

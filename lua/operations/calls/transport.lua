--- How call maps reach each other. In process, what one end sends, the other has received when `send` returns: tables
--- pass as they are, and a call to a call handler runs inside the coroutine that makes it. Other transports are loaded
--- when first named.
local errors = require("operations.base.error")

---@class operations.transports
---@field pair fun(): operations.Transport, operations.Transport
---@field redis fun(url: string, options?: table): operations.Transport?, operations.Error?
---@field websocket fun(url: string, options?: operations.WebSocketOptions): operations.WebSocket?, operations.Error?
---@field websocket_hub fun(options: operations.HubOptions): operations.Hub?, operations.Error?
local transports = {}

--- How a call map and its peers reach each other. Every transport is one of these; `peer` tells where an event came
--- from, and is handed back to answer it.
---@class operations.Transport
---@field open fun(self, receiver: operations.Receiver)  called once, by the call map
---@field send fun(self, name: string, payload: table, peer?: operations.Peer, named?: boolean): boolean?,
---  operations.Error?  one event of the call protocol; fails with VALIDATION_ERROR when it cannot be encoded. `named`:
---  a request whose id its caller chose
---@field hold? fun(self, holder: table)  receives nothing more until each holder was released; of a transport that can
---  have the network hold the other side back
---@field release? fun(self, holder: table)  one that does not hold does nothing
---@field settle? fun(self): operations.Error?  waits until what was sent has left; of a transport whose `send` does not
---@field close fun(self)
---@field serves? fun(self)  told when the receiver has what it serves
---@field offered? fun(self): string[]  the ids of what the other sides serve, where there are many
---@field reconnects? boolean  a lost connection is made again: `ready` tells
---@field executor? fun(self): operations.Executor?  in process: what runs a call at once, if anything does

---@class operations.Receiver
---@field announced? boolean  what it sends in this program is of one that knows more than the five events
---@field event fun(event: any, peer: operations.Peer): boolean?  from elsewhere, unchecked; false: refused
---@field deliver fun(name: string, payload: table, peer: operations.Peer)  made by a call map of this program
---@field offers? fun(): string[]  set by the side that serves calls: the ids of its operations
---@field executor? operations.Executor  set by the side that serves calls
---@field room? fun(wake?: fun()): integer  how many more calls the serving side takes; `wake` is called when there
---  is room again
---@field lost fun(err: operations.Error, keeps?: fun(id: string): boolean)  nothing sent so far will be answered,
---  nothing received can be, but for the requests that the transport keeps
---@field ready fun()  the connection was made again

---@class operations.Executor
---@field enter fun(self, id: string): function?, operations.Registry|operations.Error, boolean?  begins a call; what
---  runs it, `fn(registry, id, input, context)`, and whether that looks at the context
---@field leave fun(self)  after each call that `enter` began

---@class operations.Peer
---@field identity? operations.Identity  whom the transport authenticated
---@field attempt? integer  above 1: its request may have been begun before
---@field vouches? boolean  the identity in its requests is to be believed: it authenticates for others
---@field announced? boolean  it knows more than the five events and their fields; learned from its first request, too

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

--- The executor, which runs a call at once; nil when the other end answers in its own time.
function Direct:executor()
  local other = self._other
  local receiver = other and other._receiver
  return receiver and receiver.executor
end

function Direct:close()
  local other, own = self._other, self._receiver
  if not other then
    return
  end
  self._other, self._receiver, other._other = nil, nil, nil
  if other ~= self and other._receiver then
    other._receiver.lost(errors.new("TRANSPORT_LOST", "the other end was closed"))
  elseif own then
    own.lost(errors.new("TRANSPORT_LOST", "closed"))
  end
end

local function new()
  return setmetatable({ _peer = { vouches = true } }, Direct)
end

--- Two ends that are connected with each other.
---@return operations.Transport
---@return operations.Transport
function transports.pair()
  local one, other = new(), new()
  one._other, other._other = other, one
  return one, other
end

--- One end that is connected with itself.
---@return operations.Transport
function transports.loop()
  local self = new()
  self._other = self
  return self
end

-- The module of each, the function in there that makes it, the C module that it needs, and the library of that.
local makers = {
  redis = { "operations.calls.redis", "connect", "operations.redis", "hiredis" },
  websocket = { "operations.calls.websocket", "connect", "operations.websocket", "wslay" },
  websocket_hub = { "operations.calls.websocket.hub", "listen", "operations.websocket", "wslay" },
}

-- A C module is built only where the headers of its library are.
local function find(name, module, fn, needed, library)
  local loaded, why = pcall(require, needed)
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

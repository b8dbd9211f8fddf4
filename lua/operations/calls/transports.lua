--- How call maps reach each other. Each transport is loaded when first named.
---@class operations.transports
---@field pair fun(): operations.Transport, operations.Transport
---@field redis fun(url: string, options?: table): operations.Transport?, operations.Error?
---@field websocket fun(url: string, options?: operations.WebSocketOptions): operations.WebSocket?, operations.Error?
---@field websocket_hub fun(options: operations.HubOptions): operations.Hub?, operations.Error?
local transports = {}

-- The module of each, and the function in there that makes it.
local makers = {
  pair = { "operations.calls.direct", "pair" },
  redis = { "operations.calls.redis", "connect" },
  websocket = { "operations.calls.websocket", "connect" },
  websocket_hub = { "operations.calls.websocket.hub", "listen" },
}

return setmetatable(transports, {
  __index = function(self, name)
    local maker = makers[name]
    local make = maker and require(maker[1])[maker[2]]
    rawset(self, name, make)
    return make
  end,
})

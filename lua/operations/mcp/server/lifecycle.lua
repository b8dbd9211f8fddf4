--- The beginning of a session: `initialize` and `ping` of the legacy era, `server/discover` of the modern one, the log
--- level.
local marks = require("operations.base.marked")
local message = require("operations.mcp.protocol.message")
local negotiation = require("operations.mcp.protocol.negotiation")

local lifecycle = { methods = {} }

--- The capabilities of a server. Set by `dispatch`, which knows all features.
---@type fun(server: operations.McpServer, modern: boolean): table
lifecycle.capabilities_of = nil

local INVALID_PARAMS = message.codes.INVALID_PARAMS

lifecycle.methods["initialize"] = { era = "legacy", early = true, run = function(call)
  local params, peer, server = call.params, call.peer, call.server
  if peer.version and call.http then -- in a batch: over HTTP each session has an id
    return nil, { code = message.codes.INVALID_REQUEST, message = "initialize: this session is already initialized" }
  elseif type(params.protocolVersion) ~= "string" then
    return nil, { code = INVALID_PARAMS, message = "initialize: protocolVersion: string expected" }
  end
  peer:begin(params, negotiation.common({ params.protocolVersion }, false) or negotiation.legacy)
  return {
    protocolVersion = peer.version, capabilities = marks.object(lifecycle.capabilities_of(server, false)),
    serverInfo = server.info, instructions = server.options.instructions,
  }
end }

lifecycle.methods["ping"] = { era = "legacy", early = true, run = function()
  return marks.object()
end }

lifecycle.methods["server/discover"] = { era = "modern", cached = true, run = function(call)
  return {
    supportedVersions = marks.array(negotiation.all()),
    capabilities = marks.object(lifecycle.capabilities_of(call.server, true)),
    instructions = call.server.options.instructions,
  }
end }

-- RFC 5424, from the least to the most severe.
local levels = { debug = 1, info = 2, notice = 3, warning = 4, error = 5, critical = 6, alert = 7, emergency = 8 }

--- The severity of a log level; nil for an unknown one.
---@param name any
---@return integer?
function lifecycle.severity(name)
  return levels[name]
end

lifecycle.methods["logging/setLevel"] = { era = "legacy", run = function(call)
  if not levels[call.params.level] then
    return nil, { code = INVALID_PARAMS, message = "logging/setLevel: level: one of debug, info, notice, warning, "
      .. "error, critical, alert, emergency expected" }
  end
  call.peer.log_level = call.params.level
  return marks.object()
end }

--- Messages of handlers reach the client.
function lifecycle.capabilities()
  return { logging = marks.object() }
end

return lifecycle

--- The metadata of requests: in the modern era (2026-07-28, `_meta`) all of it, in the legacy era only what was
--- requested.
local marks = require("operations.base.marked")
local members = require("operations.base.members")
local message = require("operations.mcp.protocol.message")
local version = require("operations.base.version")

local metadata = {}

local PREFIX = message.PREFIX

--- The default name and version of the client.
metadata.client = { name = "operations", version = version }

---@class operations.mcp.Self
---@field modern boolean
---@field version string  of the protocol
---@field client { name: string, version: string }
---@field capabilities table  of the client
---@field extended table  the same for the modern era: with extensions
---@field log_level? string

---@class operations.mcp.Extras
---@field traceparent? string  W3C Trace Context
---@field meta? table  further keys of `_meta`

-- `_meta`; nil when it would be empty.
local function meta_of(self, given, extras, token)
  local meta = members.merged(type(given) == "table" and given or nil, extras.meta)
  if self.modern then
    meta[PREFIX .. "protocolVersion"] = self.version
    meta[PREFIX .. "clientCapabilities"] = self.extended
    meta[PREFIX .. "clientInfo"] = self.client
    meta[PREFIX .. "logLevel"] = self.log_level
  end
  meta.progressToken, meta.traceparent = token or meta.progressToken, extras.traceparent or meta.traceparent
  return next(meta) ~= nil and meta or nil
end

--- The params of a request with its metadata, added to their `_meta`; the given table is not changed.
---@param self operations.mcp.Self
---@param params? table
---@param extras operations.mcp.Extras
---@param token? string|integer  for progress reports of the server
---@return table?  nil: none
function metadata.params(self, params, extras, token)
  if not (self.modern or token or extras.traceparent or extras.meta) then
    return params
  end
  local meta = meta_of(self, params and params._meta, extras, token)
  if not meta then
    return params
  end
  return members.merged(params, { _meta = meta })
end

--- The params of `initialize` (until 2025-11-25).
---@param self operations.mcp.Self
---@param protocol string  the requested revision
---@return table
function metadata.initialize(self, protocol)
  return { protocolVersion = protocol, capabilities = self.capabilities or marks.object(), clientInfo = self.client }
end

--- The name and version of a server (`Implementation`), in any revision.
---@param result? table  of `initialize`, or of any request of the modern era
---@return table? info  { name, version, title?, ... }
function metadata.server_of(result)
  local meta = result and type(result._meta) == "table" and result._meta or {}
  return message.present(result and result.serverInfo) or message.present(meta[PREFIX .. "serverInfo"])
end

return metadata

--- Handles one request of a client: its era, whether it may be answered, its method, and the message that is returned.
--- No I/O: the carrier of the messages passes them in and gets the answer.
local changes = require("operations.mcp.server.changes")
local core = require("operations.core")
local errors = require("operations.base.error")
local marks = require("operations.base.marked")
local members = require("operations.base.members")
local message = require("operations.mcp.protocol.message")
local negotiation = require("operations.mcp.protocol.negotiation")
local prompts = require("operations.mcp.server.prompts")
local resources = require("operations.mcp.server.resources")
local tasks = require("operations.mcp.server.tasks")
local tools = require("operations.mcp.server.tools")

local dispatch = {}

local PREFIX = message.PREFIX
local codes = message.codes

--- A method that clients may call.
---@class operations.mcp.Method
---@field run fun(call: operations.mcp.ServerCall): table?, operations.mcp.Failure?  the result, or a failure
---@field era? "legacy"|"modern"  nil: both eras
---@field named_by? string  the member of its params repeated in the header Mcp-Name (revision 2026-07-28)
---@field asks? boolean  may ask the client for input before its result (revision 2026-07-28)
---@field cached? boolean  its result has a lifetime for caches (revision 2026-07-28)
---@field early? boolean  may be called before `initialize`

---@class operations.mcp.Failure
---@field code integer  of JSON-RPC
---@field message string
---@field data? any
---@field status? integer  of HTTP
---@field headers? table<string, string>

---@class operations.mcp.Feature
---@field methods table<string, operations.mcp.Method>
---@field capabilities? fun(server: operations.McpServer, modern: boolean): table<string, table>

-- The beginning of a session: `initialize` and `ping` of the legacy era, `server/discover` of the modern one; the log
-- level.
---@type operations.mcp.Feature
local session = { methods = {}, capabilities = function()
  return { logging = marks.object() } -- messages of handlers reach the client
end }

-- The others have a file each.
---@type operations.mcp.Feature[]
local features = { session, tools, tasks, resources, prompts, changes }

local function capabilities_of(server, modern)
  local all = marks.object()
  for _, feature in ipairs(features) do
    for name, capability in pairs(feature.capabilities and feature.capabilities(server, modern) or {}) do
      all[name] = capability
    end
  end
  return all
end

session.methods["initialize"] = { era = "legacy", early = true, run = function(call)
  local params, peer, server = call.params, call.peer, call.server
  if peer.version and call.http then -- in a batch: over HTTP each session has an id
    return nil, { code = codes.INVALID_REQUEST, message = "initialize: this session is already initialized" }
  elseif type(params.protocolVersion) ~= "string" then
    return nil, { code = codes.INVALID_PARAMS, message = "initialize: protocolVersion: string expected" }
  end
  peer:begin(params, negotiation.common({ params.protocolVersion }, false) or negotiation.legacy)
  return {
    protocolVersion = peer.version, capabilities = capabilities_of(server, false),
    serverInfo = server.info, instructions = server.options.instructions,
  }
end }

session.methods["ping"] = { era = "legacy", early = true, run = function()
  return marks.object()
end }

session.methods["server/discover"] = { era = "modern", cached = true, run = function(call)
  return {
    supportedVersions = marks.array(negotiation.all()), capabilities = capabilities_of(call.server, true),
    instructions = call.server.options.instructions,
  }
end }

session.methods["logging/setLevel"] = { era = "legacy", run = function(call)
  if not message.severity[call.params.level] then
    return nil, { code = codes.INVALID_PARAMS, message = "logging/setLevel: level: one of debug, info, notice, "
      .. "warning, error, critical, alert, emergency expected" }
  end
  call.peer.log_level = call.params.level
  return marks.object()
end }

local methods = {} ---@type table<string, operations.mcp.Method>
for _, feature in ipairs(features) do
  for name, method in pairs(feature.methods) do
    methods[name] = method
  end
end

---@class operations.mcp.ServerCall
---@field server operations.McpServer
---@field peer operations.mcp.Peer
---@field id operations.mcp.Id
---@field method string
---@field params table
---@field meta table  `_meta` of the params
---@field modern boolean  revision 2026-07-28 or newer
---@field version? string
---@field capabilities table  the client's
---@field client? table  its `clientInfo`
---@field connection table  of its session
---@field log_level? string
---@field identity? operations.Identity
---@field send fun(value: operations.mcp.Message): boolean?  sends notifications, and legacy requests, that belong to
---  it; false: there is no way to
---@field http? operations.ServerRequest
---@field takes_events? boolean  false: nothing can be sent before its answer
---@field request_id? string  of its HTTP request, where an access log has it
---@field owner? string  over HTTP: whose share it takes, computed on first use
---@field over? boolean  nothing more may be sent for it
---@field cancelled? boolean  no answer is wanted
---@field may_be_task? boolean  its handler may make it a task (`context.as_task`)
---@field is_task? boolean  it has done so
---@field worker? operations.Task
local Call = {}
Call.__index = Call

--- Cancels the running call.
---@param reason string|operations.Error
function Call:cancel(reason)
  if not self.over then
    self.cancelled = true
    if self.worker then
      self.worker:cancel(errors.is_error(reason) and reason or errors.new("ABORTED", reason))
    end
  end
end

local function meta_of(params)
  return type(params) == "table" and core.kind(params._meta) == "object" and params._meta or {}
end

--- Is a message of the modern era?
---@param value operations.mcp.Message
---@param header? string  MCP-Protocol-Version
---@return boolean
function dispatch.is_modern(value, header)
  return meta_of(value.params)[PREFIX .. "protocolVersion"] ~= nil or value.method == "server/discover"
    or header ~= nil and negotiation.is_modern(header)
end

--- Makes a call from a received request.
---@param peer operations.mcp.Peer
---@param value operations.mcp.Message
---@param send fun(value: operations.mcp.Message): boolean?
---@param http? operations.ServerRequest
---@return operations.mcp.ServerCall
function dispatch.call(peer, value, send, http)
  local meta = meta_of(value.params)
  local modern = dispatch.is_modern(value, http and http.headers["mcp-protocol-version"])
  local call = setmetatable({
    server = peer.server, peer = peer, id = value.id, method = value.method, params = value.params or {}, meta = meta,
    modern = modern, send = send, http = http, identity = peer.identity,
    version = peer.version, client = peer.client, connection = peer.connection,
    capabilities = peer.capabilities, log_level = peer.log_level,
  }, Call)
  if modern then
    call.version, call.capabilities = meta[PREFIX .. "protocolVersion"], meta[PREFIX .. "clientCapabilities"]
    call.log_level = meta[PREFIX .. "logLevel"]
    local client = meta[PREFIX .. "clientInfo"]
    call.client = core.kind(client) == "object" and client or nil
  end
  return call
end

local function invalid(text)
  return { code = codes.INVALID_PARAMS, message = text, status = 400 }
end

-- The error in the metadata that a modern request must have, or nil.
local function modern_flaw(call, method)
  local version = call.version
  if type(version) ~= "string" then
    return invalid(("_meta: %sprotocolVersion: string expected"):format(PREFIX))
  end
  local flaw = call.http and require("operations.mcp.server.headers").flaw(call, method)
  if flaw then
    return flaw
  elseif not negotiation.is_known(version) or not negotiation.is_modern(version) then
    return { code = codes.UNSUPPORTED_VERSION, message = ("revision %s of MCP is not supported"):format(version),
      data = { supported = negotiation.all(), requested = version }, status = 400 }
  elseif core.kind(call.capabilities) ~= "object" then
    return invalid(("_meta: %sclientCapabilities: object expected"):format(PREFIX))
  end
end

-- The reason for refusing a request, or nil.
local function flaw_of(call, method)
  local flaw = call.modern and modern_flaw(call, method)
  if flaw then
    return flaw
  elseif not method or method.era == (call.modern and "legacy" or "modern") then
    return { code = codes.METHOD_NOT_FOUND, message = ("method not found: %s"):format(call.method),
      status = call.modern and 404 or nil }
  elseif not call.modern and not call.peer.version and not method.early then
    return { code = codes.INVALID_REQUEST, message = "initialize comes first" }
  end
end

-- Adds the members that all modern results have.
local function finish(call, method, result)
  if not call.modern then
    return result
  end
  local options = call.server.options
  result.resultType = result.resultType or "complete"
  result._meta = members.merged({ [PREFIX .. "serverInfo"] = call.server.info }, result._meta)
  if method.cached and result.resultType == "complete" then
    result.ttlMs = result.ttlMs or options.ttl
    result.cacheScope = result.cacheScope or (options.authorize and "private" or "public")
  end
  return result
end

local function traced(raised)
  return errors.is_error(raised) and raised or errors.traced(raised, 2)
end

--- Answers a request. May wait.
---@param call operations.mcp.ServerCall
---@return operations.mcp.Message answer
---@return operations.mcp.Failure? failure  the failure in the answer, if any
function dispatch.answer(call)
  local method = methods[call.method]
  local failure, result = flaw_of(call, method), nil
  if not failure then
    local ok
    ok, result, failure = xpcall(method.run, traced, call)
    if not ok then
      local raised = result
      result, failure = nil, { code = codes.INTERNAL_ERROR, message = "Internal error" }
      if not call.cancelled then
        call.server.options.log("error", call.method .. ": " .. tostring(raised))
      end
    end
  end
  call.over = true
  if result then
    return message.result(call.id, finish(call, method, result))
  end
  return message.failure(call.id, failure.code, failure.message, failure.data), failure
end

return dispatch

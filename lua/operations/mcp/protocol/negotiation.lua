--- The supported revisions of MCP, in two eras: *legacy* has a handshake, sessions and requests from the server;
--- *modern* has neither, and each request is self-contained. A negotiation finds a common revision step by step: it
--- names a request, and is told the outcome. No I/O. The verdict can be stored: a negotiation that starts with it needs
--- fewer requests, or none.
---
--- | step         | what is to be sent                                                          |
--- |--------------|-----------------------------------------------------------------------------|
--- | "discover"   | `server/discover` (modern)                                                  |
--- | "initialize" | `initialize` (legacy), over a connection that was not used when `fresh` says so |
--- | "events"     | nothing: the server may speak the HTTP+SSE transport of 2024-11-05           |
--- | "ready"      | nothing: `modern`, `version`, and `result` of what was asked last            |
--- | "failed"     | nothing: `err`                                                              |
local core = require("operations.core")
local mcp_failure = require("operations.mcp.protocol.failure")
local members = require("operations.base.members")
local message = require("operations.mcp.protocol.message")

local negotiation = {}

-- Revisions.

local known = { "2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05" }

local MODERN, LEGACY = "2026-07-28", "2025-11-25"

-- Errors that only a modern server returns.
local modern_errors = { [-32020] = true, [-32021] = true, [-32022] = true }

-- Is it a modern revision? Revisions are dates.
local function is_modern(name)
  return name >= MODERN
end

--- The newest revision of each era.
negotiation.modern, negotiation.legacy = MODERN, LEGACY

--- All supported revisions, the newest first.
---@return string[]
function negotiation.all()
  return members.joined(known)
end

--- Is this a modern revision?
---@type fun(name: string): boolean
negotiation.is_modern = is_modern

--- The newest supported revision in a peer's list.
---@param list any  of names
---@param modern? boolean  only of that era
---@return string?
function negotiation.common(list, modern)
  for _, name in ipairs(known) do
    if type(list) == "table" and members.contains(list, name) and (modern == nil or is_modern(name) == modern) then
      return name
    end
  end
end

--- Is the revision supported?
---@param name any
---@return boolean
function negotiation.is_known(name)
  return negotiation.common({ name }) ~= nil
end

-- Steps.

---@class operations.mcp.Negotiation
---@field step "discover"|"initialize"|"events"|"ready"|"failed"
---@field version string  the requested one, then the agreed one
---@field modern? boolean
---@field fresh? boolean
---@field result? table
---@field err? operations.Error
local Negotiation = {}
Negotiation.__index = Negotiation

---@class operations.mcp.NegotiationOptions
---@field version? string  pinned; a modern one needs no request
---@field era? "auto"|"modern"|"legacy"  default "auto"
---@field http? boolean  else stdio
---@field verdict? "modern"|"legacy"|"events"  of an earlier negotiation with the same server

-- Does the configuration allow this revision?
local function is_allowed(self, name)
  return self._options.era ~= "legacy" or not is_modern(name)
end

local function go(self, step, version)
  self.step, self.version = step, version or self.version
  return self
end

local function fail(self, err)
  self.err = err
  return go(self, "failed")
end

local function names_of(list)
  local names = {}
  for _, name in ipairs(list) do
    names[#names + 1] = type(name) == "string" and name or nil
  end
  return names
end

local function incompatible(self, theirs)
  local names, ours = names_of(theirs), {}
  for _, name in ipairs(known) do
    ours[#ours + 1] = is_allowed(self, name) and name or nil
  end
  return fail(self, mcp_failure.new("version",
    ("no common revision of MCP: the server speaks %s, we speak %s"):format(
      names[1] and table.concat(names, ", ") or "none", table.concat(ours, ", ")),
    { supported = theirs }))
end

local function all_refused(self, failure, theirs)
  local method = self.step == "discover" and "server/discover" or "initialize"
  return fail(self, mcp_failure.of_answer(failure,
    ("%s: the server refused each revision that it says it supports (%s)")
    :format(method, table.concat(names_of(theirs), ", ")), { kind = "version", supported = theirs }))
end

local function only_refused(self, failure, theirs)
  return fail(self, mcp_failure.of_answer(failure,
    ("initialize: the server refused revision %s, the only one allowed; it supports %s")
    :format(self._only, table.concat(names_of(theirs), ", ")), { kind = "version", supported = theirs }))
end

local function ready(self, version, result)
  self.modern, self.result = is_modern(version), result
  return go(self, "ready", version)
end

local function initialize(self, version)
  self._initialized = true
  return go(self, "initialize", version or LEGACY)
end

local function discover(self, version)
  self._discovered = true
  return go(self, "discover", version or MODERN)
end

-- Once: a server may refuse `initialize` over this transport too.
local function events(self)
  self._listened = true
  return go(self, "events", LEGACY)
end

--- Begins a negotiation.
---@param options operations.mcp.NegotiationOptions
---@return operations.mcp.Negotiation
function negotiation.new(options)
  local self = setmetatable({ _options = options, _refused = {} }, Negotiation)
  local version, era = options.version, options.era or "auto"
  if version then
    self._only = version
    return is_modern(version) and ready(self, version) or initialize(self, version)
  elseif era == "modern" then
    return ready(self, MODERN)
  elseif options.verdict == "events" then
    return events(self)
  elseif era == "legacy" or options.verdict == "legacy" then
    return initialize(self)
  elseif options.verdict == "modern" then
    return ready(self, MODERN)
  end
  return discover(self)
end

-- The newest revision that the server names and has not refused, and whether it refused others.
local function remaining(self, supported)
  local list, has_refused = {}, false
  for _, name in ipairs(names_of(supported)) do
    has_refused = has_refused or self._refused[name]
    list[#list + 1] = not self._refused[name] and is_allowed(self, name) and name or nil
  end
  return negotiation.common(list), has_refused
end

-- The server named its revisions: continues with the newest common one. A modern revision needs no handshake:
-- capabilities are requested once, and are optional.
local function agree(self, supported, failure)
  if failure then
    self._refused[self.version] = true
  end
  local version, has_refused = remaining(self, supported)
  if not version then
    return failure and has_refused and all_refused(self, failure, supported) or incompatible(self, supported)
  elseif not is_modern(version) then
    return initialize(self, version)
  elseif self._discovered then
    return ready(self, version)
  end
  self._named = true
  return discover(self, version)
end

local function supported_of(failure)
  local list = core.kind(failure.data) == "object" and failure.data.supported
  return core.kind(list) == "array" and list or nil
end

-- Statuses with which a server of the other era refuses unknown requests.
local foreign = { [400] = true, [404] = true, [405] = true, [406] = true, [415] = true, [422] = true }

-- Statuses of a server, or of one in front of it, that fails over a method that it does not know: unlike 401 or 429,
-- or 5xx in JSON, they may say no more than that.
local function is_perplexed(err)
  local details = err.details or {}
  local status, headers = details.statusCode, details.headers
  local media = type(headers) == "table" and (headers["content-type"] or "")
  return status == 409 or status == 410 or status == 501
    or type(status) == "number" and status >= 500 and media and not media:find("json", 1, true)
end

-- Does the failure tell nothing about the era: unauthorized, overloaded, unreachable?
local function says_nothing(self, err)
  local status = err.details and err.details.statusCode
  if self._options.http then
    return not foreign[status] and not is_perplexed(err)
  end
  return err.code == "ABORTED"
end

--- Handles the outcome of `server/discover`.
---@param answer? operations.mcp.Message
---@param err? operations.Error  TIMEOUT, or of the transport
---@return operations.mcp.Negotiation
function Negotiation:discovered(answer, err)
  local failure = answer and answer.error
  if answer and not failure then
    local version = negotiation.common(answer.result.supportedVersions)
    if version and is_modern(version) then
      return ready(self, version, answer.result)
    end
    return agree(self, answer.result.supportedVersions)
  elseif failure and failure.code == message.codes.UNSUPPORTED_VERSION and supported_of(failure) then
    return agree(self, supported_of(failure), failure)
  elseif failure and failure.code == message.codes.MISSING_CAPABILITY then
    return ready(self, self.version)
  elseif failure and modern_errors[failure.code] then
    return fail(self, mcp_failure.of_answer(failure, "server/discover"))
  elseif self._named and (failure or err.code == "TIMEOUT" or foreign[err.details and err.details.statusCode]) then
    return ready(self, self.version)
  elseif self._initialized or err and says_nothing(self, err) then
    return fail(self, err or mcp_failure.of_answer(failure, "server/discover"))
  end
  local is_silent = err ~= nil and err.code == "TIMEOUT"
  self.fresh, self._discovered = err ~= nil and not is_silent, not is_silent -- it may only have been slow
  return initialize(self)
end

--- Handles the outcome of `initialize`.
---@param answer? operations.mcp.Message
---@param err? operations.Error
---@return operations.mcp.Negotiation
function Negotiation:initialized(answer, err)
  local failure = answer and answer.error
  if answer and not failure then
    local version = negotiation.common({ answer.result.protocolVersion }, false)
    return version and ready(self, version, answer.result) or incompatible(self, { answer.result.protocolVersion })
  elseif failure and supported_of(failure) and not self._only then
    return agree(self, supported_of(failure), failure)
  elseif failure and (modern_errors[failure.code] or failure.code == message.codes.METHOD_NOT_FOUND)
    and not self._discovered and not self._only and self._options.era ~= "legacy" then
    return discover(self)
  elseif failure and supported_of(failure) then
    return only_refused(self, failure, supported_of(failure))
  end
  local status = err and err.details and err.details.statusCode
  local may_listen = self._options.http and not self._listened and not (self._only and self._only > "2024-11-05")
  if may_listen and foreign[status] then
    self.err = err
    return events(self)
  end
  return fail(self, err or mcp_failure.of_answer(failure, "initialize"))
end

return negotiation

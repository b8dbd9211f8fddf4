--- Legacy sessions over HTTP: an initialized client, the streams that answer it, and its credential. Their number is
--- limited, and idle ones end.
local core = require("operations.core")
local identity_key = require("operations.base.identity_key")
local message = require("operations.mcp.protocol.message")
local peers = require("operations.mcp.server.peer")

local session = {}

local KEPT = 16 -- ended streams, for clients that missed their end

---@class operations.mcp.ServerSession
---@field id string
---@field peer operations.mcp.Peer
---@field credential string  digest of the client's credentials
---@field used integer  ms since the epoch
---@field general? operations.mcp.Channel  the newest stream opened by GET
---@field _streams table<string, operations.mcp.Channel>
local Session = {}
Session.__index = Session

---@class operations.mcp.Sessions
---@field count integer
---@field new_id fun(): string
---@field all table<string, operations.mcp.ServerSession>
local Sessions = {}
Sessions.__index = Sessions

--- Makes an empty set of sessions.
---@param server operations.McpServer
---@return operations.mcp.Sessions
function session.none(server)
  return setmetatable({ server = server, count = 0, all = {}, new_id = core.random_id }, Sessions)
end

--- The key of a caller: of its identity; without one, or one without an id, of its credentials, which are not stored.
---@param request operations.ServerRequest
---@param identity? operations.Identity
---@return string
function session.credential(request, identity)
  local is_known = identity and identity.id ~= nil
  return (identity and identity_key.of(identity) or "")
    .. (is_known and "" or core.sha256(request.headers.authorization or ""))
end

--- Is a request running for it?
---@return boolean
function Session:is_busy()
  if next(self.peer.running) ~= nil then
    return true
  end
  for _, stream in pairs(self._streams) do
    if stream.reader and not stream.over then
      return true
    end
  end
  return false
end

-- All sessions are in a list; the most recently used is last.

local function unlink(self, each)
  local before, after = each._before, each._after
  if before then
    before._after = after
  else
    self._oldest = after
  end
  if after then
    after._before = before
  else
    self._newest = before
  end
end

local function link(self, each)
  each._before, each._after = self._newest, nil
  if self._newest then
    self._newest._after = each
  else
    self._oldest = each
  end
  self._newest = each
end

--- Marks the session as used now.
---@param each operations.mcp.ServerSession
function Sessions:touch(each)
  each.used = core.now()
  if self.all[each.id] == each and each ~= self._newest then
    unlink(self, each)
    link(self, each)
  end
end

-- Ends sessions that were idle for too long; the one idle for longest when there are too many.
local function make_room(self, now)
  local options = self.server.options
  for _ = 1, self.count do
    local each = self._oldest
    local has_expired = now - each.used > options.session_ttl
    if not has_expired and self.count < options.max_sessions then
      break
    elseif each:is_busy() then
      self:touch(each)
    else
      self:remove(each, "the session was idle")
    end
  end
  return self.count < options.max_sessions
end

--- Opens a session.
---@param credential string
---@param identity? operations.Identity
---@return operations.mcp.ServerSession?  nil: too many sessions, all busy
function Sessions:open(credential, identity)
  local now = core.now()
  if not make_room(self, now) then
    return nil
  end
  local made = setmetatable({ id = self.new_id(), credential = credential, used = now, _streams = {}, _over = {},
    _last = 0 }, Session)
  made.peer = peers.new(self.server, function(value)
    made:tell(value)
  end, identity)
  self.all[made.id], self.count = made, self.count + 1
  link(self, made)
  return made
end

--- The session with an id, for a caller with its credential.
---@param id string
---@param credential string
---@return operations.mcp.ServerSession?
function Sessions:find(id, credential)
  local found, now = self.all[id], core.now()
  if not found or found.credential ~= credential then
    return nil
  elseif now - found.used > self.server.options.session_ttl and not found:is_busy() then
    self:remove(found, "the session has expired")
    return nil
  end
  self:touch(found)
  return found
end

--- Ends a session: cancels what runs for it.
---@param found operations.mcp.ServerSession
---@param reason string
function Sessions:remove(found, reason)
  if self.all[found.id] then
    self.all[found.id], self.count = nil, self.count - 1
    unlink(self, found)
    self.server.changes:leave(found.peer)
    found.peer:cancel_all(reason)
    for _, stream in pairs(found._streams) do
      stream:close()
    end
  end
end

--- A new stream for a request, or for notifications.
---@return operations.mcp.Channel
function Session:stream()
  self._last = self._last + 1
  local name = tostring(self._last)
  self._streams[name] = require("operations.mcp.server.channel").new(name)
  return self._streams[name]
end

--- Ends a stream; its client may not have got the last events yet.
---@param stream operations.mcp.Channel
function Session:finish(stream)
  stream:close()
  table.insert(self._over, stream.name)
  if #self._over > KEPT then
    self._streams[table.remove(self._over, 1)] = nil
  end
end

--- The stream of a Last-Event-ID.
---@param id string
---@return operations.mcp.Channel? stream
---@return integer? at
function Session:find(id)
  local name, at = id:match("^(%d+)_(%d+)$")
  local stream = name and #at < 15 and self._streams[name]
  at = tonumber(at)
  if stream and stream:has(at) then
    return stream, at
  end
end

--- Sends the client a message that belongs to no request, on one stream.
---@param value operations.mcp.Message
function Session:tell(value)
  local text = message.encode(value)
  if self.general and text then
    self.general:put(text, true)
  end
end

return session

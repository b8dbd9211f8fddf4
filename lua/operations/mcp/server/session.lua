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
---@field owner string  whose share it takes
---@field used integer  ms since the epoch
---@field general? operations.mcp.Channel  the newest stream opened by GET
---@field _streams table<string, operations.mcp.Channel>
local Session = {}
Session.__index = Session

---@class operations.mcp.Sessions
---@field count integer
---@field counts table<string, integer>  by owner
---@field kept integer  bytes of ended streams
---@field kept_of table<string, integer>  by owner
---@field new_id fun(): string
---@field all table<string, operations.mcp.ServerSession>
local Sessions = {}
Sessions.__index = Sessions

--- Makes an empty set of sessions.
---@param server operations.McpServer
---@return operations.mcp.Sessions
function session.none(server)
  return setmetatable({ server = server, count = 0, counts = {}, kept = 0, kept_of = {}, all = {},
    new_id = core.random_id }, Sessions)
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

local function end_expired(self, now)
  for _ = 1, self.count do
    local each = self._oldest
    if now - each.used <= self.server.options.session_ttl then
      return
    elseif each:is_busy() then
      self:touch(each)
    else
      self:remove(each, "the session was idle")
    end
  end
end

-- Ends the session idle for longest of an owner; true when there was an idle one.
local function end_oldest(self, is_of)
  local each = self._oldest
  while each do
    if is_of(each) and not each:is_busy() then
      self:remove(each, "the session was idle")
      return true
    end
    each = each._after
  end
  return false
end

-- The largest value of owners.
local function most(of)
  local largest = 0
  for _, value in pairs(of) do
    largest = math.max(largest, value)
  end
  return largest
end

-- Makes room for a session of an owner: one who has too many loses an idle one of his own; when there are too many in
-- all, one who has the most of them does.
local function make_room(self, now, owner)
  local options, counts = self.server.options, self.counts
  local function is_own(each)
    return each.owner == owner
  end
  end_expired(self, now)
  if (counts[owner] or 0) >= options.max_identity_sessions and not end_oldest(self, is_own) then
    return false
  elseif self.count < options.max_sessions then
    return true
  end
  local largest = most(counts)
  return end_oldest(self, function(each)
    return counts[each.owner] == largest
  end) or end_oldest(self, is_own)
end

local function add_to(of, owner, amount)
  local sum = (of[owner] or 0) + amount
  of[owner] = sum > 0 and sum or nil
end

--- The owner of a session, whose share it takes: an identity, or an address where there is none.
---@param request operations.ServerRequest
---@param identity? operations.Identity
---@return string
function session.owner(request, identity)
  if identity then
    return session.credential(request, identity)
  end
  return "address " .. tostring(request.peer and request.peer.address)
end

--- Opens a session.
---@param credential string
---@param identity? operations.Identity
---@param owner? string  as `session.owner` gives it, default the credential
---@return operations.mcp.ServerSession?  nil: too many sessions, all busy
function Sessions:open(credential, identity, owner)
  local now = core.now()
  owner = owner or credential
  if not make_room(self, now, owner) then
    return nil
  end
  local made = setmetatable({ id = self.new_id(), credential = credential, used = now, owner = owner, _sessions = self,
    _streams = {}, _over = {}, _kept = 0, _last = 0 }, Session)
  made.peer = peers.new(self.server, function(value)
    made:tell(value)
  end, identity)
  self.all[made.id], self.count = made, self.count + 1
  add_to(self.counts, owner, 1)
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
    add_to(self.counts, found.owner, -1)
    while found._over[1] do
      found:_forget()
    end
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

-- Forgets the stream that ended first.
function Session:_forget()
  local stream, all = table.remove(self._over, 1), self._sessions
  self._streams[stream.name] = nil
  self._kept, all.kept = self._kept - stream.bytes, all.kept - stream.bytes
  add_to(all.kept_of, self.owner, -stream.bytes)
end

-- Forgets ended streams of an owner, those of the session that is idle for longest first, until they fit.
local function trim(self, owner, fits)
  local each = self._oldest
  while each and not fits() do
    while each.owner == owner and each._over[1] and not fits() do
      each:_forget()
    end
    each = each._after
  end
end

-- One who keeps too much loses the oldest of his own; when all is too much, one who has the most does.
local function limit_kept(self, owner)
  local options, kept_of = self.server.options, self.kept_of
  trim(self, owner, function()
    return (kept_of[owner] or 0) <= options.identity_bytes
  end)
  while self.kept > options.kept_bytes do
    local largest = most(kept_of)
    for each, kept in pairs(kept_of) do
      if kept == largest then
        trim(self, each, function()
          return self.kept <= options.kept_bytes or (kept_of[each] or 0) < largest
        end)
        break
      end
    end
  end
end

--- Ends a stream; its client may not have got the last events yet.
---@param stream operations.mcp.Channel
function Session:finish(stream)
  local all = self._sessions
  stream:close()
  if not all.all[self.id] then
    return
  end
  table.insert(self._over, stream)
  self._kept, all.kept = self._kept + stream.bytes, all.kept + stream.bytes
  add_to(all.kept_of, self.owner, stream.bytes)
  while #self._over > KEPT or self._kept > all.server.options.session_bytes do
    self:_forget()
  end
  limit_kept(all, self.owner)
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
---@return boolean kept  false: it has no such stream open
function Session:tell(value)
  local text = message.encode(value)
  return self.general ~= nil and text ~= nil and self.general:put(text, value.id == nil)
end

return session

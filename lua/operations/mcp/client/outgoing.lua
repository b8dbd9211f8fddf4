--- The HTTP requests that carry messages (Streamable HTTP), all but their bodies: what they are made of seldom changes.
local headers = require("operations.mcp.protocol.headers")
local members = require("operations.base.members")

local outgoing = {}

local MAX_KEPT = 64 -- requests

---@class operations.mcp.Outgoing
---@field _kept table<any, operations.mcp.HttpRequest>
---@field _count integer
local Outgoing = {}
Outgoing.__index = Outgoing

---@return operations.mcp.Outgoing
function outgoing.new()
  return setmetatable({ _kept = {}, _count = 0 }, Outgoing)
end

-- A call that does something may not be sent twice; whatever else there is may.
local function is_repeatable(method, options)
  return method ~= "tools/call" or options.repeatable == true
end

local function make(link, method, params, options)
  local own = link._modern and method and headers.of(method, params, link._version, options.mirrored) or nil
  return {
    url = link._config.url, method = "POST", headers = members.merged(link:headers(), own),
    idempotent = is_repeatable(method, options),
    session = link._session, version = link._version,
  }
end

-- What the requests of a message and of others like it have in common; nil when arguments are among its headers.
local function key_of(link, method, params, options)
  local again = is_repeatable(method, options)
  if not (link._modern and method) then
    return again
  elseif not options.mirrored then
    return (again and "" or "once ") .. method .. " " .. (headers.name_of(method, params) or "")
  end
end

-- Keeps a request; all others are forgotten when there are too many.
local function keep(self, key, request)
  if self._kept[key] == nil then
    if self._count == MAX_KEPT then
      self._kept, self._count = {}, 0
    end
    self._count = self._count + 1
  end
  self._kept[key] = request
  return request
end

--- The request of a message.
---@param link operations.mcp.Http
---@param method? string  none: it is an answer
---@param params? table
---@param options operations.mcp.RequestOptions
---@return operations.mcp.HttpRequest
function Outgoing:request(link, method, params, options)
  local key = key_of(link, method, params, options)
  if key == nil then
    return make(link, method, params, options)
  end
  local kept = self._kept[key]
  if kept and kept.session == link._session and kept.version == link._version then
    return kept
  end
  return keep(self, key, make(link, method, params, options))
end

return outgoing

--- Results that may be cached (revision 2026-07-28: `ttlMs`), by method and params. Stored as text, so that callers may
--- change their copy.
local json = require("operations.base.json")

local cache = {}

-- The most cached results, and their bytes; beyond that, all are dropped.
local MAX, MAX_BYTES = 256, 16 * 1024 * 1024

local cacheable = {
  ["tools/list"] = true, ["prompts/list"] = true, ["resources/list"] = true, ["resources/templates/list"] = true,
  ["resources/read"] = true,
}

---@class operations.mcp.Cache
local Cache = {}
Cache.__index = Cache

--- Makes an empty cache.
---@param now fun(): number  ms since the epoch
---@return operations.mcp.Cache
function cache.new(now)
  return setmetatable({ _now = now, _entries = {}, _count = 0, _bytes = 0, _forgotten = {}, _times = 0 }, Cache)
end

local function key_of(method, params)
  return method .. "\0" .. (params and next(params) ~= nil and json.encode(params, { sort_keys = true }) or "")
end

local function forget(self, key)
  local entry = self._entries[key]
  if entry then
    self._entries[key] = nil
    self._count, self._bytes = self._count - 1, self._bytes - #entry.text
  end
end

--- A fresh result.
---@param method string
---@param params? table
---@return table?
function Cache:find(method, params)
  local key = cacheable[method] and key_of(method, params)
  local entry = self._entries[key]
  if entry and self._now() < entry.stale then
    return (json.decode(entry.text))
  elseif entry then
    forget(self, key)
  end
end

--- How often the results of a method were dropped.
---@param method string
---@return integer
function Cache:generation(method)
  return self._times + (self._forgotten[method] or 0)
end

--- Caches a result for its lifetime. Not if it needed input, which makes it private, or was requested before such
--- results were dropped, since it may be as old as they were.
---@param method string
---@param params? table
---@param result table
---@param generation? integer  of the method, when the result was requested
function Cache:keep(method, params, result, generation)
  local ttl = result.ttlMs
  if generation and generation ~= self:generation(method) then
    return
  elseif not cacheable[method] or type(ttl) ~= "number" or not (ttl > 0 and ttl < 2 ^ 53) then
    return
  end
  local key, text = key_of(method, params), json.encode(result)
  forget(self, key)
  if not text or #text > MAX_BYTES then
    return
  elseif self._count == MAX or self._bytes + #text > MAX_BYTES then
    self._entries, self._count, self._bytes = {}, 0, 0
  end
  self._entries[key] = { text = text, stale = self._now() + ttl }
  self._count, self._bytes = self._count + 1, self._bytes + #text
end

--- Drops the results of a method, or all.
---@param method? string
function Cache:forget(method)
  if method then
    self._forgotten[method] = (self._forgotten[method] or 0) + 1
  else
    self._times = self._times + 1
  end
  for key in pairs(self._entries) do
    if not method or key:sub(1, #method + 1) == method .. "\0" then
      forget(self, key)
    end
  end
end

return cache

--- A map of limited size that drops the entries used least recently.
local lru = {}

---@class operations.Lru
---@field count integer  entries
---@field weight number  of all entries
---@field _by_key table<string, table>
---@field _newest table?
---@field _oldest table?
local Lru = {}
Lru.__index = Lru

local function detach(self, entry)
  local newer, older = entry.newer, entry.older
  if newer then
    newer.older = older
  else
    self._newest = older
  end
  if older then
    older.newer = newer
  else
    self._oldest = newer
  end
  entry.newer, entry.older = nil, nil
end

local function attach(self, entry)
  local newest = self._newest
  entry.older = newest
  if newest then
    newest.newer = entry
  else
    self._oldest = entry
  end
  self._newest = entry
end

local function use(self, entry)
  if self._newest ~= entry then
    detach(self, entry)
    attach(self, entry)
  end
end

--- The value of a key; counts as a use.
---@param key string
---@return any
function Lru:get(key)
  local entry = self._by_key[key]
  if not entry then
    return nil
  end
  use(self, entry)
  return entry.value
end

--- Removes a key.
---@param key string
function Lru:remove(key)
  local entry = self._by_key[key]
  if entry then
    detach(self, entry)
    self._by_key[key] = nil
    self.count, self.weight = self.count - 1, self.weight - entry.weight
  end
end

--- Stores a value; drops old entries to make room. A value heavier than the limit is not stored.
---@param key string
---@param value any
---@param weight? number  default 0
function Lru:put(key, value, weight)
  weight = weight or 0
  local known = self._by_key[key]
  if known and known.weight == weight then
    known.value = value
    use(self, known)
    return
  end
  self:remove(key)
  if weight > self._max_weight then
    return
  end
  local entry = { key = key, value = value, weight = weight }
  self._by_key[key] = entry
  attach(self, entry)
  self.count, self.weight = self.count + 1, self.weight + weight
  while self.count > self._max_count or self.weight > self._max_weight do
    self:remove(self._oldest.key)
  end
end

--- Removes the entry that was not used for longest.
function Lru:drop()
  if self._oldest then
    self:remove(self._oldest.key)
  end
end

--- Removes all entries.
function Lru:clear()
  self._by_key, self._newest, self._oldest, self.count, self.weight = {}, nil, nil, 0, 0
end

---@param max_count integer  entries, at least 1
---@param max_weight? number  of all entries; default: no limit
---@return operations.Lru
function lru.new(max_count, max_weight)
  local self = setmetatable({ _max_count = max_count, _max_weight = max_weight or math.huge }, Lru)
  self:clear()
  return self
end

return lru

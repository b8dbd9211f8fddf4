--- A map of limited size whose entries have owners. Each owner has a share and, beyond it, loses its own entries that
--- were used least recently; when the map is full, the owner with most of them does.
local lru = require("operations.base.lru")

local shares = {}

---@class operations.ShareLimits
---@field count integer  entries of all owners
---@field weight number  of all entries
---@field owner_count integer  entries of one owner
---@field owner_weight number  of these

---@class operations.Shares
---@field count integer  entries
---@field weight number  of all of them
---@field _of table<string, operations.Lru>  by owner
---@field _options operations.ShareLimits
local Shares = {}
Shares.__index = Shares

-- Changes what is kept of an owner.
local function change(self, owner, method, ...)
  local kept = self._of[owner] or lru.new(self._options.owner_count, self._options.owner_weight)
  local count, weight = kept.count, kept.weight
  kept[method](kept, ...)
  self.count, self.weight = self.count + kept.count - count, self.weight + kept.weight - weight
  self._of[owner] = kept.count > 0 and kept or nil
end

-- The owner with most entries ("count"), or the heaviest ones ("weight").
local function largest(self, field)
  local found
  for owner, kept in pairs(self._of) do
    found = (not found or kept[field] > self._of[found][field]) and owner or found
  end
  return found
end

--- The value of an owner's key; counts as a use.
---@param owner string
---@param key string
---@return any
function Shares:get(owner, key)
  local kept = self._of[owner]
  return kept and kept:get(key)
end

--- Stores a value, unless it is heavier than the owner's share; drops old entries to make room.
---@param owner string
---@param key string
---@param value any
---@param weight number
function Shares:put(owner, key, value, weight)
  change(self, owner, "put", key, value, weight)
  while self.count > self._options.count do
    change(self, largest(self, "count"), "drop")
  end
  while self.weight > self._options.weight do
    change(self, largest(self, "weight"), "drop")
  end
end

--- Removes a key of an owner.
---@param owner string
---@param key string
function Shares:remove(owner, key)
  change(self, owner, "remove", key)
end

---@param options operations.ShareLimits
---@return operations.Shares
function shares.new(options)
  return setmetatable({ _of = {}, _options = options, count = 0, weight = 0 }, Shares)
end

return shares

--- The store of answers to requests with an Idempotency-Key: in this process, or in a shared dictionary
--- of nginx. `operations.middleware.redis` makes a third kind.
local dictionary_lock = require("operations.base.dictionary_lock")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local lru = require("operations.base.lru")
local scheduler = require("operations.task.scheduler")

local answer_store = {}

---@class operations.AnswerStore
---@field add fun(self, key: string, value: string, ttl: number): string?, operations.Error?  keeps a value for `ttl` ms
---  where there is none; returns the one that is there
---@field swap fun(self, key: string, old: string, new: string?, ttl: number?): boolean?, operations.Error?  keeps
---  another value, or none, where `old` is there still
---@field is_local? boolean  it is of this process only

---@class operations.LocalAnswers : operations.AnswerStore
local Local = { is_local = true }
Local.__index = Local

local function find(self, key)
  local found = self._kept:get(key)
  return found and found.ends > scheduler.host().now() and found or nil
end

local function put(self, key, value, ttl)
  self._kept:put(key, { value = value, ends = scheduler.host().now() + ttl }, #key + #value)
end

function Local:add(key, value, ttl)
  local found = find(self, key)
  if found then
    return found.value
  end
  put(self, key, value, ttl)
end

function Local:swap(key, old, new, ttl)
  local found = find(self, key)
  if not found or found.value ~= old then
    return false
  elseif new then
    put(self, key, new, ttl)
  else
    self._kept:remove(key)
  end
  return true
end

--- A store in this process. When it is full, the least recently used answers are dropped.
---@return operations.LocalAnswers
function answer_store.new()
  return setmetatable({ _kept = lru.new(limits.idempotency_keys, limits.idempotency_bytes) }, Local)
end

local PREFIX = "operations:answer:"

---@class operations.SharedAnswers : operations.AnswerStore
local Shared = {}
Shared.__index = Shared

-- Stores a value, unless the dictionary has no room for it; the previous value may be lost then.
local function keep(dictionary, place, value, ttl)
  local ok, why = dictionary:set(place, value, ttl / 1000)
  return not ok and errors.new("UNAVAILABLE", "the shared dictionary does not keep it: " .. tostring(why)) or nil
end

local function add(dictionary, place, value, ttl)
  local found = dictionary:get(place)
  return found, not found and keep(dictionary, place, value, ttl) or nil
end

local function swap(dictionary, place, old, new, ttl)
  if dictionary:get(place) ~= old then
    return false
  elseif new then
    local err = keep(dictionary, place, new, ttl)
    return not err or nil, err
  end
  dictionary:delete(place)
  return true
end

function Shared:add(key, value, ttl)
  return dictionary_lock.run(self._dictionary, PREFIX .. key, add, value, ttl)
end

function Shared:swap(key, old, new, ttl)
  return dictionary_lock.run(self._dictionary, PREFIX .. key, swap, old, new, ttl)
end

--- A store shared by all workers of nginx. When the dictionary is full, the oldest answers are dropped.
---@param dictionary table  `ngx.shared.NAME`
---@return operations.SharedAnswers
function answer_store.shared(dictionary)
  return setmetatable({ _dictionary = dictionary }, Shared)
end

return answer_store

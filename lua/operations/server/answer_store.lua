--- The store of answers to requests with an Idempotency-Key: in this process, or in a shared dictionary
--- of nginx. `operations.middleware.redis` makes a third kind.
local dictionaries = require("operations.task.dictionary")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local scheduler = require("operations.task.scheduler")
local shares = require("operations.base.shares")

local answer_store = {}

---@class operations.AnswerStore
---@field add fun(self, key: string, value: string, ttl: number, owner: string?): string?, operations.Error?  keeps a
---  value for `ttl` ms where there is none; returns the one that is there
---@field swap fun(self, key: string, old: string, new: string?, ttl: number?, owner: string?): boolean?,
---  operations.Error?  keeps another value, or none, where `old` is there still
---@field is_local? boolean  it is of this process only

---@class operations.LocalAnswers : operations.AnswerStore
---@field _kept operations.Shares
local Local = { is_local = true }
Local.__index = Local

local function find(self, key, owner)
  local found = self._kept:get(owner, key)
  return found and found.ends > scheduler.now() and found or nil
end

local function put(self, key, owner, value, ttl)
  self._kept:put(owner, key, { value = value, ends = scheduler.now() + ttl }, #key + #value)
end

function Local:add(key, value, ttl, owner)
  local found = find(self, key, owner or "")
  if found then
    return found.value
  end
  put(self, key, owner or "", value, ttl)
end

function Local:swap(key, old, new, ttl, owner)
  owner = owner or ""
  local found = find(self, key, owner)
  if not found or found.value ~= old then
    return false
  elseif new then
    put(self, key, owner, new, ttl)
  else
    self._kept:remove(owner, key)
  end
  return true
end

--- A store in this process. A sender who keeps too much loses the answers of its own that were used least recently;
--- when the store is full, the sender with most of them does.
---@return operations.LocalAnswers
function answer_store.new()
  return setmetatable({ _kept = shares.new({ count = limits.idempotency_keys, weight = limits.idempotency_bytes,
    owner_count = limits.idempotency_sender_keys, owner_weight = limits.idempotency_sender_bytes }) }, Local)
end

local PREFIX, OWNER = "operations:answer:", "operations:answers of:"

---@class operations.SharedAnswers : operations.AnswerStore
local Shared = {}
Shared.__index = Shared

local function refused(why)
  dictionaries.failed("answers", "refused", "idempotency: its shared dictionary does not keep an answer: "
    .. tostring(why) .. "; make it larger")
  return errors.new("UNAVAILABLE", "the shared dictionary does not keep it: " .. tostring(why))
end

-- Tells that others' values made room for one; returns what was stored.
local function noticed(stored, why, dropped)
  if dropped then
    dictionaries.failed("answers", "dropped", "idempotency: its shared dictionary is full: answers were dropped before "
      .. "their time, so that a request that is sent again may run again; make it larger")
  end
  return stored, why
end

-- Stores a value, unless the dictionary has no room for it; the previous value may be lost then.
local function keep(store, place, value, ttl)
  local ok, why = noticed(store:set(place, value, ttl / 1000))
  return not ok and refused(why) or nil
end

-- The bytes that one sender may keep: a quarter of the dictionary.
local function share_of(store)
  local capacity = store.capacity and store:capacity()
  return capacity and capacity / 4 or limits.idempotency_sender_bytes
end

-- Adds a value to those of its owner, who loses the oldest ones beyond its share. Returns why it cannot be counted.
local function account(store, place, bytes, owner, share)
  local list = OWNER .. owner
  local length, why = store:lpush(list, bytes .. ":" .. place)
  local kept
  if length then
    kept, why = noticed(store:incr(list .. ":bytes", bytes, 0))
  end
  while kept and kept > share do
    local size, at = (store:rpop(list) or ""):match("^(%d+):(.*)$")
    if not size then
      break
    elseif at ~= place then
      store:delete(at)
    end
    kept, why = noticed(store:incr(list .. ":bytes", -tonumber(size), 0))
  end
  return not kept and why or nil
end

-- Stores a value of an owner. nginx would drop those of others to make room.
local function keep_of(store, place, value, ttl, owner)
  local share = share_of(store)
  if #value > share then
    return errors.new("UNAVAILABLE", "the answer is larger than its sender's share of the shared dictionary")
  end
  local why = store.lpush and account(store, place, #value, owner, share)
  return why and refused(why) or keep(store, place, value, ttl)
end

local function add(store, place, value, ttl, owner)
  local found = store:get(place)
  return found, not found and keep_of(store, place, value, ttl, owner or "") or nil
end

local function swap(store, place, old, new, ttl, owner)
  if store:get(place) ~= old then
    return false
  elseif new then
    local err = keep_of(store, place, new, ttl, owner or "")
    return not err or nil, err
  end
  store:delete(place)
  return true
end

function Shared:add(key, value, ttl, owner)
  return dictionaries.locked(self._dictionary, PREFIX .. key, add, value, ttl, owner)
end

function Shared:swap(key, old, new, ttl, owner)
  return dictionaries.locked(self._dictionary, PREFIX .. key, swap, old, new, ttl, owner)
end

--- A store shared by all workers of nginx. A sender has a quarter of the dictionary; when that is full, the oldest
--- answers are dropped.
---@param shared table  `ngx.shared.NAME`
---@return operations.SharedAnswers
function answer_store.shared(shared)
  return setmetatable({ _dictionary = shared }, Shared)
end

return answer_store

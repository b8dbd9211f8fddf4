--- The events of a publisher in several processes: in a shared dictionary of nginx, or in streams of Redis. A
--- store gives the events after an id and tells when there are further ones; each process keeps those that its readers
--- wait for.
local dictionary = require("operations.task.dictionary")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local scheduler = require("operations.task.scheduler")

local stores = {}

---@class operations.PublisherStore
---@field append fun(self, topic: string, text: string): integer?, operations.Error?  returns the event's id; may wait
---@field last fun(self, topic: string): integer?, operations.Error?  the id of the newest event, else 0; may wait
---@field after fun(self, topic: string, id: integer, most: integer, done: fun(list: operations.PublishedEvent[]?,
---  err: operations.Error?))  the first `most` events after an id
---@field watch fun(self, told: fun(topic: string?))  `told` is called when a topic, or nil: any, has new events
---@field waits fun(self)  called when a reader begins to wait
---@field close fun(self)

local unset = nil -- keeps room in a constructor; LuaJIT keeps none where `nil` is written

local PREFIX = "operations:events:"
local ALL = "operations:events" -- counts the events of all topics

-- The key of an event, or of the id of the topic's newest one.
local function key_of(topic, id)
  return id and ("%s%s:%.0f"):format(PREFIX, topic, id) or PREFIX .. topic
end

---@class operations.DictionaryEvents : operations.PublisherStore
---@field _dictionary table
---@field _keep integer
---@field _seen? integer  the count of all events when it was last read
---@field _timer? fun()  stops the timer of the next look
local Dictionary = {}
Dictionary.__index = Dictionary

-- An event is stored with the id of the one before it. Ids of a topic are consecutive. They begin at the time in
-- microseconds, so that they grow even when nginx started again. The newest id changes after its event was stored: a
-- reader that knows the id finds the event.
local function append(store, place, text, keep, topic)
  local last = store:get(place)
  local id = (last or math.floor(scheduler.now()) * 1000) + 1
  local ok, why = store:set(key_of(topic, id), ("%.0f %s"):format(last or 0, text))
  if ok then
    ok, why = store:set(place, id)
  end
  if not ok then
    return nil, errors.new("UNAVAILABLE", "the shared dictionary does not keep the event: " .. tostring(why))
  end
  store:delete(key_of(topic, id - keep))
  store:incr(ALL, 1, 0)
  return id
end

function Dictionary:append(topic, text)
  return dictionary.locked(self._dictionary, key_of(topic), append, text, self._keep, topic)
end

function Dictionary:last(topic)
  return self._dictionary:get(key_of(topic)) or 0
end

function Dictionary:after(topic, id, most, done)
  local last, list = self:last(topic), {}
  for each = math.max(id + 1, last - self._keep + 1), last do
    local before, text = (self._dictionary:get(key_of(topic, each)) or ""):match("^(%d+) (.*)$")
    list[#list + 1] = before and { id = each, before = tonumber(before), text = text }
    if #list == most then
      break
    end
  end
  done(list)
end

function Dictionary:watch(told)
  self._told = told
end

-- nginx tells a worker nothing of a dictionary, so it looks while readers wait.
function Dictionary:waits()
  self._timer = self._timer or scheduler.host().timer(limits.publisher_poll, function()
    self._timer = nil
    local count = self._dictionary:get(ALL)
    if count ~= self._seen then
      self._seen = count
      self._told(nil)
    end
    if self._wanted() then
      self:waits()
    end
  end)
end

function Dictionary:close()
  if self._timer then
    self._timer()
  end
end

--- Events in a shared dictionary of nginx, for all workers.
---@param store table  `ngx.shared.NAME`
---@param keep integer  events of a topic
---@param wanted fun(): boolean  does a reader wait?
---@return operations.PublisherStore
function stores.dictionary(store, keep, wanted)
  return setmetatable({ _dictionary = store, _keep = keep, _wanted = wanted, _seen = unset, _timer = unset,
    _told = unset }, Dictionary)
end

return stores

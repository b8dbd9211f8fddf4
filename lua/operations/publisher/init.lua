--- One event for many readers: `publish` keeps a value under a topic, a handler returns `subscribe(topic,
--- lastEventId)`, and each reader of that subscription gets it. Readers share the events: a topic keeps its last ones,
--- a reader is a place among them, so a slow reader costs no memory and delays no other.
local argument = require("operations.base.argument")
local dictionary = require("operations.task.dictionary")
local errors = require("operations.base.error")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local log = require("operations.publisher.log")
local lru = require("operations.base.lru")
local scheduler = require("operations.task.scheduler")
local stores = require("operations.publisher.stores")
local subscription = require("operations.registry.subscription")
local task = require("operations.task")
local wait = require("operations.task.wait")

local publisher = {}

local BATCH = 64 -- events that are read from a store at once

---@class operations.PublisherOptions
---@field keep? integer  events that a topic keeps for readers that come back or are slow, 256 by default
---@field keep_bytes? integer  of JSON that a topic keeps in a process, 4 MiB by default
---@field store? string|table  where processes share the events: the name of a shared dictionary of nginx, or
---  `ngx.shared.NAME`, for its workers; `middleware.redis(url)` for all processes; default: this process only
---@field slow? "cut"|"skip"  what happens to a reader whose next event is not kept any more: its stream ends with BUSY
---  (default), or it continues with the oldest event that is kept

-- A topic as this process knows it.
---@class operations.Topic
---@field name string
---@field log operations.EventLog
---@field waiting (fun()|false)[]  readers that wait for an event
---@field reading? boolean  further events are being read from the store
---@field stale? boolean  and there are more
---@field unread integer  events since a reader took one

---@class operations.PublisherStatistics
---@field published integer  events, by this process
---@field cut integer  readers that were cut off
---@field skipped integer  times that a reader skipped events
---@field gaps integer  readers that came back after events that are not kept

---@class operations.Publisher
---@field _topics table<string, operations.Topic>  with readers or kept events
---@field _kept operations.Lru  of the topics in a process without a store
---@field _store? operations.PublisherStore
---@field _last integer  the newest id, without a store
---@field _count operations.PublisherStatistics
---@field _waiting integer  readers that wait
local Publisher = {}
Publisher.__index = Publisher

local function topic_of(self, name, floor)
  local topic = self._topics[name]
  if not topic then
    topic = { name = name, log = log.new(floor, self._keep, self._keep_bytes), waiting = {}, unread = 0 }
    self._topics[name] = topic
  end
  return topic
end

local function wake_readers(topic)
  local waiting = topic.waiting
  topic.waiting = {}
  wait.wake(waiting)
end

local read_on

local function retry(self, topic)
  scheduler.host().timer(limits.publisher_retry, function()
    if topic.stale then
      read_on(self, topic)
    end
  end)
end

-- Reads the new events of a topic from the store.
function read_on(self, topic)
  topic.stale = true
  if topic.reading or self._closed then
    return
  end
  topic.reading, topic.stale = true, false
  self._store:after(topic.name, topic.log.last, BATCH, function(list, err)
    topic.reading = false
    for _, event in ipairs(list or {}) do
      topic.log:add(event)
    end
    if err then
      topic.stale = true
      retry(self, topic)
    elseif topic.stale or #list == BATCH then
      read_on(self, topic)
    end
    wake_readers(topic)
  end)
end

local function told(self, name)
  local topic = self._topics[name]
  if topic then
    read_on(self, topic)
  end
end

local function watch(self)
  self._store:watch(function(name)
    if name then
      return told(self, name)
    end
    for each in pairs(self._topics) do
      told(self, each)
    end
  end)
end

local function append_here(self, name, text)
  local topic = topic_of(self, name, self._last)
  self._last = self._last + 1
  topic.log:add({ id = self._last, before = topic.log.last, text = text })
  self._kept:put(name, topic, topic.log.bytes)
  wake_readers(topic)
  return self._last
end

-- Readers that wait must run before their next event is dropped: a loop that publishes gives them a turn.
local function give_way(self, topic)
  topic.unread = topic.unread + 1
  if topic.unread * 2 >= self._keep and scheduler.suspends() then
    topic.unread = 0
    task.sleep(0)
  end
end

--- Sends an event to all readers of a topic, in every process that shares the store, and keeps it for those that come
--- back. Does not wait for slow readers; in a loop it lets the others run, and with Redis it waits for Redis.
---@param topic string
---@param value any  what JSON can say
---@return string? id  of the event: `meta.lastEventId` of its envelopes
---@return operations.Error? err  VALIDATION_ERROR: not JSON, or larger than an event may be; UNAVAILABLE: the store
---  cannot take it
function Publisher:publish(topic, value)
  argument.self(self, Publisher, "publisher", "publish")
  argument.expect(topic, "string", 1, "publish")
  local text, err = json.encode(value)
  if not text then
    return nil, errors.new("VALIDATION_ERROR", "the event is not JSON: " .. err.message)
  elseif #text > limits.event then
    return nil, errors.new("VALIDATION_ERROR", ("the event has %d bytes; at most %d are sent"):format(#text,
      limits.event))
  end
  local id
  if self._store then
    id, err = self._store:append(topic, text)
  else
    id = append_here(self, topic, text)
  end
  if not id then
    return nil, err
  end
  self._count.published = self._count.published + 1
  if self._store then
    told(self, topic)
  end
  if self._topics[topic] then
    give_way(self, self._topics[topic])
  end
  return ("%.0f"):format(id)
end

--- A reader of a topic: an iterator over its events, which the handler of a subscription returns.
---@class operations.Feed
---@operator call: any
---@field gap boolean  it resumes after an event that is not kept: the reader has missed some
---@field _at integer  the id of the last event
---@field _backlog operations.PublishedEvent[]  events that the store has and the process has not
---@field _next integer  the place of the next one of these
local Feed = {}
Feed.__index = Feed

local function too_slow(self)
  local count = self._publisher._count
  count.cut = count.cut + 1
  local err = errors.new("BUSY", ("this reader of %q is too slow: the next of its events is not kept any more"):format(
    self._topic.name))
  err.retryable = true
  return err
end

-- Continues after events that are not kept.
local function lose(self, to)
  local mine = self._publisher
  if mine._slow == "cut" then
    error(too_slow(self), 0)
  end
  mine._count.skipped = mine._count.skipped + 1
  self._at = to
end

-- Does an event come after others that this reader has not seen?
local function is_lost(self, event)
  return event.before > self._at or event.before == 0 and self._at > 0
end

-- Reads the events that only the store keeps.
local function fetch(self)
  local list, err = task.await(function(wake)
    self._publisher._store:after(self._topic.name, self._at, BATCH, wake)
  end)
  if not list then
    error(err, 0)
  end
  self._backlog, self._next = list, 1
  return list
end

-- The next event, when the topic of this process does not have it any more.
local function behind(self)
  local floor = self._topic.log.floor
  local first = self._publisher._store and fetch(self)[1]
  if not first then
    lose(self, floor)
  elseif is_lost(self, first) then
    lose(self, first.id - 1)
  end
end

local function from_backlog(self)
  local event = self._backlog[self._next]
  if event and event.id > self._at then
    self._next = self._next + 1
    return event
  end
end

-- The event of the topic with an id, for all its readers; made once. `value` is what JSON says.
local function shared(event)
  local made = event.shared
  if not made then
    made = subscription.shared_event(("%.0f"):format(event.id))
    event.shared, event.value = made, json.decode(event.text)
  end
  return event.value, made
end

local function sleep(self)
  local mine, topic = self._publisher, self._topic
  mine._waiting = mine._waiting + 1
  local ok, raised = pcall(task.await, function(wake)
    local leave = wait.add(topic.waiting, wake)
    if mine._store then
      mine._store:waits()
    end
    return leave
  end)
  mine._waiting = mine._waiting - 1
  if not ok then
    error(raised, 0)
  end
end

--- The next event; waits for it. Raises BUSY when this reader is too slow, and the error of the store.
---@return any value  nil at the end: the publisher was closed
---@return operations.SharedEvent? options  for `context.emit`
function Feed:__call()
  local topic = self._topic
  while not self._publisher._closed do
    local event = from_backlog(self)
    if not event and self._at < topic.log.floor then
      behind(self)
    elseif not event then
      event = topic.log:after(self._at)
      if not event then
        sleep(self)
      end
    end
    if event then
      self._at, topic.unread = event.id, 0
      return shared(event)
    end
  end
end

-- Finds the place of a reader that comes back.
local function resume(self, text)
  local id = text:match("^%d+$") and #text <= 16 and tonumber(text)
  self._at = id or 0
  local lost = not id
  if self._publisher._store then
    local first = fetch(self)[1]
    lost = lost or first and is_lost(self, first)
    self._at = first and first.id - 1 or self._at
  elseif self._at < self._topic.log.floor or self._at > self._publisher._last then
    self._at, lost = self._topic.log.floor, true
  end
  if lost and text ~= "0" then
    self.gap = true
    self._publisher._count.gaps = self._publisher._count.gaps + 1
  end
end

--- A reader of a topic, to be returned by the handler of a subscription: `return events:subscribe("room/7",
--- context.lastEventId)`. It begins with the next event; with the id of an event, after that; with "0", with all that
--- are kept. Its `gap` is true when events after that id are not kept any more: it begins with the oldest then. May
--- wait for Redis.
---@param topic string
---@param last_event_id? string
---@return operations.Feed? feed
---@return operations.Error? err  UNAVAILABLE: of the store
function Publisher:subscribe(topic, last_event_id)
  argument.self(self, Publisher, "publisher", "subscribe")
  argument.expect(topic, "string", 1, "subscribe")
  argument.optional(last_event_id, "string", 2, "subscribe")
  local at = self._last
  if self._store then
    local last, err = self._store:last(topic)
    if not last then
      return nil, err
    end
    at = last
  end
  local found = topic_of(self, topic, at)
  local feed = setmetatable({ gap = false, _publisher = self, _topic = found, _backlog = {}, _next = 1,
    _at = self._store and at or found.log.last }, Feed)
  if last_event_id and last_event_id ~= "" then
    local ok, raised = pcall(resume, feed, last_event_id)
    if not ok then
      return nil, (errors.from(raised))
    end
  end
  return feed
end

--- What was counted in this process.
---@return operations.PublisherStatistics
function Publisher:statistics()
  local count = self._count
  return { published = count.published, cut = count.cut, skipped = count.skipped, gaps = count.gaps }
end

--- Ends the streams of all readers in this process, and the publisher's connection to Redis.
function Publisher:close()
  self._closed = true
  if self._store then
    self._store:close()
  end
  for _, topic in pairs(self._topics) do
    wake_readers(topic)
  end
end

local kinds = { keep = "number", keep_bytes = "number", store = "string or table or userdata", slow = "string" }

local function store_of(self, given)
  local store = dictionary.of(given, "store", "publisher", 3)
  local function wanted()
    return self._waiting > 0 and not self._closed
  end
  if store == nil then
    return nil
  elseif type(store.events) == "function" then
    return store:events(self._keep)
  elseif type(store.incr) == "function" then
    return stores.dictionary(store, self._keep, wanted)
  end
  error("bad option 'store' to 'publisher' (a shared dictionary of nginx or middleware.redis(url) expected)", 3)
end

local function count_of(options, name, default)
  local value = options[name] or default
  if not (value >= 1 and value < 2 ^ 31) then
    error(("bad option '%s' to 'publisher' (a number from 1 expected)"):format(name), 3)
  end
  return math.floor(value)
end

--- Makes a publisher: values under topics, for any number of readers.
---@param options? operations.PublisherOptions
---@return operations.Publisher
function publisher.new(options)
  argument.optional(options, "table", 1, "publisher")
  options = options or {}
  argument.options(options, kinds, "publisher")
  if options.slow ~= nil and options.slow ~= "cut" and options.slow ~= "skip" then
    error(("bad option 'slow' to 'publisher' (\"cut\" or \"skip\" expected, got %q)"):format(options.slow), 2)
  end
  local self = setmetatable({
    _keep = count_of(options, "keep", limits.publisher_keep), _slow = options.slow or "cut", _waiting = 0,
    _keep_bytes = count_of(options, "keep_bytes", limits.publisher_keep_bytes),
    _topics = setmetatable({}, { __mode = "v" }),
    _kept = lru.new(limits.publisher_topics, limits.publisher_bytes),
    _last = math.floor(scheduler.now()) * 1000, _closed = false,
    _count = { published = 0, cut = 0, skipped = 0, gaps = 0 },
  }, Publisher)
  self._store = store_of(self, options.store)
  if self._store then
    watch(self)
  end
  return self
end

return publisher

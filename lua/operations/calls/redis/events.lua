--- The events of a publisher in streams of Redis, one for each topic: every process that has a publisher with this
--- Redis hears every event. A channel tells that a topic has a new one.
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local link = require("operations.calls.redis.link")
local scripts = require("operations.calls.redis.scripts")

local redis_events = {}

-- Stream | value, events that are kept, ms after which a silent topic is forgotten, channel, topic. Ids are the time
-- of Redis in microseconds, or one more than the newest. Returns the id.
local append = scripts.new([[
local time, newest = redis.call("TIME"), redis.call("XREVRANGE", KEYS[1], "+", "-", "COUNT", 1)[1]
local before = newest and tonumber(string.match(newest[1], "^%d+")) or 0
local id = string.format("%.0f", math.max(time[1] * 1000000 + time[2], before + 1))
redis.call("XADD", KEYS[1], "MAXLEN", ARGV[2], id .. "-1", "b", string.format("%.0f", before), "d", ARGV[1])
redis.call("PEXPIRE", KEYS[1], ARGV[3])
redis.call("PUBLISH", ARGV[4], ARGV[5])
return id]], "string")

--- A store of `operations.publisher`.
---@class operations.RedisEvents : operations.PublisherStore
---@field _connection operations.RedisConnection
---@field _keep integer
---@field _prefix string
---@field _subscriber? operations.RedisLink
local Redis = {}
Redis.__index = Redis

local function key_of(self, topic)
  return self._prefix .. topic
end

function Redis:append(topic, text)
  local connected, err = self._connection:link()
  if not connected then
    return nil, err
  end
  local id
  id, err = append:call(connected, 1, { key_of(self, topic), text, self._keep, ("%d"):format(limits.publisher_age),
    self._prefix, topic })
  return id and tonumber(id), err
end

-- Reads { id, fields } of XRANGE.
local function event_of(entry)
  local event = { id = tonumber(entry[1]:match("^%d+")) }
  for i = 1, #entry[2], 2 do
    local name, value = entry[2][i], entry[2][i + 1]
    if name == "b" then
      event.before = tonumber(value)
    elseif name == "d" then
      event.text = value
    end
  end
  return event.before and event.text and event
end

function Redis:last(topic)
  local connected, err = self._connection:link()
  if not connected then
    return nil, err
  end
  local entries
  entries, err = connected:call("XREVRANGE", key_of(self, topic), "+", "-", "COUNT", 1)
  if not entries then
    return nil, err
  end
  return entries[1] and tonumber(entries[1][1]:match("^%d+")) or 0
end

function Redis:after(topic, id, most, done)
  local connected = self._connection:connected()
  if not connected then
    return done(nil, errors.new("UNAVAILABLE", "Redis is unavailable"))
  end
  connected:post(function(entries, err)
    local list = entries and {}
    for _, entry in ipairs(entries or {}) do
      list[#list + 1] = event_of(entry) or nil
    end
    done(list, err)
  end, "XRANGE", key_of(self, topic), ("%.0f-0"):format(id + 1), "+", "COUNT", most)
end

-- After an outage any topic may have new events.
function Redis:watch(told)
  self._told = told
end

function Redis:waits()
  if not self._subscriber then
    self._subscriber = link.start(self._connection:address(), {
      channels = { self._prefix },
      ready = function()
        self._told(nil)
      end,
      message = function(_, topic)
        self._told(topic)
      end,
    })
  end
end

function Redis:close()
  if self._subscriber then
    self._subscriber:close()
  end
end

--- The owner of a connection to Redis.
---@class operations.RedisConnection
---@field link fun(self): operations.RedisLink?, operations.Error?  connects if it has not; may wait
---@field connected fun(self): operations.RedisLink?  the connection, if there is one at the moment
---@field address fun(self): operations.RedisAddress

---@param connection operations.RedisConnection
---@param prefix string  of keys, and the channel
---@param keep integer  events of a topic
---@return operations.RedisEvents
function redis_events.new(connection, prefix, keep)
  return setmetatable({ _connection = connection, _keep = keep, _prefix = prefix }, Redis)
end

return redis_events

--- Delayed jobs: workers queue those whose time has come.
local limits = require("operations.base.limits")
local scheduler = require("operations.task.scheduler")
local scripts = require("operations.calls.redis.scripts")

local redis_delayed = {}

local MOST = 100 -- jobs that are queued at once

local function nothing() end

--- The member of a delayed job in the set of all.
---@param operation string
---@param id string
---@return string
function redis_delayed.member(operation, id)
  return operation .. " " .. id
end

--- The operation and the id of a member.
---@param member string
---@return string? operation
---@return string? id
function redis_delayed.parts(member)
  return member:match("^(%S+) (.*)$")
end

local function queue_due(shared, now, done)
  local later = shared.keys:later()
  shared.link:post(function(members)
    members = type(members) == "table" and members or {}
    for _, member in ipairs(members) do
      local operation, id = redis_delayed.parts(member)
      if operation then
        scripts.queue_delayed:send(shared.link, nothing, 4, { later, shared.keys:queue(operation),
          shared.keys:record(id), shared.keys:job(id), member, id })
      end
    end
    done(#members == MOST)
  end, "ZRANGEBYSCORE", later, "-inf", ("%.0f"):format(now), "LIMIT", 0, MOST)
end

--- Queues delayed jobs whose time has come, again and again.
---@param shared operations.RedisShared
---@param now fun(): number  ms since the epoch, by Redis' clock
---@return fun() stop
function redis_delayed.watch(shared, now)
  local stop, stopped
  local function look(more)
    stop = not stopped and scheduler.host().timer(more and 0 or limits.redis_due, function()
      if shared.link.connected then
        return queue_due(shared, now(), look)
      end
      look()
    end)
  end
  look()
  return function()
    stopped = true
    stop()
  end
end

return redis_delayed

--- What a server of the modern era says by itself: asked for in one request that stays open (`subscriptions/listen`,
--- 2026-07-28), and asked for again when it ends.
local limits = require("operations.base.limits")
local scheduler = require("operations.task.scheduler")
local task = require("operations.task")

local listening = {}

-- Between two requests, ms: doubles with every failure.
local PAUSE, LONGEST = 500, 30000

-- Endings after which asking again makes no sense.
local function is_final(session, err)
  local details = err and err.details or {}
  return session._ended or details.rpcCode ~= nil or details.kind == "closed" -- the next connection is listened to anew
end

local function run(session, filter, missed)
  local failures = 0
  while failures < limits.reconnects do
    local began = scheduler.host().now()
    local _, err = session:request("subscriptions/listen", { notifications = filter },
      { timeout = session._config.max_timeout, attached = true })
    if is_final(session, err) then
      return
    end
    failures = scheduler.host().now() - began > LONGEST and 1 or failures + 1
    task.sleep(math.min(PAUSE * 2 ^ (failures - 1), LONGEST) / 1000)
    missed()
  end
end

local function filter_of(session, uris)
  local filter = { resourceSubscriptions = uris[1] and uris or nil }
  for _, name in ipairs({ "tools", "prompts", "resources" }) do
    local capability = session.capabilities[name]
    if type(capability) == "table" and capability.listChanged == true then
      filter[name .. "ListChanged"] = true
    end
  end
  return next(filter) ~= nil and filter or nil
end

--- Begins to listen, or listens for something else from here on.
---@param session operations.mcp.Session
---@param uris string[]  resources that are watched
---@param missed fun()  told when it is listened to again: nobody said what changed meanwhile
function listening.start(session, uris, missed)
  listening.stop(session)
  local filter = filter_of(session, uris)
  if filter and session._config.stream ~= false then
    session._listening = task.detach(run, session, filter, missed)
  end
end

--- Listens no longer; what was not listened to stays so.
---@param session operations.mcp.Session
function listening.stop(session)
  if session._listening then
    session._listening:cancel("no longer listened to")
    session._listening = nil
  end
end

return listening

--- What a server of the modern era says by itself: asked for in one request that stays open (`subscriptions/listen`),
--- and asked for again when it ends.
local limits = require("operations.limits")
local scheduler = require("operations.scheduler")
local task = require("operations.task")

local listening = {}

-- Between two requests, ms: doubles with every failure.
local PAUSE, LONGEST = 500, 30000

-- Endings after which asking again makes no sense.
local function is_final(client, err)
  local details = err and err.details or {}
  return client._closed or details.rpcCode ~= nil or details.kind == "closed" -- the next connection is listened to anew
end

local function run(client, filter)
  local failures = 0
  while failures < limits.reconnects do
    local began = scheduler.host().now()
    local _, err = client._session:request("subscriptions/listen", { notifications = filter },
      { timeout = client._config.max_timeout, attached = true })
    if is_final(client, err) then
      return
    end
    failures = scheduler.host().now() - began > LONGEST and 1 or failures + 1
    task.sleep(math.min(PAUSE * 2 ^ (failures - 1), LONGEST) / 1000)
    client:_refresh_later() -- nobody said what changed meanwhile
  end
end

local function filter_of(client, uris)
  local filter = { resourceSubscriptions = uris[1] and uris or nil }
  for _, name in ipairs({ "tools", "prompts", "resources" }) do
    local capability = client._session.capabilities[name]
    if type(capability) == "table" and capability.listChanged == true then
      filter[name .. "ListChanged"] = true
    end
  end
  return next(filter) ~= nil and filter or nil
end

--- Begins to listen, or listens for something else from here on.
---@param client operations.mcp.Client
---@param uris string[]  resources that are watched
function listening.start(client, uris)
  listening.stop(client)
  local filter = filter_of(client, uris)
  if filter and client._config.stream ~= false then
    client._listening = task.detach(run, client, filter)
  end
end

---@param client operations.mcp.Client
function listening.stop(client)
  if client._listening then
    client._listening:cancel("no longer listened to")
    client._listening = nil
  end
end

return listening

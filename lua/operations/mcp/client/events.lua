--- The HTTP+SSE transport of 2024-11-05: one stream of events brings all messages; its first event names the URL to
--- POST to.
local duplex = require("operations.mcp.client.duplex")
local mcp_failure = require("operations.mcp.protocol.failure")
local message = require("operations.mcp.protocol.message")
local reply = require("operations.mcp.client.reply")
local requester = require("operations.mcp.client.requester")
local task = require("operations.task")
local url = require("operations.base.url")
local waits = require("operations.mcp.client.waits")

local events = {}

---@class operations.mcp.Events : operations.mcp.Duplex
local Events = duplex.class()
Events.verdict = "events"

local function endpoint_of(config, data)
  local target = url.resolve(config.url, data)
  if target and url.same_origin(config.url, target) then
    return target
  end
  return nil, mcp_failure.new("protocol", "the server's endpoint is at another origin")
end

-- Reads the stream to its end, in its own task.
local function listen(self, reader, stream)
  local err = reader:run(stream, function(event, data)
    if event == "message" then
      local value, problem, warning = message.decode(data)
      self:take(value, problem, data, warning)
    end
    return not self.closed
  end)
  stream:close()
  self:lost(mcp_failure.new("closed", "the server's stream ended" .. (err and ": " .. err.message or ""),
    { cause = err }))
end

local function open(config, listeners)
  local stream, err = requester.events(config, { Accept = "text/event-stream" })
  if not stream then
    return nil, err
  end
  local self = duplex.init(setmetatable({ _config = config }, Events), listeners)
  local reader, refusal = reply.reader(config.max_message), nil
  local broken = reader:run(stream, function(event, data)
    if event == "endpoint" then
      self._endpoint, refusal = endpoint_of(config, data)
      return false
    end
  end)
  if not self._endpoint then
    stream:close()
    return nil, refusal or broken
      or mcp_failure.new("protocol", "the server's stream names no endpoint")
  end
  self._reader = task.detach(listen, self, reader, stream)
  return self
end

--- Opens the stream and waits for the URL to POST to.
---@param config operations.mcp.Config
---@param listeners operations.mcp.LinkEvents
---@return operations.mcp.Events?
---@return operations.Error? err
function events.open(config, listeners)
  return waits.at_most(config.connect_timeout, open, config, listeners)
end

function Events:speak(_, version)
  self._version = version
end

function Events:_write(text)
  local timeout = self._config.timeout
  return waits.at_most(timeout, requester.deliver, self._config, {
    url = self._endpoint, method = "POST",
    headers = { ["Content-Type"] = "application/json", ["MCP-Protocol-Version"] = self._version },
  }, text, timeout)
end

function Events:_post(text)
  task.detach(self._write, self, text)
  return true
end

--- Ends the connection.
function Events:close()
  self:lost(mcp_failure.closed("the connection was closed"))
  self._reader:cancel("the connection was closed")
end

return events

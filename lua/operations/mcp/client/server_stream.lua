--- The stream on which a legacy server says things by itself (Streamable HTTP, 2025-03-26 to 2025-11-25): opened with
--- GET, opened again when it ends.
local event_reader = require("operations.mcp.client.event_reader")
local limits = require("operations.base.limits")
local requester = require("operations.mcp.client.requester")
local task = require("operations.task")

local server_stream = {}

-- Opens the stream; nil when there is none to be had, or not now.
local function open(link, reader)
  local all = link:headers("text/event-stream")
  all["Last-Event-ID"] = reader.last_id ~= "" and reader.last_id or nil
  local stream, err = requester.open(link._config, { url = link._config.url, method = "GET", headers = all })
  if not stream then
    return nil, err
  elseif stream.status == 200 and requester.media_type(stream) == "text/event-stream" then
    return stream
  end
  stream:close()
  return nil, nil, stream.status < 500
end

--- Listens until the link is closed or expired, the server has no such stream, or it fails too often in a row.
---@param link operations.mcp.Http
function server_stream.run(link)
  local reader, failures = event_reader.new(link._config.max_message), 0
  while not link.closed and not link.expired and failures < limits.reconnects do
    local stream, _, never = open(link, reader)
    if link._on_listening then
      link._on_listening()
    end
    if never then
      break
    end
    local before = reader.events
    if stream then
      reader:run(stream, function(event, data)
        if data ~= "" and event == "message" then
          link:receive(data)
        end
        return not link.closed and not link.expired
      end)
      stream:close()
    end
    failures = reader.events > before and 1 or failures + 1
    task.sleep(reader:delay(failures) / 1000)
  end
  link._listener = nil
end

return server_stream

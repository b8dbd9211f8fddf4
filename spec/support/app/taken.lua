-- /taken/WAY: takes over its connection. raises: its code raises; full: sends more than the queue holds, and notes the
-- reason of the refusal and how much there is to read; drained: notes how often it is told of room after one refusal;
-- lost: sends and does not read until the client is gone, and notes what it is told, and what it is answered then.
local operations = require("operations")
local scheduler = require("operations.task.scheduler")
local streams = require("operations.net.stream")

local HEAD = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
local notes = ngx.shared.notes
local ways = {}

function ways.raises()
  streams.take_over(function()
    error("taken: raised", 0)
  end)
end

function ways.full()
  streams.take_over(function(stream)
    local piece, pieces, sent, why = ("x"):rep(65536), 0, stream:offer(HEAD)
    while sent do
      sent, why = stream:offer(piece)
      pieces = pieces + (sent and 1 or 0)
    end
    assert(stream:write(piece)) -- when there is room
    notes:set("full", ("%s, %d"):format(why, #HEAD + (pieces + 1) * #piece))
    stream:linger(10000)
  end)
end

function ways.drained()
  local drains = 0
  scheduler.host().take_over({ queue = 65536 }, function(event)
    drains = drains + (event == "drain" and 1 or 0)
  end, function(connection)
    connection:transmit(HEAD)
    repeat
      local sent = connection:transmit(("x"):rep(65536))
    until sent == "full"
    repeat
      operations.sleep(0.005)
    until drains > 0
    for _ = 1, 3 do
      connection:transmit("x")
      operations.sleep(0.005)
    end
    notes:set("drained", drains)
    connection:cancel()
  end)
end

function ways.lost()
  local told = {}
  scheduler.host().take_over({ queue = 65536 }, function(event, kind)
    told[#told + 1] = event .. " " .. tostring(kind)
  end, function(connection)
    connection:transmit(HEAD)
    repeat
      operations.sleep(0.005)
      connection:transmit("x", true)
    until told[1]
    connection:receive() -- reads on
    operations.sleep(0.05)
    notes:set("lost", table.concat(told, ", ") .. ", " .. connection:transmit("x"))
    connection:cancel()
  end)
end

ways[ngx.var.uri:match("%l+$")]()

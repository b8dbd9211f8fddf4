local connection = require("operations.calls.websocket.connection")
local eventually = require("spec.support.eventually")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local operations = require("operations")
local scheduler = require("operations.task.scheduler")
local work = require("spec.support.work")

local function quiet() end

-- A stream whose other side reads nothing while it is full.
local function stuck_stream()
  local stream = { bytes = 0, answers = 0, full = false }
  local function take(bytes)
    stream.bytes = stream.bytes + #bytes
    for _ in bytes:gmatch('"requestId"') do
      stream.answers = stream.answers + 1
    end
    return true
  end
  function stream:offer(bytes, urgent)
    if self.full and not urgent then
      return false, "full"
    end
    return take(bytes)
  end
  function stream:write(bytes)
    assert.truthy(scheduler.here().task, "who takes what comes waits for room")
    while self.full do
      scheduler.await(function(wake)
        local others = self.wake or quiet
        self.wake = function()
          others()
          wake()
        end
      end)
    end
    return take(bytes)
  end
  function stream:drain()
    self.full = false
    if self.wake then
      self.wake()
    end
  end
  function stream:each_chunk(fn)
    self.on_chunk = fn
  end
  function stream:pause()
    self.on_chunk = nil
  end
  stream.close, stream.finish, stream.linger, stream.watch = quiet, quiet, quiet, quiet
  return stream
end

-- A frame as a client sends it, of less than 64 KiB.
local function frame(first, text)
  local length = #text < 126 and string.char(0x80 + #text)
    or string.char(0x80 + 126, math.floor(#text / 256), #text % 256)
  return string.char(first) .. length .. "\0\0\0\0" .. text
end

local function request(id, operation)
  local payload = { requestId = "r" .. id, operationId = operation, input = { n = 0 } }
  return frame(0x81, (assert(json.encode({ type = "call.requested", payload = payload }))))
end

-- Feeds frames, as the loop does it, until nobody takes them any more; how many were taken.
local function feed(stream, most, make)
  local taken = 0
  while taken < most and stream.on_chunk do
    local frames = {}
    for i = 1, 20 do
      frames[i] = make(taken + i)
    end
    scheduler.await(function(wake)
      return scheduler.host().timer(0, function()
        stream.on_chunk(table.concat(frames))
        wake()
      end)
    end)
    taken = taken + #frames
    operations.sleep(0) -- what was asked for is done
  end
  return taken
end

-- Runs `fn(stream, handler)` with a connection that a registry is served over.
local function with_connection(fn)
  operations.run(function()
    local stream = stuck_stream()
    local transport = connection.new(stream, true, {}, {})
    local map = operations.call_map(transport, { log = quiet })
    local handler = operations.call_handler(work(), map, { max_requests = 16 })
    transport:start("")
    stream.full = true
    fn(stream, handler)
    stream:drain()
    map:close()
  end)
end

describe("a WebSocket peer that reads no answers", function()
  for name, operation in pairs({
    ["what is not there"] = "work." .. ("x"):rep(500),
    ["what answers"] = "work.pid",
    ["streams that are over at once"] = "work.ticks",
  }) do
    it(("and asks on and on for %s is read no further, until it has"):format(name), function()
      with_connection(function(stream, handler)
        local function ask(i)
          return request(i, operation)
        end
        local taken = feed(stream, 100000, ask)
        assert.is_true(taken < 100000)
        assert.is_true(stream.bytes < 2 * limits.send_queue, stream.bytes .. " bytes are queued for it")
        assert.is_true(handler.active <= 16)
        stream:drain()
        eventually(function()
          return stream.on_chunk and handler.active == 0
        end)
        assert.equal(taken, stream.answers) -- each once
        assert.equal(100, feed(stream, 100, ask))
      end)
    end)
  end

  it("and sends pings on and on is read no further", function()
    with_connection(function(stream)
      local ping = frame(0x89, ("x"):rep(125))
      assert.is_true(feed(stream, 100000, function()
        return ping
      end) < 100000)
      assert.is_true(stream.bytes < 2 * limits.send_queue)
    end)
  end)

  it("but asks for little is read", function()
    with_connection(function(stream)
      assert.equal(1000, feed(stream, 1000, function(i)
        return request(i, "work.nothing")
      end))
    end)
  end)
end)

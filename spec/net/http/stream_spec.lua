local core = require("operations.core")
local eventually = require("spec.support.eventually")
local http_stream = require("operations.net.http.stream")
local operations = require("operations")
local task = require("operations.task")
local test_server = require("spec.support.server")
local http = require("operations.net.http")
local usage = require("spec.support.usage")

describe("a stream of an answer that was there whole", function()
  local function whole(body)
    return http_stream.whole("http://x/", 200, "", body)
  end

  it("gives the body once, then its end", function()
    local stream = whole("all")
    assert.equal(200, stream.status)
    assert.equal("all", stream:read())
    assert.is_nil((stream:read()))
    assert.is_nil((whole(""):read()))
  end)

  it("lends it as it is", function()
    local stream = whole("all")
    assert.same({ "all" }, { stream:lend() })
    assert.same({}, { stream:lend() })
  end)

  it("gives nothing once it is closed", function()
    local stream = whole("all")
    stream:linger(1)
    stream:close()
    stream:close()
    assert.is_nil((stream:read()))
  end)
end)

describe("a subscription over HTTP", function()
  local server = test_server.around(setup, teardown)

  local function note(key)
    return http.request({ url = server.url .. "/note/" .. key }).body
  end

  local function noted(key, text)
    return eventually(function()
      return note(key) == text
    end)
  end

  local function accepted()
    return tonumber(http.request({ url = server.url .. "/connections" }).body:match("requests%s*(%d+)"))
  end

  -- Leaves a stream after its first bytes; how many connections the next one needed.
  local function leave(path, ms)
    local stream = assert(http.open({ url = server.url .. path }))
    assert(stream:read())
    stream:linger(ms)
    eventually(function()
      return stream._ended
    end)
    local before = accepted()
    stream = assert(http.open({ url = server.url .. "/bytes?size=1" }))
    while stream:read() do end
    return accepted() - before
  end

  it("may be left, and lends its connection to others when it ends in time", function()
    assert.equal(0, leave("/sse?count=3&delay=0.01", 5000))
    assert.equal(1, leave("/sse?count=3&delay=2", 10))
  end)

  it("is read on after the deadline of the task that opened it", function()
    local stream = task.run(function()
      task.deadline(core.now() + 400)
      return assert(http.open({ url = server.url .. "/sse?count=3&delay=0.3" }))
    end)
    local text = {}
    for part in stream.read, stream do
      text[#text + 1] = part
    end
    assert.equal(3, select(2, table.concat(text):gsub("data:", "")))
  end)

  local function subscribe(path, config, media)
    config = config or {}
    config.namespace = "api"
    local registry = operations.registry({ on_warning = function() end })
    local query = path:match("%?(.*)$")
    assert(registry:register_all(assert(operations.from_openapi.document({
      openapi = "3.1.0",
      info = { title = "t", version = "1" },
      servers = { { url = server.url } },
      paths = { [path:gsub("%?.*$", "") .. (query and "?" .. query or "")] = { get = {
        operationId = "watch",
        responses = { ["200"] = { description = "",
          content = { [media or "text/event-stream"] = { schema = { type = "object" } } } } },
      } } },
    }, config))))
    return assert(registry:subscribe("api.watch", {}))
  end

  it("gives each event as it comes", function()
    local data = {}
    for envelope in subscribe("/sse?count=3&delay=0.01") do
      data[#data + 1] = envelope.data.n
      assert.equal(tostring(#data), envelope.meta.lastEventId)
    end
    assert.same({ 1, 2, 3 }, data)
  end)

  it("closes the connection at once when the loop is left", function()
    local subscription = subscribe("/sse?count=100000&delay=0.01&note=left")
    for envelope in subscription do
      if envelope.data.n == 2 then
        break
      end
    end
    subscription:close()
    assert.is_true(noted("left", "aborted"))
  end)

  it("fails when nothing comes for too long", function()
    local subscription = subscribe("/sse?count=2&delay=60", { idle_timeout = 500 })
    assert.equal(1, subscription:next().data.n)
    local envelope, err = subscription:next()
    assert.is_nil(envelope)
    assert.equal("TIMEOUT", err.code)
    assert.equal("idle", err.details.phase)
  end)

  it("does not fail when its reader takes long", function()
    local subscription = subscribe("/bytes/lines?size=2000000", { idle_timeout = 1000, max_event = 100000 },
      "application/x-ndjson")
    local count = 0
    for _ in subscription do
      count = count + 1
      if count == 1 then
        -- waits: libcurl counts idle time in whole seconds
        task.sleep(1.2)
      end
    end
    assert.is_true(count > 1)
  end)

  it("continues with the last event id after a connection was lost", function()
    local data = {}
    for envelope in subscribe("/resume?key=resume&upto=6", { reconnect = { delay = 1 } }) do
      data[#data + 1] = envelope.data.n
    end
    assert.same({ 1, 2, 3, 4, 5, 6 }, data)
  end)

  it("is an error with the body when the answer is of another type", function()
    local _, err = subscribe("/status/200"):next()
    assert.equal("EXECUTION_ERROR", err.code)
    assert.matches('"title":"as asked"', err.details.body, 1, true)
    _, err = subscribe("/status/401"):next()
    assert.equal("HTTP_401", err.code)
  end)

  it("is an error with the received part of the body when the answer is of another type and does not end", function()
    local _, err = subscribe("/fault/stalled_error", { timeout = 700 }):next()
    assert.equal("HTTP_500", err.code)
    assert.equal("some", err.details.body)
    _, err = subscribe("/fault/stalled_body", { timeout = 700 }):next()
    assert.equal("response", err.details.kind)
    assert.equal("some", err.details.body)
  end)

  it("holds a server back that sends without end, in flat memory", function()
    local subscription = subscribe("/bytes/events?note=flood")
    local sent, seen, before = 0, 0, nil
    while seen < 200 * 1024 * 1024 do -- 200 MiB of data go by
      seen = seen + #assert(subscription:next()).data.text
      if not before and seen > 20 * 1024 * 1024 then
        collectgarbage()
        before = usage.resident()
      end
    end
    collectgarbage()
    if not os.getenv("ASAN_OPTIONS") then -- the sanitizer keeps what was freed
      assert.is_true(usage.resident() - before < 16 * 1024)
    end
    for _ = 1, 100 do -- nobody reads: the server is stopped
      local last = sent
      task.sleep(0.05)
      sent = tonumber(note("flood"))
      if sent == last then
        break
      end
    end
    local stopped = sent
    task.sleep(0.1)
    assert.equal(stopped, tonumber(note("flood")))
    assert.is_true(stopped - seen < 64 * 1024 * 1024) -- what the sockets hold, and the JSON around the text
    subscription:close()
    assert.is_true(noted("flood.end", "aborted"))
  end)

  it("obeys the deadline of its context", function()
    task.run(function()
      task.deadline(core.now() + 100)
      local subscription = subscribe("/sse?count=2&delay=20", { reconnect = true })
      local ok, err
      repeat
        ok, err = subscription:next()
      until not ok
      assert.equal("TIMEOUT", err.code)
    end)
  end)
end)

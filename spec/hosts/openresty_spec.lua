local eventually = require("spec.support.eventually")
local http = require("operations.net.http")
local inside = require("spec.support.inside")
local is_running = require("spec.support.running")
local streams = require("operations.net.stream")
local task = require("operations.task")
local test_server = require("spec.support.server")

describe("OpenResty", function()
  local missing = inside.missing("nginx")
  if missing then
    pending(missing)
    return
  end

  local upstream, app

  local function get(path, server)
    local response = assert(http.request({ url = (server or app).url .. path, timeout = 20000 }))
    return response.body, response
  end

  local function state(server)
    local pid, fds, threads = get("/state", server):match("(%d+) (%d+) (%d+)")
    return { pid = tonumber(pid), fds = tonumber(fds), threads = tonumber(threads) }
  end

  setup(function()
    upstream = test_server.start()
    app = test_server.start({ app = true })
  end)

  teardown(function()
    app:stop()
    upstream:stop()
  end)

  it("fulfils the contract of a host, in a timer's light thread", function()
    local result = inside.nginx("spec/support/run_busted.lua", "BUSTED_ARGS='-o TAP spec/hosts/inside/openresty.lua'")
    local tap = inside.tap(result.out)
    assert.equal("", tap.failures)
    assert.equal(0, result.code)
    -- nginx reaps all children and says so of those that it did not start.
    local log = result.log:gsub("[^\n]*unknown process %d+ exited[^\n]*\n", "")
    local _, logged = log:gsub("\n", "\n")
    assert.equal(1, logged, log) -- one spec breaks the relay
    assert.matches("the reactor's relay: closed", result.log)
    assert.equal(tap.planned, tap.passed)
    assert.is_true(tap.passed > 80)
  end)

  it("runs an operation on the thread of the request that calls it", function()
    local body, response = get("/proxy?times=3&url=" .. upstream.url .. "/small")
    assert.equal("200\n200\n200\n", body)
    assert.equal("/proxy", response.headers["x-handler"])
  end)

  it("runs tasks in the request that spawned them", function()
    local body = get("/tasks?count=40&url=" .. upstream.url .. "/small")
    assert.equal(("/tasks 200\n"):rep(40), body)
  end)

  it("logs failures of tasks that are not awaited, at level error", function()
    local other = test_server.start({ app = true })
    get("/lost", other)
    eventually(function()
      return other:log():match("%[error%][^\n]*operations: lost: raised")
        and other:log():match("%[error%][^\n]*operations: NOT_FOUND: lost: returned")
    end)
    assert.equal(2, select(2, other:log():gsub("lost: ", "")))
    other:stop()
  end)

  it("sends a stream's events on as they come", function()
    local url = upstream.url .. "/sse%3Fcount=100%26delay=0.1%26note=events"
    local stream = assert(http.open({ url = app.url .. "/events?url=" .. url }))
    local seen = ""
    while not seen:find("4") do
      seen = seen .. assert(stream:read())
    end
    assert.matches('^{"n":1}\n{"n":2}\n{"n":3}\n{"n":4}\n', seen)
    assert.equal("none", (get("/note/events", upstream))) -- more are to come
    stream:close()
  end)

  it("serves other requests while 64 of them wait", function()
    local functions, pongs, waiting = {}, 0, 64
    for i = 1, 64 do
      functions[i] = function()
        local body = get("/proxy?url=" .. upstream.url .. "/slow%3Fhead=1")
        waiting = waiting - 1
        return body
      end
    end
    functions[65] = function()
      task.sleep(0.05)
      while waiting == 64 do
        pongs = pongs + (get("/ping") == "pong\n" and 1 or 0)
      end
      return true
    end
    assert.equal("200\n", assert(task.all(functions))[64])
    assert.is_true(pongs > 0)
  end)

  it("serves other requests while one has all its calls answered at once", function()
    local pongs, done = 0, false
    local bodies = assert(task.all({
      function()
        local body = get("/proxy?times=3000&url=" .. upstream.url .. "/small")
        done = true
        return body
      end,
      function()
        while not done do
          pongs = pongs + (get("/ping") == "pong\n" and 1 or 0)
        end
        return true
      end,
    }))
    assert.equal(3000 * #"200\n", #bodies[1])
    assert.is_true(pongs > 0)
  end)

  it("cancels what a request waits for when its client goes away", function()
    local request = task.spawn(http.request, {
      url = app.url .. "/proxy?url=" .. upstream.url .. "/slow%3Fhead=60%26note=left",
    })
    eventually(function()
      return get("/note/left", upstream) == "started"
    end)
    request:cancel()
    eventually(function()
      return get("/note/left", upstream) == "aborted"
    end)
  end)

  it("continues when the clients of waiting requests leave", function()
    local url = app.url .. "/events?url=" .. upstream.url .. "/sse%3Fcount=100%26delay=0.01"
    local before, clients = state().pid, {}
    for i = 1, 30 do
      clients[i] = function()
        local stream = assert(http.open({ url = url }))
        assert(stream:read())
        stream:close()
        return true
      end
    end
    for _ = 1, 3 do
      assert(task.all(clients))
    end
    assert.equal(before, state().pid)
    assert.is_nil(app:log():match("semaphore gc[^\n]*"))
  end)

  it("starts operations in a phase that cannot wait, and says so to those that would", function()
    get("/log_phase?url=" .. upstream.url .. "/slow%3Fnote=logged")
    eventually(function()
      return get("/note/logged", upstream) == "finished"
    end)
    eventually(function()
      return get("/ready") == "ready\n"
    end)
    local _, response = get("/header_phase")
    assert.matches("cannot wait here", response.headers["x-refused"])
    assert.matches("cannot wait here", response.headers["x-refused-inside"]) -- in a coroutine of its own
  end)

  it("keeps no thread and no descriptor once nothing is pending", function()
    local function idle()
      local now
      eventually(function()
        now = state()
        return now.threads == 1
      end)
      return now
    end
    local function work()
      for _ = 1, 30 do
        get("/proxy?url=" .. upstream.url .. "/small")
      end
      assert.equal(2, state().threads)
    end
    work()
    local before = idle()
    work()
    assert.is_true(idle().fds <= before.fds)
  end)

  it("closes idle connections after keep_alive, without another request", function()
    local other = test_server.start({ app = true, init = 'require("operations").http.limits.keep_alive = 1000' })
    get("/proxy?url=" .. upstream.url .. "/small", other)
    local before = state(other).fds
    for _ = 1, 2 do
      assert.equal(("/tasks 200\n"):rep(20), (get("/tasks?count=20&url=" .. upstream.url .. "/slow%3Fhead=0.1", other)))
      assert.is_true(state(other).fds >= before + 10)
      eventually(function()
        return state(other).fds <= before
      end)
    end
    other:stop()
  end)

  it("loads in the master and works in each worker that is forked from it", function()
    local forked = test_server.start({ app = true, workers = 2 })
    local pids, count = {}, 0
    local function ask()
      local response = assert(http.request({
        url = forked.url .. "/proxy?url=" .. upstream.url .. "/slow%3Fhead=0.02",
        headers = { Connection = "close" },
      }))
      local pid = response.headers["x-worker"]
      count = count + (pids[pid] and 0 or 1)
      pids[pid] = true
      return response.body
    end
    eventually(function()
      local asked = {}
      for i = 1, 16 do
        asked[i] = ask
      end
      assert.equal("200\n", assert(task.all(asked))[16])
      return count == 2
    end)
    forked:stop()
  end)

  it("finishes waiting requests during a reload, then lets the old worker end", function()
    local old, new = state().pid, nil
    assert(task.all({
      function()
        assert.equal("200\n", (get("/proxy?url=" .. upstream.url .. "/slow%3Fhead=0.5")))
        return true
      end,
      function()
        task.sleep(0.1)
        inside.shell("kill -HUP " .. app.pid)
        eventually(function()
          new = state().pid
          return new ~= old
        end)
        assert.equal("200\n", (get("/proxy?url=" .. upstream.url .. "/small")))
        return true
      end,
    }))
    eventually(function()
      return not is_running(old)
    end, 100000) -- nginx gives a connection on which nothing was asked yet a minute
    assert.is_true(is_running(new))
  end)

  it("cleans up after collected handles in a light thread, and ends a worker with open ones", function()
    local other = test_server.start({ app = true })
    get("/abandoned", other)
    eventually(function()
      return tonumber((get("/abandoned", other))) >= 1
    end)
    get("/abandoned?keep=1", other)
    local old = state(other).pid
    inside.shell("kill -HUP " .. other.pid)
    eventually(function()
      return not is_running(old)
    end)
    eventually(function()
      return state(other).pid ~= old
    end)
    assert.is_nil(other:log():match("%[error%][^\n]*"))
    assert.is_nil(other:log():match("%[alert%][^\n]*"))
    other:stop()
  end)

  for what, case in pairs({
    reload = { "-HUP" }, quit = { "-QUIT" }, stop = { "-TERM" },
    ["reload that does not wait"] = { "-HUP", "worker_shutdown_timeout 1;" },
  }) do
    it("logs nothing above info when nginx does this while tasks wait in the background: " .. what, function()
      local other = test_server.start({ app = true, main = case[2],
        init = 'require("operations.base.limits").exit_grace = 500' })
      get("/background?url=" .. upstream.url .. "/sse%3Fcount=1000%26delay=0.05", other)
      eventually(function()
        return get("/background", other) == "waiting\n"
      end)
      local old = state(other).pid
      inside.shell(("kill %s %d"):format(case[1], other.pid))
      eventually(function()
        return not is_running(old)
      end)
      local log = other:log()
      other:stop()
      for _, level in ipairs({ "warn", "error", "crit", "alert", "emerg" }) do
        assert.is_nil(log:match("%[" .. level .. "%][^\n]*"))
      end
    end)
  end

  it("says what was raised in what is done when a worker ends", function()
    local other = test_server.start({ app = true })
    get("/leaving", other)
    inside.shell("kill -HUP " .. other.pid)
    eventually(function()
      return other:log():match("%[error%][^\n]*leaving: raised")
    end)
    other:stop()
  end)

  describe("lets a connection be taken over", function()
    local taking

    setup(function()
      taking = test_server.start({ app = true, directives = "lua_check_client_abort off;" })
    end)

    teardown(function()
      taking:stop()
    end)

    -- A connection on which a request was made.
    local function ask(server, path)
      local stream = assert(streams.connect("127.0.0.1", server.port))
      local got = { bytes = "" }
      stream:each_chunk(function(bytes)
        got.bytes, got.ended = got.bytes .. (bytes or ""), bytes == nil
      end)
      stream:offer(("GET %s HTTP/1.1\r\nHost: a\r\n\r\n"):format(path))
      return stream, got
    end

    local function noted(server, key)
      return eventually(function()
        local note = get("/noted/" .. key, server)
        return note ~= "none\n" and note
      end)
    end

    it("and says what was raised by the code that did", function()
      get("/taken/raises", taking)
      eventually(function()
        return taking:log():match("%[error%][^\n]*taken: raised")
      end)
    end)

    it("and refuses messages for which its queue has no room, and accepts them again once there is room", function()
      local stream, got = ask(taking, "/taken/full")
      local reason, length = noted(taking, "full"):match("(%l+), (%d+)")
      assert.equal("full", reason)
      eventually(function()
        return got.ended
      end)
      assert.equal(tonumber(length), #got.bytes)
      stream:close()
    end)

    it("and tells it once of the room after a refusal", function()
      local stream = ask(taking, "/taken/drained")
      assert.equal("1\n", noted(taking, "drained"))
      stream:close()
    end)

    for what, server_of in pairs({
      ["sends"] = function()
        return taking
      end,
      ["looks for that itself"] = function() -- lua_check_client_abort
        return app
      end,
    }) do
      it("and says once that its client has gone, where no code reads and nginx " .. what, function()
        local server = server_of()
        local stream, got = ask(server, "/taken/lost")
        eventually(function()
          return got.bytes ~= ""
        end)
        stream:close()
        assert.equal("error reset, closed\n", noted(server, "lost"))
      end)
    end
  end)

  it("leaks nothing when each request has a Lua state of its own", function()
    local uncached = test_server.start({ app = true, code_cache = false })
    get("/ping", uncached)
    local before = state(uncached)
    for _ = 1, 30 do
      assert.equal("200\n", (get("/proxy?url=" .. upstream.url .. "/small", uncached)))
    end
    eventually(function()
      local now = state(uncached)
      return now.threads <= before.threads and now.fds <= before.fds
    end)
    uncached:stop()
  end)

  it("adds no error to the log itself", function()
    assert.is_nil(app:log():match("%[error%][^\n]*"))
    assert.is_nil(app:log():match("%[alert%][^\n]*"))
  end)
end)

local eventually = require("spec.support.eventually")
local inside = require("spec.support.inside")
local operations = require("operations")
local redis = require("spec.support.redis")
local test_server = require("spec.support.server")

-- A registry with a stream of the topic "room".
local function watched(events, middleware, schema)
  local registry = operations.registry({ middleware = middleware })
  assert(registry:register({ namespace = "room", name = "watch", type = "subscription", outputSchema = schema,
    handler = function(_, context)
      return events:subscribe("room", context.lastEventId)
    end }))
  return registry
end

local function open(registry, last_event_id)
  return assert(registry:subscribe("room.watch", {}, { lastEventId = last_event_id }))
end

-- The next event of a stream that waits for it before `publish` runs.
local function next_of(stream, publish)
  local reader = operations.spawn(stream.next, stream)
  operations.sleep(0)
  publish()
  return reader:wait()
end

local function numbers(stream, count)
  local list = {}
  for i = 1, count do
    list[i] = assert(stream:next()).data.n
  end
  stream:close()
  return list
end

local function publish(events, first, last)
  local id
  for n = first, last do
    id = assert(events:publish("room", { n = n }))
  end
  return id
end

describe("a publisher", function()
  it("gives an event to all readers, one envelope for an operation", function()
    operations.run(function()
      local events = operations.publisher()
      local registry = watched(events)
      local readers, got = { open(registry), open(registry) }, {}
      local tasks = {}
      for i, reader in ipairs(readers) do
        tasks[i] = operations.spawn(function()
          got[i] = reader:next()
        end)
      end
      operations.sleep(0)
      local value = { n = 1 }
      local id = assert(events:publish("room", value))
      value.n = 2 -- the event is what it was
      tasks[1]:wait()
      tasks[2]:wait()
      assert.same({ 1, id, "room.watch" }, { got[1].data.n, got[1].meta.lastEventId, got[1].meta.operationId })
      assert.equal(got[1], got[2])
      assert.is_true((events:publish("other", 1)) ~= nil)
      readers[1]:close()
      readers[2]:close()
    end)
  end)

  it("encodes an event once for the readers of an event stream", function()
    local encode, encoded = operations.json.encode, 0
    local events = operations.publisher()
    local server = assert(operations.to_http(watched(events)))
    local function answer(accept)
      return server:handle({ method = "GET", target = "/room/watch", headers = { accept = accept } })
    end
    operations.run(function()
      local answers = { answer(), answer(), answer(), answer("application/x-ndjson") }
      for i = 1, 3 do
        assert.equal("retry: 2000\n\n", answers[i].body())
      end
      local got, tasks = {}, {}
      for i, each in ipairs(answers) do
        tasks[i] = operations.spawn(function()
          got[i] = each.body()
        end)
      end
      operations.sleep(0)
      operations.json.encode = function(...)
        encoded = encoded + 1
        return encode(...)
      end
      local id = events:publish("room", { n = 1 })
      for _, each in ipairs(tasks) do
        each:wait()
      end
      operations.json.encode = encode
      local text = ("id: %s\ndata: {\"n\":1}\n\n"):format(id)
      assert.same({ text, text, text, '{"n":1}\n' }, got)
      assert.equal(3, encoded) -- by `publish`, and for each of both forms
      server:close()
    end)
  end)

  it("resumes after an id, from the beginning, and tells of a gap", function()
    operations.run(function()
      local events = operations.publisher({ keep = 3 })
      local registry = watched(events)
      local first = publish(events, 1, 1)
      local second = publish(events, 2, 2)
      assert.same({ 2 }, numbers(open(registry, first), 1))
      publish(events, 3, 4)
      assert.same({ 3, 4 }, numbers(open(registry, second), 2))
      assert.same({ 2, 3, 4 }, numbers(open(registry, first), 3))
      publish(events, 5, 5)
      for id, gap in pairs({ [first] = true, ["0"] = false, ["what?"] = true, ["7"] = true,
        ["9007199254740991"] = true, [second] = false }) do
        local feed = assert(events:subscribe("room", id))
        assert.same({ id, gap, { n = 3 } }, { id, feed.gap, (feed()) })
      end
      assert.same({ cut = 0, gaps = 4, published = 5, skipped = 0 }, events:statistics())
      local later = operations.publisher() -- as the next process makes it
      operations.sleep(0.002)
      assert.is_true(assert(operations.publisher():subscribe("room", second)).gap)
      later:close()
    end)
  end)

  it("cuts off a reader that is too slow, or lets it skip", function()
    operations.run(function()
      for slow, expected in pairs({ cut = "BUSY", skip = 9 }) do
        local events = operations.publisher({ keep = 2, slow = slow })
        local stream = open(watched(events))
        assert.equal(1, next_of(stream, function()
          publish(events, 1, 1)
        end).data.n)
        publish(events, 2, 10)
        local envelope, err = stream:next()
        assert.equal(expected, envelope and envelope.data.n or err.code)
        assert.equal(slow == "cut" and true or nil, err and err.retryable)
        local count = events:statistics()
        assert.same({ slow == "cut" and 1 or 0, slow == "skip" and 1 or 0 }, { count.cut, count.skipped })
        stream:close()
      end
    end)
  end)

  it("lets its readers run while a loop publishes more than it keeps", function()
    operations.run(function()
      local events = operations.publisher({ keep = 4 })
      local stream = open(watched(events))
      local reader = operations.spawn(numbers, stream, 100)
      operations.sleep(0)
      publish(events, 1, 100)
      assert.equal(100, #reader:wait())
      assert.equal(0, events:statistics().cut)
    end)
  end)

  it("checks each event once against the schema of an operation", function()
    operations.run(function()
      local warnings = {}
      local T = operations.type
      local events = operations.publisher()
      local registry = operations.registry({ on_warning = function(warning)
        warnings[#warnings + 1] = warning.issues[1].path
      end })
      assert(registry:register({ namespace = "room", name = "watch", type = "subscription", outputSchema = T.object({
        n = T.integer() }), handler = function() return events:subscribe("room") end }))
      local strict = operations.registry({ on_mismatch = "fail" })
      assert(strict:register({ namespace = "a", name = "b", type = "subscription", outputSchema = T.object({
        n = T.string() }), handler = function() return events:subscribe("room") end }))
      local one, same, other = open(registry), open(registry), assert(strict:subscribe("a.b", {}))
      local function read()
        return { operations.spawn(one.next, one), operations.spawn(same.next, same),
          operations.spawn(other.next, other) }
      end
      local readers = read()
      operations.sleep(0)
      events:publish("room", { n = "7", more = true })
      assert.same({ n = 7 }, readers[1]:wait().data)
      assert.same({ n = "7" }, readers[3]:wait().data)
      readers = read()
      operations.sleep(0)
      events:publish("room", {})
      assert.is_nil(readers[1]:wait().data.n)
      assert.is_nil(readers[2]:wait().data.n)
      assert.equal("OUTPUT_INVALID", select(2, readers[3]:wait()).code)
      assert.same({ "/n" }, warnings)
      one:close()
      same:close()
    end)
  end)

  it("is seen by middleware until the stream ends", function()
    operations.run(function()
      local ends = 0
      local events = operations.publisher()
      local stream = open(watched(events, { function(handler)
        return function(input, context)
          context.defer(function()
            ends = ends + 1
          end)
          return handler(input, context)
        end
      end }))
      assert.equal(1, next_of(stream, function()
        publish(events, 1, 1)
      end).data.n)
      assert.equal(0, ends)
      local reader = operations.spawn(stream.next, stream)
      operations.sleep(0)
      events:close()
      assert.is_nil((reader:wait()))
      assert.equal(1, ends)
    end)
  end)

  it("does not keep readers that left", function()
    operations.run(function()
      local events = operations.publisher()
      local registry = watched(events)
      for _ = 1, 10 do
        local stream = open(registry)
        local reader = operations.spawn(stream.next, stream)
        operations.sleep(0)
        stream:close()
        reader:wait()
      end
      assert.equal(0, events._waiting)
      assert.equal(0, #events._topics.room.waiting)
      local weak = setmetatable({ events._topics.room }, { __mode = "v" })
      collectgarbage()
      collectgarbage()
      assert.is_nil(weak[1]) -- nothing was published
    end)
  end)

  it("refuses values that are not JSON, large ones and wrong options", function()
    local events = operations.publisher()
    local _, err = events:publish("room", function() end)
    assert.equal("VALIDATION_ERROR", err.code)
    _, err = events:publish("room", ("x"):rep(2 * 1024 * 1024))
    assert.truthy(err.message:find("has 2097154 bytes", 1, true))
    for _, options in ipairs({ { keep = 0 }, { keep = 0 / 0 }, { keep_bytes = -1 }, { slow = "wait" }, { store = {} },
      { store = "typo" }, { much = 1 } }) do
      assert.is_false((pcall(operations.publisher, options)))
    end
  end)
end)

describe("the handler of a subscription", function()
  it("may return an iterator, whose values are events", function()
    local registry = operations.registry()
    local list = { 3, 4 }
    assert(registry:register({ namespace = "a", name = "b", type = "subscription", handler = function()
      return coroutine.wrap(function()
        for i, value in ipairs(list) do
          coroutine.yield(value, { id = i })
        end
      end)
    end }))
    local got = {}
    for envelope in assert(registry:subscribe("a.b")) do
      got[#got + 1] = envelope.meta.lastEventId .. ":" .. envelope.data
    end
    assert.same({ "1:3", "2:4" }, got)
  end)
end)

describe("a publisher with Redis", function()
  if not inside.has("redis-server") then
    pending("redis-server is not installed")
    return
  end

  local function make(server, options)
    local store = operations.middleware.redis(server.url)
    local events = operations.publisher({ store = store, keep = options and options.keep or 5,
      slow = options and options.slow })
    return events, watched(events), function()
      events:close()
      store:close()
    end
  end

  it("is heard in every process, and resumed at any", function()
    local server = redis.start()
    operations.run(function()
      local here, at_here, close_here = make(server)
      local there, at_there, close_there = make(server)
      local readers = { open(at_here), open(at_there) }
      local tasks = { operations.spawn(numbers, readers[1], 2), operations.spawn(numbers, readers[2], 2) }
      eventually(function()
        return here._waiting == 1 and there._waiting == 1
      end)
      local first = publish(here, 1, 1)
      publish(there, 2, 2)
      assert.same({ 1, 2 }, tasks[1]:wait())
      assert.same({ 1, 2 }, tasks[2]:wait())
      publish(here, 3, 4)
      assert.same({ 2, 3, 4 }, numbers(open(at_there, first), 3))
      assert.is_true((assert(tonumber(first)) > 1e15))
      publish(here, 5, 8)
      local feed = assert(there:subscribe("room", first))
      assert.same({ true, { n = 4 } }, { feed.gap, (feed()) })
      assert.is_false(assert(there:subscribe("room", "0")).gap)
      close_here()
      close_there()
    end)
    server.stop()
  end)

  it("loses no event in an outage", function()
    local directory = inside.shell("mktemp -d").out:match("%S+")
    local server = redis.start(nil, directory)
    operations.run(function()
      local here, at_here, close_here = make(server, { keep = 50 })
      local there, _, close_there = make(server)
      local reader = operations.spawn(numbers, open(at_here), 3)
      eventually(function()
        return here._waiting == 1
      end)
      publish(there, 1, 1)
      eventually(function()
        return here._topics.room.log:count_after(0) == 1
      end)
      server.stop()
      eventually(function()
        local _, err = there:publish("room", { n = 0 })
        return err and (err.code == "UNAVAILABLE" or err.code == "TRANSPORT_LOST")
      end)
      server = redis.start(server.port, directory)
      eventually(function()
        return there:publish("room", { n = 2 })
      end)
      publish(there, 3, 3)
      assert.same({ 1, 2, 3 }, reader:wait())
      close_here()
      close_there()
    end)
    server.stop()
    os.execute("rm -rf " .. directory)
  end)
end)

describe("a publisher in nginx", function()
  local missing = inside.missing("nginx")
  if missing then
    pending(missing)
    return
  end

  it("is heard by the readers at all of 4 workers, and resumed at any", function()
    local app = test_server.start({ app = true, workers = 4,
      init = 'package.loaded["spec.events"] = require("operations").publisher({ store = "notes", keep = 20 })' })
    local function say(n)
      local answer = assert(operations.http.request({ method = "POST", url = app.url .. "/published/room/say",
        headers = { ["content-type"] = "application/json", connection = "close" }, body = ('{"n":%d}'):format(n) }))
      return operations.json.decode(answer.body)
    end
    -- A reader, once it has its place, and the process that it is at.
    local function reader(id)
      local found = { got = {} }
      found.task = operations.spawn(function()
        local stream = assert(operations.http.open({ url = app.url .. "/published/room/watch",
          headers = { ["last-event-id"] = id } }))
        local parser = operations.sse_parser(function(event)
          local data = operations.json.decode(event.data)
          if event.event == "end" then
            found.ended = data.reason
          elseif data.worker then
            found.worker, found.gap = data.worker, data.gap
          else
            found.got[#found.got + 1] = data.n
          end
        end)
        for chunk in stream:chunks() do
          parser:feed(chunk)
        end
      end)
      eventually(function()
        return found.worker
      end)
      return found
    end
    operations.run(function()
      local readers, workers, count = {}, {}, 0
      eventually(function()
        local one = reader()
        readers[#readers + 1] = one
        count = count + (workers[one.worker] and 0 or 1)
        workers[one.worker] = true
        return count == 4
      end)
      local first = say(1).id
      for n = 2, 8 do
        say(n)
      end
      eventually(function()
        for _, each in ipairs(readers) do
          if #each.got < 8 then
            return false
          end
        end
        return true
      end)
      for _, each in ipairs(readers) do
        assert.same({ 1, 2, 3, 4, 5, 6, 7, 8 }, each.got)
      end
      local again, at = {}, {}
      repeat
        again[#again + 1] = reader(first)
        at[again[#again].worker] = true
      until next(at, next(at)) ~= nil
      eventually(function()
        return #again[1].got == 7 and #again[#again].got == 7
      end)
      for n = 9, 30 do
        say(n)
        if n % 10 == 0 then -- the log keeps 20, and readers look for events every 50 ms
          eventually(function()
            for _, each in ipairs(readers) do
              if each.got[#each.got] ~= n then
                return false
              end
            end
            return again[1].got[#again[1].got] == n and again[#again].got[#again[#again].got] == n
          end)
        end
      end
      local late = reader(first)
      assert.is_true(late.gap)
      eventually(function()
        return late.got[1] == 11 and #readers[1].got == 30
      end)
      -- A reload ends the streams at once: their readers come back to new workers.
      assert(os.execute("kill -HUP " .. app.pid))
      for _, list in ipairs({ readers, again, { late } }) do
        for _, each in ipairs(list) do
          each.task:wait()
          assert.equal("draining", each.ended)
        end
      end
      local back = reader(say(31).id)
      assert.is_nil(workers[back.worker])
      say(32)
      eventually(function()
        return back.got[1] == 32
      end)
      back.task:cancel()
    end)
    app:stop()
  end)
end)

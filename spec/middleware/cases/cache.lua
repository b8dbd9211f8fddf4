local operations = require("operations")

local cache = operations.middleware.cache

return function(kit)
  local it, assert, failure = kit.it, kit.assert, kit.failure

  -- A query behind a cache that answers with its number, in an HTTP answer with `headers` where there are some.
  local function served(options, headers, definition)
    local self = { calls = 0, headers = headers, etags = {}, kept = cache(options) }
    local given = { handler = function(_, context)
      self.calls = self.calls + 1
      self.etags[self.calls] = context.ifNoneMatch or "-"
      local number = self.calls
      if self.delay then
        operations.sleep(self.delay)
      end
      if self.failure then
        return nil, self.failure
      end
      return self.headers and operations.http_envelope({ n = number }, { statusCode = self.status or 200,
        headers = self.headers }) or { n = number }
    end }
    for name, value in pairs(definition or {}) do
      given[name] = value
    end
    local call
    call, self.registry = kit.operation({ self.kept }, given)
    function self.get(input, context)
      local data, err = call(input, context)
      return data and data.n, err
    end
    return self
  end

  it("keeps an answer as long as Cache-Control says", function()
    local one = served(nil, { ["cache-control"] = "public, max-age=60" })
    assert.same({ 1, 1 }, { one.get(), one.get() })
    kit.clock.advance(59999)
    assert.equal(1, one.get())
    kit.clock.advance(1)
    assert.equal(2, one.get())
  end)

  it("asks again when the coroutine of the call that others wait for was dropped", function()
    local calls = 0
    local call = kit.operation({ cache({ ttl = 1000 }) }, function()
      calls = calls + 1
      if calls == 1 then
        coroutine.yield()
      end
      return calls
    end)
    local dropped = coroutine.create(call)
    coroutine.resume(dropped)
    local waiting = operations.spawn(call)
    operations.sleep(0)
    assert.equal(1, calls)
    dropped = nil -- luacheck: ignore 311
    for _ = 1, 5 do
      collectgarbage()
      operations.sleep(0.001)
    end
    assert.equal(2, (waiting:wait()))
    assert.equal(2, (call()))
  end)

  it("reads the cache fields of answers", function()
    local date = "Sun, 06 Nov 1994 08:49:37 GMT"
    local function lasts(headers, status)
      local one = served({ ttl = 7000 }, headers)
      one.status = status
      one.get()
      local ms = 0
      while one.calls == 1 and ms < 100000 do
        ms = ms + 1000
        kit.clock.advance(1000)
        one.get()
      end
      return ms / 1000
    end
    assert.equal(7, lasts({}))
    assert.equal(7, lasts({ ["cache-control"] = "private" }))
    assert.equal(5, lasts({ ["cache-control"] = "max-age=5" }))
    assert.equal(5, lasts({ ["cache-control"] = 'MAX-AGE="5", must-revalidate' }))
    assert.equal(3, lasts({ ["cache-control"] = "max-age=5", age = "2" }))
    assert.equal(5, lasts({ ["cache-control"] = "s-maxage=50, max-age=5", expires = date }))
    assert.equal(4, lasts({ date = date, expires = "Sun, 06 Nov 1994 08:49:41 GMT" }))
    assert.equal(1, lasts({ expires = "0" }))
    assert.equal(1, lasts({ expires = date }))
    assert.equal(1, lasts({ ["cache-control"] = "no-store, max-age=5" }))
    assert.equal(1, lasts({ ["cache-control"] = "max-age=x" }))
    assert.equal(1, lasts({ ["cache-control"] = "no-cache" }))
    assert.equal(1, lasts({ vary = "*" }))
    assert.equal(7, lasts({ vary = "Accept" }))
    assert.equal(1, lasts({}, 203))
  end)

  it("takes whatever a handler says of its answer", function()
    for _, headers in ipairs({ { expires = 7, date = {}, age = {}, ["cache-control"] = 1, etag = 5, vary = {} }, "x",
      false }) do
      local calls = 0
      local call = kit.operation({ cache({ ttl = 1000 }) }, function()
        calls = calls + 1
        return operations.http_envelope({ n = 1 }, { statusCode = 200, headers = headers or nil })
      end)
      assert.same({ { n = 1 }, { n = 1 } }, { (call()), (call()) })
      assert.equal(1, calls)
    end
  end)

  it("uses ttlMs of the spec, and keeps nothing without it", function()
    local one = served({ ttl = 1000 }, nil, { _meta = { ttlMs = 5000 } })
    one.get()
    kit.clock.advance(4999)
    assert.equal(1, one.get())
    kit.clock.advance(1)
    assert.equal(2, one.get())
    one = served()
    assert.same({ 1, 2 }, { one.get(), one.get() })
    assert.equal(0, one.kept._kept.count)
  end)

  it("keeps results of MCP tools as long as they say, and none that failed", function()
    local calls = 0
    local function tool(meta)
      return kit.operation({ cache() }, function()
        calls = calls + 1
        return operations.mcp_envelope(calls, meta)
      end)
    end
    local call = tool({ isError = false, content = {}, _meta = { ttlMs = 1000 } })
    assert.same({ 1, 1 }, { (call()), (call()) })
    call = tool({ isError = true, content = {}, _meta = { ttlMs = 1000 } })
    assert.same({ 2, 3 }, { (call()), (call()) })
  end)

  it("keeps the envelopes that handlers of this process return", function()
    local calls = 0
    local call = kit.operation({ cache({ ttl = 1000 }) }, function()
      calls = calls + 1
      return operations.local_envelope({ n = calls }, "a.b")
    end)
    for _ = 1, 2 do
      assert.same({ n = 1 }, (call()))
    end
    assert.equal(1, calls)
  end)

  it("asks again by ETag, and uses an answer that still holds", function()
    local one = served(nil, { etag = '"a"', ["cache-control"] = "max-age=10" })
    one.get()
    kit.clock.advance(10000)
    one.status = 304
    assert.equal(1, one.get())
    kit.clock.advance(9999)
    assert.equal(1, one.get())
    assert.same({ "-", '"a"' }, one.etags)
    kit.clock.advance(1)
    one.failure = operations.error("HTTP_304", "304 Not Modified",
      { statusCode = 304, headers = { ["cache-control"] = "max-age=1" } })
    assert.equal(1, one.get())
    kit.clock.advance(1000)
    one.failure, one.status = nil, 200
    assert.equal(4, one.get())
    assert.same({ "-", '"a"', '"a"', '"a"' }, one.etags)
  end)

  it("keeps answers that must be validated each time, with their ETag", function()
    local one = served(nil, { etag = '"b"', ["cache-control"] = "no-cache" })
    one.get()
    one.status = 304
    assert.same({ 1, 1 }, { one.get(), one.get() })
    assert.same({ "-", '"b"', '"b"' }, one.etags)
  end)

  it("sets the age of answers from the cache", function()
    local one = served(nil, { ["cache-control"] = "max-age=60", age = "5" })
    one.get()
    kit.clock.advance(2500)
    local meta = assert(one.registry:execute("spec.call")).meta
    assert.same({ "http", 200, "7" }, { meta.source, meta.statusCode, meta.headers.age })
    one = served(nil, { ["cache-control"] = "max-age=60", etag = '"a"' })
    one.get()
    kit.clock.advance(999)
    assert.equal("0", assert(one.registry:execute("spec.call")).meta.headers.age)
    kit.clock.advance(1)
    assert.equal("1", assert(one.registry:execute("spec.call")).meta.headers.age)
  end)

  it("tells an age whatever the age was that came", function()
    for _, age in ipairs({ "1.5", "1e400", "x", "nan", "0x10" }) do
      local one = served(nil, { ["cache-control"] = "max-age=60", age = age })
      assert(one.registry:execute("spec.call"))
      assert.equal("0", assert(one.registry:execute("spec.call")).meta.headers.age)
    end
  end)

  it("tells the age of an answer from when it was confirmed", function()
    local one = served(nil, { ["cache-control"] = "max-age=60", etag = '"a"', age = "50" })
    one.get()
    kit.clock.advance(10000)
    one.status, one.headers = 304, { etag = '"a"' }
    assert.equal("0", assert(one.registry:execute("spec.call")).meta.headers.age)
    kit.clock.advance(59000)
    assert.equal("59", assert(one.registry:execute("spec.call")).meta.headers.age)
    assert.equal(2, one.calls)
  end)

  it("returns values that no other caller can change", function()
    local one = served({ ttl = 1000 })
    local first = assert(one.registry:execute("spec.call")).data
    first.n = "changed"
    local second = assert(one.registry:execute("spec.call")).data
    assert.equal(1, second.n)
    second.n = "changed"
    assert.equal(1, one.get())
  end)

  it("keeps any string, and nothing that is no JSON", function()
    for value, calls in pairs({ ["\255\0"] = 1, [print] = 2 }) do
      local answers = kit.answers(value)
      local call = kit.operation({ cache({ ttl = 1000 }) }, answers.handler)
      call()
      assert.equal(value, (call()))
      assert.equal(calls, answers.calls)
    end
  end)

  it("distinguishes inputs, identities and the values of `vary`", function()
    local one = served({ ttl = 1000, vary = function(_, context)
      return context.metadata and context.metadata.language or ""
    end })
    local function as(id, scopes)
      return { identity = { id = id, scopes = scopes or {} } }
    end
    local got = { one.get({ a = 1 }), one.get({ a = 2 }), one.get({ a = 1 }, as("x")), one.get({ a = 1 }, as("y")),
      one.get({ a = 1 }, as("x", { "s" })), one.get({ a = 1 }, { metadata = { language = "de" } }) }
    assert.same({ 1, 2, 3, 4, 5, 6 }, got)
    assert.same({ 1, 3, 6 }, { one.get({ a = 1 }), one.get({ a = 1 }, as("x")),
      one.get({ a = 1 }, { metadata = { language = "de" } }) })
  end)

  it("asks once for all callers of the same call meanwhile", function()
    local one = served({ ttl = 1000 })
    one.delay = 1
    local results = kit.side_by_side(5, function(i) return one.get({ a = i == 5 and 2 or 1 }) end)
    local got = {}
    for i, result in ipairs(results) do
      got[i] = result.value
    end
    assert.same({ 1, 1, 1, 1, 2 }, got)
  end)

  it("shares failures with the callers that wait, and keeps none", function()
    local one = served({ ttl = 1000 })
    one.delay, one.failure = 1, failure("HTTP_500", nil, true)
    local results = kit.side_by_side(3, function() return one.get() end)
    assert.same({ "HTTP_500", "HTTP_500", "HTTP_500" }, { results[1].code, results[2].code, results[3].code })
    assert.equal(1, one.calls)
    one.failure = nil
    assert.equal(2, one.get())
  end)

  it("has another caller ask when the first is cancelled", function()
    local one = served({ ttl = 1000 })
    one.delay = 2
    local first
    local results = kit.side_by_side(3, function(i)
      if i == 1 then
        first = operations.spawn(one.get)
        operations.sleep(1)
        first:cancel()
        return first:wait()
      end
      operations.sleep(0.1)
      return one.get({}, i == 3 and { timeout = 1500 } or nil)
    end)
    assert.same({ "ABORTED", 2, "TIMEOUT", false },
      { results[1].code, results[2].value, results[3].code, results[3].err.mayHaveRun })
    assert.equal(2, one.calls)
  end)

  it("shares nothing that must not be kept", function()
    local one = served(nil, { ["cache-control"] = "no-store" })
    one.delay = 1
    local results = kit.side_by_side(3, function() return one.get() end)
    assert.same({ 1, 2, 3 }, { results[1].value, results[2].value, results[3].value })
  end)

  it("is bounded: by entries, bytes, and bytes of an entry", function()
    local function hits(options, size)
      local calls = 0
      options.ttl = 1000
      local call = kit.operation({ cache(options) }, function()
        calls = calls + 1
        return ("x"):rep(size)
      end)
      for _, i in ipairs({ 1, 2, 3, 3, 2, 1 }) do
        call({ a = i })
      end
      return 6 - calls
    end
    assert.equal(3, hits({}, 100))
    assert.equal(2, hits({ max_entries = 2 }, 100))
    assert.equal(2, hits({ max_bytes = 300 }, 100))
    assert.equal(0, hits({ max_entry = 99 }, 100))
    assert.equal(0, hits({ max_bytes = 99 }, 100))
  end)

  it("forgets all when it is cleared", function()
    local one = served({ ttl = 1000 })
    one.get()
    one.kept:clear()
    assert.equal(2, one.get())
  end)

  it("leaves mutations, pages and bodies in pieces alone", function()
    local one = served({ ttl = 1000 }, nil, { type = "mutation" })
    assert.same({ 1, 2 }, { one.get(), one.get() })
    one = served({ ttl = 1000 })
    for _ = 1, 2 do
      assert(one.registry:execute("spec.call", {}, { sink = function() end }))
      assert(one.registry:pages("spec.call")):next()
    end
    assert.equal(4, one.calls)
  end)

  it("refuses options that make no sense", function()
    assert.has_error(function() cache({ ttl = -1 }) end, "bad option 'ttl' to 'cache' (0 or more expected, got -1)")
    assert.has_error(function() cache({ max_entries = 0 }) end,
      "bad option 'max_entries' to 'cache' (1 or more expected, got 0)")
    assert.has_error(function() cache({ size = 1 }) end, "bad option 'size' to 'cache' (unknown)")
  end)
end

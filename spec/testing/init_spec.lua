local command = require("spec.support.command")
local operations = require("operations")

local testing = operations.testing

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

describe("operations.testing.http", function()
  it("names the answers there are for a request without one", function()
    local fake = testing.http({ ["GET /a"] = {}, ["/b"] = {} })
    local ok, raised = pcall(fake.request, { url = "http://x.test/c?d", method = "PUT" })
    assert.is_false(ok)
    assert.equal("operations.testing: no answer for PUT /c; there are: /b, GET /a", raised)
    assert.error_matches(testing.http, "table or function expected")
  end)

  it("answers by method and path, path, or any; one after the other; by a function", function()
    local fake = testing.http({ ["GET /a"] = { { body = "1" }, { body = "2" } }, ["/a"] = { status = 204 },
      ["*"] = function(request)
        return { json = { request.query.q, request.headers["x-own"] } }
      end })
    local bodies = {}
    for i = 1, 3 do
      bodies[i] = fake.request({ url = "http://x.test/a" }).body
    end
    assert.same({ "1", "2", "2" }, bodies)
    assert.same({ 204, "" }, { fake.request({ url = "http://x.test/a", method = "PUT" }).status,
      fake.request({ url = "http://x.test/a", method = "PUT" }).body })
    assert.equal('["a b","1"]', fake.request({ url = "http://x.test/z?q=a+b", headers = { ["X-Own"] = 1 } }).body)
  end)

  it("takes the options of the HTTP client: query, JSON, a form, credentials", function()
    local fake = testing.http({ ["*"] = {} })
    fake.request({ url = "http://x.test/a", query = { q = "a b" }, json = { n = 1 },
      auth = { type = "bearer", token = "t" } })
    local request = fake.requests[1]
    assert.same({ "POST", "a b", { n = 1 }, "Bearer t" },
      { request.method, request.query.q, request.json, request.headers.authorization })
    fake.request({ url = "http://x.test/a", form = { b = "c" } })
    assert.equal("b=c", fake.requests[2].body)
  end)

  it("reads bodies that come in pieces", function()
    local pieces = { '{"a"', ":1}" }
    local fake = testing.http({ ["*"] = {} })
    fake.request({ url = "http://x.test/", method = "POST", headers = { ["Content-Type"] = "application/json" },
      body = function() return table.remove(pieces, 1) end })
    assert.same({ '{"a":1}', { a = 1 } }, { fake.requests[1].body, fake.requests[1].json })
  end)

  it("breaks connections, at once and after a part", function()
    local fake = testing.http({ ["/a"] = { lost = "connect" }, ["/b"] = { body = "part", lost = "timeout" } })
    local _, err = fake.request({ url = "http://x.test/a" })
    assert.same({ "EXECUTION_ERROR", "connect", false }, { err.code, err.details.kind, err.mayHaveRun })
    local stream = assert(fake.open({ url = "http://x.test/b" }))
    assert.equal("part", stream:read())
    _, err = stream:read()
    assert.equal("TIMEOUT", err.code)
    assert.error_matches(function()
      for _ in fake.open({ url = "http://x.test/b" }):chunks() do end -- luacheck: ignore
    end, "TIMEOUT")
  end)
end)

describe("operations.testing.client", function()
  it("streams a subscription, and leaves it when it is closed", function()
    local registry, closed = operations.registry(), false
    registry:register({ namespace = "t", name = "count", type = "subscription", handler = function(_, context)
      context.defer(function()
        closed = true
      end)
      for i = 1, 1000 do
        context.emit(i)
      end
    end })
    operations.run(function()
      local client = testing.client(assert(operations.to_http(registry)))
      local headers = { Accept = "text/event-stream" }
      local stream = assert(client.open({ url = "http://localhost/t/count", headers = headers }))
      local text = ""
      while not text:find("data: 1\n", 1, true) do
        text = text .. stream:read()
      end
      stream:close()
    end)
    collectgarbage()
    assert.is_true(closed)
    assert.error_matches(testing.client, "server of to_http or to_mcp expected")
  end)
end)

describe("operations.testing.with_clock", function()
  it("moves to what comes next, and gives the real clock back, also after an error", function()
    local result = testing.with_clock(function(clock)
      operations.sleep(3600)
      return clock.now()
    end, 1000)
    assert.equal(3601000, result)
    assert.error_matches(function()
      testing.with_clock(function()
        error("as it was")
      end)
    end, "as it was")
    assert.is_true(operations.now() > 1e12)
  end)
end)

describe("operations.testing.recorded", function()
  it("records exchanges without credentials, and replays each once", function()
    local path = os.tmpname()
    local upstream = testing.http({ ["*"] = function(request)
      return { body = request.path == "/bytes" and "\255\0" or "for " .. (request.body or "nobody"),
        headers = { ["set-cookie"] = "sid=hidden", ["content-type"] = "text/plain" } }
    end })
    local function calls(client)
      local headers = { Authorization = "hidden" }
      return client.request({ url = "http://u:hidden@x.test/a?api_key=hidden&q=1", headers = headers }).body,
        client.request({ url = "http://x.test/a", method = "POST", body = "hidden body" }).body,
        client.request({ url = "http://x.test/bytes" }).body
    end
    local recorded = { calls(testing.record(path, upstream)) }
    assert.same({ "for nobody", "for hidden body", "\255\0" }, recorded)
    local text = read(path):gsub("for hidden body", "")
    assert.is_nil(text:find("hidden", 1, true))
    local replayed = testing.recorded(path)
    assert.same(recorded, { calls(replayed) })
    assert.error_matches(function()
      calls(replayed)
    end, "has no further answer for GET http://x.test/a?api_key=***&q=1", 1, true)
    os.remove(path)
  end)
end)

describe("operations.testing", function()
  it("is loaded where it is named", function()
    local result = command.run("lua -e 'local _ = require([[operations]]).http "
      .. "print(package.loaded[ [[operations.testing]] ])'")
    assert.equal("nil\n", result.out)
  end)
end)

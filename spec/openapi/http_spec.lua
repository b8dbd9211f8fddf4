-- Against a real server: what it saw of a request, and what we made of its answers.
local free_port = require("spec.support.free_port")
local operations = require("operations")
local server = require("spec.support.server")
local support = require("spec.support.openapi")

local task = require("operations.task")

--- The definitions of a document whose server is the test server, with the library's own HTTP client.
local function import(doc, config)
  doc.openapi, doc.info = "3.1.0", { title = "Real" }
  local list, report = operations.from_openapi.document(doc, config)
  local registry = operations.registry()
  assert(registry:register_all(assert(list)))
  return registry, report
end

describe("over HTTP", function()
  local running = server.around(setup, teardown)

  local function one(operation, more, config)
    local doc = support.one(operation, more)
    config = config or {}
    config.base_url = running.url
    return import(doc, config)
  end

  local json = { content = { ["application/json"] = { schema = {} } } }

  it("goes to the next of several addresses where nothing could be sent, and stays there", function()
    local dead = { ("http://127.0.0.1:%d"):format(free_port()), ("http://127.0.0.1:%d"):format(free_port()) }
    local function post(path, ...)
      local doc = support.one({ requestBody = json }, { path = path, method = "post" })
      local registry = import(doc, { base_url = { ... } })
      return function()
        return registry:execute("real.op", { body = { a = 1 } })
      end
    end
    local call = post("/echo", dead[1], dead[2], running.url)
    for _ = 1, 2 do
      assert.equal('{"a":1}', assert(call()).data.body)
    end
    local _, err = post("/echo", dead[1], dead[2])()
    assert.same({ "connect", false }, { err.details.kind, err.mayHaveRun })
    _, err = post("/fault", running.url, dead[1])() -- it was sent, so no second address gets it
    assert.same({ "reset", true }, { err.details.kind, err.mayHaveRun })
    assert.has_error(function() post("/echo", running.url, 5) end,
      "from_openapi: config.base_url must be a URL or a list of them, got number")
  end)

  it("a POST that is redirected is followed with `redirect_all`", function()
    local function post(status, config)
      local registry = one({ requestBody = json, parameters = { { name = "to", ["in"] = "query" },
        { name = "status", ["in"] = "query" } } }, { path = "/redirect", method = "post" }, config)
      return registry:execute("real.op", { body = { a = 1 }, to = running.url .. "/echo", status = status })
    end
    local _, err = post(303)
    assert.equal("HTTP_303", err.code)
    local seen = assert(post(303, { redirect_all = true })).data
    assert.same({ "GET", "" }, { seen.method, seen.body })
    seen = assert(post(307, { redirect_all = true })).data
    assert.same({ "POST", '{"a":1}' }, { seen.method, seen.body })
  end)

  it("the server sees path, query, headers and cookies as they were given", function()
    local registry = one({ parameters = {
      { name = "id", ["in"] = "path", required = true },
      { name = "q", ["in"] = "query" },
      { name = "X-List", ["in"] = "header" },
      { name = "c", ["in"] = "cookie" },
    } }, { path = "/echo/{id}" })
    local data = assert(registry:execute("real.op", {
      id = "a b/..c/\195\188?#%", q = { "x&y=z", "+", " " }, ["X-List"] = { "a", "b" }, c = "k;l",
    })).data
    assert.equal("/echo/a%20b%2F..c%2F%C3%BC%3F%23%25?q=x%26y%3Dz&q=%2B&q=%20", data.uri)
    assert.same({ "x&y=z", "+", " " }, data.args.q)
    assert.equal("a,b", data.headers["x-list"])
    assert.equal("c=k%3Bl", data.headers.cookie)
  end)

  it("the server sees the trace of the call, and by the middleware `cache` what is known already", function()
    local trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    local registry = one({}, { path = "/echo" })
    local headers = assert(registry:execute("real.op", {}, { traceparent = trace })).data.headers
    assert.same({ trace }, { headers.traceparent, headers["if-none-match"] })
    local etags = {}
    local list = assert(operations.from_openapi.document(support.one({}, { path = "/echo", doc = {
      openapi = "3.1.0", info = { title = "Real" } } }), { base_url = running.url }))
    local noting = operations.registry({ middleware = { function(handler)
      return function(input, context)
        context.ifNoneMatch = '"a"'
        local envelope = handler(input, context)
        etags[1] = envelope.data.headers["if-none-match"]
        return envelope
      end
    end } })
    assert(noting:register_all(list))
    assert(noting:execute("real.op"))
    assert.same({ '"a"' }, etags)
  end)

  it("integers of 64 bits go to the server and come back as they are", function()
    local id = { type = "integer" }
    local registry = one({ requestBody = { content = { ["application/json"] = {
      schema = { type = "object", properties = { id = id } } } } },
      parameters = {
        { name = "id", ["in"] = "path", required = true, schema = id },
        { name = "q", ["in"] = "query", schema = { type = "array", items = id } },
        { name = "X-Id", ["in"] = "header", schema = id },
      },
    }, { path = "/echo/{id}", method = "post" })
    for _, text in ipairs({ "9007199254740993", "-9223372036854775808", "18446744073709551615" }) do
      local value = operations.json.decode(text)
      local data = assert(registry:execute("real.op", { id = value, q = { value, 1 }, ["X-Id"] = value,
        body = { id = value } })).data
      assert.equal("/echo/" .. text .. "?q=" .. text .. "&q=1", data.uri)
      assert.equal(text, data.headers["x-id"])
      assert.equal('{"id":' .. text .. "}", data.body)
      local _, err = registry:execute("real.op", { id = text })
      assert.equal("VALIDATION_ERROR", err.code)
    end
  end)

  it("an answer that stops in its body fails after idle_timeout", function()
    local registry = one({ responses = { ["200"] = json } }, { path = "/fault/stalled_body" }, { idle_timeout = 50 })
    local _, err = registry:execute("real.op", {})
    assert.same({ "timeout", "idle" }, { err.details.kind, err.details.phase })
  end)

  it("the server sees a JSON body, its type and its length", function()
    local registry = one({ requestBody = json }, { path = "/echo", method = "post" })
    local data = assert(registry:execute("real.op", { body = { title = "\195\188", n = 1 } })).data
    assert.equal("POST", data.method)
    assert.equal("application/json", data.headers["content-type"])
    assert.same({ title = "\195\188", n = 1 }, operations.json.decode(data.body))
    assert.equal(tostring(#data.body), data.headers["content-length"])
  end)

  it("an answer that does not fit fails where the configuration says so", function()
    local integer = { content = { ["application/json"] = { schema = { type = "integer" } } } }
    local operation = { responses = { ["200"] = integer } }
    local _, err = one(operation, { path = "/echo" }, { on_mismatch = "fail" }):execute("real.op")
    assert.equal("OUTPUT_INVALID", err.code)
    assert.equal("type", err.details[1].keyword)
    local spec = one(operation, { path = "/echo" }, { normalize = "off" }):get_spec("real.op")
    assert.same({ "off" }, { spec.normalize, spec.on_mismatch })
    for _, config in ipairs({ { normalize = "always" }, { on_mismatch = "raise" } }) do
      local ok, message = pcall(one, operation, { path = "/echo" }, config)
      assert.is_false(ok)
      assert.matches("from_openapi: config%.[%w_]+: expected", message)
    end
  end)

  it("the server sees no content type without a body", function()
    local registry = one({ requestBody = json }, { path = "/echo", method = "post" })
    local data = assert(registry:execute("real.op", {})).data
    assert.is_nil(data.headers["content-type"])
    assert.equal("", data.body)
  end)

  it("the server sees credentials", function()
    local schemes = {
      k = { type = "apiKey", ["in"] = "query", name = "key" }, b = { type = "http", scheme = "basic" },
    }
    local registry = one({ security = { { k = {}, b = {} } } },
      { path = "/echo", doc = { components = { securitySchemes = schemes } } }, { auth = { k = "a b", b = "u:p" } })
    local data = assert(registry:execute("real.op")).data
    assert.equal("a b", data.args.key)
    assert.equal("Basic dTpw", data.headers.authorization)
  end)

  it("a result is an HTTP envelope", function()
    local envelope = assert(one({}, { path = "/status/201" }):execute("real.op"))
    assert.equal(201, envelope.meta.statusCode)
    assert.equal("201", envelope.meta.headers["x-status"])
    assert.equal("application/json", envelope.meta.contentType)
    assert.equal(201, envelope.data.status)
  end)

  it("a result may be empty", function()
    local registry = one({ responses = { ["204"] = {} } }, { path = "/status/204", method = "delete" })
    local envelope = assert(registry:execute("real.op"))
    assert.equal(204, envelope.meta.statusCode)
    assert.is_nil(envelope.data)
    envelope = assert(one({}, { path = "/status/200", method = "head" }):execute("real.op"))
    assert.is_nil(envelope.data)
  end)

  it("an error status is an error object with status, headers and body", function()
    local envelope, err = one({}, { path = "/status/404" }):execute("real.op")
    assert.is_nil(envelope)
    assert.equal("HTTP_404", err.code)
    assert.equal("HTTP_404: 404 Not Found: as asked", tostring(err))
    assert.equal(404, err.details.statusCode)
    assert.equal("404", err.details.headers["x-status"])
    assert.same({ status = 404, title = "as asked" }, err.details.body)
  end)

  it("a server that is not there is an error object", function()
    local doc = support.one({})
    local registry = import(doc, { base_url = "http://127.0.0.1:" .. free_port() })
    local envelope, err = registry:execute("real.op")
    assert.is_nil(envelope)
    assert.equal("EXECUTION_ERROR", err.code)
    assert.equal("connect", err.details.kind)
  end)

  it("a slow answer is a TIMEOUT", function()
    local registry = one({}, { path = "/slow?head=5" }, { timeout = 50 })
    local envelope, err = registry:execute("real.op")
    assert.is_nil(envelope)
    assert.equal("TIMEOUT", err.code)
  end)

  it("the deadline of a call ends it", function()
    local envelope, err = one({}, { path = "/slow?head=5" }):execute("real.op", {}, { timeout = 50 })
    assert.is_nil(envelope)
    assert.equal("TIMEOUT", err.code)
  end)

  it("calls follow each other", function()
    local registry = one({ parameters = { { name = "n", ["in"] = "query" } } }, { path = "/echo" })
    for n = 1, 50 do
      assert.equal(tostring(n), assert(registry:execute("real.op", { n = n })).data.args.n)
    end
  end)

  it("calls run side by side", function()
    local registry = one({ parameters = { { name = "n", ["in"] = "query" } } }, { path = "/echo" })
    local calls = {}
    for n = 1, 20 do
      calls[n] = function()
        return assert(registry:execute("real.op", { n = n })).data.args.n
      end
    end
    local results = assert(task.run(function()
      return task.all(calls)
    end))
    for n = 1, 20 do
      assert.equal(tostring(n), results[n])
    end
  end)

  describe("a stream", function()
    local events = { ["200"] = { content = { ["text/event-stream"] = { schema = { type = "object" } } } } }

    it("delivers each event while the next is still to come", function()
      local registry = one({ responses = events }, { path = "/sse?count=1000&delay=0.05&note=live&retry=700" })
      local stream = assert(registry:subscribe("real.op"))
      local first = assert(stream:next())
      assert.same({ n = 1 }, first.data)
      assert.equal("tick", first.meta.event)
      assert.equal("1", first.meta.lastEventId)
      assert.equal(700, first.meta.retry)
      assert.equal("none", operations.unwrap(assert(one({}, { path = "/note/live" }):execute("real.op"))))
      assert.same({ n = 2 }, stream:next().data)
      assert.same({ n = 3 }, stream:next().data)
      stream:close()
    end)

    it("gives the connection up when it is closed early", function()
      local registry = one({ responses = events }, { path = "/sse?count=1000&delay=0.01&note=gone" })
      local stream = assert(registry:subscribe("real.op"))
      assert(stream:next())
      stream:close()
      local note = one({}, { path = "/note/gone" })
      local said
      repeat
        said = operations.unwrap(assert(note:execute("real.op")))
      until said ~= "none"
      assert.equal("aborted", said)
    end)

    it("that is refused is an error with the body", function()
      local registry = one({ responses = events }, { path = "/status/401" })
      local envelope, err = assert(registry:subscribe("real.op")):next()
      assert.is_nil(envelope)
      assert.equal("HTTP_401", err.code)
      assert.equal("as asked", err.details.body.title)
    end)

    it("of another type is an error with the body", function()
      local registry = one({ responses = events }, { path = "/status/200" })
      local envelope, err = assert(registry:subscribe("real.op")):next()
      assert.is_nil(envelope)
      assert.equal("EXECUTION_ERROR", err.code)
      assert.matches("as asked", err.details.body, 1, true)
    end)

    it("waits for its consumer", function()
      local registry = one({ responses = events }, { path = "/sse?count=200" })
      local count = 0
      for envelope in assert(registry:subscribe("real.op")) do
        count = count + 1
        assert.equal(count, envelope.data.n)
        if count % 50 == 0 then
          task.sleep(0.01)
        end
      end
      assert.equal(200, count)
    end)
  end)
end)

--- What a server answers over a real connection, whichever host it runs in.
local eventually = require("spec.support.eventually")
local http_peer = require("spec.support.http_peer")
local inside = require("spec.support.inside")
local operations = require("operations")

local http = operations.http

---@param busted table  its functions, which only spec files see
---@param start fun(): { url: string, stop: fun(self) }
return function(busted, start)
  local it, setup, teardown, assert = busted.it, busted.setup, busted.teardown, busted.assert
  local server

  setup(function()
    server = start()
  end)

  teardown(function()
    server:stop()
  end)

  local function request(method, path, options)
    local given = { method = method, url = server.url .. "/api/spec" .. path, timeout = 20000 }
    for name, value in pairs(options or {}) do
      given[name] = value
    end
    return assert(http.request(given))
  end

  local function json(method, path, value)
    return request(method, path, { headers = { ["Content-Type"] = "application/json" },
      body = operations.json.encode(value) })
  end

  local function decoded(response)
    return operations.json.decode(response.body)
  end

  local function note(key)
    return decoded(request("GET", "/notes"))[key]
  end

  local function curl(arguments)
    return inside.shell("curl -s --max-time 20 " .. arguments).out
  end

  it("answers queries and mutations", function()
    assert.equal("5", request("GET", "/add?a=2&b=3").body)
    assert.equal("5", json("POST", "/add", { a = 2, b = 3 }).body)
    assert.equal("5", json("QUERY", "/add", { a = 2, b = 3 }).body)
    local echoed = json("POST", "/echo", { text = "ü\0", list = operations.array() })
    assert.same({ 200, "application/json", '{"list":[],"text":"ü\\u0000"}' },
      { echoed.status, echoed.headers["content-type"], operations.json.encode(decoded(echoed), { sort_keys = true }) })
  end)

  it("refuses targets that are no URLs, and absolute ones with a name that is not its own", function()
    local port = tonumber(server.url:match(":(%d+)"))
    local function status(target)
      return operations.run(function()
        local client = http_peer.connect(port)
        client:send("GET " .. target .. " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return client:rest():match("^HTTP/1.1 (%d+)")
      end)
    end
    assert.equal("400", status("/api/healthz\255"))
    assert.equal("200", status("http://localhost/api/healthz"))
    assert.equal("403", status("http://evil.example/api/healthz"))
  end)

  it("refuses dot segments, however they are written, for every path", function()
    local port = tonumber(server.url:match(":(%d+)"))
    local function status(path)
      return operations.run(function()
        local client = http_peer.connect(port)
        client:send("GET " .. path .. " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return client:rest():match("^HTTP/1.1 (%d+)")
      end)
    end
    for _, path in ipairs({ "/api/spec/..", "/api/spec/%2e%2e", "/api/spec/.%2E/add", "/api/./healthz",
      "/api/%2e/healthz", "/api/spec/..%2fadd",
      "/api/docs/x%2F..%2fx", "/api/docs/%2e%2e%2fpage.js", "/api/spec/x%2f..%2fadd",
      "/api/spec/x%2F%2e%2e", "/api/mcp/%2e%2e/x", "/api/healthz/%2e?x=1", "http://localhost/api/x/%2e%2e/healthz" }) do
      assert.equal("400", status(path), path)
    end
    for _, path in ipairs({ "/api/spec/add?a=1&b=2&c=/../", "/api/spec/...", "/api/spec/..x", "/api/spec/a%2e%2eb" }) do
      assert.not_equal("400", status(path), path)
    end
  end)

  it("answers invalid requests by their status, as a problem", function()
    local cases = { { 422, "GET", "/add?a=x&b=1" }, { 422, "GET", "/add" }, { 404, "GET", "/nothing" },
      { 405, "GET", "/echo" }, { 415, "POST", "/echo", { body = "x", headers = { ["Content-Type"] = "text/plain" } } },
      { 400, "POST", "/echo", { body = "{", headers = { ["Content-Type"] = "application/json" } } },
      { 401, "GET", "/secret" }, { 401, "GET", "/secret", { headers = { Authorization = "Bearer x" } } },
      { 200, "GET", "/secret", { headers = { Authorization = "Bearer root" } } },
      { 403, "GET", "/add?a=1&b=1", { headers = { Host = "evil.example" } } },
      { 403, "GET", "/add?a=1&b=1", { headers = { Origin = "http://evil.example" } } } }
    for _, case in ipairs(cases) do
      local response = request(case[2], case[3], case[4])
      assert.equal(case[1], response.status, case[2] .. " " .. case[3])
      if case[1] ~= 200 then
        assert.equal("application/problem+json", response.headers["content-type"])
        assert.equal(case[1], decoded(response).status)
      end
    end
  end)

  it("has no body in answers to HEAD, and none at 204", function()
    local head = curl("-I '" .. server.url .. "/api/spec/add?a=2&b=3'")
    assert.matches("^HTTP/1.1 200", head)
    assert.matches("[Cc]ontent%-[Ll]ength: 1\r\n", head)
    assert.equal(204, request("OPTIONS", "/add").status)
    assert.equal("GET, HEAD, OPTIONS, POST, QUERY", request("OPTIONS", "/add").headers.allow)
  end)

  it("ends a stream that HEAD asks for at once, and reads the next request", function()
    operations.run(function()
      local client = http_peer.connect(tonumber(server.url:match(":(%d+)")))
      local host = " HTTP/1.1\r\nHost: localhost\r\n"
      client:send("HEAD /api/spec/silence" .. host .. "\r\nGET /api/healthz" .. host .. "Connection: close\r\n\r\n")
      assert.equal(200, (client:answer()))
      assert.matches("^HTTP/1.1 200 .*\r\n\r\nok\n$", client:rest())
    end)
  end)

  it("finds the files of its page, and sends each once", function()
    local page = request("GET", "/../docs/page.js")
    assert.equal(400, page.status)
    page = assert(http.request({ url = server.url .. "/api/docs/page.js" }))
    assert.equal(200, page.status)
    assert.equal("text/javascript; charset=utf-8", page.headers["content-type"])
    assert.matches("script-src 'self'", page.headers["content-security-policy"], 1, true)
    local again = assert(http.request({ url = server.url .. "/api/docs/page.js", headers = {
      ["If-None-Match"] = page.headers.etag } }))
    assert.equal(304, again.status)
    assert.equal("", again.body or "")
    local head = curl("-I " .. server.url .. "/api/docs"):lower()
    assert.matches("^http/1.1 200", head)
    assert.matches("etag: \"%x+\"", head)
  end)

  it("matches the path as it was sent", function()
    for _, path in ipairs({ "/api/spec/../spec/add", "/api//spec/add", "/api/./spec/add", "/api/spec%2Fadd" }) do
      local status = curl(("-o /dev/null -w '%%{http_code}' --path-as-is '%s%s?a=1&b=1'"):format(server.url, path))
      assert.equal(path:find("/%.") and "400" or "404", status)
    end
    assert.equal("2", curl(("--path-as-is '%s/api/%%73pec/add?a=1&b=1'"):format(server.url)))
  end)

  it("takes bodies of any size up to its limit, and refuses larger ones before they come", function()
    local bytes = { ["Content-Type"] = "application/octet-stream" }
    for _, size in ipairs({ 0, 1, 70000, 4 * 1024 * 1024 }) do
      assert.equal(tostring(size), request("POST", "/size", { body = ("x"):rep(size), headers = bytes }).body)
    end
    assert.equal(413, request("POST", "/size", { body = ("x"):rep(4 * 1024 * 1024 + 1), headers = bytes }).status)
    local upload = "head -c 3000000 /dev/zero | curl -s --max-time 20 -X POST -H 'Content-Type: " ..
      "application/octet-stream' -H 'Expect: 100-continue' %s --data-binary @- '" .. server.url .. "/api/spec/size'"
    assert.equal("3000000", inside.shell(upload:format("")).out)
    assert.equal("3000000", inside.shell(upload:format("-H 'Transfer-Encoding: chunked'")).out)
  end)

  it("sends the events of a stream as they come", function()
    local stream = assert(http.open({ url = server.url .. "/api/spec/count?to=100&delay=0.2&note=live",
      headers = { Accept = "text/event-stream" } }))
    assert.equal("text/event-stream", stream.headers["content-type"])
    local seen = ""
    while not seen:find("id: 2\ndata: 2\n\n", 1, true) do
      seen = seen .. assert(stream:read())
    end
    assert.is_nil(note("live")) -- 98 more are to come
    stream:close()
    eventually(function()
      return note("live") == 1
    end)
  end)

  it("ends a stream visibly, and continues from the last event", function()
    local events = request("GET", "/count?to=3", { headers = { ["Last-Event-ID"] = "1" } })
    assert.equal("retry: 2000\n\nid: 2\ndata: 2\n\nid: 3\ndata: 3\n\nevent: end\ndata: {}\n\n", events.body)
    assert.matches("data: 1\n\nevent: problem\ndata: {.*\"TIMEOUT\"", request("GET", "/fail").body)
    assert.equal("1\n2\n", request("GET", "/count?to=2", { headers = { Accept = "application/x-ndjson" } }).body)
  end)

  it("is read by our own client as the operations that it offers", function()
    local list = assert(operations.from_openapi.document({ openapi = "3.1.0", info = { title = "x", version = "1" },
      servers = { { url = server.url .. "/api" } }, paths = { ["/spec/count"] = { get = { operationId = "count",
        parameters = { { name = "to", ["in"] = "query", schema = { type = "integer" } } },
        responses = { ["200"] = { description = "events", content = { ["text/event-stream"] = {} } } } } } } }))
    local registry = operations.registry()
    assert(registry:register_all(list))
    local seen = {}
    for event in assert(registry:subscribe(list[1].namespace .. "." .. list[1].name, { to = 3 })) do
      seen[#seen + 1] = (event.meta.event or "") .. event.meta.lastEventId
      if #seen == 3 then
        break
      end
    end
    assert.same({ "1", "2", "3" }, { seen[1]:match("%d"), seen[2]:match("%d"), seen[3]:match("%d") })
  end)

  it("keeps a silent stream open", function()
    local stream = assert(http.open({ url = server.url .. "/api/spec/silence" }))
    local seen = ""
    while not seen:find(":\n\n:\n\n", 1, true) do
      seen = seen .. assert(stream:read())
    end
    stream:close()
  end)

  it("calls a handler off when its caller leaves", function()
    inside.shell(("curl -s --max-time 0.3 '%s/api/spec/sleep?seconds=600&note=left'"):format(server.url))
    eventually(function()
      return note("left") == "ABORTED"
    end)
  end)

  it("counts no client that has left, at any moment", function()
    local leaving = { "-I '%s/count?to=3'", "-I '%s/bytes?pieces=3'", "'%s/bytes?pieces=1000' --limit-rate 1k",
      "-X POST -H 'Content-Type: application/json' -T - '%s/echo'" }
    local clients = {}
    for i, arguments in ipairs(leaving) do -- their input outlives them
      -- waits: curl must find its input open until it leaves, at any moment of the answer
      clients[i] = "(printf '{'; sleep 0.5) | curl -s -o /dev/null --max-time 0.3 "
        .. arguments:format(server.url .. "/api/spec")
    end
    inside.shell(table.concat(clients, " &\n") .. " & wait")
    eventually(function()
      return decoded(request("GET", "/state")).running == 1 -- this one
    end)
  end)

  it("serves others while handlers wait", function()
    local functions = {}
    for i = 1, 20 do
      functions[i] = function()
        return request("GET", "/sleep?seconds=0.2").body
      end
    end
    local results = assert(operations.all(functions))
    assert.equal(20, #results)
    assert.equal('"slept"', results[20])
  end)

  it("holds a handler back whose reader is slow, and loses nothing", function()
    local size = inside.shell(("curl -s --max-time 60 --limit-rate 20M '%s/api/spec/bytes?pieces=100' | wc -c"):format(
      server.url)).out
    assert.equal(65536 * 100, tonumber(size))
  end)

  it("knows its caller's address", function()
    assert.equal("127.0.0.1", decoded(request("GET", "/where")).address)
  end)

  it("does not send again an answer that the caller has", function()
    local page = request("GET", "/page")
    assert.same({ 200, "private, max-age=1" }, { page.status, page.headers["cache-control"] })
    local again = request("GET", "/page", { headers = { ["If-None-Match"] = page.headers.etag } })
    assert.same({ 304, page.headers.etag, "" }, { again.status, again.headers.etag, again.body or "" })
    assert.equal(200, request("GET", "/page", { headers = { ["If-None-Match"] = '"other"' } }).status)
  end)

  local function pay(key, value)
    return request("POST", "/pay", { body = operations.json.encode(value), headers = { ["Idempotency-Key"] = key,
      ["Content-Type"] = "application/json" } })
  end

  it("runs a request with an Idempotency-Key once", function()
    local first, second = pay("k1", { note = "once" }), pay('"k1"', { note = "once" })
    assert.same({ 201, "1", "/1" }, { first.status, first.body, first.headers.location })
    assert.same({ 201, "1", "/1", "true" }, { second.status, second.body, second.headers.location,
      second.headers["idempotent-replayed"] })
    assert.equal(422, pay("k1", { note = "other" }).status)
    assert.equal(400, pay("k 1", { note = "once" }).status)
    assert.equal(1, note("once"))
  end)

  it("keeps the answer of a sender whatever others send", function()
    local function echo(key, headers)
      headers["Idempotency-Key"], headers["Content-Type"] = key, "application/json"
      return request("POST", "/echo", { body = '"' .. ("x"):rep(200000) .. '"', headers = headers })
    end
    local function own()
      return echo("own", { Authorization = "Bearer root" }).headers["idempotent-replayed"]
    end
    assert.is_nil(own())
    for i = 1, 90 do
      echo("other" .. i, {})
    end
    assert.equal("true", own())
  end)

  it("refuses one while it runs, and ends it when its caller leaves", function()
    local body = { note = "slow", wait = 1.2 }
    inside.shell(("curl -s --max-time 0.2 -H 'Idempotency-Key: k2' -H 'Content-Type: application/json' -d '%s' '%s'")
      :format(operations.json.encode(body), server.url .. "/api/spec/pay"))
    assert.equal(409, pay("k2", body).status)
    eventually(function()
      return pay("k2", body).status == 201
    end)
    assert.equal(1, note("slow"))
  end)

  it("lets the pages of listed origins call and read", function()
    local asked = request("OPTIONS", "/add", { headers = { Origin = "https://app.example",
      ["Access-Control-Request-Method"] = "QUERY", ["Access-Control-Request-Headers"] = "content-type" } })
    assert.same({ 204, "https://app.example", "600" }, { asked.status, asked.headers["access-control-allow-origin"],
      asked.headers["access-control-max-age"] })
    for _, path in ipairs({ "/add?a=1&b=1", "/count?to=1", "/nothing" }) do
      local answer = request("GET", path, { headers = { Origin = "https://app.example" } })
      assert.equal("https://app.example", answer.headers["access-control-allow-origin"], path)
      assert.matches("Origin", answer.headers.vary)
    end
    assert.equal(403, request("OPTIONS", "/add", { headers = { Origin = "https://evil.example",
      ["Access-Control-Request-Method"] = "GET" } }).status)
  end)

  it("believes a trusted proxy", function()
    local seen = decoded(request("GET", "/where", { headers = { ["X-Forwarded-For"] = "1.1.1.1, 192.0.2.7",
      ["X-Forwarded-Proto"] = "https", ["X-Forwarded-Host"] = "api.example" } }))
    assert.same({ "192.0.2.7", "https", "api.example" }, { seen.address, seen.scheme, seen.host })
    assert.equal(403, request("GET", "/where", { headers = { ["X-Forwarded-For"] = "192.0.2.7",
      ["X-Forwarded-Host"] = "evil.example" } }).status)
    assert.equal(400, request("GET", "/where", { headers = { ["X-Forwarded-For"] = "nonsense" } }).status)
  end)

  it("answers others beside streams that never wait, read as fast as they come", function()
    local readers = {}
    for i, path in ipairs({ "/flood?by=emit", "/flood?by=yield", "/bytes?pieces=100000000", "/count?to=100000000" }) do
      readers[i] = assert(operations.process.spawn({ "curl", "-sN", "-o", "/dev/null",
        server.url .. "/api/spec" .. path }))
    end
    local ok, raised = pcall(function()
      for i = 1, 100 do
        assert.equal(tostring(i), request("GET", "/add?a=0&b=" .. i).body)
        assert.equal("ok\n", assert(http.request({ url = server.url .. "/api/healthz", timeout = 20000 })).body)
      end
    end)
    for _, reader in ipairs(readers) do
      reader:stop({ close = 0 })
    end
    assert(ok, raised)
  end)

  it("answers a supervisor without credentials", function()
    assert.equal("ok\n", assert(http.request({ url = server.url .. "/api/healthz" })).body)
    assert.equal(200, assert(http.request({ url = server.url .. "/api/readyz" })).status)
  end)
end

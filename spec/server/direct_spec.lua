local certificates = require("spec.support.certificates")
local http_peer = require("spec.support.http_peer")
local operations = require("operations")
local server_codec = require("operations.http_server")

local T = operations.type
local connect = http_peer.connect

-- What the parser makes of bytes, cut at a place: the event that ends the head, and what it comes with.
local function read(calls, bytes, cut)
  local parser = server_codec.parser(65536, 256, 16384, 1024)
  local event, a, b
  for _, piece in ipairs({ bytes:sub(1, cut), bytes:sub(cut + 1) }) do
    if piece ~= "" and (event == nil or event == "more") then
      local _
      event, _, a, b = parser:read(piece, 1, calls)
    end
  end
  return event, a, b
end

local ROUTE = { "the route" }

local function calls()
  return { { ["/a"] = { ROUTE, { n = 2, t = 1, b = 3 } } }, "h:1", operations.object_mt }
end

local function get(target, fields)
  return ("GET %s HTTP/1.1\r\nHost: h:1\r\n%s\r\n"):format(target, fields or "")
end

describe("a plain call", function()
  for target, input in pairs({
    ["/a"] = {}, ["/a?"] = {}, ["/a?&&"] = {}, ["/a?n=7"] = { n = 7 }, ["/a?n=0&t="] = { n = 0, t = "" },
    ["/a?t=x%20y+z&b=true"] = { t = "x y z", b = true }, ["/a?b=false&%74=1"] = { b = false, t = "1" },
    ["/a?n=999999999999999"] = { n = 999999999999999 }, ["/a?t"] = { t = "" },
  }) do
    it("is found wherever its bytes are cut: " .. target, function()
      local bytes = get(target, "Accept: */*\r\nUSER-AGENT: x\r\nConnection: keep-alive\r\n")
      for cut = 0, #bytes do
        local event, route, got = read(calls(), bytes, cut)
        assert.equal("call", event)
        assert.equal(ROUTE, route)
        assert.same(input, got)
        assert.equal(operations.object_mt, getmetatable(got))
        assert.is_nil(tostring(got.n):find(".", 1, true)) -- an integer of Lua 5.4
      end
    end)
  end

  for reason, bytes in pairs({
    ["an unknown path"] = get("/b"), ["a path that is longer"] = get("/a/"), ["an escaped path"] = get("/%61"),
    ["an unknown parameter"] = get("/a?x=1"), ["a parameter that comes twice"] = get("/a?n=1&n=1"),
    ["a fraction"] = get("/a?n=1.5"), ["a sign"] = get("/a?n=-1"), ["a leading zero"] = get("/a?n=01"),
    ["no number"] = get("/a?n="), ["letters"] = get("/a?n=7x"), ["16 digits"] = get("/a?n=1000000000000000"),
    ["no boolean"] = get("/a?b=1"), ["an escape that is none"] = get("/a?t=%4"), ["no UTF-8"] = get("/a?t=%ff"),
    ["a name that is no UTF-8"] = get("/a?%ff=1"),
    ["another method"] = get("/a"):gsub("GET", "HEAD"), ["a method that begins so"] = get("/a"):gsub("GET", "GETS"),
    ["HTTP/1.0"] = get("/a"):gsub("1%.1", "1.0"), ["another host"] = get("/a"):gsub("h:1", "h:2"),
    ["a longer host"] = get("/a"):gsub("h:1", "h:10"), ["a connection that ends"] = get("/a", "Connection: close\r\n"),
    ["a body"] = get("/a", "Content-Length: 1\r\n"), ["a page elsewhere"] = get("/a", "Origin: null\r\n"),
    ["credentials"] = get("/a", "Authorization: Bearer x\r\n"), ["an id"] = get("/a", "X-Request-Id: 1\r\n"),
    ["a field that nobody knows"] = get("/a", "X: 1\r\n"), ["a condition"] = get("/a", "If-None-Match: *\r\n"),
  }) do
    it("is no request with " .. reason, function()
      for cut = 0, #bytes do
        assert.equal("head", (read(calls(), bytes, cut)))
      end
    end)
  end

  it("is found with a value of any length", function()
    for _, length in ipairs({ 511, 512, 513 }) do
      local value = ("x"):rep(length)
      local event, route, got = read(calls(), get("/a?t=" .. value), 0)
      assert.same({ "call", ROUTE, { t = value } }, { event, route, got })
    end
  end)

  it("is none where no host is known", function()
    local list = calls()
    list[2] = false
    assert.equal("head", (read(list, get("/a"), 0)))
  end)
end)

local function registry()
  local made = operations.registry({ log = function() end, on_warning = function() end })
  local function add(name, handler, more)
    local definition = { namespace = "a", name = name, type = "query", handler = handler,
      inputSchema = T.object({ n = T.optional(T.integer({ maximum = 9 })), t = T.optional(T.string()),
        flag = T.optional(T.boolean()), list = T.optional(T.array(T.string())) }) }
    for key, value in pairs(more or {}) do
      definition[key] = value
    end
    assert(made:register(definition))
  end
  add("echo", function(input) return input end)
  add("waits", function(input)
    operations.sleep(0)
    return { input.t or operations.null, "waited" }
  end)
  add("nothing", function() end)
  add("no", function() return false end)
  add("null", function() return operations.null end)
  add("fails", function() return nil, operations.error("GONE", "it is gone") end,
    { errorSchemas = { { code = "GONE", description = "gone", schema = true, statusCode = 410 } } })
  add("raises", function() error("secret") end)
  add("bytes", function() return "\255" end)
  add("made", function()
    return operations.http_envelope({ 1 }, { statusCode = 201, headers = { location = "/x" }, contentType = "a/b" })
  end)
  add("status", function() return "x" end, { _meta = { http = { status = 202 } } })
  add("casts", function() return { id = "12" } end, { outputSchema = T.object({ id = T.integer() }) })
  add("looks", function(_, context) return context.metadata.http.path end)
  add("scoped", function() return 1 end, { accessControl = { requiredScopes = { "x" } } })
  add("hidden", function() return 1 end, { _meta = { exposed = false } })
  add("moved", function(input) return input end, { _meta = { http = { path = "/moved/{t}" } } })
  add("cached", function() return 1 end, { _meta = { http = { cache = { maxAge = 5 } } } })
  assert(made:register({ namespace = "a", name = "changes", handler = function() return 1 end }))
  assert(made:register({ namespace = "a", name = "streams", type = "subscription", handler = function() end }))
  return made
end

-- The text of an answer without what differs from one to the next.
local function answer(port, request)
  local client = connect(port):send(request)
  local status, _, body, head = client:answer()
  client:close()
  local lines = {}
  for line in head:gsub("([Dd]ate: )[^\r]*", "%1"):gsub("(x%-request%-id: )[^\r]*", "%1"):gmatch("[^\r\n]+") do
    lines[#lines + 1] = line
  end
  table.sort(lines)
  return status, table.concat(lines, "\n") .. "\n\n" .. body:gsub('("requestId":)"[^"]*"', "%1")
end

local function with(options, fn)
  return operations.run(function()
    options.log = options.log or function() end
    local made = registry()
    local server = assert(operations.to_http(made, options))
    local listener = assert(server:listen({ port = 0 }))
    local ok, raised = pcall(fn, listener.port, server, made)
    server:close()
    if not ok then
      error(raised, 0)
    end
  end)
end

describe("plain calls", function()
  it("are answered as requests are that the server looks at", function()
    with({}, function(port)
      with({ access_log = function() end }, function(looks)
        local count = 0
        for _, name in ipairs({ "echo", "waits", "nothing", "no", "null", "fails", "raises", "bytes", "made", "status",
          "casts", "looks", "scoped", "hidden", "moved/x", "cached", "changes", "missing" }) do
          for _, query in ipairs({ "", "?n=7", "?n=70", "?t=a%20b&flag=true", "?n=1.0", "?n=x", "?list=a&list=b",
            "?x=1", "?n=1&n=2", "?t=%ff", "?flag=maybe" }) do
            local path = name:find("^moved") and "/" .. name or "/a/" .. name
            local request = ("GET %s%s HTTP/1.1\r\nHost: localhost:1\r\nAccept: */*\r\n\r\n"):format(path, query)
            local _, expected = answer(looks, request)
            for _ = 1, 2 do -- the first request of a path is looked at
              assert.equal(expected, (select(2, answer(port, request))))
              count = count + 1
            end
          end
        end
        assert.equal(396, count)
      end)
    end)
  end)

  it("follow the registry: other handlers, other specs, operations that are gone", function()
    with({}, function(port, _, made)
      local request = "GET /a/echo?n=1 HTTP/1.1\r\nHost: localhost\r\n\r\n"
      local client = connect(port)
      local function body()
        local status, _, text = client:send(request):answer()
        return status, text
      end
      assert.same({ 200, '{"n":1}' }, { body() })
      assert.same({ 200, '{"n":1}' }, { body() })
      assert(made:register_handler("a.echo", function() return "other" end))
      assert.same({ 200, '"other"' }, { body() })
      assert(made:register({ namespace = "a", name = "echo", type = "query", inputSchema = T.object({ n = T.string() }),
        handler = function(input) return input end }, { replace = true }))
      assert.same({ 200, '{"n":"1"}' }, { body() })
      assert.same({ 200, '{"n":"1"}' }, { body() })
      made:unregister("a.echo")
      assert.equal(404, (body()))
    end)
  end)

  it("give way to what is mounted later", function()
    with({}, function(port, server)
      local client = connect(port)
      local request = "GET /a/echo HTTP/1.1\r\nHost: localhost\r\n\r\n"
      for _ = 1, 2 do
        assert.equal("{}", (select(3, client:send(request):answer())))
      end
      server:mount("/a", { handle = function()
        return { status = 200, headers = {}, body = "mounted" }
      end })
      assert.equal("mounted", (select(3, client:send(request):answer())))
    end)
  end)

  it("are refused by a server that is full, or about to end", function()
    with({ max_requests = 1 }, function(port, server, made)
      local go_on
      assert(made:register({ namespace = "a", name = "long", type = "query", handler = function()
        operations.await(function(wake)
          go_on = wake
        end)
        return "done"
      end }))
      local request = "GET /a/long HTTP/1.1\r\nHost: localhost\r\n\r\n"
      local one, two = connect(port), connect(port)
      for _ = 1, 2 do
        one:send(request)
        repeat
          operations.sleep(0.01)
        until go_on
        local wake = go_on
        go_on = nil
        assert.matches('"code":"BUSY"', (select(3, two:send(request):answer())), 1, true)
        wake()
        assert.equal('"done"', (select(3, one:answer())))
      end
      assert.equal(0, server.running)
      server.draining = true
      local status, headers = one:send(request):answer()
      assert.same({ 503, "close" }, { status, headers.connection })
    end)
  end)

  it("are cancelled when their callers leave", function()
    with({}, function(port, server, made)
      local running, left = 0, 0
      assert(made:register({ namespace = "a", name = "long", type = "query", handler = function()
        running = running + 1
        local ok, raised = pcall(operations.sleep, 60)
        left = left + (not ok and raised.code == "ABORTED" and 1 or 0)
        error(raised, 0)
      end }))
      for round = 1, 3 do
        local client = connect(port):send("GET /a/long HTTP/1.1\r\nHost: localhost\r\n\r\n")
        repeat
          operations.sleep(0.01)
        until running == round
        client:close()
        repeat
          operations.sleep(0.01)
        until left == round
      end
      repeat
        operations.sleep(0.01)
      until server.running == 0
      assert.is_nil(next(server.workers))
    end)
  end)

  it("may take as long as the option `timeout` says", function()
    with({ timeout = 50 }, function(port, _, made)
      assert(made:register({ namespace = "a", name = "long", type = "query", handler = function()
        operations.sleep(60)
      end }))
      local client = connect(port)
      for _ = 1, 2 do
        local status, _, body = client:send("GET /a/long HTTP/1.1\r\nHost: localhost\r\n\r\n"):answer()
        assert.equal(504, status)
        assert.matches('"code":"TIMEOUT"', body, 1, true)
      end
    end)
  end)

  it("end after as many requests as a connection may bring", function()
    operations.run(function()
      local server = assert(operations.to_http(registry()))
      local listener = assert(server:listen({ port = 0, max_connection_requests = 3 }))
      local client = connect(listener.port):send(("GET /a/echo HTTP/1.1\r\nHost: localhost\r\n\r\n"):rep(5))
      local all = client:rest()
      assert.equal(3, select(2, all:gsub("HTTP/1.1 200 OK", "")))
      assert.equal(1, select(2, all:gsub("Connection: close", "")))
      server:close()
    end)
  end)

  it("say nothing wrong of the TLS of a connection that began with one", function()
    operations.run(function()
      local made, seen = registry(), {}
      assert(made:register({ namespace = "a", name = "tls", type = "query", handler = function(_, context)
        seen[#seen + 1] = context.metadata.http.scheme
      end }))
      local server = assert(operations.to_http(made))
      local listener = assert(server:listen({ port = 0, tls = certificates.options("localhost") }))
      for _ = 1, 2 do
        local client = connect(listener.port, { tls = true, ca_file = certificates.path("ca.pem") })
        for _, name in ipairs({ "echo", "echo", "tls" }) do
          local status = client:send(("GET /a/%s HTTP/1.1\r\nHost: localhost\r\n\r\n"):format(name)):answer()
          assert.equal(name == "tls" and 204 or 200, status)
        end
        client:close()
      end
      server:close()
      assert.same({ "https", "https" }, seen)
    end)
    certificates.remove()
  end)

  it("have an id of their own each", function()
    with({}, function(port)
      local client, seen = connect(port), {}
      for _ = 1, 5 do
        local _, headers = client:send("GET /a/echo HTTP/1.1\r\nHost: localhost\r\n\r\n"):answer()
        assert.matches("^%x+%-%x+%-4%x+%-%x+%-%x+$", headers["x-request-id"])
        assert.is_nil(seen[headers["x-request-id"]])
        seen[headers["x-request-id"]] = true
      end
    end)
  end)
end)

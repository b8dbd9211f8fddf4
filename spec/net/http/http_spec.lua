local json = require("operations.base.json")
local dkjson = require("dkjson")
local core = require("operations.core")
local errors = require("operations.base.error")
local eventually = require("spec.support.eventually")
local http = require("operations.net.http")
local reactor_loop = require("operations.hosts.reactor")
local reactor_module = require("operations.reactor")
local task = require("operations.task")
local test_server = require("spec.support.server")
local usage = require("spec.support.usage")

describe("http", function()
  local server = test_server.around(setup, teardown, { tls = true })

  local function get(path, options)
    options = options or {}
    options.url = server.url .. path
    return http.request(options)
  end

  local function echo(options, path)
    options.url = server.url .. (path or "/echo")
    return dkjson.decode(assert(http.request(options)).body)
  end

  -- Waits until the server's note under `key` says `text`.
  local function noted(key, text)
    return eventually(function()
      return get("/note/" .. key).body == text
    end)
  end

  describe("request", function()
    it("keeps nothing of a body once it is answered", function()
      local function send(size)
        assert.equal(tostring(size), get("/upload", { method = "POST", body = ("x"):rep(size) }).body)
      end
      send(1)
      local before = usage.heap()
      send(4 * 1024 * 1024)
      assert.is_true(usage.heap() - before < 1024)
    end)

    it("sends method, path, headers and body as given", function()
      local seen = echo({
        method = "PUT",
        headers = { ["X-One"] = "1", ["X-Number"] = 12, ["X-Empty"] = "", ["X-Many"] = { "a", "b" } },
        body = "bytes\0and more",
      }, "/echo/a%2Fb/../c?x=1&y=%20")
      assert.equal("PUT", seen.method)
      assert.equal("/echo/a%2Fb/../c?x=1&y=%20", seen.uri)
      assert.equal("bytes\0and more", seen.body)
      assert.equal("1", seen.headers["x-one"])
      assert.equal("12", seen.headers["x-number"])
      assert.equal("", seen.headers["x-empty"])
      assert.same({ "a", "b" }, seen.headers["x-many"])
    end)

    it("sends the values of one header in their order, and every digit of a number", function()
      local large = json.decode("9223372036854775807")
      local seen = echo({ headers = {
        ["X-Many"] = { "c", "a", "b" },
        ["X-Large"] = large, ["X-Larger"] = json.decode("18446744073709551615"), ["X-Half"] = 0.5, ["X-Huge"] = 1e300,
      } })
      assert.same({ "c", "a", "b" }, seen.headers["x-many"])
      assert.equal("9223372036854775807", seen.headers["x-large"])
      assert.equal("18446744073709551615", seen.headers["x-larger"])
      assert.equal("0.5", seen.headers["x-half"])
      assert.equal("1e+300", seen.headers["x-huge"])
    end)

    it("sends nothing of the request before, whatever that was", function()
      local requests = {
        { method = "GET", body = "" },
        { method = "GET", path = "/echo/other?x=1", headers = { ["X-One"] = "1", ["X-Two"] = "2" }, body = "" },
        { method = "GET", headers = { ["X-One"] = "1" }, body = "" },
        { method = "GET", headers = { ["X-One"] = "2" }, body = "got" },
        { method = "GET", headers = { ["Accept-Encoding"] = "identity" }, body = "" },
        { method = "DELETE", body = "" },
        { method = "POST", body = "posted", headers = { ["X-Two"] = "3" } },
        { method = "POST", path = "/echo?" .. ("y"):rep(600), body = "posted longer" },
        { method = "PUT", body = "put" },
        { method = "MKACTIVITYANDMORE", body = "made" },
        { method = "QUERY" },
      }
      local function seen_of(request)
        local options = { method = request.method, headers = request.headers }
        options.body = request.body ~= "" and request.body or nil
        local seen = echo(options, request.path)
        seen.connection, seen.headers.host = nil, nil
        return seen
      end
      local expected = {}
      for i, request in ipairs(requests) do
        expected[i] = seen_of(request)
        assert.equal(request.method, expected[i].method)
        assert.equal(request.path or "/echo", expected[i].uri)
        assert.equal(request.body or "", expected[i].body)
        for _, name in ipairs({ "X-One", "X-Two" }) do
          assert.equal(request.headers and request.headers[name], expected[i].headers[name:lower()])
        end
      end
      for i in ipairs(requests) do
        for j in ipairs(requests) do
          assert.same(expected[i], seen_of(requests[i]))
          assert.same(expected[j], seen_of(requests[j]))
        end
      end
      assert.equal(200, get("/echo", { method = "HEAD" }).status)
      assert.same(expected[1], seen_of(requests[1]))
    end)

    it("asks for its own URL, however long that and the one before are", function()
      for _, length in ipairs({ 40, 510, 511, 512, 513, 1000 }) do
        for _, last in ipairs({ "a", "b", "b", "a" }) do
          local path = "/echo/"
          path = path .. ("x"):rep(length - #server.url - #path - 1) .. last
          assert.equal(path, echo({}, path).uri)
        end
      end
    end)

    it("sends its User-Agent, and no field that was not asked for", function()
      local seen = echo({ method = "POST", body = "x" })
      assert.equal("operations/" .. require("operations.base.version"), seen.headers["user-agent"])
      assert.is_nil(seen.headers["content-type"])
      assert.is_nil(seen.headers.expect)
      assert.equal("mine", echo({ headers = { ["user-AGENT"] = "mine" } }).headers["user-agent"])
      seen = echo({ method = "POST", body = "x", headers = { ["content-type"] = "a/b" } })
      assert.equal("a/b", seen.headers["content-type"])
    end)

    it("sends a length of 0 with a POST without a body", function()
      for _, method in ipairs({ "POST", "PUT", "PATCH" }) do
        assert.equal("0", echo({ method = method }).headers["content-length"], method)
      end
      for _, method in ipairs({ "GET", "DELETE", "OPTIONS" }) do
        assert.is_nil(echo({ method = method }).headers["content-length"], method)
      end
    end)

    it("carries a body on methods that usually have none", function()
      for _, method in ipairs({ "GET", "DELETE", "OPTIONS" }) do
        local seen = echo({ method = method, body = "unusual" })
        assert.equal(method, seen.method)
        assert.equal("unusual", seen.body)
      end
    end)

    it("carries bodies of megabytes both ways", function()
      local body = ("0123456789"):rep(300000)
      assert.equal(body, echo({ method = "POST", body = body }).body)
    end)

    it("takes every status as an answer", function()
      for _, status in ipairs({ 200, 201, 204, 304, 400, 404, 500, 503, 599 }) do
        local response = assert(get("/status/" .. status))
        assert.equal(status, response.status)
        assert.equal(tostring(status), response.headers["x-status"])
      end
    end)

    it("reads no body where an answer has none", function()
      assert.equal("", get("/status/204").body)
      assert.equal("", get("/status/304").body)
      local response = get("/bytes?size=100", { method = "HEAD" })
      assert.equal("", response.body)
      assert.equal("100", response.headers["content-length"])
    end)

    it("joins repeated headers, keeps cookies apart, unfolds lines", function()
      local headers = get("/raw/repeated").headers
      assert.equal("a, b", headers["x-many"])
      assert.same({ "a=1; Path=/", "b=2", "c=3; Path=/c" }, headers.setCookie)
      assert.equal("one two", headers["x-folded"])
      assert.equal("", headers["x-none"])
      assert.is_nil(headers["set-cookie"])
    end)

    it("takes a bare CR for a blank, not for the end of a line", function()
      assert.equal("a X-B: b", get("/raw/bare_cr").headers["x-a"])
    end)

    it("keeps the last head only, and no trailers", function()
      local headers = get("/raw/informed").headers
      assert.equal("1", headers["x-final"])
      assert.is_nil(headers["x-early"])
      local response = get("/raw/trailers")
      assert.equal("hello", response.body)
      assert.is_nil(response.headers["x-late"])
      assert.is_nil(response.headers["content-type"])
    end)

    it("decodes gzip, framed either way", function()
      for _, name in ipairs({ "gzip", "chunked_gzip" }) do
        assert.equal(("hello "):rep(2000), assert(get("/raw/" .. name)).body)
      end
    end)

    it("leaves a coding alone that the caller asked for himself", function()
      local response = assert(get("/raw/gzip", { headers = { ["Accept-Encoding"] = "gzip" } }))
      assert.equal("\31\139", response.body:sub(1, 2))
    end)

    it("drops the fragment of the URL", function()
      assert.equal("/echo?a", echo({}, "/echo?a#secret").uri)
    end)
  end)

  describe("refuses before anything is sent", function()
    local function refused(options)
      options.url = options.url or server.url .. "/echo"
      local response, err = http.request(options)
      assert.is_nil(response)
      assert.equal("EXECUTION_ERROR", err.code)
      assert.equal("request", err.details.kind)
      return err.message
    end

    it("control characters in header values, naming the header", function()
      for _, value in ipairs({ "a\r\nX-Injected: 1", "a\nb", "a\0b", "a\127b", "\27[0m" }) do
        assert.matches("'X%-A' contains a control character", refused({ headers = { ["X-A"] = value } }))
        assert.matches("'X%-A' contains a control character", refused({ headers = { ["X-A"] = { "fine", value } } }))
      end
      assert.equal("tab\tis fine", echo({ headers = { ["X-A"] = "tab\tis fine" } }).headers["x-a"])
    end)

    it("invalid numbers", function()
      for _, value in ipairs({ 1 / 0, -1 / 0, 0 / 0 }) do
        assert.matches("'X%-A' is not a finite number", refused({ headers = { ["X-A"] = value } }))
      end
    end)

    it("header names that are no tokens", function()
      for _, name in ipairs({ "", "X A", "X:A", "X\r\nA", "X\0", "(x)", "\195\164" }) do
        assert.matches("is not a token", refused({ headers = { [name] = "v" } }))
      end
    end)

    it("headers that frame the message", function()
      refused({ headers = { ["content-LENGTH"] = "1" } })
      refused({ headers = { ["Transfer-Encoding"] = "chunked" } })
    end)

    it("methods that are no tokens", function()
      assert.matches("method is not a token", refused({ method = "GET /x HTTP/1.1\r\nX: y" }))
    end)

    it("URLs with control characters, blanks, other schemes, no host or a password", function()
      for _, url in ipairs({
        "http://127.0.0.1/a b",
        "http://127.0.0.1/\r\nX",
        "http://127.0.0.1/\0",
        "file:///etc/passwd",
        "gopher://h/",
        "/relative",
        "http://",
        "http://user:secret@127.0.0.1/",
        "http://good\\@evil/",
      }) do
        local message = refused({ url = url })
        assert.is_nil(message:find("secret", 1, true))
      end
    end)

    it("wrong types, by raising with the option's name", function()
      for name, value in pairs({ jar = {}, credentials = { 5 }, query_credentials = { {} } }) do
        assert.error_matches(function()
          get("/echo", { [name] = value })
        end, "bad option '" .. name .. "'")
      end
      assert.error_matches(function()
        http.request("http://h/")
      end, "bad argument #1 'options' %(table expected, got string%)")
      assert.error_matches(function()
        http.request({})
      end, "bad option 'url' %(string expected, got nil%)")
      assert.error_matches(function()
        http.request({ url = "http://h/", body = 5 })
      end, "bad option 'body' %(string, function or reader expected, got number%)")
      assert.error_matches(function()
        http.request({ url = "http://h/", methd = "POST" })
      end, "bad option 'methd' %(unknown%)")
      local _, raised = pcall(function()
        http.request({ url = "http://h/", body = 5 })
        return nil
      end)
      assert.matches("http_spec.lua:%d+: bad option 'body'", raised)
      assert.error_matches(function()
        http.request({ url = "http://h/", timeout = 0 / 0 })
      end, "bad option 'timeout'")
      assert.error_matches(function()
        http.request({ url = "http://h/", headers = { a = true } })
      end, "bad header 'a' %(string expected, got boolean%)")
    end)
  end)

  describe("a failure has a kind of its own:", function()
    local function fails(kind, code, path, options)
      local response, err = get(path, options)
      assert.is_nil(response)
      assert.equal(kind, err.details.kind)
      assert.equal(code, err.code)
      assert.matches("^GET " .. server.url:gsub("%p", "%%%0"), err.message)
    end

    it("size for a body over max_body, however it is framed", function()
      fails("size", "EXECUTION_ERROR", "/bytes?size=1001", { max_body = 1000 })
      fails("size", "EXECUTION_ERROR", "/bytes/endless")
      assert.equal(1000, #get("/bytes?size=1000", { max_body = 1000 }).body)
    end)

    it("timeout for an answer that stops, if it is a whole one, without being told to", function()
      local usual
      reactor_loop.close() -- the next is made as the first one
      local new = reactor_module.new
      reactor_module.new = function(options)
        usual = options
        return new(options)
      end
      get("/echo")
      reactor_module.new = new
      assert.equal(60000, usual.idle_timeout)
    end)

    it("timeout for a late first byte and for a late end", function()
      fails("timeout", "TIMEOUT", "/slow?head=5", { first_byte_timeout = 30 })
      fails("timeout", "TIMEOUT", "/slow?body=5", { timeout = 30 })
    end)

    it("tls for an untrusted certificate", function()
      local _, err = http.request({ url = server.tls .. "/echo" })
      assert.equal("tls", err.details.kind)
      assert.equal(200, http.request({ url = server.tls .. "/echo", ca_file = server.ca_file }).status)
    end)

    it("and a message without the query and its secrets", function()
      local _, err = get("/raw/reset?token=hunter2")
      assert.is_nil(tostring(err):find("hunter2", 1, true))
      assert.is_nil(err.details.url:find("hunter2", 1, true))
    end)
  end)

  describe("a redirect", function()
    it("is followed five times, and the last URL reported", function()
      local response = assert(get("/redirect/count/5"))
      assert.equal("/echo/end", dkjson.decode(response.body).uri)
      assert.equal(server.url .. "/echo/end", response.url)
      local _, err = get("/redirect/count/6")
      assert.equal("redirect", err.details.kind)
      _, err = get("/redirect/loop")
      assert.equal("redirect", err.details.kind)
    end)

    it("is an answer when redirects are off, and for methods other than GET and HEAD", function()
      assert.equal(302, get("/redirect/count/1", { redirects = 0 }).status)
      assert.equal(307, get("/redirect?to=/echo&status=307", { method = "POST", body = "x" }).status)
      assert.equal(200, get("/redirect/count/1", { method = "HEAD" }).status)
    end)

    it("within an origin keeps the credentials", function()
      local response = get("/redirect?to=/echo", { headers = { Authorization = "secret" } })
      assert.equal("secret", dkjson.decode(response.body).headers.authorization)
    end)

    it("to another origin drops Authorization, Cookie and fields that are named credentials", function()
      local response = get("/redirect?to=" .. server.other .. "/echo", {
        headers = { Authorization = "a", cookie = "b", ["X-Api-Key"] = "c", ["X-Other"] = "d" },
        credentials = { "x-api-key" },
      })
      local seen = dkjson.decode(response.body).headers
      assert.is_nil(seen.authorization)
      assert.is_nil(seen.cookie)
      assert.is_nil(seen["x-api-key"])
      assert.equal("d", seen["x-other"])
    end)

    it("may not leave https, nor go to another scheme", function()
      local _, err = http.request({ url = server.tls .. "/redirect?to=" .. server.url, ca_file = server.ca_file })
      assert.matches("redirected from https to http", err.message)
      _, err = get("/redirect?to=file:///etc/passwd")
      assert.equal("redirect", err.details.kind)
      _, err = get("/redirect?to=http://u:p@127.0.0.1/")
      assert.equal("redirect", err.details.kind)
    end)

    it("shares the time of the request it came from", function()
      local _, err = get("/redirect?to=/slow?head=5", { timeout = 60 })
      assert.equal("timeout", err.details.kind)
    end)
  end)

  describe("open", function()
    it("gives the head first and the body as it comes", function()
      local stream = assert(http.open({ url = server.url .. "/sse?count=3&delay=0.02" }))
      assert.equal(200, stream.status)
      assert.equal("text/event-stream", stream.headers["content-type"])
      local chunks = {}
      for chunk in stream:chunks() do
        chunks[#chunks + 1] = chunk
      end
      local tick = 'id: %d\nevent: tick\ndata: {"n":%d}\n\n'
      assert.equal(tick:format(1, 1) .. tick:format(2, 2) .. tick:format(3, 3), table.concat(chunks))
      assert.same({ n = 2 }, { n = select("#", stream:read()) })
      stream = assert(http.open({ url = server.url .. "/bytes/endless" }))
      assert.equal(200, stream.status)
      assert.equal("0123456789abcdef", stream:read():sub(1, 16))
      stream:close()
    end)

    it("follows redirects", function()
      local stream = assert(http.open({ url = server.url .. "/redirect/count/2" }))
      assert.equal(200, stream.status)
      assert.equal(server.url .. "/echo/end", stream.url)
      stream:close()
    end)

    it("gives the bytes before a failure, then the failure, again and again", function()
      local stream = assert(http.open({ url = server.url .. "/raw/short_length" }))
      assert.equal("only this", stream:read())
      for _ = 1, 2 do
        local chunk, err = stream:read()
        assert.is_nil(chunk)
        assert.equal("truncated", err.details.kind)
      end
    end)

    it("has no size limit but the one asked for", function()
      local stream = assert(http.open({ url = server.url .. "/bytes?size=20000000" }))
      local size = 0
      for chunk in function() return stream:read() end do
        size = size + #chunk
      end
      assert.equal(20000000, size)
      stream = assert(http.open({ url = server.url .. "/bytes?size=100000", max_body = 50000 }))
      local err
      repeat
        local chunk
        chunk, err = stream:read()
      until not chunk
      assert.equal("size", err.details.kind)
    end)

    it("holds the sender back while the body is not read", function()
      local stream = assert(http.open({ url = server.url .. "/bytes/endless?note=held", window = 65536 }))
      usage.collect()
      local before, sent = collectgarbage("count"), nil
      repeat -- until the sockets between us are full
        local last = sent
        task.sleep(0.1)
        sent = get("/note/held").body
      until sent == last
      usage.collect()
      assert.is_true(collectgarbage("count") - before < 1024)
      local size = 0
      repeat
        size = size + #stream:read()
      until size > tonumber(sent) + 1000000 -- more than was under way: it goes on
      stream:close()
      assert.is_true(noted("held.end", "aborted"))
    end)

    it("closes the connection at once when closed", function()
      local stream = assert(http.open({ url = server.url .. "/sse?count=1000&delay=0.05&note=closed" }))
      stream:read()
      stream:close()
      stream:close()
      assert.equal("aborted", select(2, stream:read()).details.kind)
      assert.is_true(noted("closed", "aborted"))
    end)

    it("closes the connection when forgotten", function()
      local stream = assert(http.open({ url = server.url .. "/sse?count=1000&delay=0.05&note=forgotten" }))
      stream:read()
      stream = nil -- luacheck: ignore 311
      usage.collect()
      assert.is_true(noted("forgotten", "aborted"))
    end)

    it("ends a read that waits while another task closes it", function()
      task.run(function()
        local stream = assert(http.open({ url = server.url .. "/slow?body=5" }))
        local reader = task.spawn(stream.read, stream)
        task.sleep(0.01)
        stream:close()
        local chunk, err = reader:wait()
        assert.is_nil(chunk)
        assert.equal("aborted", err.details.kind)
      end)
    end)

    it("fails as request does before the head", function()
      local stream, err = http.open({ url = server.url .. "/raw/empty" })
      assert.is_nil(stream)
      assert.equal("reset", err.details.kind)
    end)
  end)

  describe("in tasks", function()
    it("runs 1,000 requests side by side", function()
      local right = 0
      task.run(function()
        for i = 1, 1000 do
          task.spawn(function()
            local response = assert(http.request({ url = server.url .. "/slow?head=0.05&i=" .. i }))
            right = right + (response.body == "late" and 1 or 0)
          end)
        end
      end)
      assert.equal(1000, right)
    end)

    it("fails with the error object that its task is cancelled with", function()
      local reason, response, err = errors.new("REPLACED", "another one is under way"), nil, nil
      task.run(function()
        local child = task.spawn(function()
          response, err = get("/slow?head=30")
        end)
        task.sleep(0.01)
        child:cancel(reason)
        child:wait()
      end)
      assert.is_nil(response)
      assert.equal("REPLACED", err.code)
    end)

    it("is ended by cancel, and the server sees it", function()
      local err
      task.run(function()
        local child = task.spawn(function()
          local response
          response, err = get("/slow?head=30&note=cancelled")
          return response
        end)
        assert.is_true(noted("cancelled", "started"))
        child:cancel("no longer needed")
        child:wait()
      end)
      assert.equal("ABORTED", err.code)
      assert.matches("no longer needed", err.message)
      assert.is_true(noted("cancelled", "aborted"))
    end)

    it("obeys the deadline of the task", function()
      local _, err
      task.run(function()
        task.deadline(core.now() + 1000) -- time for the request to arrive
        _, err = get("/slow?head=30&note=deadline")
      end)
      assert.equal("TIMEOUT", err.code)
      assert.equal("timeout", err.details.kind)
      assert.is_true(noted("deadline", "aborted"))
    end)

    it("waits inside generators and in coroutines of the program", function()
      local co = coroutine.wrap(function()
        coroutine.yield(get("/status/201").status)
      end)
      assert.equal(201, co())
      task.run(function()
        assert.same({ true, 202 }, {
          task.resume(coroutine.create(function()
            coroutine.yield(get("/status/202").status)
          end)),
        })
      end)
    end)

    it("leaves no descriptor behind", function()
      local function round()
        task.run(function()
          for i = 1, 50 do
            local child = task.spawn(get, i % 2 == 0 and "/echo" or "/slow?head=30")
            if i % 2 == 1 then
              task.spawn(function()
                task.sleep(0.01)
                child:cancel()
              end)
            end
          end
        end)
        usage.collect()
      end
      round()
      local before = usage.descriptors()
      round()
      round()
      assert.is_true(usage.descriptors() <= before)
    end)
  end)

  it("says so when the server dies in the middle of an answer", function()
    local mortal = test_server.start()
    local stream = assert(http.open({ url = mortal.url .. "/sse?count=1000&delay=0.01" }))
    stream:read()
    mortal:kill()
    local chunk, err
    repeat
      chunk, err = stream:read()
    until not chunk
    assert.is_true(err.details.kind == "truncated" or err.details.kind == "reset")
    mortal:stop()
  end)

  it("names its libcurl and the features of that", function()
    local version, ssl, features = require("operations.transfer").libcurl()
    assert.matches("^%d+%.%d+%.%d+", version)
    assert.matches("^%a+/%d", ssl)
    local names = {}
    for name, has in pairs(features) do
      names[#names + 1] = name
      assert.equal("boolean", type(has))
    end
    table.sort(names)
    assert.same({ "HTTP2", "IPv6", "SSL", "brotli", "gzip", "resolver", "zstd" }, names)
    assert.is_true(features.SSL)
  end)
end)

local http = require("operations.net.http")
local json = require("operations.base.json")
local operations = require("operations")
local senders = require("operations.net.http.sender")
local test_server = require("spec.support.server")

describe("a sender of requests", function()
  local server

  setup(function()
    server = test_server.start()
  end)

  teardown(function()
    server:stop()
  end)

  local function new_sender(path, options)
    options = options or {}
    options.url, options.method = server.url .. path, options.method or "POST"
    return senders.new(options, true), options
  end

  local function read(stream)
    local text, chunk = "", nil
    repeat
      text = text .. (chunk or "")
      chunk = stream:read()
    until not chunk
    return text
  end

  -- Sends it with a body; what the server saw.
  local function seen(sender, body)
    return assert(json.decode(read(assert(sender:send({ body = body })))))
  end

  it("is sent with the body of each time, and the same head", function()
    local sender = new_sender("/echo", { headers = { ["Content-Type"] = "text/plain", ["X-Kind"] = "one" } })
    for _, body in ipairs({ "first", "a longer second", "", ("x"):rep(100000) }) do
      local found = seen(sender, body)
      assert.same({ "POST", body, "text/plain", "one" },
        { found.method, found.body, found.headers["content-type"], found.headers["x-kind"] })
      assert.equal(tostring(#body), found.headers["content-length"])
    end
  end)

  it("has no body where none is given, though one was before", function()
    local sender = new_sender("/echo")
    assert.equal("there", seen(sender, "there").body)
    assert.equal("", seen(sender).body)
    local get = new_sender("/echo", { method = "GET" })
    assert.same({ "GET", "" }, { seen(get).method, seen(get).body })
  end)

  it("keeps the options with which it was made", function()
    local sender, options = new_sender("/echo", { headers = { ["X-Kind"] = "one" } })
    options.url, options.method, options.headers["X-Kind"] = server.url .. "/status?code=500", "PUT", "two"
    local found = seen(sender, "x")
    assert.same({ "/echo", "POST", "one" }, { found.uri, found.method, found.headers["x-kind"] })
  end)

  it("sends to a URL of its own and with headers of its own, which stand for all others", function()
    local sender = new_sender("/", { headers = { ["X-Kind"] = "one" } })
    local function sent(own)
      return json.decode(read(assert(sender:send(own))))
    end
    assert.same({ "/echo?a=1", "one" }, { sent({ url = server.url .. "/echo?a=1" }).uri,
      sent({ url = server.url .. "/echo" }).headers["x-kind"] })
    local found = sent({ url = server.url .. "/echo", headers = { ["X-Other"] = "two" }, body = "text" })
    assert.same({ nil, "two", "text" }, { found.headers["x-kind"], found.headers["x-other"], found.body })
  end)

  it("says what is wrong with what a request has of its own", function()
    local sender = new_sender("/echo")
    for says, own in pairs({ ["not an http"] = { url = "ftp://x/" }, ["not a token"] = { headers = { ["a b"] = "" } },
      blank = { url = server.url .. "/a b" } }) do
      local stream, err = sender:send(own)
      assert.is_nil(stream)
      assert.equal("request", err.details.kind)
      assert.matches(says, err.message)
    end
  end)

  it("follows a redirect with the request's own fields", function()
    local options = { url = server.url, method = "POST", redirect_all = true, headers = { ["X-Kind"] = "one" } }
    local sender, url = senders.new(options, false), server.url .. "/redirect?to=/echo&status=307"
    local found = json.decode(assert(sender:send({ url = url, body = "x" })).body)
    assert.same({ "/echo", "x", "one" }, { found.uri, found.body, found.headers["x-kind"] })
    found = json.decode(assert(sender:send({ url = url, body = "y", headers = { ["X-Kind"] = "two" } })).body)
    assert.same({ "y", "two" }, { found.body, found.headers["x-kind"] })
  end)

  it("tries again, and keeps cookies, where its options ask for that", function()
    local key = "again" .. server.port
    local sender = senders.new({ url = server.url, retry = { delay = 1 }, jar = http.jar() }, false)
    assert.equal("3", assert(sender:send({ url = server.url .. "/flaky?fail=2&key=" .. key })).body)
    assert(sender:send({ url = server.url .. "/cookie?set=a%3D1" }))
    assert.equal("a=1", assert(sender:send({ url = server.url .. "/cookie" })).body)
  end)

  it("sends with a program's own client the same options", function()
    local seen_by_it
    local function take(options)
      seen_by_it = options
      return { status = 200 }
    end
    for _, stream in ipairs({ true, false }) do
      local sender = senders.new({ url = "http://a/", method = "PUT", headers = { a = "b" } }, stream,
        { open = stream and take, request = not stream and take })
      assert.equal(200, sender:send({ url = "http://a/c", body = "x" }).status)
      assert.same({ url = "http://a/c", method = "PUT", headers = { a = "b" }, body = "x" }, seen_by_it)
    end
  end)

  it("may send many requests at once, each with its body", function()
    operations.run(function()
      local sender, bodies = new_sender("/echo"), {}
      for round = 1, 3 do
        for i = 1, 100 do -- more than are kept for later
          bodies[i] = function()
            local body = ("%d of %d"):format(i, round)
            return seen(sender, body).body == body
          end
        end
        for _, same in ipairs(assert(operations.all(bodies))) do
          assert.is_true(same)
        end
      end
    end)
  end)

  it("may be sent again while its answer is read", function()
    operations.run(function()
      local sender = new_sender("/echo")
      local first = assert(sender:send({ body = "one" }))
      assert.equal("two", seen(sender, "two").body)
      assert.equal("one", json.decode(read(first)).body)
      local left = assert(sender:send({ body = "left" }))
      left:close()
      assert.equal("three", seen(sender, "three").body)
    end)
  end)

  it("says what is wrong with it whenever it is sent, and sends nothing", function()
    for _, wrong in ipairs({
      { options = { url = "nowhere" }, says = "nowhere" },
      { options = { url = server.url, headers = { ["a b"] = "c" } }, says = "a b" },
      { options = { url = server.url, headers = { a = "b\r\nc" } }, says = "header" },
      { options = { url = server.url, method = "NO TOKEN" }, says = "not a token" },
    }) do
      local sender = senders.new(wrong.options, true)
      for _ = 1, 2 do
        local stream, err = sender:send({ body = "x" })
        assert.is_nil(stream)
        assert.equal("request", err.details.kind)
        assert.matches(wrong.says, err.message)
      end
    end
  end)

  it("raises misuse where it is made", function()
    for _, wrong in ipairs({ {}, { url = 1 }, { url = "http://localhost", unknown = true } }) do
      assert.is_false((pcall(senders.new, wrong, true)))
    end
  end)

  it("follows no redirect of a POST and keeps no cookie unless asked to", function()
    local stream = assert(new_sender("/redirect?to=/echo&status=307"):send({ body = "x" }))
    assert.equal(307, stream.status)
    stream:close()
    local sender = new_sender("/cookie?set=a")
    assert(sender:send({ body = "x" })):close()
    assert.is_nil(seen(new_sender("/echo"), "x").headers.cookie)
  end)

  it("gives an error status as an answer, and is sent once", function()
    local key = "sender" .. server.port
    local stream = assert(new_sender("/flaky?fail=1&key=" .. key):send({ body = "x" }))
    assert.equal(503, stream.status)
    stream:close()
    assert.equal("1", http.request({ url = server.url .. "/note/" .. key }).body)
  end)

  it("sends again when a kept connection turns out to be closed, if that does no harm", function()
    local get = senders.new({ url = server.other .. "/kept/taken", method = "GET" }, true)
    for _ = 1, 3 do -- each takes the next request, and closes
      assert.equal("ok", read(assert(get:send({}))))
    end
  end)

  it("goes out no second time otherwise", function()
    assert.equal("ok", read(assert(http.open({ url = server.other .. "/kept/taken" })))) -- no other connection there
    local sender = senders.new({ url = server.other .. "/flaky?fail=0&key=once", method = "POST" }, true)
    local stream, err = sender:send({ body = "x" })
    assert.is_nil(stream)
    assert.equal("reset", err.details.kind)
    assert.equal("none", http.request({ url = server.url .. "/note/once" }).body)
  end)

  it("tells of a lost connection, and can be sent later", function()
    local key = "lost" .. server.port
    local sender = new_sender("/flaky?fail=1&status=drop&key=" .. key)
    local stream, err = sender:send({ body = "x" })
    assert.is_nil(stream)
    assert.equal("EXECUTION_ERROR", err.code)
    assert.equal("2", read(assert(sender:send({ body = "x" }))))
  end)
end)

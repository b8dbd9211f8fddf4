local http = require("operations.net.http")
local http_prepared = require("operations.net.http.prepared")
local json = require("operations.base.json")
local operations = require("operations")
local test_server = require("spec.support.server")

describe("a prepared request", function()
  local server

  setup(function()
    server = test_server.start()
  end)

  teardown(function()
    server:stop()
  end)

  local function prepare(path, options)
    options = options or {}
    options.url, options.method = server.url .. path, options.method or "POST"
    return http_prepared.new(options), options
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
  local function seen(prepared, body)
    return assert(json.decode(read(assert(prepared:open(body)))))
  end

  it("is sent with the body of each time, and the same head", function()
    local prepared = prepare("/echo", { headers = { ["Content-Type"] = "text/plain", ["X-Kind"] = "one" } })
    for _, body in ipairs({ "first", "a longer second", "", ("x"):rep(100000) }) do
      local found = seen(prepared, body)
      assert.same({ "POST", body, "text/plain", "one" },
        { found.method, found.body, found.headers["content-type"], found.headers["x-kind"] })
      assert.equal(tostring(#body), found.headers["content-length"])
    end
  end)

  it("has no body where none is given, though one was before", function()
    local prepared = prepare("/echo")
    assert.equal("there", seen(prepared, "there").body)
    assert.equal("", seen(prepared).body)
    local get = prepare("/echo", { method = "GET" })
    assert.same({ "GET", "" }, { seen(get).method, seen(get).body })
  end)

  it("is what the options were when it was made", function()
    local prepared, options = prepare("/echo", { headers = { ["X-Kind"] = "one" } })
    options.url, options.method, options.headers["X-Kind"] = server.url .. "/status?code=500", "PUT", "two"
    local found = seen(prepared, "x")
    assert.same({ "/echo", "POST", "one" }, { found.uri, found.method, found.headers["x-kind"] })
  end)

  it("may be under way many times at once, each with its body", function()
    operations.run(function()
      local prepared, bodies = prepare("/echo"), {}
      for round = 1, 3 do
        for i = 1, 100 do -- more than are kept for later
          bodies[i] = function()
            local body = ("%d of %d"):format(i, round)
            return seen(prepared, body).body == body
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
      local prepared = prepare("/echo")
      local first = assert(prepared:open("one"))
      assert.equal("two", seen(prepared, "two").body)
      assert.equal("one", json.decode(read(first)).body)
      local left = assert(prepared:open("left"))
      left:close()
      assert.equal("three", seen(prepared, "three").body)
    end)
  end)

  it("says what is wrong with it whenever it is sent, and sends nothing", function()
    for _, wrong in ipairs({
      { options = { url = "nowhere" }, says = "nowhere" },
      { options = { url = server.url, headers = { ["a b"] = "c" } }, says = "a b" },
      { options = { url = server.url, headers = { a = "b\r\nc" } }, says = "header" },
      { options = { url = server.url, method = "NO TOKEN" }, says = "no token" },
    }) do
      local prepared = http_prepared.new(wrong.options)
      for _ = 1, 2 do
        local stream, err = prepared:open("x")
        assert.is_nil(stream)
        assert.equal("request", err.details.kind)
        assert.matches(wrong.says, err.message)
      end
    end
  end)

  it("raises what is misuse, where it is made", function()
    for _, wrong in ipairs({ {}, { url = 1 }, { url = "http://localhost", unknown = true } }) do
      assert.is_false((pcall(http_prepared.new, wrong)))
    end
  end)

  it("follows no redirect and keeps no cookie", function()
    local stream = assert(prepare("/redirect?to=/echo&status=307"):open("x"))
    assert.equal(307, stream.status)
    stream:close()
    local prepared = prepare("/cookie?set=a")
    assert(prepared:open("x")):close()
    assert.is_nil(seen(prepare("/echo"), "x").headers.cookie)
  end)

  it("gives an error status as an answer, and is sent once", function()
    local key = "prepared" .. server.port
    local stream = assert(prepare("/flaky?fail=1&key=" .. key):open("x"))
    assert.equal(503, stream.status)
    stream:close()
    assert.equal("1", http.request({ url = server.url .. "/note/" .. key }).body)
  end)

  it("goes out once more when the connection that was kept turns out to be closed, if that does no harm", function()
    local get = http_prepared.new({ url = server.other .. "/kept/taken", method = "GET" })
    for _ = 1, 3 do -- each takes the next request, and closes
      assert.equal("ok", read(assert(get:open())))
    end
  end)

  it("goes out no second time otherwise", function()
    assert.equal("ok", read(assert(http.open({ url = server.other .. "/kept/taken" })))) -- no other connection there
    local stream, err = http_prepared.new({ url = server.other .. "/flaky?fail=0&key=once", method = "POST" }):open("x")
    assert.is_nil(stream)
    assert.equal("reset", err.details.kind)
    assert.equal("none", http.request({ url = server.url .. "/note/once" }).body)
  end)

  it("tells of a lost connection, and can be sent later", function()
    local key = "lost" .. server.port
    local prepared = prepare("/flaky?fail=1&status=drop&key=" .. key)
    local stream, err = prepared:open("x")
    assert.is_nil(stream)
    assert.equal("EXECUTION_ERROR", err.code)
    assert.equal("2", read(assert(prepared:open("x"))))
  end)
end)

local dkjson = require("dkjson")
local eventually = require("spec.support.eventually")
local http = require("operations.net.http")
local operations = require("operations")
local streams = require("operations.net.stream")
local task = require("operations.task")
local test_server = require("spec.support.server")

describe("a request body that comes piece by piece", function()
  local server = test_server.around(setup, teardown)

  local function pieces(...)
    local list, i = { ... }, 0
    return function()
      i = i + 1
      return list[i]
    end
  end

  local function send(body, options, path)
    options = options or {}
    options.timeout = options.timeout or 10000 -- none hangs
    options.url, options.method, options.body = server.url .. (path or "/echo"), options.method or "POST", body
    return http.request(options)
  end

  local function note(key)
    return http.request({ url = server.url .. "/note/" .. key }).body
  end

  it("is the chunks that a function returns until nil", function()
    local seen = dkjson.decode(assert(send(pieces("one ", "two ", "three"))).body)
    assert.equal("one two three", seen.body)
    assert.equal("POST", seen.method)
    assert.equal("chunked", seen.headers["transfer-encoding"])
    assert.is_nil(seen.headers.expect)
    assert.is_nil(seen.headers["content-type"])
  end)

  it("is sent with its length when that is given", function()
    local seen = dkjson.decode(assert(send(pieces("12", "345"), { body_size = 5, method = "PUT" })).body)
    assert.equal("12345", seen.body)
    assert.equal("PUT", seen.method)
    assert.equal("5", seen.headers["content-length"])
    assert.is_nil(seen.headers["transfer-encoding"])
  end)

  it("may be empty", function()
    assert.equal("", dkjson.decode(assert(send(pieces())).body).body)
  end)

  it("may be read from a file", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "w+b"))
    local text = ("0123456789"):rep(100000)
    file:write(text)
    file:seek("set")
    assert.equal(tostring(#text), assert(send(file, { body_size = #text }, "/upload")).body)
    file:close()
    os.remove(path)
  end)

  it("may be the answer to another request", function()
    local source = assert(http.open({ url = server.url .. "/bytes?size=3000000" }))
    assert.equal("3000000", assert(send(source, { body_size = 3000000 }, "/upload")).body)
  end)

  it("may wait between its pieces, which are sent as they come", function()
    task.run(function()
      local turn = 0
      local response = assert(send(function()
        turn = turn + 1
        if turn == 2 then
          eventually(function() -- the first one is there
            return note("waits") == "5"
          end)
          return "second"
        end
        return turn == 1 and "first" or nil
      end, { body_size = 11, timeout = 10000 }, "/upload?note=waits"))
      assert.equal("11", response.body)
    end)
  end)

  it("does not pile up: a function is called when the connection takes more", function()
    local calls, block = 0, ("x"):rep(65536)
    local stream = assert(http.open({
      url = server.url .. "/slow?head=0.3", method = "POST", timeout = 5000,
      body = function()
        calls = calls + 1
        return calls <= 2000 and block or nil
      end,
    }))
    stream:close()
    assert.is_true(calls < 1000) -- 64 MB were not read into memory
  end)

  it("takes its own time, which does not count as the server's", function()
    local turn = 0
    local response = assert(send(function()
      turn = turn + 1
      if turn < 4 then
        -- waits: libcurl measures with its own clock
        task.sleep(0.4)
        return "x"
      end
    end, { first_byte_timeout = 1000 }, "/upload"))
    assert.equal("3", response.body)
  end)

  it("ends early when the server answers before", function()
    local response = assert(send(function()
      return ("x"):rep(65536)
    end, { timeout = 10000 }, "/upload/refused"))
    assert.equal(413, response.status)
  end)

  it("that fails ends the request with its error, and the server sees no end", function()
    local failure = operations.error("EXECUTION_ERROR", "the disk is gone")
    local response, err = send(function()
      return nil, failure
    end)
    assert.is_nil(response)
    assert.equal(failure, err)
    response, err = send(function()
      return nil, "no more disk"
    end)
    assert.equal("body", err.details.kind)
    assert.matches("no more disk", err.message)
    assert.is_nil(response)
    response, err = send(function()
      return 5
    end)
    assert.is_nil(response)
    assert.equal("body", err.details.kind)
  end)

  it("is not asked for when the request cannot begin", function()
    local response, err = http.request({ url = "http://127.0.0.1:99999/", method = "POST", body = function()
      error("asked for")
    end })
    assert.is_nil(response)
    assert.matches("127.0.0.1:99999", err.message, 1, true)
  end)

  it("was sent for nothing when the answer breaks off: the request fails", function()
    local listener = assert(streams.listen("127.0.0.1", 0, function(stream)
      stream:offer("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
      stream:finish()
    end))
    local response, err = http.request({ url = "http://127.0.0.1:" .. listener.port, method = "POST",
      body = pieces("a"), timeout = 10000 })
    listener:close()
    assert.is_nil(response)
    assert.equal("truncated", err.details.kind)
  end)

  it("that raises passes it on", function()
    assert.error_matches(function()
      send(function()
        error("oops")
      end)
    end, "oops")
  end)

  describe("of another length than its size", function()
    local listener, received
    local held -- the connections: nothing else keeps them from being collected

    local function answer(stream)
      stream:offer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    end

    before_each(function()
      received, held = {}, {}
      listener = assert(streams.listen("127.0.0.1", 0, function(stream)
        local own = #received + 1
        local mine = received
        held[own] = stream
        mine[own] = ""
        stream:each_chunk(function(bytes)
          mine[own] = mine[own] .. (bytes or " (closed)")
          local head, body = mine[own]:match("^(.-\r\n)\r\n(.*)$")
          if bytes and head and #body == tonumber(head:match("Content%-Length: (%d+)") or 0) then
            answer(stream)
          end
        end)
      end))
    end)

    after_each(function()
      for _, stream in ipairs(held) do
        stream:close()
      end
      listener:close()
    end)

    local function url()
      return ("http://127.0.0.1:%d/"):format(listener.port)
    end

    for _, case in ipairs({
      { "fewer", 5, { "123" } }, { "fewer", 5, {} }, { "more", 5, { "1234567" } }, { "more", 5, { "123", "4567" } },
      { "more", 5, { "12345", "", "GET /admin HTTP/1.1\r\n\r\n" } },
      { "more", 0, { "GET /admin HTTP/1.1\r\n\r\n" } },
    }) do
      for _, way in ipairs({ "request", "open" }) do
        it(("fails at once with the kind body, by %s: %s than %d (%d pieces)"):format(way, case[1], case[2],
          #case[3]), function()
          task.run(function()
            local first, err = http[way]({ url = url(), method = "POST", body_size = case[2],
              body = pieces(case[3][1], case[3][2], case[3][3]) })
            assert.is_nil(first)
            assert.same({ "EXECUTION_ERROR", "body", false }, { err.code, err.details.kind, err.retryable })
            assert.matches(("the body has %s bytes than its size says (%d)"):format(case[1], case[2]), err.message, 1,
              true)
            local second = assert(http.request({ url = url() .. "next", timeout = 10000 }))
            assert.equal("ok", second.body)
            local last = table.remove(received) -- a connection of its own, on which nothing else was sent
            assert.matches("^GET /next HTTP/1.1\r\n", last)
            assert.is_nil(last:find("admin", 1, true))
            eventually(function()
              return not received[1] or received[1]:find("(closed)", 1, true)
            end)
            for _, bytes in ipairs(received) do
              local body = bytes:match("\r\n\r\n(.*) %(closed%)$") or ""
              assert.is_true(case[2] == 0 and body == "" or #body < case[2], body)
            end
          end)
        end)
      end
    end

    it("is a size that is not a number of bytes: nothing is sent", function()
      for _, size in ipairs({ 2.5, math.huge, 2 ^ 60 }) do
        local response, err = http.request({ url = url(), method = "POST", body = pieces("123"), body_size = size })
        assert.is_nil(response)
        assert.equal("request", err.details.kind)
      end
      assert.same({}, received)
    end)
  end)

  it("works with open as with request", function()
    local stream = assert(http.open({ url = server.url .. "/echo", method = "POST", body = pieces("a", "b") }))
    local text = ""
    for chunk in function() return stream:read() end do
      text = text .. chunk
    end
    assert.equal("ab", dkjson.decode(text).body)
  end)

  it("lets other tasks run while its source has nothing yet", function()
    local turns, asked = 0, 0
    task.run(function()
      local other = task.spawn(function()
        while true do
          task.sleep(0.001)
          turns = turns + 1
        end
      end)
      assert.equal("0", assert(send(function()
        asked = asked + 1
        return turns < 3 and asked < 1e7 and "" or nil
      end, nil, "/upload")).body)
      other:cancel()
    end)
    assert.is_true(turns >= 3)
  end)

  it("that never has anything ends with the time of the request", function()
    local response, err = send(function()
      return ""
    end, { body_size = 5, timeout = 50 })
    assert.is_nil(response)
    assert.equal("TIMEOUT", err.code)
  end)

  it("is ended by cancel", function()
    local err
    task.run(function()
      local child = task.spawn(function()
        local _
        _, err = send(function()
          task.sleep(0.01)
          return "x"
        end, nil, "/upload")
      end)
      task.sleep(0.05)
      child:cancel()
      child:wait()
    end)
    assert.is_true(err == nil or err.code == "ABORTED")
  end)
end)

local eventually = require("spec.support.eventually")
local http_peer = require("spec.support.http_peer")
local json = require("operations.base.json")
local operations = require("operations")

local connect, with = http_peer.connect, http_peer.with

local GET = "GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n"

local function text(body)
  return { status = 200, headers = { ["content-type"] = "text/plain" }, body = body }
end

local function hello()
  return text("hello")
end

local WINDOW = require("operations.base.limits").window

local function read_all(body)
  if type(body) == "string" then
    return body
  end
  local pieces = {}
  for piece in body do
    pieces[#pieces + 1] = piece
  end
  return table.concat(pieces)
end

local function echo(request)
  return text(("%s %s %s"):format(request.method, request.target, read_all(request.body)))
end

-- A body function of the values of a list; a function among them is called.
local function pieces(list)
  local i = 0
  return function()
    i = i + 1
    if type(list[i]) == "function" then
      return list[i]()
    end
    return list[i]
  end
end

local function post(body, ...)
  return table.concat({ "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: " .. #body .. "\r\n", ... }) .. "\r\n" .. body
end

describe("a connection of the HTTP server", function()
  it("answers with the length of the body and the date", function()
    with(hello, {}, function(server)
      local status, headers, body = connect(server.port):send(GET):answer()
      assert.same({ 200, "hello", "text/plain" }, { status, body, headers["content-type"] })
      assert.matches("^%a%a%a, %d%d %a%a%a %d%d%d%d %d%d:%d%d:%d%d GMT$", headers.date)
      assert.is_nil(headers.connection)
    end)
  end)

  it("stops reading a body that is not wanted and comes slowly", function()
    with(hello, { body_timeout = 100 }, function(server)
      local client = connect(server.port):send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n")
      eventually(function()
        return client.ended or client:send("a") == nil
      end)
      assert.matches("^HTTP/1.1 200 OK\r\n", client.bytes)
    end)
  end)

  it("breaks off a body whose piece is no string", function()
    with(function() return text(pieces({ "a", 5 })) end, {}, function(server, log)
      local got = connect(server.port):send(GET):rest()
      assert.matches("\r\n1\r\na\r\n$", got)
      assert.same({ "the body of an answer failed: a piece of the body: string expected, got number" }, log)
    end)
  end)

  it("gives the handler the request and the address of its sender", function()
    local got
    with(function(request)
      got = request
      return text("")
    end, {}, function(server)
      connect(server.port):send("QUERY /a%20b?c=d HTTP/1.1\r\nHost: a\r\nX-A: 1\r\nx-a: 2\r\n\r\n"):answer()
    end)
    assert.same({ "QUERY", "/a%20b?c=d", "1, 2", "" }, { got.method, got.target, got.headers["x-a"], got.body })
    assert.equal("127.0.0.1", got.peer.address)
    assert.is_true(got.peer.port > 0)
    assert.is_false(got.peer.tls)
  end)

  it("serves one request after the other", function()
    with(echo, {}, function(server)
      local client = connect(server.port)
      for i = 1, 5 do
        assert.equal("POST /a x" .. i, (select(3, client:send(post("x" .. i)):answer())))
      end
    end)
  end)

  it("answers pipelined requests in their order, one at a time", function()
    local running, most = 0, 0
    with(function(request)
      running = running + 1
      most = math.max(most, running)
      operations.sleep(request.target == "/1" and 0.02 or 0)
      running = running - 1
      return text(request.target)
    end, {}, function(server)
      local list = {}
      for i = 1, 50 do
        list[i] = ("GET /%d HTTP/1.1\r\nHost: a\r\n\r\n"):format(i)
      end
      local client = connect(server.port):send(table.concat(list))
      for i = 1, 50 do
        assert.equal("/" .. i, (select(3, client:answer())))
      end
    end)
    assert.equal(1, most)
  end)

  it("lets others have their turn while one sends on and on", function()
    with(hello, { max_connection_requests = 100000 }, function(server)
      local busy = connect(server.port):send(GET:rep(5000))
      local other = connect(server.port):send(GET)
      assert.equal(200, (other:answer()))
      assert.is_true(#busy.bytes < 5000 * 100)
    end)
  end)

  it("closes when it is asked to, and tells so", function()
    with(hello, {}, function(server)
      local client = connect(server.port):send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
      local status, headers = client:answer()
      assert.same({ 200, "close" }, { status, headers.connection })
      assert.equal("", client:rest())
      client = connect(server.port):send("GET / HTTP/1.0\r\n\r\n")
      assert.equal("close", (select(2, client:answer())).connection)
      assert.equal("", client:rest())
    end)
  end)

  it("continues with a sender of HTTP/1.0 that asks for it", function()
    with(hello, {}, function(server)
      local client = connect(server.port)
      for _ = 1, 2 do
        client:send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        assert.equal("keep-alive", (select(2, client:answer())).connection)
      end
    end)
  end)

  it("closes when the handler says so, or after its number of requests", function()
    with(function(request)
      local response = text("x")
      response.headers.connection = request.target == "/close" and "close" or nil
      return response
    end, { max_connection_requests = 2 }, function(server)
      local client = connect(server.port):send("GET /close HTTP/1.1\r\nHost: a\r\n\r\n")
      assert.equal("close", (select(2, client:answer())).connection)
      client = connect(server.port):send(GET .. GET .. GET)
      assert.is_nil((select(2, client:answer())).connection)
      assert.equal("close", (select(2, client:answer())).connection)
      assert.equal("", client:rest())
    end)
  end)

  describe("with a body", function()
    it("is held back at the window, also when much has come before the handler reads", function()
      local longest, size = 0, 16 * WINDOW
      with(function(request)
        operations.sleep(0.05)
        for piece in request.body do
          longest = math.max(longest, #piece)
        end
        return text("read")
      end, { max_body = size }, function(server)
        local client = connect(server.port)
        operations.spawn(function()
          client:send(("POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"):format(size))
          for _ = 1, 16 do
            client:send(("x"):rep(WINDOW))
          end
        end)
        client:expect("read$")
        client:close()
      end)
      assert.is_true(longest <= 2 * WINDOW, longest)
    end)

    it("hands it over whole when it came with the head", function()
      local kinds = {}
      with(function(request)
        kinds[#kinds + 1] = type(request.body)
        return echo(request)
      end, {}, function(server)
        local client = connect(server.port)
        assert.equal("POST /a abc", (select(3, client:send(post("abc")):answer())))
        client:send("POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
        assert.equal("POST /a abc", (select(3, client:answer())))
      end)
      assert.same({ "string", "string" }, kinds)
    end)

    it("hands it over piece by piece when it comes later", function()
      with(echo, {}, function(server)
        local client = connect(server.port)
        local message = post(("0123456789"):rep(100000))
        for from = 1, #message, 70001 do
          client:send(message:sub(from, from + 70000))
          operations.sleep(0.001)
        end
        assert.equal(1000000 + #"POST /a ", #(select(3, client:answer())))
        assert.equal(200, (client:send(GET):answer()))
      end)
    end)

    it("hands it over also when each byte comes alone", function()
      with(echo, {}, function(server)
        local client = connect(server.port)
        local message = "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
          .. "2;x\r\nab\r\n1\r\nc\r\n0\r\n\r\n"
        for byte in (message .. GET):gmatch(".") do
          client:send(byte)
          operations.sleep(0)
        end
        assert.equal("POST /a abc", (select(3, client:answer())))
        assert.equal("GET /a ", (select(3, client:answer())))
      end)
    end)

    it("sends 100 Continue only when the handler asks for the body", function()
      with(function(request)
        return request.target == "/read" and echo(request) or { status = 403, body = "no" }
      end, {}, function(server)
        local head = " HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
        local client = connect(server.port):send("POST /read" .. head)
        client:expect("^HTTP/1%.1 100 Continue\r\n\r\n")
        client.bytes = ""
        assert.equal("POST /read abc", (select(3, client:send("abc"):answer())))
        client:send("POST /other" .. head)
        local status, headers = client:answer()
        assert.same({ 403, "close" }, { status, headers.connection })
        assert.equal("", client:rest())
      end)
    end)

    it("does not ask a sender whose body is on its way", function()
      with(echo, {}, function(server)
        local client = connect(server.port)
        client:send(post("abc", "Expect: 100-continue\r\n"))
        assert.equal("POST /a abc", (select(3, client:answer())))
      end)
    end)

    it("drops one that is not read, and continues when it is short", function()
      with(hello, {}, function(server)
        local client = connect(server.port)
        client:send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n01234")
        assert.equal(200, (client:answer()))
        assert.equal(200, (client:send("56789" .. GET):answer()))
        client:send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n")
        assert.equal(200, (client:answer()))
        client:send(("x"):rep(200000))
        assert.equal("", client:rest())
      end)
    end)

    it("tells the handler the error of the body, and closes", function()
      local errors, begun = {}, 0
      local function handle(request)
        local piece, err = request.body()
        begun = begun + 1
        while piece do
          piece, err = request.body()
        end
        errors[#errors + 1] = ("%s %d"):format(err.code, err.details.statusCode)
        assert.equal(err, select(2, request.body()))
        return { status = err.details.statusCode, body = "" }
      end
      with(handle, { max_body = 100, body_timeout = 20 }, function(server)
        for _, case in ipairs({ { 400, "3\r\nabcd" }, { 413, "3\r\nabc\r\n62\r\n" }, { 408, "3\r\na" } }) do
          local client = connect(server.port)
          client:send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
          client:send(case[2])
          local status, headers = client:answer()
          assert.same({ case[1], "close" }, { status, headers.connection })
          client:close()
        end
      end)
      with(handle, {}, function(server)
        local client = connect(server.port):send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc")
        eventually(function()
          return begun == 4
        end)
        client:close()
        eventually(function()
          return #errors == 4
        end)
      end)
      assert.same({ "VALIDATION_ERROR 400", "VALIDATION_ERROR 413", "TIMEOUT 408", "ABORTED 499" }, errors)
    end)

    it("cannot be read any more behind the answer", function()
      local body
      with(function(request)
        body = request.body
        return text("x")
      end, {}, function(server)
        local client = connect(server.port):send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc")
        client:answer()
        local piece, err = body()
        assert.same({ nil, "ABORTED" }, { piece, err.code })
      end)
    end)

    it("is refused when it is announced too long, before it comes, and the sender can read that", function()
      local handled = false
      with(function()
        handled = true
        return text("")
      end, { max_body = 1000 }, function(server)
        local client = connect(server.port)
        client:send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1073741824\r\n\r\n")
        pcall(client.send, client, ("x"):rep(300000))
        local status, headers, body = client:answer()
        assert.same({ 413, "close", "application/problem+json" },
          { status, headers.connection, headers["content-type"] })
        assert.equal(413, json.decode(body).status)
        assert.equal("", client:rest())
        assert.is_nil(client.err)
      end)
      assert.is_false(handled)
    end)
  end)

  describe("in pieces", function()
    it("sends chunks as they come", function()
      local go
      with(function()
        return text(pieces({ "one", "", "two", function()
          operations.sleep(0)
          while not go do
            operations.sleep(0.001)
          end
          return "three"
        end }))
      end, {}, function(server)
        local client = connect(server.port):send(GET)
        assert.equal("3\r\none\r\n3\r\ntwo\r\n", client:expect("\r\n\r\n(3\r\none\r\n3\r\ntwo\r\n)$"))
        assert.matches("Transfer%-Encoding: chunked\r\n", client.bytes)
        go = true
        client:expect("two\r\n5\r\nthree\r\n0\r\n\r\n$")
        client.bytes = ""
        go = nil
        client:send(GET):expect("\r\n\r\n3\r\none\r\n")
      end)
    end)

    it("ends with the connection for HTTP/1.0", function()
      with(function()
        local response = text(pieces({ "one", "two" }))
        response.headers["content-length"] = "3" -- wrong, and not sent
        return response
      end, {}, function(server)
        local client = connect(server.port):send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        local answer = client:rest()
        assert.matches("Connection: close\r\n\r\nonetwo$", answer)
        assert.is_nil(answer:lower():find("content-length", 1, true))
      end)
    end)

    it("is cut off without its end when the body fails", function()
      local function raise()
        error("broken")
      end
      local function fail_so()
        return nil, operations.error("A", "b")
      end
      for _, fail in ipairs({ raise, fail_so }) do
        with(function()
          return text(pieces({ "one", fail }))
        end, {}, function(server, log)
          local client = connect(server.port):send(GET)
          assert.matches("3\r\none\r\n$", client:rest())
          assert.equal(1, #log)
          assert.matches("the body of an answer failed", log[1])
        end)
      end
    end)

    it("waits for a slow reader, while others are served", function()
      local made = 0
      with(function(request)
        if request.target == "/small" then
          return text("x")
        end
        return text(function()
          made = made + 1
          return made <= 500 and ("x"):rep(100000) or nil
        end)
      end, {}, function(server)
        local slow = connect(server.port)
        slow.stream:pause()
        slow:send(GET)
        local before = -1
        eventually(function() -- no more goes into the sockets
          local is_full = made > 0 and made == before
          before = made
          operations.sleep(0.05)
          return is_full
        end)
        assert.is_true(before < 400)
        assert.equal(200, (connect(server.port):send("GET /small HTTP/1.1\r\nHost: a\r\n\r\n"):answer()))
        assert.equal(before, made)
        slow:close()
      end)
    end)

    it("ends a stream of which nothing is taken for too long", function()
      local left
      with(function(request)
        request.left(function(reason)
          left = reason
        end)
        return text(function()
          return ("x"):rep(100000)
        end)
      end, { write_timeout = 30 }, function(server)
        local slow = connect(server.port)
        slow.stream:pause()
        slow:send(GET)
        eventually(function()
          return server.connections == 0
        end)
      end)
      assert.equal("left", left)
    end)

    it("continues sending to a client that reads slowly", function()
      with(function()
        return text(("x"):rep(30000000))
      end, { write_timeout = 300 }, function(server)
        local function read_slowly()
          local slow = connect(server.port):send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
          local size, ended = 0, false
          local function on_chunk(bytes)
            size = size + #(bytes or "")
            if not bytes then
              ended = true
              return
            end
            slow.stream:pause()
            operations.spawn(function()
              operations.sleep(0.001)
              slow.stream:each_chunk(on_chunk)
            end)
          end
          slow.stream:each_chunk(on_chunk)
          eventually(function()
            return ended
          end)
          return size > 30000000
        end
        -- Several attempts: the machine itself may stand still for 300 ms.
        assert.is_true(read_slowly() or read_slowly() or read_slowly() or read_slowly())
      end)
    end)

    it("does not close a slow reader of the answer as idle", function()
      with(function()
        return text(("x"):rep(30000000))
      end, { keep_alive = 20, write_timeout = 5000 }, function(server)
        local client = connect(server.port)
        client.stream:pause()
        client:send(GET)
        operations.sleep(0.06)
        local size = 0
        client.stream:each_chunk(function(bytes)
          size = size + #(bytes or "")
        end)
        eventually(function()
          return size > 30000000
        end)
      end)
    end)

    it("sends a heartbeat into silence", function()
      local go
      with(function()
        local response = text(pieces({ function()
          while not go do
            operations.sleep(0.001)
          end
          return "one"
        end }))
        response.heartbeat = { after = 5, bytes = ":\n" }
        return response
      end, {}, function(server)
        local client = connect(server.port):send(GET)
        client:expect("\r\n\r\n2\r\n:\n\r\n2\r\n:\n\r\n")
        go = true
        client:expect("\r\n3\r\none\r\n0\r\n\r\n$")
      end)
    end)
  end)

  it("sends no body with answers that have none", function()
    with(function(request)
      return { status = tonumber(request.target:sub(2)), body = "hello" }
    end, {}, function(server)
      local client = connect(server.port)
      for _, status in ipairs({ 204, 304 }) do
        client:send(("GET /%d HTTP/1.1\r\nHost: a\r\n\r\n"):format(status))
        local got, headers = client:answer()
        assert.same({ status }, { got, headers["content-length"] })
      end
      client:send("HEAD /200 HTTP/1.1\r\nHost: a\r\n\r\n")
      assert.equal("5", client:expect("Content%-Length: (%d+)\r\n\r\n$"))
      client.bytes = ""
      assert.equal("hello", (select(3, client:send("GET /200 HTTP/1.1\r\nHost: a\r\n\r\n"):answer())))
    end)
  end)

  it("lets go of a body in pieces that HEAD does not want", function()
    local asked, left = false, nil
    with(function(request)
      request.left(function()
        left = true
      end)
      return text(function()
        asked = true
      end)
    end, {}, function(server)
      local client = connect(server.port):send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
      client:expect("\r\n\r\n$")
      eventually(function()
        return left
      end)
    end)
    assert.is_false(asked)
  end)

  describe("whose handler", function()
    it("raises gets a 500 without details, is logged, and does not end the connection", function()
      with(function(request)
        return request.target == "/a" and error("secret") or text("fine")
      end, {}, function(server, log)
        local client = connect(server.port):send(GET)
        local status, headers, body = client:answer()
        assert.same({ 500, "application/problem+json" }, { status, headers["content-type"] })
        assert.is_nil(body:find("secret"))
        assert.matches("secret", log[1])
        assert.equal("fine", (select(3, client:send("GET /b HTTP/1.1\r\nHost: a\r\n\r\n"):answer())))
      end)
    end)

    it("returns no response answers 500", function()
      local wrong = { false, "text", {}, { status = "200" }, { status = 99 }, { status = 100 }, { status = 101 },
        { status = 200.5 }, { status = 200, headers = "a" }, { status = 200, body = 1 },
        { status = 200, headers = { a = "b\r\nc: d" } }, { status = 200, headers = { ["a b"] = "c" } },
        { status = 101, headers = { a = "b\r\nc: d" }, upgrade = error } }
      with(function(request)
        return wrong[tonumber(request.target:sub(2))]
      end, {}, function(server, log)
        local client = connect(server.port)
        for i = 1, #wrong do
          assert.equal(500, (client:send(("GET /%d HTTP/1.1\r\nHost: a\r\n\r\n"):format(i)):answer()))
        end
        assert.equal(#wrong, #log)
      end)
    end)
  end)

  describe("whose caller leaves", function()
    it("tells the handler at once, once", function()
      local reasons, ended = {}, false
      with(function(request)
        local task = operations.spawn(operations.sleep, 100)
        request.left(function(reason)
          reasons[#reasons + 1] = reason
          task:cancel()
        end)
        task:wait()
        ended = true
        request.left(function(reason)
          reasons[#reasons + 1] = reason .. " already"
        end)
        return text("late")
      end, {}, function(server)
        for _, leave in ipairs({ "close", "finish" }) do
          reasons, ended = {}, false
          local client = connect(server.port):send(GET)
          operations.sleep(0.01)
          client.stream[leave](client.stream)
          eventually(function()
            return ended and server.connections == 0
          end)
          assert.same({ "left", "left already" }, reasons)
          assert.equal("", client.bytes)
        end
      end)
    end)

    it("handles nothing more of a client that has left", function()
      local handled = 0
      with(function(request)
        local left
        request.left(function()
          left = true
        end)
        handled = handled + 1
        while not left do
          operations.sleep(0.001)
        end
        return text("")
      end, {}, function(server)
        local client = connect(server.port)
        client.stream:offer(GET:rep(3))
        client.stream:finish()
        assert.equal("", client:rest())
        eventually(function()
          return server.connections == 0
        end)
      end)
      assert.equal(1, handled)
    end)

    it("tells the handler also when the end came with the end of the body", function()
      local body
      with(function(request)
        local left
        request.left(function()
          left = true
        end)
        local got = read_all(request.body)
        while not left do
          operations.sleep(0.001)
        end
        body = got
        return text("")
      end, {}, function(server)
        local client = connect(server.port):send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc")
        operations.sleep(0.005)
        client.stream:offer("def")
        client.stream:finish()
        eventually(function()
          return body
        end)
      end)
      assert.equal("abcdef", body)
    end)

    it("does not take a pipelined request for leaving", function()
      local left
      with(function(request)
        request.left(function()
          left = true
        end)
        operations.sleep(0.02)
        return text(request.target)
      end, {}, function(server)
        local client = connect(server.port):send(GET)
        operations.sleep(0.005)
        client:send(GET)
        client:answer()
        client:answer()
      end)
      assert.is_nil(left)
    end)

    it("tells a stream", function()
      local left
      with(function(request)
        request.left(function()
          left = true
        end)
        return text(function()
          operations.sleep(0.002)
          return not left and "x" or nil
        end)
      end, {}, function(server)
        local client = connect(server.port):send(GET)
        client:expect("x")
        client:close()
        eventually(function()
          return left and server.connections == 0
        end)
      end)
    end)

    it("is not told behind the answer", function()
      local left
      with(function(request)
        request.left(function()
          left = true
        end)
        return text("x")
      end, {}, function(server)
        local client = connect(server.port):send(GET)
        client:answer()
        client:close()
        eventually(function()
          return server.connections == 0
        end)
      end)
      assert.is_nil(left)
    end)

    it("survives errors while it closes", function()
      local running = false
      with(function(request)
        request.left(error)
        running = true
        operations.await(request.left)
        return text("x")
      end, {}, function(server, log)
        local client = connect(server.port):send(GET)
        eventually(function()
          return running
        end)
        client:close()
        eventually(function()
          return server.connections == 0
        end)
        assert.equal(1, #log)
      end)
    end)
  end)

  describe("that sends invalid requests", function()
    it("is answered with a problem that says why, and closed", function()
      with(hello, {}, function(server)
        for status, bytes in pairs({
          [400] = "GET / HTTP/1.1\nHost: a\r\n\r\n", [414] = "GET /" .. ("a"):rep(20000),
          [431] = "GET / HTTP/1.1\r\nHost: a\r\nX: " .. ("a"):rep(70000), [505] = "GET / HTTP/3.0\r\nHost: a\r\n\r\n",
          [501] = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
          [417] = "POST / HTTP/1.1\r\nHost: a\r\nExpect: x\r\nContent-Length: 1\r\n\r\n",
        }) do
          local client = connect(server.port):send(bytes)
          local got, headers, body = client:answer()
          assert.same({ status, "close", "application/problem+json" },
            { got, headers.connection, headers["content-type"] })
          assert.equal(status, json.decode(body).status)
          assert.is_true(#json.decode(body).detail > 10)
          assert.equal("", client:rest())
        end
      end)
    end)

    it("is answered behind the requests before it", function()
      with(hello, {}, function(server)
        local client = connect(server.port):send(GET .. "nonsense\r\n" .. GET)
        assert.equal(200, (client:answer()))
        assert.equal(400, (client:answer()))
        assert.equal("", client:rest())
      end)
    end)

    it("is answered 408 when the head comes too slowly, and closed silently when nothing came", function()
      with(hello, { head_timeout = 20 }, function(server)
        local client = connect(server.port):send("GET / HT")
        assert.equal(408, (client:answer()))
        assert.equal("", connect(server.port):rest())
        client = connect(server.port):send(GET .. "GET ")
        assert.equal(200, (client:answer()))
        assert.equal(408, (client:answer()))
      end)
    end)
  end)

  it("closes one that is idle for too long", function()
    with(hello, { keep_alive = 20 }, function(server)
      local client = connect(server.port):send(GET)
      assert.equal(200, (client:answer()))
      assert.equal("", client:rest())
      assert.is_nil(client.err)
    end)
  end)

  it("limits no request that is handled by the times of those that are idle", function()
    local closed = false
    with(function()
      eventually(function()
        return closed
      end)
      return text("answered")
    end, { head_timeout = 20, keep_alive = 20 }, function(server)
      local client = connect(server.port):send(GET)
      assert.equal("", connect(server.port):rest())
      closed = true
      assert.equal(200, (client:answer()))
    end)
  end)

  it("hands the connection over to another protocol", function()
    local log_of
    with(function(request)
      if request.headers.upgrade ~= "echo" then
        return text("no")
      end
      return { status = 101, headers = { Upgrade = "echo", Connection = "Upgrade" }, upgrade = function(stream, rest)
        stream:write("got " .. rest)
        stream:each_chunk(function(bytes)
          if bytes then
            stream:offer(bytes:upper())
          else
            stream:close()
          end
        end)
      end }
    end, {}, function(server, log)
      local client = connect(server.port):send(GET)
      assert.equal("no", (select(3, client:answer())))
      client:send("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\nearly")
      client:expect("^HTTP/1%.1 101 Switching Protocols\r\n.*\r\n\r\ngot early$")
      client:send("later"):expect("LATER$")
      assert.equal(0, server.connections)
      client.stream:finish()
      client:rest()
      log_of = log
    end)
    assert.same({}, log_of)
  end)

  it("is curl's, too", function()
    with(echo, {}, function(server)
      local function curl(...)
        local child = assert(operations.process.spawn({ "curl", "-sS", "--max-time", "20", ... }))
        local output = {}
        for piece in function() return child:read() end do
          output[#output + 1] = piece
        end
        child:wait()
        return table.concat(output)
      end
      local url = ("http://127.0.0.1:%d/a"):format(server.port)
      assert.equal("GET /a GET /a ", curl(url, url))
      assert.equal("POST /a " .. ("x"):rep(5000), curl("-d", ("x"):rep(5000), "-H", "Expect: 100-continue", url))
      assert.equal("POST /a abc", curl("-d", "abc", "-H", "Transfer-Encoding: chunked", url))
      assert.equal("GET /a ", curl("-0", url))
      assert.matches("^HTTP/1.1 200 OK", curl("-I", url))
    end)
  end)
end)

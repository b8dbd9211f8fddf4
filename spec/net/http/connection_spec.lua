local command = require("spec.support.command")
local eventually = require("spec.support.eventually")
local http = require("operations.net.http")
local members = require("operations.base.members")
local task = require("operations.task")
local test_server = require("spec.support.server")

describe("a connection that is kept and then lost", function()
  local server = test_server.around(setup, teardown)

  local function ask(path, given)
    local options = members.merged({ url = server.url .. path, timeout = 10000 }, given)
    return http.request(options)
  end

  -- Takes the connection that is kept if it can, and keeps none.
  local function ask_once(path, given)
    local options = members.merged({ headers = { Connection = "close" } }, given)
    return ask(path, options)
  end

  local methods = {
    { method = "GET" },
    { method = "PUT", body = "text" },
    { method = "POST", body = "text" },
    { method = "POST" },
    { method = "PATCH", body = "text" },
  }

  for _, options in ipairs(methods) do
    local name = options.method .. (options.body and " with a body" or "")
    it("between two requests costs none of them: " .. name, function()
      for i = 1, 5 do
        assert(ask("/kept/closed"))
        task.sleep(0.05) -- until that has arrived
        assert.equal(tostring(i), assert(ask_once("/flaky?fail=0&key=" .. name:gsub(" ", ""), options)).body)
      end
    end)
  end

  for i, options in ipairs(methods) do
    local name = options.method .. (options.body and " with a body" or "")
    it("has nothing that came unasked taken for an answer: " .. name, function()
      for n = 1, 3 do
        local note = ("unasked%d.%d"):format(i, n)
        assert.equal("ok", assert(ask("/fault/unasked?note=" .. note)).body)
        assert.is_true(eventually(function()
          return http.request({ url = server.other .. "/note/" .. note }).body == "said"
        end))
        assert.equal(tostring(n), assert(ask_once("/flaky?fail=0&key=unasked" .. i, options)).body)
      end
    end)
  end

  it("has nothing that came unasked taken for an answer, whatever connections there were since", function()
    assert.equal("ok", assert(ask("/fault/unasked?note=between")).body)
    for _ = 1, 3000 do -- of each port modulo 1024, as good as surely
      assert(http.request({ url = server.other .. "/small", headers = { Connection = "close" } }))
    end
    assert.equal("said", http.request({ url = server.other .. "/note/between" }).body)
    assert.equal("1", assert(ask_once("/flaky?fail=0&key=afterwards")).body)
  end)

  -- What a program of its own prints that has these limits, and asks the server.
  local function printed(limits, program)
    local result = command.run(("lua - %s <<'END'\n%s\n%s\nEND"):format(server.url, [[
      local operations = require("operations")
      local url, limits = arg[1], operations.http.limits
      local function sockets()
        local pipe = io.popen("ls -l /proc/$PPID/fd 2>/dev/null | grep -c socket:")
        local count = tonumber(pipe:read("*a"))
        pipe:close()
        return count
      end
      local function ask(count, path)
        local functions = {}
        for i = 1, count do
          functions[i] = function()
            return operations.http.request({ url = url .. path }).status
          end
        end
        return functions
      end
      ]] .. limits, program))
    return result.out .. result.err
  end

  it("is closed when it was idle for keep_alive, though nothing else happens", function()
    -- It waits twice, for libcurl counts idle time in whole seconds.
    assert.equal("5\n0\n1\n0\n", printed("limits.keep_alive = 1000", [[
      ask(1, "/small")[1]()
      local before = sockets() - 1
      local function print_when_closed()
        local turns = 0
        while sockets() > before and turns < 600 do
          turns = turns + 1
          operations.sleep(0.05)
        end
        print(sockets() - before)
      end
      operations.all(ask(5, "/slow?head=0.02"))
      print(sockets() - before)
      print_when_closed()
      local stream = operations.http.open({ url = url .. "/sse?count=1" })
      while stream:read() do end
      print(sockets() - before)
      print_when_closed()
    ]]))
  end)

  it("is renewed after its longest life, though it was busy", function()
    local program = [[
      local seen
      local server = operations.to_http(operations.registry(), { authorize = function(request)
        seen = request.peer.port
      end })
      local own = "http://127.0.0.1:" .. server:listen().port
      local function port()
        operations.http.request({ url = own })
        return seen
      end
      local first, ends = port(), os.time() + 4
      while os.time() < ends do -- waits, for libcurl counts in whole seconds
        if port() ~= first then
          return print("renewed")
        end
        operations.sleep(0.05)
      end
      print(first and "kept")
    ]]
    assert.equal("renewed\n", printed("limits.connection_age = 1000", program))
    assert.equal("kept\n", printed("limits.connection_age = 0", program))
  end)

  it("is one of no more than there may be: to a host, in all, kept", function()
    local program = [[
      ask(1, "/small")[1]()
      local before, most = sockets(), 0
      local functions = ask(9, "/slow?head=0.05")
      functions[10] = function()
        for _ = 1, 5 do
          operations.sleep(0.02)
          most = math.max(most, sockets())
        end
        return 200
      end
      for _, status in ipairs(assert(operations.all(functions))) do
        assert(status == 200)
      end
      for _ = 1, 9 do -- libcurl closes one connection too many at a time
        ask(1, "/small")[1]()
      end
      print(most - before + 1, sockets() - before + 1)
    ]]
    assert.equal("9\t9\n", printed("", program))
    assert.equal("3\t3\n", printed("limits.host_connections = 3", program))
    assert.equal("4\t4\n", printed("limits.http_connections = 4", program))
    assert.equal("9\t2\n", printed("limits.idle_connections = 2", program))
  end)

  it("is not kept beside those in use where none is to be kept", function()
    assert.equal("1\n", printed("limits.idle_connections = 0", [[
      ask(1, "/small")[1]()
      local before = sockets()
      assert(operations.all({ ask(1, "/slow?head=0.05")[1], ask(1, "/slow?head=0.4")[1] }))
      print(sockets() - before + 1) -- libcurl keeps one in any case
    ]]))
  end)

  it("with a request on it costs no idempotent one", function()
    assert(ask("/kept/taken"))
    assert.equal("1", assert(ask_once("/flaky?fail=0&key=get")).body)
    assert(ask("/kept/taken"))
    local options = { method = "POST", body = "text", headers = { ["Idempotency-Key"] = "1", Connection = "close" } }
    assert.equal("1", assert(ask("/flaky?fail=0&key=post", options)).body)
    assert(ask("/kept/taken"))
    options = { method = "POST", body = "text", headers = { Connection = "close" }, idempotent = true }
    assert.equal("1", assert(ask("/flaky?fail=0&key=declared", options)).body)
  end)

  for _, options in ipairs({ { method = "POST", body = "text" }, { method = "POST" }, { method = "PATCH" } }) do
    local name = options.method .. (options.body and " with a body" or "")
    it("with a request on it has no other one sent twice: " .. name, function()
      assert(ask("/kept/taken"))
      local response, err = ask_once("/flaky?fail=0&key=once", options)
      assert.is_nil(response)
      assert.equal("reset", err.details.kind)
      assert.equal("none", ask_once("/note/once").body)
    end)
  end
end)

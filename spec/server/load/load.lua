--- What a server stands: many connections, slow and endless requests, large bodies, readers that leave; what stays
--- behind; and a drain under load. Run by `make test-server`: it takes half a minute.
local command = require("spec.support.command")
local eventually = require("spec.support.eventually")
local http_peer = require("spec.support.http_peer")
local inside = require("spec.support.inside")
local operations = require("operations")

local http = operations.http

local function read(path)
  local file = io.open(path)
  local text = file and file:read("*a") or ""
  if file then
    file:close()
  end
  return text
end

local function start(options)
  local env = command.environment()
  env.HTTP_API = options
  local program = assert(operations.process.spawn({ command.interpreter(), "spec/support/http_api_main.lua",
    env = env }))
  local port = assert(program:read_line()):match("^port (%d+)$")
  local self = { port = tonumber(port), url = "http://127.0.0.1:" .. port .. "/api/spec", program = program }
  function self.resident()
    return tonumber(read("/proc/" .. program.pid .. "/status"):match("VmRSS:%s*(%d+)"))
  end
  function self.descriptors()
    return tonumber(inside.shell("ls /proc/" .. program.pid .. "/fd | wc -l").out)
  end
  function self.get(path)
    return operations.json.decode(assert(http.request({ url = self.url .. path, timeout = 30000 })).body)
  end
  return self
end

local ADD = "GET /api/spec/add?a=2&b=3 HTTP/1.1\r\nHost: localhost\r\n\r\n"

local function report(...)
  io.write("    ", string.format(...), "\n")
end

describe("a server under load", function()
  local server

  setup(function()
    server = start("max_connections=4096 max_body=67108864 head_timeout=2000 max_connection_requests=100000")
  end)

  teardown(function()
    server.program:stop()
  end)

  it("answers beside 2,000 idle connections", function()
    operations.run(function()
      local before, clients = server.resident(), {}
      for i = 1, 2000 do
        clients[i] = http_peer.connect(server.port)
      end
      assert.equal("5", (http_peer.connect(server.port):send(ADD)):expect("\r\n\r\n(5)"))
      report("2,000 idle connections: %.1f KiB each", (server.resident() - before) / 2000)
      for _, client in ipairs(clients) do
        client:close()
      end
    end)
  end)

  it("gives up on 300 heads that come slowly, and serves others meanwhile", function()
    operations.run(function()
      local clients = {}
      for i = 1, 300 do
        clients[i] = http_peer.connect(server.port):send("GET /api/spec/add HTTP/1.1\r\nHost: ")
      end
      assert.equal(5, server.get("/add?a=2&b=3"))
      for _, client in ipairs(clients) do
        assert.equal(408, (client:answer()))
      end
    end)
  end)

  it("answers 5,000 pipelined requests on five connections in their order", function()
    operations.run(function()
      local functions = {}
      for i = 1, 5 do
        functions[i] = function()
          local client = http_peer.connect(server.port)
          local sender = operations.spawn(function()
            for n = 1, 1000 do
              client:send(("GET /api/spec/add?a=%d&b=%d HTTP/1.1\r\nHost: localhost\r\n\r\n"):format(n, i))
            end
          end)
          for n = 1, 1000 do
            local status, _, body = client:answer()
            assert.same({ 200, tostring(n + i) }, { status, body })
          end
          sender:wait()
          client:close()
          return true
        end
      end
      assert(operations.all(functions))
    end)
  end)

  it("keeps nothing of 100,000 requests and 10,000 streams that were left", function()
    local function requests(count)
      local done = 0
      operations.run(function()
        for _ = 1, 20 do
          operations.spawn(function()
            local client = http_peer.connect(server.port)
            while done < count do
              done = done + 20
              client:send(ADD:rep(20))
              for _ = 1, 20 do
                client:answer()
              end
            end
            client:close()
          end)
        end
      end)
    end
    local function streams(count)
      local left = 0
      operations.run(function()
        for _ = 1, 50 do
          operations.spawn(function()
            while left < count do
              left = left + 1
              local client = http_peer.connect(server.port)
              client:send("GET /api/spec/count?to=1000000&delay=0.01&note=left HTTP/1.1\r\nHost: localhost\r\n\r\n")
              client:expect("data: 1\n")
              client:close()
            end
          end)
        end
      end)
      eventually(function()
        return server.get("/state").running == 1
      end)
    end
    requests(5000)
    streams(500)
    local before, resident, descriptors = server.get("/state"), server.resident(), server.descriptors()
    requests(100000)
    streams(10000)
    local after = server.get("/state")
    report("after 100,000 requests and 10,000 streams: heap %+.0f KiB, resident %+d KiB, descriptors %+d",
      after.heap - before.heap, server.resident() - resident, server.descriptors() - descriptors)
    assert.equal(10500, server.get("/notes").left)
    assert.is_true(after.heap - before.heap < 200)
    assert.is_true(server.resident() - resident < 8 * 1024)
    eventually(function()
      return server.descriptors() <= descriptors
    end)
  end)

  it("refuses a gibibyte before it comes, and an endless body at the limit", function()
    operations.run(function()
      local head = "POST /api/spec/size HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\n"
      local client = http_peer.connect(server.port):send(head .. "Content-Length: 1073741824\r\n\r\n")
      assert.equal(413, (client:answer()))
      local before = server.resident()
      client = http_peer.connect(server.port):send(head .. "Transfer-Encoding: chunked\r\n\r\n")
      local chunk, sent = "10000\r\n" .. ("x"):rep(65536) .. "\r\n", 0
      while client.bytes == "" and client.stream:write(chunk) and sent < 200 * 1024 * 1024 do
        sent = sent + 65536
        if sent % 1048576 == 0 then
          operations.sleep(0) -- the answer may have come
        end
      end
      assert.equal(413, (client:answer()))
      report("an endless body: refused after %d MiB, %d KiB more in memory", math.floor(sent / 1048576),
        server.resident() - before)
      assert.is_true(sent < 100 * 1024 * 1024)
    end)
  end)

  it("takes a body of 64 MiB where that is allowed", function()
    local size = inside.shell(("head -c 67108864 /dev/zero | curl -s --max-time 60 -X POST --data-binary @- " ..
      "-H 'Content-Type: application/octet-stream' -H 'Transfer-Encoding: chunked' %s/size"):format(server.url)).out
    assert.equal("67108864", size)
  end)

  it("stands behind nginx", function()
    local test_server = require("spec.support.server")
    local proxy = test_server.start({ directives = ("location ^~ /proxied/ { proxy_pass http://127.0.0.1:%d/; "
      .. "proxy_http_version 1.1; proxy_set_header Connection ''; proxy_set_header Host localhost; }"):format(
      server.port) })
    assert.equal("5", assert(http.request({ url = proxy.url .. "/proxied/api/spec/add?a=2&b=3" })).body)
    local stream = assert(http.open({ url = proxy.url .. "/proxied/api/spec/count?to=1000&delay=0.05&note=proxied" }))
    local seen = ""
    while not seen:find("data: 3\n", 1, true) do
      seen = seen .. assert(stream:read())
    end
    stream:close()
    eventually(function()
      return server.get("/notes").proxied == 1
    end)
    proxy:stop()
  end)

  it("cuts no answer off when it is drained under load", function()
    operations.run(function()
      local other = start("max_connections=256")
      local answered, broken, going = 0, 0, true
      for _ = 1, 64 do
        operations.spawn(function()
          while going do
            local ok, client = pcall(http_peer.connect, other.port)
            if not ok then
              return -- it listens no more
            end
            pcall(client.send, client, "GET /api/spec/sleep?seconds=0.01 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            client:expect_end_or_answer()
            if client.bytes:find("^HTTP/1.1 200.*\"slept\"$") or client.bytes:find("^HTTP/1.1 503") then
              answered = answered + 1
            elseif client.bytes ~= "" then
              broken = broken + 1
            end
            client:close()
          end
        end)
      end
      operations.sleep(0.5)
      local drained = assert(http.request({ method = "POST", url = other.url .. "/drain",
        headers = { ["Content-Type"] = "application/json" }, body = '{"grace":5000}' }))
      assert.equal(204, drained.status)
      operations.sleep(1)
      going = false
      report("drained under load: %d answers, %d cut off", answered, broken)
      assert.is_true(answered > 64)
      assert.equal(0, broken)
      other.program:stop()
    end)
  end)
end)

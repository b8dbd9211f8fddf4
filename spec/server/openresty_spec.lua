local contract = require("spec.server.contract")
local eventually = require("spec.support.eventually")
local inside = require("spec.support.inside")
local test_server = require("spec.support.server")

local operations = require("operations")
local streams = require("operations.net.stream")

describe("a server in OpenResty", function()
  local missing = inside.missing("nginx")
  if missing then
    pending(missing)
    return
  end

  contract({ it = it, setup = setup, teardown = teardown, assert = assert }, function()
    return test_server.start({ app = true })
  end)

  it("frames the answer itself, so a handler's wrong length does not reach the next answer", function()
    local app = test_server.start({ app = true })
    operations.run(function()
      local stream = assert(streams.connect("127.0.0.1", tonumber(app.url:match("%d+$"))))
      local got = ""
      stream:each_chunk(function(bytes)
        got = got .. (bytes or "")
      end)
      stream:offer(("GET /framed HTTP/1.1\r\nHost: localhost\r\n\r\n"):rep(2))
      eventually(function()
        return select(2, got:gsub("\r\n0\r\n\r\n", "")) == 2
      end)
      stream:close()
      assert.is_nil(got:lower():find("content-length", 1, true))
      assert.is_nil(got:find("identity", 1, true))
      assert.equal(2, select(2, got:gsub("5\r\n12345\r\n", "")))
    end)
    app:stop()
  end)

  it("runs the rest of the block once the answer is out", function()
    local app = test_server.start({ app = true })
    local function get(url)
      return assert(operations.http.request({ url = url })).body
    end
    assert.equal("out", get(app.url .. "/after"))
    get(app.other .. "/after?answered=1") -- by another connection
    eventually(function()
      return get(app.other .. "/noted/after") == "ran\n"
    end)
    app:stop()
  end)

  it("calls a handler off whose caller had left when nginx read the request", function()
    local app = test_server.start({ app = true })
    local function notes()
      return operations.json.decode(assert(operations.http.request({ url = app.url .. "/api/spec/notes" })).body)
    end
    notes() -- the worker is there
    local sender = os.tmpname()
    local file = assert(io.open(sender, "w"))
    file:write(([[
      use IO::Socket::INET;
      for my $i (1..8) {
        my $body = qq({"seconds":600,"note":"early$i"});
        my $request = $i %% 2 ? "GET /api/spec/sleep?seconds=600&note=early$i HTTP/1.1\r\nHost: localhost\r\n\r\n"
          : "QUERY /api/spec/sleep HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
            . length($body) . "\r\n\r\n$body";
        my $socket = IO::Socket::INET->new("127.0.0.1:%s");
        print $socket $request;
      }]]):format(app.url:match("%d+$")))
    file:close()
    inside.shell(("worker=$(pgrep -P %d); kill -STOP $worker; perl %s; kill -CONT $worker"):format(app.pid, sender))
    os.remove(sender)
    eventually(function()
      local left, seen = 0, notes()
      for i = 1, 8 do
        left = left + (seen["early" .. i] == "ABORTED" and 1 or 0)
      end
      return left == 8
    end)
    app:stop()
  end)
end)

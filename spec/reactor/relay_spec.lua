local eventually = require("spec.support.eventually")
local reactor_module = require("operations.reactor")
local stream = require("operations.net.stream")
local task = require("operations.task")
local usage = require("spec.support.usage")

-- Connects as a program's own sockets would, and sends something. Counts the bytes that come, and knows the end.
local function connect(port, first)
  local peer = { stream = assert(stream.connect("127.0.0.1", port)), bytes = 0, seen = 0 }
  peer.stream:each_chunk(function(bytes)
    peer.bytes, peer.over = peer.bytes + #(bytes or ""), bytes == nil
  end)
  assert(peer.stream:write(first))
  return peer
end

-- How many bytes have come since the last time?
local function received(peer)
  local count = peer.bytes - peer.seen
  peer.seen = peer.bytes
  return count
end

local function until_received(peer)
  eventually(function()
    return peer.bytes > peer.seen or peer.over
  end)
  return received(peer)
end

local function threads()
  local pipe = io.popen("ls /proc/$PPID/task | wc -l")
  local count = tonumber(pipe:read("*a"))
  pipe:close()
  return count
end

describe("a relay", function()
  local reactor, relay, port, token

  before_each(function()
    reactor = assert(reactor_module.new())
    relay, port, token = assert(reactor:relay())
  end)

  after_each(function()
    relay:close()
    reactor:close()
  end)

  it("listens on a port of its own, with a token that cannot be guessed", function()
    local other, other_port, other_token = assert(reactor:relay())
    other:close()
    assert.are_not.equal(port, other_port)
    assert.are_not.equal(token, other_token)
    assert.matches("^" .. ("%x"):rep(32) .. "$", token)
  end)

  -- The address at which it listens, or nil.
  local function listens_at()
    local file = assert(io.open("/proc/net/tcp"))
    local sockets = file:read("*a")
    file:close()
    return sockets:match(("(%%x+):%04X 00000000:0000 0A"):format(port)) -- in LISTEN
  end

  it("listens to this machine only, until it has its connection", function()
    assert.equal("0100007F", listens_at()) -- 127.0.0.1
    local peer = connect(port, token)
    assert.equal(1, until_received(peer))
    assert.is_nil(listens_at())
    peer.stream:close()
  end)

  it("makes no file, and needs none", function()
    local command = require("spec.support.command")
    local result = command.run([[
      TMPDIR=/nowhere lua -e 'print(require("operations.reactor").new():relay() ~= nil)'
    ]])
    assert.equal("true\n", result.out)
  end)

  it("ends its thread when closed, before it has a connection too, also twice", function()
    local before = threads()
    relay:close()
    relay:close()
    assert.equal(before - 1, threads())
  end)

  it("closes nothing else when it is closed again", function()
    relay:close()
    local files = {}
    for i = 1, 9 do -- which have the numbers of its descriptors now
      files[i] = assert(io.open("/dev/zero"))
    end
    relay:close()
    for i = 1, 9 do
      assert.equal("\0", files[i]:read(1))
      files[i]:close()
    end
  end)

  it("ends its thread when collected", function()
    local before = threads()
    relay = nil
    collectgarbage()
    collectgarbage()
    assert.equal(before - 1, threads())
    relay = assert(reactor:relay())
  end)

  it("says why it cannot listen", function()
    local command = require("spec.support.command")
    local result = command.run([[ulimit -n 64; lua -e '
      local reactor, files = require("operations.reactor").new(), {}
      repeat
        local file = io.open("/dev/null")
        files[#files + 1] = file
      until not file
      print(select(2, reactor:relay()))
    ']])
    assert.equal("relay: Too many open files\n", result.out)
  end)

  describe("with a connection", function()
    local peer

    before_each(function()
      peer = connect(port, token)
    end)

    after_each(function()
      peer.stream:close()
    end)

    it("leaves every signal to the other threads #native", function() -- valgrind has masks of its own
      eventually(function() -- a thread that begins has all signals blocked
        local pipe = io.popen([[for task in /proc/$PPID/task/*; do
          [ "${task##*/}" = $PPID ] || sed -n 's/^SigBlk:.//p' $task/status
        done]])
        local masks = pipe:read("*a")
        pipe:close()
        return masks:find("fffffffe7ffbfeff\n", 1, true) -- but KILL, STOP and two of glibc's own
      end)
    end)

    it("sends one byte when the reactor has work, the next once that was acknowledged", function()
      reactor:flush(true)
      assert.equal(1, until_received(peer))
      task.sleep(0.02)
      assert.equal(0, received(peer))
      relay:acknowledge()
      assert.equal(1, until_received(peer))
      reactor:step(0)
      relay:acknowledge()
    end)

    it("sends a byte now and then without work", function()
      assert.equal(1, until_received(peer))
      relay:acknowledge()
      assert.equal(1, until_received(peer))
    end)

    it("ends its thread when closed, wherever that is", function()
      local before = threads()
      reactor:flush(true)
      assert.equal(1, until_received(peer)) -- it waits for the acknowledgement
      relay:close()
      assert.equal(before - 1, threads())
    end)

    it("outlives the reactor and the other end", function()
      reactor:close()
      peer.stream:close()
      -- waits: the relay's thread must have seen the end
      task.sleep(0.3)
      relay:acknowledge()
      relay:close()
    end)
  end)

  it("leaves no descriptor open", function()
    local function use()
      local other, other_port, other_token = assert(reactor:relay())
      local peer = connect(other_port, other_token)
      until_received(peer)
      other:close()
      peer.stream:close()
    end
    use() -- what all connections share is there from now on
    usage.collect()
    local before = usage.descriptors() -- some may be closed a little later
    use()
    usage.collect()
    assert.is_true(usage.descriptors() <= before)
  end)

  it("waits no longer for a token of a connection that has ended", function()
    local gone = connect(port, token:sub(1, 16))
    gone.stream:finish()
    assert.equal(0, until_received(gone)) -- the end
    gone.stream:close()
    local own = connect(port, token)
    assert.equal(1, until_received(own))
    own.stream:close()
  end)

  it("refuses connections that do not begin with the token, and takes the one that does", function()
    local wrong = connect(port, ("0"):rep(32))
    assert.equal(0, until_received(wrong)) -- the end
    local silent = connect(port, token:sub(1, 31))
    local own = connect(port, token)
    assert.equal(1, until_received(own))
    assert.equal(0, until_received(silent))
    for _, peer in ipairs({ wrong, silent, own }) do
      peer.stream:close()
    end
  end)

  it("waits for the token of a busy program, beside others that say nothing", function()
    local own = connect(port, token:sub(1, 1))
    local silent = {}
    for i = 1, 7 do
      silent[i] = connect(port, "")
    end
    task.sleep(1.5) -- waits: a program may be busy for seconds between connecting and saying the token
    assert(own.stream:write(token:sub(2)))
    assert.equal(1, until_received(own))
    for _, peer in ipairs(silent) do
      assert.equal(0, until_received(peer))
      peer.stream:close()
    end
    own.stream:close()
  end)

  it("drops the oldest of too many connections that say nothing", function()
    local silent = {}
    for i = 1, 20 do
      silent[i] = connect(port, "")
    end
    assert.equal(0, until_received(silent[1]))
    local own = connect(port, token)
    assert.equal(1, until_received(own))
    for _, peer in ipairs(silent) do
      peer.stream:close()
    end
    own.stream:close()
  end)
end)

local reactor_module = require("operations.reactor")

local is_jit = rawget(_G, "jit") ~= nil
local ffi = is_jit and require("ffi")

if is_jit then
  ffi.cdef([[
    int socket(int domain, int type, int protocol);
    int connect(int fd, const void *address, unsigned len);
    long send(int fd, const void *buffer, size_t len, int flags);
    long recv(int fd, void *buffer, size_t len, int flags);
    int shutdown(int fd, int how);
    int close(int fd);
    int usleep(unsigned useconds);
    unsigned short htons(unsigned short port);
    struct relay_address { unsigned short family, port; unsigned char address[4], zero[8]; };
  ]])
end

local MSG_DONTWAIT = 0x40

-- Connects as a program's own sockets would, and sends something.
local function connect(port, first)
  local address = ffi.new("struct relay_address", { family = 2, port = ffi.C.htons(port), address = { 127, 0, 0, 1 } })
  local fd = ffi.C.socket(2, 1, 0)
  assert.equal(0, ffi.C.connect(fd, address, ffi.sizeof(address)))
  assert.equal(#first, tonumber(ffi.C.send(fd, first, #first, 0)))
  return fd
end

-- How many bytes are there now?
local function received(fd)
  local buffer = ffi.new("char[16]")
  return math.max(0, tonumber(ffi.C.recv(fd, buffer, 16, MSG_DONTWAIT)))
end

local function until_received(fd)
  local buffer = ffi.new("char[16]")
  return tonumber(ffi.C.recv(fd, buffer, 16, 0))
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

  it("listens on a port of its own, with a token that nobody guesses", function()
    local other, other_port, other_token = assert(reactor:relay())
    other:close()
    assert.are_not.equal(port, other_port)
    assert.are_not.equal(token, other_token)
    assert.matches("^" .. ("%x"):rep(32) .. "$", token)
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
        files[#files + 1] = io.open("/dev/null")
      until not io.open("/dev/null")
      print(select(2, reactor:relay()))
    ']])
    assert.equal("relay: Too many open files\n", result.out)
  end)

  if not is_jit then
    return -- plain Lua cannot connect
  end

  describe("with a connection", function()
    local fd

    before_each(function()
      fd = connect(port, token)
    end)

    after_each(function()
      ffi.C.close(fd)
    end)

    it("leaves every signal to the other threads", function()
      local pipe = io.popen([[for task in /proc/$PPID/task/*; do
        [ "${task##*/}" = $PPID ] || sed -n 's/^SigBlk:.//p' $task/status
      done]])
      local masks = pipe:read("*a")
      pipe:close()
      assert.matches("fffffffe7ffbfeff\n", masks) -- but KILL, STOP and two of glibc's own
    end)

    it("sends one byte when the reactor has work, the next once that was acknowledged", function()
      reactor:flush(true)
      assert.equal(1, until_received(fd))
      ffi.C.usleep(20000)
      assert.equal(0, received(fd))
      relay:acknowledge()
      assert.equal(1, until_received(fd))
      reactor:step(0)
      relay:acknowledge()
    end)

    it("sends a byte now and then without work", function()
      assert.equal(1, until_received(fd))
      relay:acknowledge()
      assert.equal(1, until_received(fd))
    end)

    it("ends its thread when closed, wherever that is", function()
      local before = threads()
      reactor:flush(true)
      assert.equal(1, until_received(fd)) -- it waits for the acknowledgement
      relay:close()
      assert.equal(before - 1, threads())
    end)

    it("outlives the reactor and the other end", function()
      reactor:close()
      ffi.C.shutdown(fd, 2)
      ffi.C.usleep(300000)
      relay:acknowledge()
      relay:close()
    end)
  end)

  it("refuses connections that do not begin with the token, and takes the one that does", function()
    local wrong = connect(port, ("0"):rep(32))
    assert.equal(0, until_received(wrong)) -- the end
    local silent = connect(port, token:sub(1, 31))
    local own = connect(port, token)
    assert.equal(1, until_received(own))
    assert.equal(0, until_received(silent))
    for _, fd in ipairs({ wrong, silent, own }) do
      ffi.C.close(fd)
    end
  end)
end)

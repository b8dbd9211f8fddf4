local reactor_module = require("operations.reactor")

local is_jit = rawget(_G, "jit") ~= nil
local ffi = is_jit and require("ffi")

if is_jit then
  ffi.cdef([[
    int socket(int domain, int type, int protocol);
    int connect(int fd, const void *address, unsigned len);
    long recv(int fd, void *buffer, size_t len, int flags);
    int shutdown(int fd, int how);
    int close(int fd);
    int usleep(unsigned useconds);
    struct relay_address { unsigned short family; char path[108]; };
  ]])
end

local MSG_DONTWAIT = 0x40

-- Connects to a path as a program's own sockets would.
local function connect(path)
  local address = ffi.new("struct relay_address", { family = 1, path = path })
  local fd = ffi.C.socket(1, 1, 0)
  assert.equal(0, ffi.C.connect(fd, address, ffi.sizeof(address)))
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

local function exists(path)
  return os.rename(path, path) ~= nil
end

local function threads()
  local pipe = io.popen("ls /proc/$PPID/task | wc -l")
  local count = tonumber(pipe:read("*a"))
  pipe:close()
  return count
end

describe("a relay", function()
  local reactor, relay, path

  before_each(function()
    reactor = assert(reactor_module.new())
    relay, path = assert(reactor:relay())
  end)

  after_each(function()
    relay:close()
    reactor:close()
  end)

  it("listens in a directory of this user alone", function()
    local pipe = io.popen("stat -c '%a %u' " .. path:match("^(.*)/") .. "; id -u")
    local mode, owner, user = pipe:read("*a"):match("^(%d+) (%d+)\n(%d+)")
    pipe:close()
    assert.same({ "700", user }, { mode, owner })
  end)

  it("starts no thread before it has a connection", function()
    local before = threads()
    local ok, problem = relay:accept()
    assert.is_nil(ok)
    assert.matches("^accept: ", problem)
    assert.equal(before, threads())
  end)

  it("takes its directory away when closed, also twice", function()
    relay:close()
    relay:close()
    assert.is_false(exists(path:match("^(.*)/")))
  end)

  it("takes its directory away when collected", function()
    relay = nil
    collectgarbage()
    collectgarbage()
    assert.is_false(exists(path:match("^(.*)/")))
    relay = assert(reactor:relay())
  end)

  it("says why it cannot listen", function()
    local command = require("spec.support.command")
    local result = command.run([[
      TMPDIR=/nowhere lua -e 'print(select(2, require("operations.reactor").new():relay()))'
      TMPDIR=/]] .. ("x"):rep(100) .. [[ lua -e 'print(select(2, require("operations.reactor").new():relay()))'
    ]])
    assert.equal("relay: No such file or directory\nrelay: File name too long\n", result.out)
  end)

  if not is_jit then
    return -- plain Lua cannot connect
  end

  describe("with a connection", function()
    local fd

    before_each(function()
      fd = connect(path)
      assert(relay:accept())
    end)

    after_each(function()
      ffi.C.close(fd)
    end)

    it("has no path any more", function()
      assert.is_false(exists(path:match("^(.*)/")))
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

  it("refuses the connection of another process", function()
    local script = os.tmpname()
    local file = assert(io.open(script, "w"))
    file:write(([[
      local ffi = require("ffi")
      ffi.cdef("int socket(int, int, int); int connect(int, const void *, unsigned);"
        .. "long recv(int, void *, size_t, int);"
        .. "struct relay_address { unsigned short family; char path[108]; };")
      local address = ffi.new("struct relay_address", { family = 1, path = %q })
      local fd = ffi.C.socket(1, 1, 0)
      assert(ffi.C.connect(fd, address, ffi.sizeof(address)) == 0)
      print("connected")
      io.stdout:flush()
      print(tonumber(ffi.C.recv(fd, ffi.new("char[1]"), 1, 0)))
    ]]):format(path))
    file:close()
    local other = io.popen("luajit " .. script)
    assert.equal("connected", other:read("*l"))
    assert.is_nil((relay:accept()))
    assert.equal("0", other:read("*l")) -- the end
    other:close()
    os.remove(script)
  end)
end)

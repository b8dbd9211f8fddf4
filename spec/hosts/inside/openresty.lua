-- Run by spec/hosts/openresty_spec.lua inside nginx.
local cancellation = require("spec.task.cancellation_contract")
local contract = require("spec.hosts.contract")
local faults = require("spec.net.http.fault_contract")
local ffi = require("ffi")
local hosts = require("operations.hosts")
local process = require("operations.net.process")
local system = require("operations.system")
local task = require("operations.task")

local detected = hosts.current().name
local refused = select(2, process.spawn({ "true" })) -- before the contract's specs allow it
local busted = { describe = describe, it = it, setup = setup, teardown = teardown, assert = assert }

contract("openresty", busted)
cancellation(busted)
faults(busted)

ffi.cdef([[
  int setenv(const char *name, const char *value, int overwrite);
  int unsetenv(const char *name);
  int getsockopt(int fd, int level, int name, int *value, unsigned *len);
  int shutdown(int fd, int how);
]])

-- Breaks every TCP connection of this process, the relay's among them.
local function break_relay()
  local domain, len = ffi.new("int[1]"), ffi.new("unsigned[1]", 4)
  for fd = 3, 100 do
    if ffi.C.getsockopt(fd, 1, 39, domain, len) == 0 and domain[0] == 2 then -- SOL_SOCKET, SO_DOMAIN, AF_INET
      ffi.C.shutdown(fd, 2)
    end
  end
end

describe("the OpenResty host", function()
  it("is found by itself", function()
    assert.equal("openresty", detected)
  end)

  it("starts no program unless the worker allows it", function()
    assert.equal("ACCESS_DENIED", refused.code)
    assert.matches("starting 'true' is not allowed: call process.allow", refused.message)
  end)

  it("fails the tasks that wait when the relay breaks, and starts another", function()
    local sleeper = task.spawn(task.sleep, 60)
    task.sleep(0.01)
    break_relay()
    local ok, raised = pcall(sleeper.wait, sleeper)
    assert.is_false(ok)
    assert.matches("cannot wait: closed", raised)
    assert.matches("cannot wait: closed", select(2, sleeper:wait()).message)
    task.sleep(0.01)
  end)

  it("waits where no file can be made", function()
    repeat
      ngx.sleep(0.05)
    until #system.list("/proc/self/task") == 1 -- the pump has ended
    local before = os.getenv("TMPDIR")
    ffi.C.setenv("TMPDIR", "/nowhere", 1)
    local ok, raised = pcall(task.sleep, 0.01)
    if before then
      ffi.C.setenv("TMPDIR", before, 1)
    else
      ffi.C.unsetenv("TMPDIR")
    end
    assert.is_true(ok, raised)
  end)

  it("starts a task from a coroutine that a generator runs", function()
    local generator = coroutine.create(function()
      local child = task.spawn(function()
        task.sleep(0.005)
        return "done"
      end)
      coroutine.yield((child:wait()))
    end)
    assert.same({ true, "done" }, { task.resume(generator) })
  end)

  it("keeps the deadline of one request's thread to itself", function()
    local other
    local thread = ngx.thread.spawn(function()
      local previous = task.deadline(hosts.current().now() + 20)
      other = select(2, pcall(task.sleep, 60))
      task.deadline(previous)
    end)
    task.sleep(0.05)
    assert(ngx.thread.wait(thread))
    assert.equal("TIMEOUT", other.code)
  end)
end)

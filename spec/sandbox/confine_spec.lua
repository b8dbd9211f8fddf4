local command = require("spec.support.command")
local failing = require("spec.support.failing")
local sandboxed = require("spec.support.sandboxed")

local SIGSYS = 31

-- Confines a process, then runs this in it.
local function confined(code)
  return command.run(([[lua %s -e 'local child = require("operations.sandbox_child") io.stdout:setvbuf("full")
    %s
    child.confine(1e7, 30)
    %s
    io.write("still here")']]):format(sandboxed.is_jit and "-joff" or "",
    sandboxed.is_jit and 'local ffi = require("ffi") ffi.cdef("long syscall(long, ...);") local C = ffi.C' or "", code))
end

local function is_killed(code)
  local result = confined(code)
  assert.equal("", result.out)
  assert.equal(128 + SIGSYS, result.code, result.err)
end

-- System calls by their numbers on x86-64 and aarch64, with arguments.
local calls = {
  { "opens a file", 257, 56, '-100, "/etc/passwd", ffi.cast("int", 0)' },
  { "asks about a file", 262, 79, '-100, "/", nil, ffi.cast("int", 0)' },
  { "removes a file", 263, 35, '-100, "/tmp/none", ffi.cast("int", 0)' },
  { "runs a program", 59, 221, '"/bin/true", nil, nil' },
  { "forks", 56, 220, "17LL, 0LL, 0LL, 0LL, 0LL" },
  { "starts a thread", 435, 435, "nil, 88LL" },
  { "sends a signal", 62, 129, "1LL, 0LL" },
  { "signals a thread", 234, 131, "1LL, 1LL, 0LL" },
  { "makes a socket", 41, 198, "2LL, 1LL, 0LL" },
  { "makes a pair of sockets", 53, 199, "1LL, 1LL, 0LL, nil" },
  { "traces a process", 101, 117, "16LL, 1LL, nil, nil" },
  { "reads the memory of a process", 310, 270, "1LL, nil, 0LL, nil, 0LL, 0LL" },
  { "takes a descriptor of a process", 438, 438, "1LL, 0LL, 0LL" },
  { "makes memory executable", 10, 226, "nil, 4096LL, 5LL" },
  { "gets executable memory", 9, 222, "nil, 4096LL, 7LL, 34LL, -1LL, 0LL" },
  { "gets shared memory", 9, 222, "nil, 4096LL, 3LL, 33LL, -1LL, 0LL" },
  { "maps a file", 9, 222, "nil, 4096LL, 1LL, 2LL, 0LL, 0LL" },
  { "makes a file in memory", 319, 279, '"x", 0LL' },
  { "changes its limits", 302, 261, "0LL, 7LL, nil, nil" },
  { "changes its filter", 317, 277, "1LL, 0LL, nil" },
  { "changes its rights", 157, 167, "38LL, 0LL, 0LL, 0LL, 0LL" },
  { "becomes another user", 105, 146, "0LL" },
  { "uses io_uring", 425, 425, "1LL, nil" },
  { "uses BPF", 321, 280, "0LL, nil, 0LL" },
  { "handles page faults", 323, 282, "0LL" },
  { "makes a namespace", 272, 97, "0LL" },
  { "mounts", 165, 40, 'nil, "/", nil, 0LL, nil' },
  { "controls a terminal", 16, 29, "0LL, 21505LL, nil" },
  { "moves bytes between descriptors", 40, 71, "1LL, 0LL, nil, 1LL" },
  { "copies a descriptor", 32, 23, "1LL" },
  { "waits", 35, 101, "nil, nil" },
  { "sets a handler of signals", 13, 134, "10LL, nil, nil, 8LL" },
  { "reads another descriptor than 0", 0, 63, "1LL, nil, 0LL" },
  { "writes to another descriptor than 1", 1, 64, '2LL, "x", 1LL' },
  { "uses the numbers of the x32 ABI", 0x40000001, 64, 'ffi.cast("int", 2), "x", 1LL' },
}

describe("a confined process", function()
  it("computes, gets memory, reads its input, writes its output and knows the time", function()
    local result = command.run([[echo hello | lua -e 'local child = require("operations.sandbox_child")
      io.stdin:setvbuf("full") io.stdout:setvbuf("full", 4096) child.confine(1e8, 5)
      local line = os.clock() and os.time() and ("x"):rep(1e6) and "hello"
      io.write(line) io.stdout:flush()' | cat]])
    assert.equal("hello", result.out, result.err)
  end)

  it("is killed when it opens a file in Lua", function()
    is_killed('io.open("/etc/passwd")')
  end)

  it("is killed when it runs a program in Lua", function()
    is_killed('os.execute("true")')
  end)

  it("is killed when it removes a file in Lua", function()
    is_killed('os.remove("/tmp/none")')
  end)

  it("fails to get more memory than it may", function()
    local result = confined([[if not pcall(string.rep, "x", 2^28) then os.execute("true") end]])
    assert.equal(128 + SIGSYS, result.code)
  end)

  it("is required: no program runs where the kernel refuses it", function()
    if not failing.library then
      return
    end
    -- The first prctl fails: here, where it asks for the filter, then in the process, where it sets it up.
    local out = failing.run([[
      local operations = require("operations")
      fail("prctl", 22)
      told(operations.sandbox.available())
      local path = os.tmpname()
      local file = io.open(path, "w")
      file:write("#!/bin/sh\nexport ASAN_OPTIONS=detect_leaks=0\nexec ",
        operations.sandbox.available(), " -e 'os.getenv(\"FAIL prctl 22 1\")' \"$@\"\n")
      file:close()
      os.execute("chmod 700 " .. path)
      print(operations.sandbox.run("return 1", {}, { interpreter = path }))
      os.remove(path)
      print(operations.sandbox.run("return 1", {}).value)]])
    assert.matches("^nil\tUNAVAILABLE: there is no sandbox: this kernel has no seccomp\n"
      .. "nil\tUNAVAILABLE: there is no sandbox: [^\n]*prctl[^\n]*: Invalid argument\n1\n$", out)
  end)

  for _, call in ipairs(sandboxed.is_jit and calls or {}) do
    it("is killed when it " .. call[1], function()
      is_killed(("C.syscall(ffi.arch == 'x64' and %d or %d, %s)"):format(call[2], call[3], call[4]):gsub("'", '"'), nil)
    end)
  end
end)

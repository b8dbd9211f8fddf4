--- Measures the memory and descriptors of this process.
local usage = {}

--- Collects until finalizers have run, which take a round of their own.
function usage.collect()
  for _ = 1, 3 do
    collectgarbage()
  end
end

--- The heap of Lua after a collection.
---@return number  KiB
function usage.heap()
  usage.collect()
  return collectgarbage("count")
end

--- The memory of the process, that of C included.
---@return integer  KiB
function usage.resident()
  local file = assert(io.open("/proc/self/status"))
  local kilobytes = file:read("*a"):match("VmRSS:%s*(%d+)")
  file:close()
  return tonumber(kilobytes)
end

--- By how much the memory of the process grows for good while a function runs. With the sanitizer, which keeps what
--- was freed, always 0.
---@param fn fun()
---@return integer  KiB
function usage.growth(fn)
  usage.collect()
  local before = usage.resident()
  fn()
  for _ = 1, 4 do -- LuaJIT halves its buffer for strings each time
    usage.collect()
  end
  return os.getenv("ASAN_OPTIONS") and 0 or usage.resident() - before
end

--- How many descriptors are open.
---@return integer
function usage.descriptors()
  local pipe = io.popen("sleep 0.02; ls /proc/$PPID/fd | wc -l") -- until popen has closed its own end
  local count = tonumber(pipe:read("*l"))
  pipe:close()
  return count
end

return usage

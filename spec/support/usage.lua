--- Measures the memory and descriptors of this process.
local usage = {}

local jit = rawget(_G, "jit")

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

-- The sanitizer keeps what was freed, and reports leaks itself.
local is_sanitized = os.getenv("ASAN_OPTIONS") ~= nil

-- The memory of the process after a call.
local function resident_after(fn)
  fn()
  for _ = 1, 4 do -- LuaJIT halves its buffer for strings each time
    usage.collect()
  end
  return usage.resident()
end

--- By how much the memory of the process grows for good while a function runs; 0 under the sanitizer.
---@param fn fun()
---@return integer  KiB
function usage.growth(fn)
  if jit then
    jit.off(fn, true) -- a trace keeps as constants what it computed when it was recorded, such as a string of 64 MiB
  end
  usage.collect()
  local before = usage.resident()
  return is_sanitized and 0 or resident_after(fn) - before
end

--- By how much the memory of the process grows while a function is called `times` times: the least of three rounds, as
--- other parts of the process may need some; 0 under the sanitizer.
---@param times integer
---@param fn fun()
---@return integer  KiB
function usage.leak(times, fn)
  local function calls()
    for _ = 1, times do
      fn()
    end
  end
  local before, least = resident_after(calls), math.huge
  for _ = 1, is_sanitized and 0 or 3 do
    local after = resident_after(calls)
    before, least = after, math.min(least, after - before)
    if least <= 0 then
      break
    end
  end
  return is_sanitized and 0 or least
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

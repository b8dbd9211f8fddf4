-- Runs jobs at their times in one process: none overlaps, one instance a machine, TERM lets the running one end.
--     lua schedule.lua /tmp/schedule.lock 0.05
local operations = require("operations")
local lock, seconds = arg[1], tonumber(arg[2] or 60)

-- A directory is made by one process only. (A lock that a crash left behind has to be removed.)
local made = os.execute("mkdir '" .. lock .. "' 2>/dev/null")
if made ~= true and made ~= 0 then
  io.stderr:write("another instance runs\n")
  os.exit(1)
end

local runs = 0
local ok, err = pcall(operations.run, function()
  local often = operations.every(seconds, function()
    runs = runs + 1
    print("run " .. runs)
    io.stdout:flush()
    operations.sleep(seconds / 2)
  end, { jitter = seconds / 10 })
  operations.every("30 3 * * mon-fri", function()
    print("the nightly job")
  end)
  local _, signal = pcall(often.wait, often)
  operations.shield(5000, often.stop, often, 4000)
  error(signal, 0)
end)
os.execute("rmdir '" .. lock .. "'")
print("stopped by " .. (err.details and err.details.signal or tostring(err)))
os.exit(ok and 0 or err.details and err.details.exitCode or 1, true)

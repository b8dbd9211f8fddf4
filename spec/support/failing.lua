--- Programs that fork, or of which calls of the system or of a library fail, by spec/native/fail.c.
local command = require("spec.support.command")
local lfs = require("lfs")

local failing = {}

local path = package.cpath:match("([^;]*/build/[^;/]*)/%?%.so") .. "/fail.so"

--- Where it is; nil where there is none: make builds it on Linux, beside the modules.
failing.library = lfs.attributes(path) and path

-- fail(name, errno, count?) has the next calls fail; told(...) prints, and has no more of them fail. in_copy(fn, ...)
-- calls the function in a forked copy of the program, and waits for its end.
local BEGIN = [[
  local function fail(name, errno, count)
    os.getenv(("FAIL %s %d %d"):format(name, errno, count or 1))
  end
  local function told(...)
    fail("", 0, 0)
    print(...)
  end
  local function in_copy(fn, ...)
    io.stdout:flush()
    local pid = os.getenv("FORK")
    if pid == "0" then
      local ok, raised = pcall(fn, ...)
      if not ok then
        print(raised)
      end
      io.stdout:flush()
      os.getenv("EXIT")
    end
    os.getenv("WAIT " .. pid)
  end
]]

--- Runs a program in Lua that may call `fail`, `told` and `in_copy`.
---@param program string
---@return string out  all that it printed, errors too
---@return integer code
function failing.run(program)
  local file = os.tmpname()
  local handle = assert(io.open(file, "w"))
  handle:write(BEGIN, program)
  handle:close()
  local result = command.run(('LD_PRELOAD="$SANITIZER %s" %s %s'):format(path, command.interpreter(), file))
  os.remove(file)
  return result.out .. result.err, result.code
end

return failing

--- Runs short scripts of the command line, all of them at one server, each in a home directory of its own.
local command = require("spec.support.command")

local jobs = {}

-- The program in PATH, which other programs start with an environment of their own.
local PREPARE = [=[
unset -f operations; exec 2>&1; export TASKS_URL
here=$XDG_CONFIG_HOME; mkdir -p "$here/bin"
cat >"$here/bin/operations" <<END
#!/bin/sh
export LUA_PATH='%s' LUA_CPATH='%s' LD_PRELOAD="$SANITIZER"
exec %s "$PWD/lua/operations/cli/main.lua" "\$@"
END
chmod +x "$here/bin/operations"; PATH=$here/bin:$PATH
TASKS="examples/tasks.openapi.json --base-url $TASKS_URL"
API="--openapi $TASKS"
examples=$PWD/examples
]=]

local EACH = [=[
(
  export HOME="$here/%d"
  export XDG_CONFIG_HOME="$HOME/config" XDG_CACHE_HOME="$HOME/cache" XDG_STATE_HOME="$HOME/state"
  mkdir "$HOME"; cd "$HOME"; ln -s "$examples" examples
%s
)
code=$?; [ $code = 0 ] || echo "[$code]"; echo "=== end"
]=]

--- Runs the scripts in order.
---@param scripts string[]
---@return string[] shown  standard output and standard error of each, and the exit code in brackets unless it is 0;
---   home directories are "~"
function jobs.run(scripts)
  local all = { PREPARE:format(package.path, package.cpath, command.interpreter()) }
  for i, script in ipairs(scripts) do
    all[i + 1] = EACH:format(i, script)
  end
  local result = command.run_with_server(table.concat(all))
  local shown = {}
  for text in result.out:gmatch("(.-)=== end\n") do
    shown[#shown + 1] = text:gsub("/%S*%.home/%d+", "~")
  end
  assert(#shown == #scripts, result.out .. result.err)
  return shown
end

return jobs

--- Runs a script in a real terminal (tmux) of a given width, and returns its screen.
local command = require("spec.support.command")

local terminal = {}

local count = 0

--- Runs a script; it has 60 seconds.
---@param script string  of a shell; `operations` is the program
---@param width? integer  columns, default 80
---@return string screen  without blanks at the ends of lines, and empty lines at the end
function terminal.run(script, width)
  count = count + 1
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(('operations() { LD_PRELOAD="$SANITIZER" %s lua/operations/cli/main.lua "$@"; }\n')
    :format(command.interpreter()),
    "unset PAGER; export LUA_PATH='", package.path, "' LUA_CPATH='", package.cpath, "'\n", script,
    "\nprintf '\\nthe end\\n'; sleep 100\n")
  file:close()
  local result = command.run(([[
    t() { tmux -L operations-%s -f /dev/null "$@"; }
    t new-session -d -x %d -y 60 "LC_ALL=C.UTF-8 sh %s"
    for i in $(seq 600); do t capture-pane -p | grep -q '^the end$' && break; sleep 0.1; done
    t capture-pane -p; t kill-server]]):format(path:match("([^/]+)$"), width or 80, path))
  os.remove(path)
  assert(result.out:find("\nthe end\n", 1, true), result.out .. result.err)
  local screen = result.out:match("^(.-)\n*the end\n"):gsub("[ \t]+\n", "\n"):gsub("\n*$", "\n")
  return screen
end

return terminal

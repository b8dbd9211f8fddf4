--- A tmux terminal with its own home directory, in which a spec types and reads the screen.
local command = require("spec.support.command")
local operations = require("operations")

local tmux = {}

---@class spec.Tmux
---@field home string  directory, removed at the end
local Tmux = {}
Tmux.__index = Tmux

local function quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

local function run(words)
  local pipe = assert(io.popen(words))
  local text = pipe:read("*a")
  pipe:close()
  return text
end

--- Opens a terminal with a shell in it, which finds the program `operations` of the tree.
---@param shell string  such as "bash --norc"
---@param columns integer
---@param rows? integer  default 50
---@return spec.Tmux
function tmux.open(shell, columns, rows)
  local home = os.tmpname()
  os.remove(home)
  os.execute("mkdir -p " .. home .. "/bin")
  local program = assert(io.open(home .. "/bin/operations", "w"))
  program:write(("#!/bin/sh\nLUA_PATH=%s LUA_CPATH=%s exec %s %s/lua/operations/cli/main.lua \"$@\"\n"):format(
    quote(package.path:gsub("%./", command.directory() .. "/")), quote(package.cpath), quote(command.interpreter()),
    quote(command.directory())))
  program:close()
  os.execute("chmod +x " .. home .. "/bin/operations")
  local self = setmetatable({ home = home, _socket = home .. "/tmux" }, Tmux)
  local environment = ("env -u XDG_CONFIG_HOME -u XDG_CACHE_HOME -u NO_COLOR HOME=%s PATH=%s/bin:$PATH "
    .. "TERM=screen-256color LANG=C.UTF-8 LC_ALL=C.UTF-8 PS1='$ ' %s"):format(home, home, shell)
  assert(os.execute(("LC_ALL=C.UTF-8 tmux -S %s -f /dev/null new-session -d -x %d -y %d %s"):format(self._socket,
    columns, rows or 50, quote(environment))))
  return self
end

--- Types: texts as they are, names of keys such as "Enter" in tables.
---@param ... string|{ [1]: string }
function Tmux:type(...)
  for _, what in ipairs({ ... }) do
    local is_key = type(what) == "table"
    run(("tmux -S %s send-keys %s %s"):format(self._socket, is_key and "" or "-l", quote(is_key and what[1] or what)))
  end
end

--- What the terminal shows, without blanks at the ends of lines.
---@param with_colours? boolean
---@return string
function Tmux:screen(with_colours)
  local text = run(("tmux -S %s capture-pane -p %s"):format(self._socket, with_colours and "-e" or ""))
  return (text:gsub("[ \t]+\n", "\n"):gsub("%s+$", "\n"))
end

--- Waits until the screen has a text; fails with the screen when it does not come.
---@param text string  plain
---@return string screen
function Tmux:wait(text)
  for _ = 1, 300 do
    local screen = self:screen()
    if screen:find(text, 1, true) then
      return screen
    end
    operations.sleep(0.1)
  end
  error(("%q does not come:\n%s"):format(text, self:screen()), 2)
end

--- Ends the terminal, and what runs in it.
function Tmux:close()
  os.execute("tmux -S " .. self._socket .. " kill-server 2>/dev/null")
  -- A shell that ends still writes its history.
  os.execute(("n=0; until rm -rf %s 2>/dev/null || [ $((n += 1)) = 50 ]; do sleep 0.1; done"):format(self.home))
end

return tmux

--- Runs a command and returns its output and exit code. Commands find the built tree: the interpreter that runs the
--- specs as `lua`, the command line program as `operations`.
local command = {}

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  os.remove(path)
  return text
end

local function quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

--- The environment of programs of this tree: the paths of modules of Lua and Node, the sanitizer, and
--- the run of specs, with which they end.
---@return table<string, string>
function command.environment()
  local env = { LUA_PATH = package.path, LUA_CPATH = package.cpath }
  for _, name in ipairs({ "NODE_PATH", "LD_PRELOAD", "ASAN_OPTIONS", "LSAN_OPTIONS", "SPEC_RUN" }) do
    env[name] = os.getenv(name)
  end
  return env
end

--- The id of the process that runs this.
---@return integer
function command.pid()
  local file = assert(io.open("/proc/self/stat"))
  local pid = file:read("*n")
  file:close()
  return pid
end

--- The directory that this runs in.
---@return string
function command.directory()
  local pipe = assert(io.popen("pwd"))
  local directory = pipe:read("*l")
  pipe:close()
  return directory
end

--- The interpreter that runs this.
function command.interpreter()
  local i = -1
  while arg[i - 1] do
    i = i - 1
  end
  return arg[i]
end

--- The flags of a program in C that links the Lua of this; nil where pkg-config does not know it.
---@return string?
function command.linked()
  local result = command.run("pkg-config --cflags --libs " .. require("operations.base.runtime").interpreter)
  return result.code == 0 and result.out:gsub("\n", "") or nil
end

--- Shell functions that run the tree: only these run under the sanitizer of the specs.
local function functions()
  local lua = ('LD_PRELOAD="$SANITIZER" %s'):format(quote(command.interpreter()))
  return ('lua() { %s "$@"; }; operations() { %s lua/operations/cli/main.lua "$@"; }; '):format(lua, lua)
end

--- Runs a shell script; it is killed after four minutes, and what it has left running at its end. The user's
--- configuration is hidden from it.
---@param script string
---@param stdin? string
---@return { out: string, err: string, code: integer }
function command.run(script, stdin)
  local home = os.tmpname()
  local paths = { input = os.tmpname(), out = os.tmpname(), err = os.tmpname(), code = os.tmpname(),
    group = os.tmpname() }
  local file = assert(io.open(paths.input, "wb"))
  file:write(stdin or "")
  file:close()
  os.execute(([[export SANITIZER=$LD_PRELOAD XDG_CONFIG_HOME=%s.home XDG_CACHE_HOME=%s.home; unset LD_PRELOAD
    sh -c 'echo $$ >%s; exec timeout 240 sh -c "$0"' %s <%s >%s 2>%s
    echo $? >%s
    kill -KILL "-$(cat %s)" 2>/dev/null]]):format(home, home, paths.group, quote(functions() .. script), paths.input,
    paths.out, paths.err, paths.code, paths.group)) -- `timeout` makes a group of processes
  os.remove(paths.group)
  os.remove(paths.input)
  os.remove(home)
  os.execute("rm -rf " .. home .. ".home")
  return { out = read(paths.out), err = read(paths.err), code = tonumber(read(paths.code)) }
end

--- The same, with the tasks API of examples/server at $TASKS_URL.
function command.run_with_server(script, stdin)
  return command.run("examples/server/run sh -c " .. quote(functions() .. script), stdin)
end

--- Starts a program of this runtime, with what it finds its modules by.
---@param ... string  its arguments
---@return operations.Process
function command.start(...)
  local words = { command.interpreter(), ... }
  words.env = command.environment()
  return assert(require("operations.net.process").spawn(words))
end

return command

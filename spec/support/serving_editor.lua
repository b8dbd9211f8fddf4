--- A headless Neovim that serves, as its user and its clients see it.
local command = require("spec.support.command")
local eventually = require("spec.support.eventually")
local inside = require("spec.support.inside")
local lfs = require("lfs")
local pipe = require("spec.support.mcp_server.pipe")
local process = require("operations.net.process")

local editor = {}

---@class spec.Editor
---@field address string  v:servername
---@field runtime string  its XDG_RUNTIME_DIR
---@field child operations.Process
local Editor = {}
Editor.__index = Editor

local started = {} -- those that were not stopped yet, and their directories

--- A directory for sockets.
---@return string
function editor.runtime()
  local path = os.tmpname()
  os.remove(path)
  assert(lfs.mkdir(path))
  inside.shell("chmod 700 " .. path)
  started[#started + 1] = { stop = function()
    inside.shell("rm -rf " .. path)
  end }
  return path
end

--- Starts an editor that runs a Lua chunk; returns when that has run.
---@param code string
---@param runtime? string
---@param ... string  further arguments
---@return spec.Editor
function editor.start(code, runtime, ...)
  runtime = runtime or editor.runtime()
  local address = os.tmpname()
  os.remove(address)
  local words = { "nvim", "-u", "NONE", "-i", "NONE", "-n", "--headless", "--listen", address, "-c",
    "lua " .. code:gsub("%s*\n%s*", " ") .. " io.stdout:write('ready\\n') io.stdout:flush()", ... }
  words.env = { LUA_PATH = ("%s/lua/?.lua;%s/lua/?/init.lua;%s/?.lua;;"):gsub("%%s", command.directory()),
    LUA_CPATH = command.directory() .. "/build/luajit/?.so;;", XDG_RUNTIME_DIR = runtime }
  words.env_allow, words.stderr_lines = { "PATH", "HOME" }, 100
  local self = setmetatable({ address = address, runtime = runtime, child = assert(process.spawn(words)) }, Editor)
  started[#started + 1] = self
  local line = self.child:read_line()
  assert(line == "ready", "the editor said " .. tostring(line))
  return self
end

--- Evaluates an expression of Vim in the editor, as the user would.
---@param expression string
---@return string
function Editor:eval(expression)
  local quoted = "'" .. expression:gsub("'", "'\\''") .. "'"
  local result = inside.shell(("timeout 20 nvim --server %s --remote-expr %s"):format(self.address, quoted))
  return (result.out:gsub("%s+$", ""))
end

--- Evaluates a Lua expression in the editor.
---@param expression string
---@return string
function Editor:lua(expression)
  return self:eval(("luaeval('%s')"):format(expression:gsub("'", "''")))
end

--- Waits until a Lua expression gives this.
function Editor:wait_for(expression, expected)
  eventually(function()
    return self:lua(("tostring(%s)"):format(expression)) == expected
  end)
end

--- Kills it, so that it cleans nothing up.
function Editor:kill()
  inside.shell("kill -9 " .. self.child.pid)
  self.child:wait()
end

--- Starts the command line program in the environment of such an editor.
---@param runtime string
---@param env table<string, string>
---@param ... string
function editor.program(runtime, env, ...)
  local words = { command.interpreter(), "lua/operations/cli/main.lua", ... }
  words.env, words.env_allow, words.stderr_lines = command.environment(), { "PATH", "HOME" }, 100
  words.env.XDG_RUNTIME_DIR = runtime
  for name, value in pairs(env) do
    words.env[name] = value
  end
  return pipe.over(assert(process.spawn(words)))
end

--- A client, through the bridge.
---@return spec.McpPipe
function Editor:bridge()
  return editor.program(self.runtime, {}, "mcp", "--nvim", self.address)
end

--- The same, which has said who it is.
function Editor:client()
  local client = self:bridge()
  assert(client:initialize().result)
  return client
end

--- The files of sockets.
---@return string[]
function editor.sockets(runtime)
  local list = {}
  for name in lfs.dir(runtime .. "/operations-nvim") do
    list[#list + 1] = name:find("%.sock$") and name or nil
  end
  table.sort(list)
  return list
end

function Editor:stop()
  self.child:abort()
  os.remove(self.address)
end

--- Stops all.
function editor.stop_all()
  for i = #started, 1, -1 do
    started[i]:stop()
    started[i] = nil
  end
end

return editor

--- A copy of the plugin in a directory of its own, installed there as users install it, and Neovim with nothing else.
local inside = require("spec.support.inside")

local plugin = {}

---@class spec.Plugin
---@field directory string  with the plugin in pack/spec/opt/operations, and a home
---@field path string  of the plugin
local Plugin = {}
Plugin.__index = Plugin

-- What a clone has, and the objects of this build, so that it need not be compiled again.
local copy = [[
directory=$(mktemp -d) && plugin=$directory/pack/spec/opt/operations && mkdir -p $plugin/spec $plugin/build &&
cp -a .gitignore Makefile src lua doc plugin *.rockspec $plugin &&
cp -a spec/checks.mk $plugin/spec &&
tar cf - --exclude=specs -C build luajit | tar xf - -C $plugin/build && # the runner writes to specs meanwhile
rm -f $plugin/doc/tags $plugin/lua/operations/*.so && echo $directory
]]

--- Makes one.
---@return spec.Plugin
function plugin.copy()
  local made = inside.shell(copy)
  local directory = assert(made.code == 0 and made.out:match("%S+"), made.out)
  return setmetatable({ directory = directory, path = directory .. "/pack/spec/opt/operations" }, Plugin)
end

-- An environment that knows nothing of this tree, nor of the variables that the make of these specs was given.
local environment = "env -u LUA_PATH -u LUA_CPATH -u MAKEFLAGS -u MAKEOVERRIDES -u MAKELEVEL -u VARIANT -u CC -u CFLAGS"
  .. " -u LDFLAGS -u LUA -u PRELOAD HOME=%s XDG_CONFIG_HOME=%s/config"
  .. " XDG_DATA_HOME=%s/data XDG_STATE_HOME=%s/state XDG_CACHE_HOME=%s/cache XDG_RUNTIME_DIR=%s"

-- The directories of PATH without a program of this library.
local function other_programs()
  local list = {}
  for place in os.getenv("PATH"):gmatch("[^:]+") do
    local file = io.open(place .. "/operations")
    if file then
      file:close()
    else
      list[#list + 1] = place
    end
  end
  return table.concat(list, ":")
end

local function quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

---@param command string
---@return string
function Plugin:environment(command)
  return ("%s PATH=%s %s"):format(environment:gsub("%%s", self.directory), quote(other_programs()), command)
end

--- Runs a command of the shell in the directory of the plugin.
---@param command string
---@return { out: string, code: integer }
function Plugin:shell(command)
  return inside.shell(("cd %s && %s"):format(self.path, self:environment("sh -c " .. quote(command))))
end

--- Runs Lua in Neovim; `before` are its arguments that make it find the plugin.
---@param lua string
---@param before? string
---@return { out: string, code: integer }
function Plugin:nvim(lua, before)
  local path = self.directory .. "/run.lua"
  local file = assert(io.open(path, "w"))
  file:write(lua, "\n")
  file:close()
  before = before or ("--cmd 'set runtimepath^=%s'"):format(self.path)
  return inside.shell(("%s -u NONE -i NONE -n --headless %s -c 'luafile %s' -c 'qa!' </dev/null"):format(
    self:environment("timeout 120 nvim"), before, path))
end

--- Removes it.
function Plugin:remove()
  inside.shell("rm -rf " .. self.directory)
end

return plugin

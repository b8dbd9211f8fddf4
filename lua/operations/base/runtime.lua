--- Refuses an unsupported runtime before a C module that it cannot load is required; loads modules that may be missing.
local runtime = {}

local jit = rawget(_G, "jit")

--- The usual name of its interpreter.
---@type string
runtime.interpreter = jit and "luajit" or "lua" .. _VERSION:match("%d.*")

---@param version string  as `_VERSION`
---@param luajit? { version: string, version_num: integer }  LuaJIT's global `jit`
---@return string? flaw
function runtime.flaw(version, luajit)
  if luajit and luajit.version_num >= 20100 or version == "Lua 5.4" or version == "Lua 5.5" then
    return nil
  end
  local this = luajit and luajit.version or version
  return "operations supports Lua 5.4, Lua 5.5 and LuaJIT 2.1; this is " .. this
end

--- Why a C module was not loaded, in words where it was built for another runtime.
---@param message string  of `require`
---@return string
function runtime.told(message)
  local path = message:match("undefined symbol: luaL?_") and message:match("from file '([^']+)'")
  return path and ("%s is built for another Lua than this, %s: run make LUA=%s"):format(path,
    jit and "LuaJIT" or _VERSION, runtime.interpreter) or message
end

--- Loads the first C module of a program.
---@param name string
---@return any
function runtime.load(name)
  local ok, loaded = pcall(require, name)
  return ok and loaded or error(runtime.told(loaded), 0)
end

-- Is the current directory, the last resort of Lua's own search paths, the only place in a path that has the module?
local function is_only_here(name, path)
  local search = package.searchpath -- luacheck: ignore 143
  local elsewhere = (";" .. path):gsub(";%./%?[^;]*", "")
  return search(name, path) ~= nil and search(name, elsewhere) == nil
end

--- Loads a module that may be missing: a library, or a part of this one that was not built. It is never taken from the
--- current directory, where it could be a file of a cloned repository.
---@param name string
---@return boolean loaded
---@return any module  or the reason why it was not loaded
function runtime.optional(name)
  if package.loaded[name] == nil and (is_only_here(name, package.path) or is_only_here(name, package.cpath)) then
    return false, ("module '%s' is not installed"):format(name)
  end
  return pcall(require, name)
end

local flaw = runtime.flaw(_VERSION, jit)
if flaw then
  error(flaw, 0)
end

return runtime

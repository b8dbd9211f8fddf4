--- Refuses an unsupported runtime before a C module that it cannot load is required.
local runtime = {}

---@param version string  as `_VERSION`
---@param jit? { version: string, version_num: integer }  LuaJIT's global `jit`
---@return string? flaw
function runtime.flaw(version, jit)
  if jit and jit.version_num >= 20100 or version == "Lua 5.4" then
    return nil
  end
  return ("operations supports Lua 5.4 and LuaJIT 2.1; this is %s"):format(jit and jit.version or version)
end

--- Why a C module was not loaded, in words where it was built for the other runtime.
---@param message string  of `require`
---@param jit? table
---@return string
function runtime.told(message, jit)
  local path = message:match("undefined symbol: luaL?_") and message:match("from file '([^']+)'")
  return path and ("%s is built for %s and this is %s: run make LUA=%s"):format(path, jit and "Lua 5.4" or "LuaJIT",
    jit and "LuaJIT" or "Lua 5.4", jit and "luajit" or "lua5.4") or message
end

--- Loads the first C module of a program.
---@param name string
---@return any
function runtime.load(name)
  local ok, loaded = pcall(require, name)
  return ok and loaded or error(runtime.told(loaded, rawget(_G, "jit")), 0)
end

local flaw = runtime.flaw(_VERSION, rawget(_G, "jit"))
if flaw then
  error(flaw, 0)
end

return runtime

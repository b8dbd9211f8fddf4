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

local flaw = runtime.flaw(_VERSION, rawget(_G, "jit"))
if flaw then
  error(flaw, 0)
end

return runtime

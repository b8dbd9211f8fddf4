--- Runs a function again and again, and another one whenever garbage is collected meanwhile: a finalizer runs in the
--- middle of whatever allocates, C functions too.
local newproxy = rawget(_G, "newproxy") -- LuaJIT has finalizers of userdata only

local function finalize(finalizer)
  if newproxy then
    getmetatable(newproxy(true)).__gc = finalizer
  else
    setmetatable({}, { __gc = finalizer })
  end
end

-- Sets a parameter of the collector and returns the value before; Lua 5.5 has one option for all of them.
local function set(name, value)
  local ok, before = pcall(collectgarbage, "set" .. name, value)
  return ok and before or collectgarbage("param", name, value)
end

---@param finalizer fun(): boolean?  true where it came at the time that is wanted: no further run is needed
---@param run fun()
return function(finalizer, run)
  local over, met, failure = false, false, nil
  local function again()
    if not over then
      local ok, result = pcall(finalizer)
      failure = failure or not ok and result or nil
      met = met or not ok or result
      finalize(again)
    end
  end
  local pause, multiplier = set("pause", 0), set("stepmul", 1000)
  finalize(again)
  local ok, err
  repeat
    ok, err = pcall(run)
  until met or not ok
  over = true
  set("pause", pause)
  set("stepmul", multiplier)
  assert(ok, err)
  assert(not failure, failure)
end

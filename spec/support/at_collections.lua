--- Runs a function, and another one whenever garbage is collected meanwhile: a finalizer runs in the middle of whatever
--- allocates, C functions too.
local newproxy = rawget(_G, "newproxy") -- LuaJIT has finalizers of userdata only

local function finalize(finalizer)
  if newproxy then
    getmetatable(newproxy(true)).__gc = finalizer
  else
    setmetatable({}, { __gc = finalizer })
  end
end

---@param finalizer fun()  must not raise
---@param run fun()
return function(finalizer, run)
  local over = false
  local function again()
    if not over then
      finalizer()
      finalize(again)
    end
  end
  finalize(again)
  local ok, err = pcall(run)
  over = true
  assert(ok, err)
end

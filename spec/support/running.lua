--- Does a process run? One that ended and was not waited for yet does not.
---@param pid integer|string
---@return boolean
return function(pid)
  local file = io.open(("/proc/%s/stat"):format(pid))
  local text = file and file:read("*a") -- nil when it was reaped since it was opened
  if file then
    file:close()
  end
  local state = text and text:match("^%d+ %(.*%) (%a)")
  return state ~= nil and state ~= "Z" and state ~= "X"
end

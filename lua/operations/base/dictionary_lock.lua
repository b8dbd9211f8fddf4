--- A lock across all workers of nginx, in a shared dictionary. It is held for some microseconds, without waiting.
local dictionary_lock = {}

local TRIES = 100000 -- attempts to get the lock, some ms: then its holder has died
local LEASE = 0.1 -- s after which the lock of a dead worker is free

--- Runs a function, which must not raise, while no other worker runs one for the same key.
---@param dictionary table  `ngx.shared.NAME`
---@param key string
---@param fn function
---@return any ...  its results, up to three
function dictionary_lock.run(dictionary, key, fn, ...)
  local name = key .. ":lock"
  for _ = 1, TRIES do
    local ok, why = dictionary:add(name, true, LEASE)
    if ok or why ~= "exists" then
      break -- without memory in the dictionary, waiting does not help
    end
  end
  local a, b, c = fn(dictionary, key, ...)
  dictionary:delete(name)
  return a, b, c
end

return dictionary_lock

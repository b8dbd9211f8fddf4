--- A lock of all workers of nginx, in a shared dictionary. Its holder keeps it for some microseconds and never waits.
local dictionary_lock = {}

local TRIES = 100000 -- to get the lock, some ms of them: then its holder is gone
local LEASE = 0.1 -- s after which the lock of a worker that died is free

--- Runs a function, which must not raise, while no other worker runs one for the same key.
---@param dictionary table  `ngx.shared.NAME`
---@param key string
---@param fn function
---@return any ...  what it returns, up to three values
function dictionary_lock.run(dictionary, key, fn, ...)
  local name = key .. ":lock"
  for _ = 1, TRIES do
    local ok, why = dictionary:add(name, true, LEASE)
    if ok or why ~= "exists" then
      break -- where the dictionary has no memory, waiting is of no use
    end
  end
  local a, b, c = fn(dictionary, key, ...)
  dictionary:delete(name)
  return a, b, c
end

return dictionary_lock

--- The shared dictionaries of nginx: by name, for options that take a store, and locked across all workers. Counts and
--- tells where a shared store failed: calls continue without it, so its failures would not be noticed.
local hosts = require("operations.hosts")
local log = require("operations.task.log")
local scheduler = require("operations.task.scheduler")

local dictionary = {}

local TRIES = 100000 -- attempts to get the lock, some ms: then its holder has died
local LEASE = 0.1 -- s after which the lock of a dead worker is free

local PAUSE = 60000 -- ms between two messages about the same kind of failure

--- Failures of this process since its start, by store ("figures", "rates", "answers") and reason ("refused": a value
--- was not stored; "dropped": other values made room for it; "unavailable": Redis was not there).
---@type table<string, table<string, integer>>
dictionary.failures = {}

local told = {} ---@type table<string, number>  ms since the epoch, by message

--- Counts a failure of a store, and warns, at most once a minute for each message.
---@param store "figures"|"rates"|"answers"
---@param reason "refused"|"dropped"|"unavailable"
---@param message string  what follows from it, and what helps
function dictionary.failed(store, reason, message)
  local counts, now = dictionary.failures[store] or {}, scheduler.now()
  dictionary.failures[store], counts[reason] = counts, (counts[reason] or 0) + 1
  if not told[message] or now - told[message] >= PAUSE then
    told[message] = now
    log.write("warn", message)
  end
end

--- The dictionary that an option names; other values are returned unchanged. A name of none raises; `ngx.shared.NAME`
--- would be nil, which an option cannot tell from an absent one.
---@param given any
---@param option string
---@param name string  of the public function
---@param level integer  of the caller's line
---@return any
function dictionary.of(given, option, name, level)
  if type(given) ~= "string" then
    return given
  end
  local host = hosts.current()
  local found = host.dictionary and host.dictionary(given)
  if not found then
    error(("bad option '%s' to '%s' (%s)"):format(option, name, host.dictionary
      and ("nginx has no lua_shared_dict %q"):format(given)
      or ("%q: only nginx has dictionaries with names"):format(given)), level + 1)
  end
  return found
end

--- Runs a function, which must not raise, while no other worker runs one for the same key. The lock is held
--- for some microseconds, without waiting.
---@param store table  `ngx.shared.NAME`
---@param key string
---@param fn function
---@return any ...  its results, up to three
function dictionary.locked(store, key, fn, ...)
  local name = key .. ":lock"
  for _ = 1, TRIES do
    local ok, why = store:add(name, true, LEASE)
    if ok or why ~= "exists" then
      break -- without memory in the dictionary, waiting does not help
    end
  end
  local a, b, c = fn(store, key, ...)
  store:delete(name)
  return a, b, c
end

return dictionary

--- Stores of tokens and registrations: functions over keys and plain tables, in memory or in files that only the user
--- can use; and a lock, so that programs do not renew one token at the same time.
local core = require("operations.core")
local errors = require("operations.base.error")
local hexadecimal = require("operations.base.hexadecimal")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local system = require("operations.system")
local task = require("operations.task")

local store = {}

---@class operations.oauth.Store
---@field load fun(key: string): table?
---@field save fun(key: string, value: table?)  nil: removes it; raises when it cannot
---@field lock? fun(key: string): fun()  waits until no other program holds the key; the result releases it. Raises when
---  it cannot

--- A store that lives as long as the program.
---@return operations.oauth.Store
function store.memory()
  local values = {}
  return {
    load = function(key)
      return values[key]
    end,
    save = function(key, value)
      values[key] = value
    end,
  }
end

local RECORD = 1024 * 1024 -- bytes of a record

local function check(ok, message)
  if not ok then
    error(errors.new("EXECUTION_ERROR", "cannot keep a token: " .. message, { kind = "oauth" }))
  end
end

-- Makes the directory; raises unless only this user can use it.
local function open_directory(directory)
  check(system.make_private_directory(directory))
  check(system.check_private_directory(directory))
end

local PAUSE = 20 -- ms between two attempts to get a lock

-- The lock; false if another program has it.
local function taken(path)
  local held, message = system.lock(path)
  check(held ~= nil, message)
  return held
end

local function lock(path)
  local stop = core.now() + limits.oauth_lock
  local held = taken(path)
  while not held do
    if core.now() >= stop then
      check(nil, path .. ": another program has not released it")
    end
    task.sleep(PAUSE / 1000)
    held = taken(path)
  end
  return function()
    system.unlock(held, path)
  end
end

--- A store that outlives the program: a file for each key, in a directory that only the user can enter. Programs may
--- share it. A file that others can use, or that is a link, counts as missing; a directory that others can use is
--- refused.
---@param directory string  created if missing
---@return operations.oauth.Store
function store.directory(directory)
  local function path_of(key, kind)
    return ("%s/%s.%s"):format(directory, hexadecimal.of(core.sha256(key)), kind)
  end
  return {
    load = function(key)
      local text = system.check_private_directory(directory) and system.read_private(path_of(key, "json"), RECORD)
      local entry = text and json.decode(text)
      return type(entry) == "table" and entry.key == key and entry.value or nil
    end,
    save = function(key, value)
      if value == nil then
        os.remove(path_of(key, "json"))
        return
      end
      open_directory(directory)
      check(system.write_private(path_of(key, "json"), assert(json.encode({ key = key, value = value }))))
    end,
    lock = function(key)
      open_directory(directory)
      return lock(path_of(key, "lock"))
    end,
  }
end

local function released(release, ok, ...)
  release()
  if not ok then
    error(..., 0)
  end
  return ...
end

--- Calls `fn(...)` while no other program does the same with a key.
---@param held operations.oauth.Store
---@param key string
---@param fn function
---@return any ...  its results
function store.alone(held, key, fn, ...)
  if not held.lock then
    return fn(...)
  end
  return released(held.lock(key), pcall(fn, ...))
end

return store

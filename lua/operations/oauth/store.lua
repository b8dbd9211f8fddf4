--- Where tokens and registrations are kept: two functions over keys and plain tables.
local core = require("operations.core")
local errors = require("operations.base.error")
local json = require("operations.base.json")
local system = require("operations.system")

local store = {}

---@class operations.oauth.Store
---@field load fun(key: string): table?
---@field save fun(key: string, value: table?)  nil: forget it; raises when it cannot

--- One that ends with the program.
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

local function hexadecimal(bytes)
  return (bytes:gsub(".", function(byte)
    return ("%02x"):format(byte:byte())
  end))
end

local function read(path)
  local file = io.open(path, "rb")
  local text = file and file:read("*a")
  if file then
    file:close()
  end
  return text and json.decode(text)
end

local function check(ok, message)
  if not ok then
    error(errors.new("EXECUTION_ERROR", "cannot keep a token: " .. message, { kind = "oauth" }), 0)
  end
end

--- One that outlives the program: a file for each key, in a directory that only the user enters. Programs may share
--- it.
---@param directory string  made when it is not there
---@return operations.oauth.Store
function store.directory(directory)
  local function path_of(key)
    return ("%s/%s.json"):format(directory, hexadecimal(core.sha256(key)))
  end
  return {
    load = function(key)
      local entry = read(path_of(key))
      return type(entry) == "table" and entry.key == key and entry.value or nil
    end,
    save = function(key, value)
      if value == nil then
        os.remove(path_of(key))
        return
      end
      check(system.make_private_directory(directory))
      check(system.write_private(path_of(key), assert(json.encode({ key = key, value = value }))))
    end,
  }
end

return store

--- Directories of the command line's files (XDG Base Directory Specification), and absolute forms of paths.
local system = require("operations.system")

local directories = {}

-- The variable counts if it holds an absolute path; the specification ignores others.
local function place(variable, behind_home)
  local given, home = os.getenv(variable), os.getenv("HOME")
  if given and given:sub(1, 1) == "/" then
    return given .. "/operations"
  end
  return home and home ~= "" and home .. behind_home .. "/operations" or nil
end

--- Files written by users: remembered sources.
---@return string? path  nil: neither the variable nor HOME is set
function directories.config()
  return place("XDG_CONFIG_HOME", "/.config")
end

--- Files that can be made again: documents.
---@return string? path
function directories.cache()
  return place("XDG_CACHE_HOME", "/.cache")
end

--- Data that outlives a call and is not configuration: tokens, trusted files.
---@return string? path
function directories.state()
  return place("XDG_STATE_HOME", "/.local/state")
end

local here

--- The working directory.
---@return string
function directories.current()
  if not here then
    local said = os.getenv("PWD")
    local _, own = system.kind(".")
    if said and said:sub(1, 1) == "/" and select(2, system.kind(said)) == own then
      here = said
    else
      local pipe = assert(io.popen("pwd"))
      here = pipe:read("*l")
      pipe:close()
    end
  end
  return here
end

--- An absolute form of a path.
---@param path string
---@param base? string  what it is relative to, default: the working directory
---@return string
function directories.absolute(path, base)
  if path:sub(1, 1) == "/" then
    return path
  end
  return (base or directories.current()):gsub("/$", "") .. "/" .. path:gsub("^%./", "")
end

--- The nearest file with this name in the working directory or its parents.
---@param name string
---@return string? path
function directories.above(name)
  local directory = directories.current()
  while true do
    local path = directory:gsub("/$", "") .. "/" .. name
    if system.kind(path) == "file" then
      return path
    elseif directory == "/" or directory == "" then
      return nil
    end
    directory = directory:match("^(.+)/[^/]*$") or "/"
  end
end

return directories

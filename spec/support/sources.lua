--- The source files of the tree.
local lfs = require("lfs")

local sources = {}

local function walk(directory, list)
  for name in lfs.dir(directory) do
    local path = directory .. "/" .. name
    if name:sub(1, 1) ~= "." then
      if lfs.attributes(path, "mode") == "directory" then
        walk(path, list)
      else
        list[#list + 1] = path
      end
    end
  end
  return list
end

--- The paths under `directory` that end in `suffix`, sorted.
function sources.list(directory, suffix)
  local found = {}
  for _, path in ipairs(walk(directory, {})) do
    if path:sub(-#suffix) == suffix then
      found[#found + 1] = path
    end
  end
  table.sort(found)
  return found
end

function sources.read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

--- The Lua module in a file: "lua/operations/cli/init.lua" -> "operations.cli".
function sources.module(path)
  return (path:gsub("^lua/", ""):gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", "."))
end

--- Is a Lua file of the tree the module of this name?
---@param module string
---@return boolean
function sources.exists(module)
  local base = "lua/" .. module:gsub("%.", "/")
  return lfs.attributes(base .. ".lua", "mode") == "file" or lfs.attributes(base .. "/init.lua", "mode") == "file"
end

return sources

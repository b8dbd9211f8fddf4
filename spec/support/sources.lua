--- The source files of the tree and the module each one belongs to.
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

local own_module = { reactor = true, redis = true, system = true, transfer = true, websocket = true }

-- Files that several modules have each their own of; whether the one that they are named for has them as well.
local shared = {
  { "src/buffer.c", named = true, "operations.reactor", "operations.transfer", "operations.websocket" },
  { "src/fields.c", named = true, "operations.transfer" },
  { "src/reactor.c", named = true, "operations.transfer" },
  { "src/reactor_handle_lua.c", named = true, "operations.transfer" },
  { "src/reactor_option_lua.c", named = true, "operations.transfer" },
  { "src/reactor_stream.c", named = true, "operations.transfer" },
  { "src/reactor_timer.c", named = true, "operations.transfer" },
  { "src/sha1.c", "operations.redis", "operations.websocket" },
}

local function c_module(path)
  for _, file in ipairs(shared) do
    if file[1] == path and not file.named then
      return nil
    end
  end
  local name = path:match("^src/([a-z0-9]+)")
  return "operations." .. (own_module[name] and name or "core")
end

--- What each C module is made of, by module name: { "src/core.c", ... }.
function sources.c_modules()
  local modules = {}
  for _, path in ipairs(sources.list("src", ".c")) do
    local name = c_module(path)
    if name then
      modules[name] = modules[name] or {}
      table.insert(modules[name], path)
    end
  end
  for _, file in ipairs(shared) do
    for i = 2, #file do
      table.insert(modules[file[i]], file[1])
      table.sort(modules[file[i]])
    end
  end
  return modules
end

return sources

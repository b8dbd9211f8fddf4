--- Bare walks over a value through the C API (schema_floor.c): no check of tables can be faster. `keys` gets
--- every member by its key, as open objects need; `next` all members as they come, as closed objects need.
local measure = require("measure")

local DIRECTORY = "build/bench/"
local INCLUDE = os.getenv("LUA_INCDIR") or (rawget(_G, "jit") and "/usr/include/luajit-2.1" or "/usr/include/lua5.4")

local schema_floor = {}

local floor

local function load_walks()
  local path = DIRECTORY .. (rawget(_G, "jit") and "luajit" or "lua") .. "_schema_floor.so"
  assert(os.execute("mkdir -p " .. DIRECTORY))
  assert(os.execute(("cc -std=c99 -O2 -fPIC -shared -Isrc -I%s -o %s spec/bench/schema_floor.c"):format(INCLUDE, path)))
  return assert(package.loadlib("./" .. path, "luaopen_schema_floor"))()
end

--- Nanoseconds of each walk, the least.
---@param values table[] copies of one value
---@return number keys
---@return number next
function schema_floor.time(values)
  floor = floor or load_walks()
  local plan, count = floor.plan(values[1]), #values
  local keys = measure.least(function(n)
    for i = 1, n do
      floor.keys(plan, values[i % count + 1])
    end
  end)
  local following = measure.least(function(n)
    for i = 1, n do
      floor.next(values[i % count + 1])
    end
  end)
  return keys, following
end

return schema_floor

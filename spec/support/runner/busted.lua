--- Starts busted; its arguments are those of the program `busted`.
local sources = require("spec.support.sources")

-- It is not packaged for Lua 5.5, where files for Lua 5.4 fail that assign to the variable of a loop, a constant there.
table.insert(arg, 1, "--loaders=lua")
if _VERSION == "Lua 5.5" then
  local path = assert(package.searchpath("pl.tablex", package.path)) -- luacheck: ignore 143
  local text = sources.read(path):gsub("\n( +k = cycle_aware_copy)", "\nlocal %1")
  package.preload["pl.tablex"] = assert(load(text, "@" .. path))
end

require("busted.runner")({ standalone = false })

--- Runs spec files inside another program than the one that runs the specs, and reads its TAP back.
local inside = {}

local function shell(script)
  local pipe = assert(io.popen(("{ %s\n} 2>&1; echo \"exit code $?\""):format(script)))
  local output = pipe:read("*a")
  pipe:close()
  local text, code = output:match("^(.*)exit code (%d+)\n$")
  return { out = text, code = tonumber(code) }
end
inside.shell = shell

--- Is a program there?
---@param program string
---@return boolean
function inside.has(program)
  return shell(("PATH=$PATH:/usr/sbin command -v %s"):format(program)).code == 0
end

-- LuaJIT's modules of the built tree, whichever interpreter runs this.
local modules = [[
  export LUA_PATH="$PWD/lua/?.lua;$PWD/lua/?/init.lua;$PWD/?.lua;;" LUA_CPATH="$PWD/build/luajit/?.so;;"
  unset LD_PRELOAD
]]
inside.modules = modules

--- What is missing for these programs, or nil.
---@param program string
---@return string?
function inside.missing(program)
  if not inside.has(program) then
    return program .. " is not installed"
  end
  local built = io.open("build/luajit/operations/reactor.so")
  if not built then
    return "not built for LuaJIT (make LUA=luajit)"
  end
  built:close()
end

--- Runs a Lua file in Neovim.
---@param path string
---@param environment? string  assignments
---@return { out: string, code: integer }
function inside.nvim(path, environment)
  return shell(("%s %s timeout 120 nvim -u NONE -i NONE -n --headless -c 'luafile %s' </dev/null"):format(
    modules, environment or "", path))
end

--- Reads what busted's TAP says.
---@param out string
---@return { passed: integer, planned: integer, failures: string }
function inside.tap(out)
  local passed, failures = 0, {}
  for line in out:gmatch("[^\r\n]+") do
    if line:find("^ok ") then
      passed = passed + 1
    elseif not line:find("^1%.%.%d") then
      failures[#failures + 1] = line
    end
  end
  return { passed = passed, planned = tonumber(out:match("1%.%.(%d+)")), failures = table.concat(failures, "\n") }
end

return inside

--- A clean copy of this tree in a directory of its own, as a repository with one commit: what a maintainer would have.
--- Its commands find nothing of the user's: no home, no configuration, no modules of the built tree.
local clone = {}
clone.__index = clone

local function quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

local isolated = [[
exec 2>&1 </dev/null
unset LD_PRELOAD LUA_PATH LUA_CPATH MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES LUA CC CFLAGS LDFLAGS VARIANT WERROR CI
export HOME=%s/home GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.com
export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.com LC_ALL=C
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin XDG_CONFIG_HOME=%s/home/config
export XDG_CACHE_HOME=%s/home/cache
cd %s
]]

--- Runs a shell script in the tree; what it prints, on either stream, and its exit code.
---@param script string
---@return { out: string, code: integer }
function clone:run(script)
  local home = quote(self.base)
  local start = isolated:format(home, home, home, quote(self.tree))
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(start, script, "\n")
  file:close()
  local pipe = assert(io.popen("timeout 900 sh " .. path .. "; echo \"code $?\""))
  local text = pipe:read("*a")
  pipe:close()
  os.remove(path)
  local out, code = text:match("^(.*)code (%d+)\n$")
  return { out = out, code = tonumber(code) }
end

--- The same for what must succeed.
---@param script string
---@return string out
function clone:must(script)
  local result = self:run("set -e\n" .. script)
  if result.code ~= 0 then
    error(("exit code %d of %s:\n%s"):format(result.code, script, result.out:sub(-3000)), 2)
  end
  return result.out
end

--- Gives the version a section in CHANGELOG.md and a place in version.lua, and commits that.
---@param version string
function clone:set_version(version)
  self:must(([[
    sed -i 's/^return ".*"$/return "%s"/' lua/operations/base/version.lua
    sed -i '0,/^## .*$/s//## %s - today/' CHANGELOG.md
    git commit -qam 'release %s' --allow-empty]]):format(version, version, version))
end

function clone:remove()
  os.execute("unset LD_PRELOAD; rm -rf " .. quote(self.base))
end

--- Copies what git lists of this tree, or, where it is no repository, what belongs to it.
---@param name? string  of the directory
---@return table clone  `tree` is where it is, `base` a directory around it for what else there is
function clone.new(name)
  local base = os.tmpname()
  os.remove(base)
  local self = setmetatable({ base = base, tree = base .. "/" .. (name or "operations") }, clone)
  local copy = "unset LD_PRELOAD; { git ls-files -co --exclude-standard 2>/dev/null || "
    .. "ls -d Makefile LICENSE *.md *.rockspec src lua plugin spec doc examples .ci .github .gitignore .luacheckrc; } "
    .. "| while read -r file; do [ -e \"$file\" ] && printf '%s\\n' \"$file\"; done | tar -cf - -T - | tar -xf - -C "
  assert(os.execute(("unset LD_PRELOAD; mkdir -p %s %s"):format(quote(self.tree), quote(base .. "/home"))))
  assert(os.execute(copy .. quote(self.tree)))
  self:must("git init -q . && git add -A && git commit -qm 'the tree'")
  return self
end

return clone

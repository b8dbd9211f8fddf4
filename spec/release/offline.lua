--- An archive that `make release` has written, unpacked in a clean tree without network but loopback, and LuaRocks
--- trees beside it.
local clones = require("spec.release.clone")

local offline = {}
offline.__index = offline

-- Only what the system and this tree have is found.
local start = [[
unshare -rn sh -e <<'SCRIPT'
ip link set lo up
export MAKEFLAGS=-j$(nproc) NO_COLOR=1
here=%s
cd "$here"
luarocks_for() { version=$1; shift; luarocks --lua-version "$version" --only-server "$here/none" "$@"; }
wait_for() { # FILE PATTERN: prints the first that matches
  tries=0
  until grep -aso "$2" "$1" | grep -m 1 .; do
    tries=$((tries + 1))
    [ $tries -lt 600 ] || { cat "$1"; exit 1; }
    sleep 0.1
  done
}
%s
SCRIPT]]

--- Runs a shell script beside the unpacked archives; it must succeed. `luarocks_for VERSION` is LuaRocks.
---@param script string
---@return string out
function offline:must(script)
  return self.clone:must(start:format(self.base, script))
end

--- The same, and the seconds that it took.
---@param title string
---@param script string
---@return string out
function offline:timed(title, script)
  local out = self:must("start=$(date +%s%N)\n" .. script .. "\necho took $((($(date +%s%N) - start) / 1000000)) ms")
  print(("%-48s %6d ms"):format(title, tonumber(out:match("took (%d+) ms\n$"))))
  return out
end

--- The names below a directory.
---@param directory string
---@return string
function offline:below(directory)
  return self:must(("find %s ! -type d | sort"):format(directory))
end

--- Makes a release and unpacks it: `operations-VERSION` is the directory, `release-VERSION` what make has written.
---@param version string
function offline:release(version)
  self.clone:set_version(version)
  self.clone:must(("make release VERSION=%s; cp -r build/release %s/release-%s"):format(version, self.base, version))
  print(self:must(("wc -c release-%s/*.gz"):format(version)):match("[^\n]+"))
  self:must(("tar -xzf release-%s/operations-%s.tar.gz"):format(version, version))
end

function offline:remove()
  self.clone:remove()
end

function offline.new()
  local clone = clones.new()
  clone:must("mkdir -p $HOME/.luarocks")
  return setmetatable({ clone = clone, base = clone.base }, offline)
end

return offline

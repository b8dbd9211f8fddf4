--- Runs Lua programs in a network of their own (namespaces of Linux): the address 1.2.3.4 is theirs, and their resolver
--- never answers.
local command = require("spec.support.command")

local network = {}

local script = [[
  ip link set lo up && ip address add 1.2.3.4/32 dev lo && ip route add 192.0.2.0/24 dev lo &&
  printf 'nameserver 192.0.2.1\noptions timeout:30 attempts:1\n' >"$1.resolv" &&
  mount --bind "$1.resolv" /etc/resolv.conf && LD_PRELOAD="$SANITIZER" exec "$2" "$1"]]

local function run(program, before)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(program)
  file:close()
  local result = command.run(("%s unshare -rnm sh -c '%s' sh %s %s"):format(
    before or "", script:gsub("'", "'\\''"), path, command.interpreter()))
  os.remove(path)
  os.remove(path .. ".resolv")
  return result
end
network.run = run

--- What keeps programs from being run so, or nil.
---@return string?
function network.missing()
  local result = run("")
  return result.code ~= 0 and "no network of its own: " .. result.err or nil
end

return network

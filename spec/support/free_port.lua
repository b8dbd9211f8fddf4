--- A port for a server that is started a moment later, or again on the same one: nobody listens on it, no connection
--- of this machine has it, and for twenty minutes no process of the specs is given it again.

-- A port is claimed by making its directory, which of all processes one can. They are below Linux' range for outgoing
-- connections.
local CLAIM = [[unset LD_PRELOAD
claims=${TMPDIR:-/tmp}/operations-ports.$(id -u)
mkdir -p "$claims"
find "$claims" -mindepth 1 -mmin +20 -delete 2>/dev/null
for port in $(shuf -i 10000-31000 -n 100); do
  grep -q ":$(printf %04X "$port") " /proc/net/tcp /proc/net/tcp6 2>/dev/null && continue
  mkdir "$claims/$port" 2>/dev/null && echo "$port" && break
done]]

---@return integer
return function()
  local pipe = assert(io.popen(CLAIM))
  local port = pipe:read("*n")
  pipe:close()
  return assert(port, "no port is free")
end

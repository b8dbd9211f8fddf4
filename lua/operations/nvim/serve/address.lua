--- The socket of an editor that is an MCP server: the serving editor and the bridge compute it by the same rule,
--- without communicating. Needs nothing of Neovim.
local core = require("operations.core")
local hexadecimal = require("operations.base.hexadecimal")

local address = {}

local ENDING = ".sock"

-- Relative paths in these variables are ignored (XDG Base Directory Specification).
local function absolute(path)
  return path and path:sub(1, 1) == "/" and path or nil
end

--- The directory for the sockets of a user's editors: in `$XDG_RUNTIME_DIR`, else in the user's cache.
---@param getenv? fun(name: string): string?  default: os.getenv
---@return string? path
---@return string? message
function address.directory(getenv)
  getenv = getenv or os.getenv
  local home = absolute(getenv("HOME"))
  local parent = absolute(getenv("XDG_RUNTIME_DIR")) or absolute(getenv("XDG_CACHE_HOME")) or home and home .. "/.cache"
  if parent then
    return parent:gsub("/+$", "") .. "/operations-nvim"
  end
  return nil, "no directory for sockets: neither XDG_RUNTIME_DIR nor HOME is an absolute path"
end

--- The socket of the editor with an address as in `v:servername` and `$NVIM`. The address may also be the socket
--- itself.
---@param directory string
---@param of string
---@return string path
function address.path(directory, of)
  if of:sub(1, #directory + 1) == directory .. "/" and address.is_socket(of) then
    return of
  end
  return directory .. "/" .. hexadecimal.of(core.sha256(of):sub(1, 8)) .. ENDING
end

--- Is this the name of a socket file?
---@param name string
---@return boolean
function address.is_socket(name)
  return name:sub(-#ENDING) == ENDING
end

return address

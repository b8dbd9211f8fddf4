--- The directory for the editor's socket, private to the user. Removes sockets that killed editors left there.
local address = require("operations.nvim.serve.address")
local errors = require("operations.base.error")

local uv = vim.uv or vim.loop

local place = {}

-- A private directory, or the reason why there is none.
local function private_directory()
  local directory, message = address.directory()
  if not directory then
    return nil, message
  end
  pcall(vim.fn.mkdir, directory, "p", tonumber("700", 8))
  local found = uv.fs_lstat(directory)
  if not found or found.type ~= "directory" then
    return nil, directory .. " does not exist and cannot be created"
  elseif found.uid ~= uv.getuid() or found.mode % 64 ~= 0 then
    return nil, directory .. " has to belong to its user alone (mode 0700)"
  end
  return directory
end

-- Removes a socket's file when no process listens there: its editor was killed.
local function remove_stale(path)
  local before, pipe = uv.fs_lstat(path), uv.new_pipe(false)
  if not before or before.type ~= "socket" then
    return pipe:close()
  end
  pipe:connect(path, function(err)
    pipe:close()
    local now = uv.fs_lstat(path)
    if err == "ECONNREFUSED" and now and now.ino == before.ino then
      uv.fs_unlink(path)
    end
  end)
end

local function remove_stale_ones(directory)
  local scan = uv.fs_scandir(directory)
  local name = scan and uv.fs_scandir_next(scan)
  while name do
    if address.is_socket(name) then
      remove_stale(directory .. "/" .. name)
    end
    name = uv.fs_scandir_next(scan)
  end
end

--- The default socket of this editor.
---@return string? path
---@return operations.Error? err  ACCESS_DENIED
function place.path()
  local directory, message = private_directory()
  if not directory then
    return nil, errors.new("ACCESS_DENIED", message)
  end
  remove_stale_ones(directory)
  local name = vim.v.servername
  return address.path(directory, name ~= "" and name or "pid " .. vim.fn.getpid())
end

return place

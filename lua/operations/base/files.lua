--- The texts of files; of those of this library that are not modules by their name. These are beside its Lua files, and
--- found by `package.path`, as modules are: Neovim derives it from the runtime path, nginx from its configuration.
local files = {}

--- Reads a file.
---@param path string
---@return string? text
---@return string? message  with the path; a directory cannot be read
function files.read(path)
  local handle, message = io.open(path, "rb")
  if not handle then
    return nil, message
  end
  local text, reason = handle:read("*a")
  handle:close()
  return text, not text and ("%s: %s"):format(path, reason or "cannot be read") or nil
end

--- Reads a file of this library.
---@param name string  such as "operations/server/page/index.html"
---@return string? text  nil: it is not installed
function files.own(name)
  for place in package.path:gmatch("([^;]*)%?%.lua") do
    local text = files.read(place .. name)
    if text then
      return text
    end
  end
end

return files

--- Reads the files of this library that are not modules. They are beside its Lua files, and found by `package.path`, as
--- modules are: Neovim derives it from the runtime path, nginx from its configuration.
local own_file = {}

--- Reads a file.
---@param path string  a file; a directory gives nil
---@return string? bytes
function own_file.bytes(path)
  local file = io.open(path, "rb")
  local bytes = file and file:read("*a") -- nil for a directory
  if file then
    file:close()
  end
  return bytes
end

--- Reads a file of this library.
---@param name string  such as "operations/server/page/index.html"
---@return string? bytes  nil: it is not installed
function own_file.read(name)
  for place in package.path:gmatch("([^;]*)%?%.lua") do
    local bytes = own_file.bytes(place .. name)
    if bytes then
      return bytes
    end
  end
end

return own_file

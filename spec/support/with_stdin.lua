--- Runs a function while `io.stdin` is another file.
---@param stdin string|table  the text of a regular file, or an object with the methods of files
---@param run fun(): any, any
---@return any
---@return any
return function(stdin, run)
  local before, file = io.stdin, stdin
  if type(stdin) == "string" then
    file = assert(io.tmpfile())
    file:write(stdin)
    file:seek("set")
  end
  io.stdin = file -- luacheck: ignore 122
  local ok, first, second = pcall(run)
  io.stdin = before -- luacheck: ignore 122
  if type(stdin) == "string" then
    pcall(file.close, file)
  end
  assert(ok, first)
  return first, second
end

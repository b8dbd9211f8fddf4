-- A program is started, told something, heard and waited for; another is dropped while it runs.
local process = require("operations.net.process")

return function()
  local child = assert(process.spawn({ "cat", env = { NAME = "value" }, cwd = "/" }))
  assert(child:write(("x"):rep(3000) .. "\n"))
  child:close_stdin()
  local line = assert(child:read_line())
  assert(#line == 3000)
  assert(child:wait().code == 0)
  assert(process.spawn({ "sleep", "1000" }))
end

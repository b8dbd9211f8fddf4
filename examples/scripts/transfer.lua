-- Downloads a file of any size in constant memory, with its checksum, and with progress at a terminal.
--     lua transfer.lua http://127.0.0.1:8080/shop/file?size=327680000 big.bin
local operations = require("operations")
local url, path = arg[1], arg[2]
local at_terminal = os.execute("test -t 2")
at_terminal = at_terminal == true or at_terminal == 0

local stream = assert(operations.http.open({ url = url, idle_timeout = 30000 }))
assert(stream.status == 200, "status " .. stream.status)
local total, done = tonumber(stream.headers["content-length"]), 0
local file = assert(io.open(path .. ".part", "wb"))

local digest = assert(operations.crypto.sha256(function()
  local piece, err = stream:read()
  if err then
    error(err, 0) -- a body that breaks off is no file
  elseif piece then
    assert(file:write(piece))
    done = done + #piece
    if at_terminal then
      io.stderr:write(("\r%.1f MB%s"):format(done / 1e6, total and (" of %.1f"):format(total / 1e6) or ""))
    end
  end
  return piece
end))
assert(file:close())
assert(os.rename(path .. ".part", path))
print(done .. " bytes", operations.crypto.hex(digest))

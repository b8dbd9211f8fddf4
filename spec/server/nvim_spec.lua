local command = require("spec.support.command")
local contract = require("spec.server.contract")
local inside = require("spec.support.inside")
local operations = require("operations")

describe("a server in Neovim", function()
  local missing = inside.missing("nvim")
  if missing then
    pending(missing)
    return
  end

  contract({ it = it, setup = setup, teardown = teardown, assert = assert }, function()
    local root = command.directory()
    local program = assert(operations.process.spawn({ "nvim", "-u", "NONE", "-i", "NONE", "-n", "--headless",
      "-c", "luafile spec/support/http_api_main.lua", env = {
        LUA_PATH = package.path, LUA_CPATH = root .. "/build/luajit/?.so;;" } }))
    local port = assert(program:read_line()):match("port (%d+)")
    return { url = "http://127.0.0.1:" .. port, stop = function()
      program:stop({ close = 0 })
    end }
  end)
end)

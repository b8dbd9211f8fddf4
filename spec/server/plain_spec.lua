local command = require("spec.support.command")
local contract = require("spec.server.contract")

describe("a server in plain Lua", function()
  contract({ it = it, setup = setup, teardown = teardown, assert = assert }, function()
    local program = command.start("spec/support/http_api_main.lua")
    local port = assert(program:read_line()):match("^port (%d+)$")
    return { url = "http://127.0.0.1:" .. port, stop = function()
      program:stop({ close = 0 })
    end }
  end)
end)

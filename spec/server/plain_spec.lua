local command = require("spec.support.command")
local contract = require("spec.server.contract")
local operations = require("operations")

describe("a server in plain Lua", function()
  contract({ it = it, setup = setup, teardown = teardown, assert = assert }, function()
    local program = assert(operations.process.spawn({ rawget(_G, "jit") and "luajit" or "lua5.4",
      "spec/support/http_api_main.lua", env = command.environment() }))
    local port = assert(program:read_line()):match("^port (%d+)$")
    return { url = "http://127.0.0.1:" .. port, stop = function()
      program:stop({ close = 0 })
    end }
  end)
end)

local command = require("spec.support.command")
local inside = require("spec.support.inside")
local pipe = require("spec.support.mcp_server.pipe")
local process = require("operations.net.process")

describe("an MCP server in Neovim", function()
  local missing = inside.missing("nvim")
  if missing then
    pending(missing)
    return
  end

  it("speaks over the stdin and stdout of the editor, and ends with stdin", function()
    local server = pipe.over(assert(process.spawn({ "nvim", "-u", "NONE", "-i", "NONE", "-n", "--headless",
      "-c", "luafile spec/support/mcp_server/stdio.lua", "-c", "qall!", env = { LUA_PATH = package.path,
        LUA_CPATH = command.directory() .. "/build/luajit/?.so;;" } })))
    assert.equal("2025-11-25", server:initialize().result.protocolVersion)
    assert.same({ sum = 3 }, server:call("demo_add", { a = 1, b = 2 }).result.structuredContent)
    assert.same({ read = true }, server:call("demo_noise").result.structuredContent)
    server:send({ id = "slow", method = "tools/call", params = { name = "demo_wait" } })
    assert.same({}, server:request("ping").result)
    server.child:close_stdin()
    assert.equal(0, server.child:wait().code)
    assert.is_nil(server:receive())
  end)
end)

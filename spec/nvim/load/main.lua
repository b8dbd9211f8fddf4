--- `make test-neovim`: the figures of start.lua and editor.lua, in an editor without a screen.
package.path = "./?.lua;" .. package.path
local inside = require("spec.support.inside")
local test_server = require("spec.support.server")

local missing = inside.missing("nvim")
if missing then
  io.stderr:write("test-neovim: ", missing, "\n")
  os.exit(1)
end
io.stdout:write(inside.shell("nvim --version | head -1").out)
io.stdout:write(inside.nvim("spec/nvim/load/start.lua", "", "--cmd 'set runtimepath^=.' -c 'qa!'").out)
local server = test_server.start()
local result = inside.nvim("spec/nvim/load/editor.lua", "TASKS_URL=" .. server.url, "-c 'cquit 1'")
server:stop()
io.stdout:write(result.out, "\n")
os.exit(result.code)

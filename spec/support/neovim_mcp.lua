-- Run inside Neovim by spec/from_mcp/plugin_spec.lua: uses the example plugin, prints what a user sees.
local json = require("operations.json")
local ticker = require("spec.support.ticker")

local server = { command = "luajit", args = { "spec/support/mcp/server.lua", "legacy" },
  env = { LUA_PATH = package.path, LUA_CPATH = package.cpath } }
local path = os.tmpname()
local file = assert(io.open(path, "w"))
file:write(json.encode({ mcpServers = { spec = server } }))
file:close()
vim.g.mcp_config = path
dofile("examples/neovim/plugin/mcp.lua")

local function say(...)
  io.stdout:write(table.concat({ ... }, " "), "\n")
end

-- Runs a command; what it showed, and how often the editor's timer ticked meanwhile.
local function run(command)
  local ticks, before = 0, vim.api.nvim_get_current_buf()
  vim.cmd(command)
  local at_once = vim.api.nvim_get_current_buf() ~= before
  local stop = ticker.start(function()
    ticks = ticks + 1
  end)
  vim.wait(20000, function()
    return vim.api.nvim_get_current_buf() ~= before
  end, 1)
  stop()
  say(at_once and "froze" or "went on")
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), "\n"), ticks
end

local tools = run("McpTools")
say(tools:match("spec%.echo[^\n]*"))
local text, ticks = run('McpCall spec.steps {"count": 3, "pause": 0.1}')
say(text, ticks > 5 and "ticked" or "stood still")
os.remove(path)

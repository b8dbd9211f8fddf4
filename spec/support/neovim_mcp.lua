-- Run inside Neovim by spec/mcp/client/plugin_spec.lua: uses the example plugin, prints what a user sees.
local json = require("operations.base.json")
local operations = require("operations")
local ticker = require("spec.support.ticker")

local server = { command = "luajit", args = { "spec/support/mcp/server.lua", "legacy" },
  env = { LUA_PATH = package.path, LUA_CPATH = package.cpath } }
local path = os.tmpname()
local file = assert(io.open(path, "w"))
file:write(json.encode({ mcpServers = { spec = server } }))
file:close()
vim.g.mcp_config = path
dofile("examples/neovim/plugin/mcp.lua")

local loads, load = 0, operations.from_mcp.load
operations.from_mcp.load = function(...)
  loads = loads + 1
  return load(...)
end

local notified
vim.notify = function(text)
  notified = text
end

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

-- What a command that fails tells the user, once it does.
local function failure()
  vim.wait(20000, function()
    return notified ~= nil
  end, 1)
  local text = notified
  notified = nil
  return text
end

vim.cmd("McpCall spec.nothing") -- while the servers start
local tools = run("McpTools")
say(tools:match("spec%.echo[^\n]*"))
say(failure(), loads)
vim.cmd('McpCall spec.fail {"why": "not today"}')
say(failure())
say((run("McpCall spec.resources.list"):match('"resources": %b[]'):gsub("%s+", " ")))
local text, ticks = run('McpCall spec.steps {"count": 3, "pause": 0.1}')
say(text, ticks > 5 and "ticked" or "stood still")
os.remove(path)

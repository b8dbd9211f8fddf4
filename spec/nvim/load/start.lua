--- How long the editor's start takes longer with the plugin: its file in plugin/, and setup(). Run by main.lua in here.
local vim = rawget(_G, "vim")
local uv = vim.uv or vim.loop

local function took(work)
  local began = uv.hrtime()
  work()
  return (uv.hrtime() - began) / 1e6
end

local file = took(function() vim.cmd("runtime plugin/operations.lua") end)
local setup = took(function()
  require("operations.nvim").setup({ servers = { mcpServers = {} } })
end)
local first = took(function() require("operations.nvim").registry() end)
io.stdout:write(("start: plugin/operations.lua %.2f ms, setup() %.2f ms; first use %.1f ms\n"):format(
  file, setup, first))

-- Run inside Neovim by spec/nvim/assistant_spec.lua, with the tasks API at $TASKS_URL: uses the example assistant in a
-- format, prints the chat as its user sees it.
local json = require("operations.base.json")
local operations = require("operations")
local model = require("examples.agent.model")

local server = { command = "luajit", args = { "spec/support/mcp/server.lua", "legacy" },
  env = { LUA_PATH = package.path, LUA_CPATH = package.cpath } }
local path = os.tmpname()
local file = assert(io.open(path, "w"))
file:write(json.encode({ mcpServers = { spec = server } }))
file:close()

local url, stop = model.start({
  { { "spec_echo", { message = "hello" } }, { "tasks_list", operations.object() } },
  { { "spec_blocks", operations.object() },
    { "tasks_create", { body = { title = "buy milk" } } }, { "tasks_create", { body = { title = "a yacht" } } } },
  { { "tasks_create", { body = { title = "buy milk" } } }, { "spec_steps", { count = 2, pause = 0.02 } } },
  { { "spec_steps", { count = 100000, pause = 0.05 } } },
})

vim.opt.runtimepath:prepend("examples/neovim")
require("operations.nvim").setup({ servers = path, mcp = { accessControl = {} }, apis = { tasks = {
  file = vim.fn.getcwd() .. "/examples/tasks.openapi.json", accessControl = {}, base_url = os.getenv("TASKS_URL") } } })
local assistant, kept = require("assistant"), os.tmpname()
assistant.setup({ url = url:gsub("answer$", "stream"), format = os.getenv("FORMAT"), model = "canned", file = kept })

local asked = {}
vim.ui.select = function(items, given, done)
  asked[#asked + 1] = given.prompt
  vim.schedule(function()
    done(given.prompt:find("yacht", 1, true) and items[1] or items[3])
  end)
end
vim.notify = function(text)
  io.stdout:write("notified: ", text, "\n")
end

local function lines()
  return vim.api.nvim_buf_get_lines(0, 0, -1, true)
end

local function wait(test)
  assert(vim.wait(30000, test, 5), table.concat(lines(), "\n"))
end

-- Writes below the last line, sends it.
local function say(text)
  vim.api.nvim_buf_set_lines(0, -2, -1, true, { text })
  vim.cmd("AssistantSend")
end

vim.cmd("Assistant")
say("Plan my day")
vim.cmd("AssistantSend")
wait(function()
  return lines()[#lines()]:find("of 100000 at", 1, true)
end)
vim.cmd("AssistantStop")
wait(function()
  return lines()[#lines() - 1] == "## You"
end)
io.stdout:write(table.concat(lines(), "\n"), "\n", table.concat(asked, "\n"), "\n")
vim.cmd("bwipeout!")
vim.cmd("Assistant")
say("Once more")
wait(function()
  return #lines() > 4 and lines()[#lines() - 1] == "## You"
end)
io.stdout:write(table.concat(lines(), "\n"), "\n")
say("And again")
vim.cmd("bwipeout!")
vim.wait(200)
os.remove(kept)
stop()
os.remove(path)

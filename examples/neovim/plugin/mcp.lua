--- A plugin for Neovim: the tools of the MCP servers that mcp.json names, called without blocking the editor.
---   :McpTools                           lists them
---   :McpCall everything.echo {"message": "hi"}
--- `vim.g.mcp_config` is the file, by default mcp.json beside init.lua. To try it:
---   eval "$(make luapath LUA=luajit)"; nvim --cmd "set rtp+=examples/neovim"
local operations = require("operations")
local json = operations.json

local connecting, servers, registry

local function start_servers()
  local path = vim.g.mcp_config or vim.fn.stdpath("config") .. "/mcp.json"
  servers = assert(operations.from_mcp.load(path, { log = function() end }))
  registry = operations.registry()
  assert(servers:register(registry))
  for _, problem in ipairs(servers.problems) do
    vim.notify(problem.name .. ": " .. problem.message, vim.log.levels.WARN)
  end
  return true
end

-- Starts the servers, once; the first commands wait for them, not the editor. After a failure the next one tries again.
local function connect()
  connecting = connecting or operations.spawn(start_servers)
  local ok, err = connecting:wait()
  if not ok then
    connecting = nil
    error(err, 0)
  end
end

local function show(title, text)
  vim.cmd("botright new")
  vim.bo.buftype, vim.bo.bufhidden = "nofile", "wipe"
  vim.api.nvim_buf_set_lines(0, 0, -1, true, vim.split(text, "\n"))
  vim.b.mcp_title = title
end

local function list_tools()
  local lines = {}
  for _, spec in ipairs(registry:list()) do
    local id = spec.namespace .. "." .. spec.name
    lines[#lines + 1] = ("%s  %s"):format(id, ((spec.description or ""):match("^[^\n]*")))
  end
  table.sort(lines)
  return table.concat(lines, "\n")
end

local function call_tool(words)
  local id, given = words:match("^(%S+)%s*(.*)$")
  local input = given == "" and {} or assert(json.decode(given))
  local envelope, lines = assert(registry:execute(id, input)), {}
  for _, block in ipairs(envelope.meta.content) do
    lines[#lines + 1] = block.text or ("[%s]"):format(block.uri or block.type)
  end
  if #lines == 0 then
    lines[1] = assert(json.encode(envelope.data, { indent = 2, sort_keys = true }))
  end
  local text = table.concat(lines, "\n")
  if envelope.meta.isError then
    error(text, 0)
  end
  return text
end

-- A command whose work is a task: it may wait, the editor does not.
local function define(name, nargs, work)
  vim.api.nvim_create_user_command(name, function(command)
    operations.spawn(function()
      local ok, text = pcall(function()
        connect()
        return work(command.args)
      end)
      if ok then
        show(name .. " " .. command.args, text)
      else
        vim.notify(tostring(text), vim.log.levels.ERROR)
      end
    end)
  end, { nargs = nargs })
end

define("McpTools", 0, list_tools)
define("McpCall", "+", call_tool)

vim.api.nvim_create_autocmd("VimLeavePre", { callback = function()
  if servers then
    operations.spawn(servers.close, servers)
  end
end })

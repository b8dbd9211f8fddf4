-- Makes `:Operations` for those who do not call setup(). Nothing is loaded before the command is used.
if vim.fn.exists(":Operations") == 2 then
  return
end

vim.api.nvim_create_user_command("Operations", function(given)
  local ok, raised = pcall(function()
    require("operations.nvim").setup() -- replaces this command
  end)
  if ok then
    vim.cmd("Operations " .. given.args)
  else
    vim.notify("operations: " .. (tostring(raised):find("not found:", 1, true)
      and "not built: run `make nvim` in the directory of the plugin" or tostring(raised)), vim.log.levels.ERROR)
  end
end, {
  nargs = "+", desc = "operations of MCP servers and HTTP APIs",
  complete = function(lead)
    return vim.tbl_filter(function(name)
      return vim.startswith(name, lead)
    end, { "list", "describe", "call", "watch", "servers", "log" })
  end,
})

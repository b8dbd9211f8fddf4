-- Makes `:Operations` for those who do not call setup(). Nothing is loaded before the command is used.
if vim.fn.exists(":Operations") == 2 then
  return
end

vim.api.nvim_create_user_command("Operations", function(given)
  require("operations.nvim").setup() -- replaces this command
  vim.cmd("Operations " .. given.args)
end, {
  nargs = "+", desc = "operations of MCP servers and HTTP APIs",
  complete = function(lead)
    return vim.tbl_filter(function(name)
      return vim.startswith(name, lead)
    end, { "list", "describe", "call", "watch", "servers", "policy", "log" })
  end,
})

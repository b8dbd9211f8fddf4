--- `:checkhealth operations`: Neovim looks for it here.
return require("operations.nvim.health")

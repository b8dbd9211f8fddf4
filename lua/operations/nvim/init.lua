--- The plugin for Neovim: `require("operations.nvim")`. Its parts are loaded on first use, so that the editor starts
--- fast.
local argument = require("operations.base.argument")

local vim = rawget(_G, "vim")

---@class operations.nvim
local nvim = {}

---@class operations.nvim.Options
---@field servers? string|table  a file in the form of mcp.json: a relative name is beside init.lua, one that begins
---  with "./" in the current directory, and used once the user trusts it; or a table of that form
---@field apis? table<string, table>  OpenAPI documents, by the namespace of their operations: `file` (as `servers`),
---  `url` or `document`, and the options of `from_openapi`
---@field mcp? operations.mcp.Config  configuration for all servers
---@field registry? operations.Registry  for the operations; default: a new one

local sources ---@type operations.nvim.Sources?
local host ---@type operations.Host  of this copy of the library

local function need_editor(name)
  if not vim or not vim.empty_dict then
    error(("operations.nvim.%s works inside of Neovim only"):format(name), 3)
  end
end

--- A copy of data for functions of Neovim (`vim.json.encode`, `vim.fn`, `vim.mpack`, `vim.rpcnotify`): null is
--- `vim.NIL`, empty objects are `vim.empty_dict()`, wide integers are strings of digits, tables have no marks. An
--- unmarked empty table is a list, as in Neovim. Data from Neovim needs no conversion.
---@param value any
---@return any
function nvim.to_vim(value)
  need_editor("to_vim")
  return require("operations.nvim.value").to_vim(value)
end

--- A copy of data from functions of Neovim (`vim.fn`, `vim.json.decode`, `vim.mpack`) as our JSON values: `vim.NIL` is
--- `operations.null`, lists and dictionaries are marked, so that `[]` and `{}` stay distinct.
---@param value any
---@return any
function nvim.from_vim(value)
  need_editor("from_vim")
  return require("operations.nvim.value").from_vim(value)
end

--- Ends the servers named in setup(); until the next setup(), `:Operations` reports that there are none. Called when
--- the plugin is loaded again.
function nvim.close()
  local former = sources
  sources = nil
  if former then
    former:close()
  end
end

-- The library is loaded again: this copy ends with its last server. Compiled traces of other code refer to its
-- functions, so all traces are flushed; used ones are compiled again.
local function retire()
  local former, jit = sources, rawget(_G, "jit")
  sources = nil
  if former then
    former:close(host.close)
  end
  if jit then
    jit.flush()
  end
end

--- The servers named in setup().
---@return string? path  of their file
---@return table<string, table>? servers  their entries
---@return operations.Error? err  the file cannot be read
function nvim.configured()
  if sources then
    return sources:configured()
  end
end

-- Plugin managers call it before they reload the plugin.
function nvim.deactivate()
  retire()
end

local function make_command()
  vim.api.nvim_create_user_command("Operations", function(given)
    if sources then
      require("operations.nvim.command").run(sources, given.args)
    else
      vim.notify("operations: closed: call setup() again", vim.log.levels.ERROR)
    end
  end, {
    nargs = "+", desc = "operations of MCP servers and HTTP APIs",
    complete = function(lead, line, at)
      return sources and require("operations.nvim.command").complete(sources, lead, line:sub(1, at)) or {}
    end,
  })
end

--- Makes the command `:Operations` and sets its servers and APIs, which start on first use. A second call replaces
--- those of the first.
---@param options? operations.nvim.Options
function nvim.setup(options)
  need_editor("setup")
  argument.optional(options, "table", 1, "setup")
  local made = require("operations.nvim.sources").new(options or {})
  -- Also notifies another copy of this module that ran before.
  vim.api.nvim_exec_autocmds("User", { pattern = "OperationsSetup", modeline = false })
  sources, host = made, require("operations.hosts").current()
  local group = vim.api.nvim_create_augroup("operations", {})
  vim.api.nvim_create_autocmd("User", { group = group, pattern = "OperationsSetup", callback = function()
    if package.loaded["operations.nvim"] == nvim then
      nvim.close()
    else
      retire()
    end
  end })
  vim.api.nvim_create_autocmd("VimLeavePre", { group = group, callback = nvim.close })
  make_command()
  require("operations.task").set_on_error(function(failure, traceback)
    local is_abort = type(failure) == "table" and failure.code == "ABORTED"
    require("operations.nvim.log").write(is_abort and "info" or "error", traceback)
  end)
end

--- The registry with everything named in setup(), which is started now if necessary. Servers that are still starting
--- register their operations later.
---@return operations.Registry
function nvim.registry()
  need_editor("registry")
  if not sources then
    error("operations.nvim.registry: call setup() first", 2)
  end
  sources:begin()
  return sources.registry
end

--- Serves the running editor to MCP clients at a Unix socket (doc/neovim-assistants.md).
---@param options? operations.nvim.ServeOptions
---@return operations.nvim.Served?
---@return operations.Error? err
function nvim.serve(options)
  return require("operations.nvim.serve").start(options)
end

--- Offers operations of a plugin to the clients of the editor.
---@param definitions operations.Definition|operations.Definition[]
---@return fun()? withdraw  removes them
---@return operations.Error? err
function nvim.offer(definitions)
  return require("operations.nvim.serve").offer(definitions)
end

return nvim

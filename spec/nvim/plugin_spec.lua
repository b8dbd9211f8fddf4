local inside = require("spec.support.inside")

describe("the file that Neovim loads with the plugin", function()
  local missing = inside.missing("nvim")
  if missing then
    pending(missing)
    return
  end

  -- Runs Lua in Neovim after the plugin's file; returns what it printed.
  local function run(code, modules)
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write("vim.notify = function(text) print(text) end\n"
      .. "local function loaded() for name in pairs(package.loaded) do "
      .. "if name:find('^operations') then return true end end return false end\n", code)
    file:close()
    local result = inside.shell(("%s nvim -u NONE -i NONE -n --headless --cmd 'set runtimepath^=.' "
      .. "-c 'runtime plugin/operations.lua' -c 'luafile %s' -c 'qa!' </dev/null"):format(
      modules or inside.modules, path))
    os.remove(path)
    return (result.out:gsub("\r", ""))
  end

  it("makes the command, and loads nothing until it is used", function()
    assert.equal("2 list,log false\n2 true", run([[
      print(vim.fn.exists(":Operations"), table.concat(vim.fn.getcompletion("Operations l", "cmdline"), ","), loaded())
      vim.cmd("Operations list")
      print(vim.fn.exists(":Operations"), loaded())]]):gsub("\n$", ""))
  end)

  it("loads nothing but itself for setup() and for the sources of plugins", function()
    assert.equal("operations.base.argument operations.base.members operations.nvim", (run([[
      require("operations.nvim").setup({ servers = "mcp.json" })
      require("operations.nvim").add_source("notes", { operations = {} })
      require("operations.nvim").statusline()
      local names = {}
      for name in pairs(package.loaded) do
        if name:find("^operations") then names[#names + 1] = name end
      end
      table.sort(names)
      print(table.concat(names, " "))]]):gsub("\n$", "")))
  end)

  it("leaves the command of setup() as it is", function()
    assert.equal("true", (run([[
      local registry = require("operations").registry()
      registry:register({ namespace = "a", name = "b", handler = function() end })
      require("operations.nvim").setup({ registry = registry })
      vim.cmd("runtime plugin/operations.lua")
      print(#vim.fn.getcompletion("Operations describe a", "cmdline") == 1)]]):gsub("\n$", "")))
  end)

  it("says in one sentence that the plugin is not built", function()
    local out = run('vim.cmd("Operations list")', 'export LUA_PATH=";;" LUA_CPATH="/nowhere/?.so"; unset LD_PRELOAD;')
    assert.equal("operations: not built: run `make nvim` in the directory of the plugin", (out:gsub("\n$", "")))
  end)
end)

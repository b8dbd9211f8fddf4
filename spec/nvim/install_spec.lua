local inside = require("spec.support.inside")
local plugins = require("spec.support.plugin")

describe("make nvim", function()
  local missing = inside.missing("nvim")
  if missing then
    pending(missing)
    return
  end

  local plugin, made

  setup(function()
    plugin = plugins.copy()
    made = plugin:shell("make nvim")
  end)

  teardown(function()
    plugin:remove()
  end)

  local loads = [[
    local operations = require("operations")
    local registry = operations.registry()
    local status = operations.spawn(function()
      operations.sleep(0.001)
      return #registry:list()
    end):wait()
    io.stdout:write(status, " ", operations.json.encode({ a = operations.null }), " ",
      vim.fn.getcompletion("operations-inst", "help")[1] or "no help")
  ]]
  local expected = '0 {"a":null} operations-installation'

  it("makes a clone a plugin: its modules and its help are found", function()
    assert.same({ "", 0 }, { made.out:match("Error[^\n]*") or "", made.code })
    assert.same({ out = expected, code = 0 }, plugin:nvim(loads))
  end)

  it("makes the program for assistants, which runs from any directory", function()
    local result = plugin:shell("cd / && $OLDPWD/build/bin/operations --version && "
      .. "$OLDPWD/build/bin/operations mcp --help")
    assert.matches("^operations %d", result.out)
    assert.equal(0, result.code)
  end)

  it("makes a package for packadd", function()
    local before = ("--cmd 'set packpath^=%s' --cmd 'packadd operations'"):format(plugin.directory)
    assert.same({ out = expected, code = 0 }, plugin:nvim(loads, before))
  end)

  -- What lazy.nvim does for { "owner/operations", build = "make nvim", main = "operations.nvim", opts = {} }: clones,
  -- builds with the user's shell, makes the help, adds the plugin to 'runtimepath' while init.lua runs, sources what
  -- is in plugin/, and calls setup(opts) of `main`.
  it("works in the order of lazy.nvim", function()
    local clone = "git init -q . 2>/dev/null; git add -A . && git -c user.name=x -c user.email=x@x commit -qm x && "
      .. "git clone -q file://$PWD DIRECTORY/lazy && cp -a build DIRECTORY/lazy && cd DIRECTORY/lazy && "
      .. "find build -type f -exec touch {} + && sh -c 'make nvim'"
    local cloned = plugin:shell((clone:gsub("DIRECTORY", plugin.directory)))
    assert.equal(0, cloned.code, cloned.out)
    local result = plugin:nvim([[
      local directory = vim.g.directory .. "/lazy"
      vim.cmd("helptags " .. directory .. "/doc")
      vim.opt.rtp:prepend(directory)
      vim.cmd("runtime! plugin/**/*.vim plugin/**/*.lua")
      require("operations.nvim").setup({})
      vim.cmd("Operations servers")
      io.stdout:write(vim.fn.exists(":Operations"), " ", vim.fn.getcompletion("operations-inst", "help")[1])
    ]], ("--cmd 'let g:directory = \"%s\"'"):format(plugin.directory))
    assert.same({ out = "2 operations-installation", code = 0 }, result)
  end)

  it("leaves nothing behind that git would show or the rock would install", function()
    local listed = plugin:shell("git init -q . 2>/dev/null; "
      .. "git add -A >/dev/null 2>&1; git ls-files | grep -E '\\.so$|doc/tags' | head -3")
    assert.equal("", listed.out)
    local installed = plugin:shell("make -s install-modules LUA=luajit DESTDIR=$PWD/stage >/dev/null && "
      .. "find stage -path '*share*' -name '*.so' | head -3")
    assert.same({ out = "", code = 0 }, installed)
  end)

  it("says what is missing, and which packages have it", function()
    local result = plugin:shell("make nvim CC=no-such-compiler LUA_INCDIR=/nonexistent")
    assert.not_equal(0, result.code)
    for _, line in ipairs({ "not found: a C compiler (no-such-compiler)",
      "Debian, Ubuntu:  apt install build-essential", "Fedora:          dnf install gcc",
      "Arch:            pacman -S gcc", "Alpine:          apk add build-base", "Homebrew:        brew install gcc" }) do
      assert.matches(line, result.out, 1, true)
    end
    result = plugin:shell("make nvim LUA_INCDIR=/nonexistent")
    assert.not_equal(0, result.code)
    assert.matches("not found: LuaJIT's headers (luajit.h). Install\n"
      .. "  Debian, Ubuntu:  apt install libluajit-5.1-dev\n", result.out, 1, true)
  end)

  it("replaces modules that a running editor has loaded", function()
    local result = plugin:nvim([[
      local operations = require("operations")
      local before = vim.loop.fs_stat(vim.g.plugin .. "/lua/operations/core.so").ino
      vim.fn.system("make -C " .. vim.g.plugin .. " nvim")
      local after = vim.loop.fs_stat(vim.g.plugin .. "/lua/operations/core.so").ino
      io.stdout:write(tostring(before ~= after), " ", operations.json.encode({ 1 }))
    ]], ("--cmd 'set runtimepath^=%s' --cmd 'let g:plugin = \"%s\"'"):format(plugin.path, plugin.path))
    assert.same({ out = "true [1]", code = 0 }, result)
  end)
end)

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

  -- What mini.deps does for MiniDeps.add{ source = "owner/operations", hooks = { post_install = build } } with the
  -- function of doc/neovim.md: clones to pack/deps/opt, calls the hook, makes the help, and runs :packadd.
  it("works in the order of mini.deps", function()
    local place = plugin.directory .. "/site/pack/deps/opt/operations"
    plugin:shell(("mkdir -p %s && cp -a . %s && rm -f %s/lua/operations/*.so"):format(place, place, place))
    local page = assert(io.open("doc/neovim.md"))
    local build = page:read("*a"):match("`(local function build%(plugin%) .- end)`, then")
    page:close()
    local result = plugin:nvim(([[
      local directory = vim.g.directory .. "/site"
      vim.opt.packpath:prepend(directory)
      %s
      local place = directory .. "/pack/deps/opt/operations"
      build({ path = place, source = "owner/operations", name = "operations" })
      vim.cmd("helptags " .. place .. "/doc")
      vim.cmd("packadd operations")
      require("operations.nvim").setup({})
      vim.cmd("Operations servers")
      io.stdout:write(vim.fn.exists(":Operations"), " ", vim.fn.getcompletion("operations-inst", "help")[1])
    ]]):format(build), ("--cmd 'let g:directory = \"%s\"'"):format(plugin.directory))
    assert.same({ out = "2 operations-installation", code = 0 }, result)
  end)

  it("works with vim.pack, where Neovim has it", function()
    if plugin:nvim("io.stdout:write(tostring(vim.pack ~= nil))").out ~= "true" then
      return pending("this Neovim has no vim.pack")
    end
    plugin:shell("git init -q . 2>/dev/null; git add -A . && git -c user.name=x -c user.email=x@x commit -qm x")
    local page = assert(io.open("doc/neovim.md"))
    local hook = page:read("*a"):match("`(vim%.api%.nvim_create_autocmd%(\"PackChanged\".- }%))`, then")
    page:close()
    local result = plugin:nvim(([[
      local before = vim.fn.system
      vim.fn.system = function(command) -- the objects of this build, so that it need not be compiled again
        before({ "cp", "-a", vim.g.plugin .. "/build", command[3] })
        before("find " .. command[3] .. "/build -type f -exec touch {} +")
        return before(command)
      end
      vim.notify = function() end
      %s
      vim.pack.add({ { src = "file://" .. vim.g.plugin, name = "operations" } }, { confirm = false, load = true })
      vim.cmd("Operations servers")
      io.stdout:write("\n", vim.fn.exists(":Operations"), " ", vim.fn.getcompletion("operations-inst", "help")[1], "\n")
    ]]):format(hook), ("--cmd 'let g:plugin = \"%s\"'"):format(plugin.path))
    assert.matches("\n2 operations%-installation\n", (result.out:gsub("\r", "")))
    assert.equal(0, result.code)
  end)

  -- The line of :checkhealth, with a program in place of `claude` that starts what it was told to add.
  it("makes a server that the line for Claude Code, pasted into a shell, adds", function()
    plugin:shell("mkdir -p fake && printf '#!/bin/sh\\nshift 4; exec \"$@\"\\n' >fake/claude && "
      .. "chmod +x fake/claude")
    local result = plugin:nvim([[
      assert(require("operations.nvim").serve())
      vim.cmd("silent checkhealth operations")
      local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n")
      local line = text:match("claude mcp add nvim [^\n]*")
      local out
      local id = vim.fn.jobstart({ "sh", "-c", "PATH=" .. vim.g.plugin .. "/fake:$PATH; " .. line }, {
        on_stdout = function(_, lines) out = (out or "") .. table.concat(lines, "\n") end })
      vim.fn.chansend(id, '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
        .. '"capabilities":{},"clientInfo":{"name":"x","version":"1"}}}\n')
      vim.wait(20000, function() return out and out:find('"serverInfo"') end)
      io.stdout:write(line, "\n", tostring(out):match('"serverInfo":{.-}') or tostring(out))
    ]], ("--cmd 'set runtimepath^=%s' --cmd 'let g:plugin = \"%s\"'"):format(plugin.path, plugin.path))
    assert.matches("^claude mcp add nvim %-%- /%S+/build/bin/operations mcp %-%-nvim\n\"serverInfo\"", result.out)
    assert.equal(0, result.code)
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

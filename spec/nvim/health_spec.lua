local inside = require("spec.support.inside")
local plugins = require("spec.support.plugin")

describe(":checkhealth operations", function()
  local missing = inside.missing("nvim")
  if missing then
    pending(missing)
    return
  end

  local plugin

  setup(function()
    plugin = plugins.copy()
    assert(plugin:shell("make nvim").code == 0)
  end)

  teardown(function()
    plugin:remove()
  end)

  -- Its text, without the signs that versions put in front of lines.
  local function health(before)
    local result = plugin:nvim(before .. [[
      vim.cmd("silent checkhealth operations")
      io.stdout:write("\n", table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n"), "\n")
    ]])
    assert.equal(0, result.code)
    assert.is_nil(result.out:find("Failed to run"), result.out)
    return result.out
  end

  local function has(text, kind, line)
    local pattern = "\n *%- [^\n]-" .. kind .. ":? " .. line:gsub("%p", "%%%0")
    assert.is_truthy(text:find(pattern), ("no %s %q in %s"):format(kind, line, text))
  end

  it("says that all is well", function()
    local text = health("")
    for _, line in ipairs({ "Neovim 0.", "LuaJIT 2.1", "operations.core", "operations.reactor", "operations.transfer",
      "operations.websocket", "operations.redis", "operations.tls", "operations.crypto", "operations.sandbox_child",
      "programs run in luajit", "libcurl ", "SSL", "version " }) do
      has(text, "OK", line)
    end
    has(text, "OK", plugin.path .. "/build/bin/operations, which is not in PATH")
    assert.is_nil(text:find("ERROR"), text)
    local at = 1
    for _, part in ipairs({ "Neovim", "modules", "libcurl", "servers", "sources", "the sandbox", "permissions",
      "the program" }) do
      at = assert(select(2, text:find("operations: " .. part, at, true)), part)
    end
  end)

  it("names programs that are not there, files that others may change, a directory that others may see", function()
    plugin:shell("printf '{ \"mcpServers\": { \"a\": { \"command\": \"no-such\" }, \"b\": { \"command\": \"sh\" } } }' "
      .. "> mcp.json; chmod 666 mcp.json; chmod 755 " .. plugin.directory)
    local text = health(('require("operations.nvim").setup({ servers = %q })\n'):format(plugin.path .. "/mcp.json"))
    has(text, "ERROR", "server a: no-such is not in PATH")
    has(text, "OK", "server b: sh")
    has(text, "WARNING", plugin.path .. "/mcp.json: others may change it")
    has(text, "WARNING", plugin.directory .. ": belongs to another user, or others can read it")
    plugin:shell("echo broken > mcp.json; chmod 700 " .. plugin.directory)
    text = health(('require("operations.nvim").setup({ servers = %q })\n'):format(plugin.path .. "/mcp.json"))
    has(text, "ERROR", "VALIDATION_ERROR: ")
    has(text, "OK", plugin.directory .. ": for this user only")
  end)

  it("says which users may change or read a file of servers", function()
    local path = plugin.path .. "/modes.json"
    plugin:shell("printf '{ \"mcpServers\": { \"c\": { \"command\": \"$%s/x\" }, "
      .. "\"d\": { \"url\": \"http://a.test\" } } }' HOME > modes.json")
    local setup = ('require("operations.nvim").setup({ servers = %q })\n'):format(path)
    for mode, said in pairs({ ["600"] = { "OK", path .. "\n" }, ["640"] = { "OK", path .. "\n" },
      ["644"] = { "OK", path .. ": all users of this machine may read it" },
      ["620"] = { "WARNING", path .. ": others may change it" },
      ["602"] = { "WARNING", path .. ": others may change it" },
      ["755"] = { "OK", path .. ": all users of this machine may read it" } }) do
      plugin:shell("chmod " .. mode .. " modes.json")
      local text = health(setup)
      has(text, said[1], said[2])
      has(text, "OK", "server c: $HOME/x")
      assert.is_nil(text:find("server d", 1, true))
    end
    plugin:shell("rm modes.json")
    has(health(setup), "ERROR", path .. ": there is no such file")
  end)

  it("says whether servers from npm can start", function()
    plugin:shell("mkdir -p bin none; "
      .. "printf '#!/bin/sh\\necho $VERSION\\n' > bin/node; cp bin/node bin/npx; chmod +x bin/*")
    local function with(path, version)
      return health(("vim.env.PATH = %q .. %q; vim.env.VERSION = %q\n"):format(plugin.path .. "/" .. path, path == "bin"
        and ":/bin:/usr/bin" or "", version or ""))
    end
    has(with("bin", "v18.0.0"), "OK", "node v18.0.0, npx")
    has(with("bin", "v17.9.1"), "WARNING", "node v17.9.1: servers from npm need 18 or newer")
    has(with("none"), "WARNING", "npx is not in PATH")
    plugin:shell("mv bin/npx bin/other")
    has(health(("vim.env.PATH = %q\n"):format(plugin.path .. "/bin")), "WARNING", "npx is not in PATH")
  end)

  it("says where sockets go", function()
    for mode, said in pairs({ ["700"] = { "OK", ": for this user only" },
      ["710"] = { "WARNING", ": belongs to another" }, ["701"] = { "WARNING", ": belongs to another" } }) do
      plugin:shell("mkdir -p runtime; chmod " .. mode .. " runtime")
      local directory = plugin.path .. "/runtime"
      has(health(("vim.env.XDG_RUNTIME_DIR = %q\n"):format(directory)), said[1], directory .. said[2])
    end
    for _, value in ipairs({ "nil", "'/no/such'" }) do
      has(health("vim.env.XDG_RUNTIME_DIR = " .. value .. "\n"), "WARNING", "XDG_RUNTIME_DIR is not set or not there")
    end
  end)

  it("names missing modules, and those older than their sources", function()
    plugin:shell("touch -d 2038-01-01 src/core/open.c; rm lua/operations/redis.so lua/operations/transfer.so "
      .. "lua/operations/tls.so lua/operations/crypto.so")
    local text = health("")
    has(text, "WARNING", "the C modules are older than their sources")
    has(text, "WARNING", "operations.redis: not built. Redis needs hiredis")
    has(text, "WARNING", "operations.tls: not built. Serving over TLS needs OpenSSL 3")
    has(text, "WARNING", "operations.crypto: not built. Signed tokens need OpenSSL 3")
    has(text, "ERROR", "operations.transfer: not built. HTTP")
    plugin:shell("cd lua/operations && rm core.so reactor.so system.so http_server.so")
    text = health("")
    for _, name in ipairs({ "core", "reactor", "system", "http_server" }) do
      has(text, "ERROR", ("operations.%s: not built"):format(name))
    end
  end)
end)

-- In the archive of a release it has that one's name.
local list = assert(io.popen("ls *.rockspec"))
local path = list:read("*l")
list:close()
local version = _VERSION:match("%d%.%d")

-- As in a user's shell: without the variables of the make that runs the specs (`make asan` has flags of its own).
local function run(command)
  local pipe = io.popen("exec 2>&1; unset LD_PRELOAD LUA_PATH LUA_CPATH" ..
    " MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES LUA CC CFLAGS LDFLAGS VARIANT; (" ..
    command .. "\n); echo \"status $?\"")
  local output = pipe:read("*a")
  pipe:close()
  local text, status = output:match("^(.*)status (%d+)\n$")
  return tonumber(status), text
end

describe("the rockspec", function()
  it("passes luarocks lint", function()
    local status, output = run("luarocks --lua-version " .. version .. " lint " .. path)
    assert.equal(0, status, output)
  end)

  it("builds what a compiler warns of, on machines for continuous integration too", function()
    local _, commands = run("unset WERROR; CI=true make -n -B modules")
    assert.matches("-Wall", commands, 1, true)
    assert.is_nil(commands:find("%-Werror[^=]")) -- `-Werror=switch` is the same for every compiler
  end)

  it("builds with luarocks make into a tree whose modules run", function()
    local tree = os.tmpname()
    os.remove(tree)
    -- luarocks puts its objects beside the sources, so it works on a copy.
    local status, output = run(([[
      set -e; mkdir -p %s; trap 'rm -rf %s' EXIT; cp -r src lua spec doc examples Makefile %s %s; cd %s
      export HOME=$PWD; mkdir .luarocks; %s
      luarocks --lua-version %s make --deps-mode none --tree tree %s %s %s >log 2>&1 ||
        { cat log; exit 1; }
      eval "$(luarocks --lua-version %s path --tree tree)"
      %s -e 'local operations = require("operations")
             local registry = operations.registry()
             registry:register({ namespace = "say", name = "hello", handler = function(input)
               return "hello " .. input.name
             end })
             io.write(assert(registry:execute("say.hello", { name = "world" })).data, "\n")
             assert(operations.to_http(registry, { docs = true }))'
      tree/bin/operations --help >help; test -s help
      rock=$(echo tree/lib/luarocks/*/operations/*); test -s $rock/doc/http-server.md -a -s $rock/examples/hello.lua
      ! find tree -path '*/spec/support/*' -o -path '*/build/*' -o -name '*.o' -o -name '*.c' ! -path '*/examples/*' \
        | grep .]]):format(
      tree, tree, path, tree, tree,
      jit and "luarocks --lua-version 5.1 config lua_interpreter luajit >/dev/null" or ":", -- luacheck: ignore 113
      version, path,
      jit and "LUA_INCDIR=/usr/include/luajit-2.1" or "", -- luacheck: ignore 113
      jit and "LUA=$(command -v luajit)" or "", -- luacheck: ignore 113
      version, jit and "luajit" or "lua" .. version)) -- luacheck: ignore 113
    assert.equal("hello world\n", output)
    assert.equal(0, status)
  end)
end)

local command = require("spec.support.command")
local lfs = require("lfs")
local runtime = require("operations.base.runtime")

describe("base.runtime", function()
  it("has nothing against Lua 5.4, Lua 5.5 and LuaJIT 2.1", function()
    assert.is_nil(runtime.flaw("Lua 5.4"))
    assert.is_nil(runtime.flaw("Lua 5.5"))
    assert.is_nil(runtime.flaw("Lua 5.1", { version = "LuaJIT 2.1.0-beta3", version_num = 20100 }))
    assert.is_nil(runtime.flaw("Lua 5.1", { version = "LuaJIT 2.1.1720049189", version_num = 20199 }))
  end)

  it("names a runtime that is not supported, and those that are", function()
    for _, version in ipairs({ "Lua 5.1", "Lua 5.2", "Lua 5.3", "Lua 5.6" }) do
      assert.equal("operations supports Lua 5.4, Lua 5.5 and LuaJIT 2.1; this is " .. version, runtime.flaw(version))
    end
    assert.equal("operations supports Lua 5.4, Lua 5.5 and LuaJIT 2.1; this is LuaJIT 2.0.5",
      runtime.flaw("Lua 5.1", { version = "LuaJIT 2.0.5", version_num = 20005 }))
  end)

  it("says for which runtime a C module is to be built, and repeats other errors of loading one", function()
    local message = "error loading module 'operations.core' from file '/x/core.so':\n\t/x/core.so: undefined symbol: "
    local this = rawget(_G, "jit") and "LuaJIT: run make LUA=luajit"
      or _VERSION .. ": run make LUA=" .. _VERSION:lower():gsub(" ", "")
    assert.equal("/x/core.so is built for another Lua than this, " .. this, runtime.told(message .. "luaL_register"))
    assert.equal(message .. "pcre2_match_8", runtime.told(message .. "pcre2_match_8"))
  end)

  -- Those that are not installed here are left out; lua5.1 is one of the specs' own dependencies.
  for _, name in ipairs({ "lua5.1", "lua5.2", "lua5.3" }) do
    local found = command.run("command -v " .. name).code == 0
    local run = found and it or pending
    run("is what " .. name .. " meets first, in the library and in the program", function()
      local script = [[unset LUA_INIT; %s -e 'print(select(2, pcall(require, "operations")))' &&
        ! %s lua/operations/cli/main.lua --version]]
      local result = command.run(script:format(name, name))
      local text = "operations supports Lua 5.4, Lua 5.5 and LuaJIT 2.1; this is Lua " .. name:sub(4)
      assert.equal(text .. "\n", result.out)
      assert.matches(text, result.err, 1, true)
      assert.equal(0, result.code)
    end)
  end

  local built = command.directory() .. "/build/luajit"
  local it_if_built = lfs.attributes(built .. "/operations") and it or pending

  it_if_built("is refused by each C module where Lua 5.1 loads a build for LuaJIT", function()
    local count = 0
    for file in lfs.dir(built .. "/operations") do
      local name = file:match("^(.*)%.so$")
      if name then
        count = count + 1
        local result = command.run(("unset LUA_INIT; LUA_CPATH='%s/?.so' " ..
          "lua5.1 -e 'print(select(2, pcall(require, \"operations.%s\")))'"):format(built, name))
        assert.equal(("operations.%s is built for LuaJIT 2.1 and this is Lua 5.1\n"):format(name), result.out)
      end
    end
    assert.is_true(count >= 5)
  end)

  local library = package.cpath:match("([^;]*/build/[^;/]*)/%?%.so") .. "/other_lua.so"
  local it_on_lua = lfs.attributes(library) and not rawget(_G, "jit") and it or pending

  it_on_lua("is refused where another Lua loads its build", function()
    local ok, err = pcall(assert(package.loadlib(library, "luaopen_other_lua")))
    assert.is_false(ok)
    assert.matches(("operations.core is built for %s and this is Lua %s"):format(_VERSION,
      _VERSION == "Lua 5.5" and "5.4" or "5.5"), err, 1, true)
  end)
end)

describe("a module that may be missing", function()
  it("is loaded where it is installed, and not from the current directory alone", function()
    assert.is_true((runtime.optional("lfs")))
    local result = command.run([[place=$(mktemp -d); cd "$place"; mkdir operations;
      echo 'print("ran"); return {}' | tee operations/websocket.lua >mine.lua
      LUA_CPATH='./?.so;;' lua -e 'package.cpath = package.cpath:gsub("[^;]*/build/[^;]*", "")
        local runtime = require("operations.base.runtime")
        print(runtime.optional("operations.websocket")) print(runtime.optional("no.such.module"))
        print(pcall(require, "mine"))'; rm -r "$place"]])
    local lines = {}
    for line in result.out:gmatch("[^\n]+") do
      lines[#lines + 1] = line
    end
    assert.equal("false\tmodule 'operations.websocket' is not installed", lines[1])
    assert.matches("^false", lines[2])
    assert.truthy(result.out:find("\nran\ntrue", 1, true), result.out) -- the user's own modules may be there
  end)
end)

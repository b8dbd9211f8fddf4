local compat = require("operations.compat")
local sources = require("spec.support.sources")

local path = "operations-scm-1.rockspec"
-- What needs a library that not everybody wants is a rock of its own.
local optional_paths = { "operations-redis-scm-1.rockspec", "operations-websocket-scm-1.rockspec" }
local version = _VERSION:match("%d%.%d")

local function load_rockspec(path) -- luacheck: ignore 431
  local fields = {}
  if setfenv then -- luacheck: ignore 113
    setfenv(assert(loadfile(path)), fields)() -- luacheck: ignore 113
  else
    assert(loadfile(path, "t", fields))() -- luacheck: ignore
  end
  return fields
end

local function run(command)
  local pipe = io.popen("exec 2>&1; unset LD_PRELOAD LUA_PATH LUA_CPATH; (" .. command .. "\n); echo \"status $?\"")
  local output = pipe:read("*a")
  pipe:close()
  local text, status = output:match("^(.*)status (%d+)\n$")
  return tonumber(status), text
end

local function listed_files(rockspecs)
  local listed = {}
  for _, rockspec in ipairs(rockspecs) do
    for _, module in pairs(rockspec.build.modules) do
      for _, file in ipairs(type(module) == "table" and module.sources or { module }) do
        listed[file] = true
      end
    end
    for _, file in pairs(rockspec.build.install and rockspec.build.install.bin or {}) do
      listed[file] = true
    end
  end
  return listed
end

describe("the rockspec", function()
  local rockspec = load_rockspec(path)
  local rockspecs, modules = { rockspec }, {}
  for _, other in ipairs(optional_paths) do
    rockspecs[#rockspecs + 1] = load_rockspec(other)
  end
  for _, one in ipairs(rockspecs) do
    for name, module in pairs(one.build.modules) do
      modules[name] = module
    end
  end

  it("lists every source file (`make rockspec` does it)", function()
    local listed, missing = listed_files(rockspecs), {}
    for _, list in ipairs({ sources.list("src", ".c"), sources.list("lua", ".lua") }) do
      for _, file in ipairs(list) do
        missing[#missing + 1] = not listed[file] and file or nil
      end
    end
    assert.same({}, missing)
  end)

  it("lists no file that is not there", function()
    local absent = {}
    for file in pairs(listed_files(rockspecs)) do
      local there = io.open(file)
      if there then
        there:close()
      else
        absent[#absent + 1] = file
      end
    end
    assert.same({}, absent)
  end)

  it("installs each Lua file under the name it is required by", function()
    for name, file in pairs(rockspec.build.modules) do
      if type(file) == "string" then
        assert.equal(sources.module(file), name)
      end
    end
  end)

  it("links each C file into the module that make links it into", function()
    for name, files in pairs(sources.c_modules()) do
      local linked = compat.pack(compat.unpack(modules[name].sources))
      linked.n = nil
      table.sort(linked)
      assert.same(files, linked)
    end
  end)

  it("passes luarocks lint", function()
    for _, one in ipairs({ path, optional_paths[1], optional_paths[2] }) do
      local status, output = run("luarocks --lua-version " .. version .. " lint " .. one)
      assert.equal(0, status, output)
    end
  end)

  it("builds with luarocks make into a tree whose modules run", function()
    local tree = os.tmpname()
    os.remove(tree)
    -- luarocks puts its objects beside the sources, so it works on a copy.
    local status, output = run(([[
      set -e; mkdir -p %s; trap 'rm -rf %s' EXIT; cp -r src lua Makefile %s %s; cd %s
      luarocks --lua-version %s make --deps-mode none --tree tree %s CFLAGS="-O0 -fPIC" %s %s >log 2>&1 ||
        { cat log; exit 1; }
      eval "$(luarocks --lua-version %s path --tree tree)"
      %s -e 'local operations = require("operations")
             local registry = operations.registry()
             registry:register({ namespace = "say", name = "hello", handler = function(input)
               return "hello " .. input.name
             end })
             io.write(assert(registry:execute("say.hello", { name = "world" })).data, "\n")'
      tree/bin/operations --help >help; test -s help]]):format(
      tree, tree, path, tree, tree, version, path,
      jit and "LUA_INCDIR=/usr/include/luajit-2.1" or "", -- luacheck: ignore 113
      jit and "LUA=$(command -v luajit)" or "", -- luacheck: ignore 113
      version, jit and "luajit" or "lua5.4")) -- luacheck: ignore 113
    assert.equal("hello world\n", output)
    assert.equal(0, status)
  end)
end)

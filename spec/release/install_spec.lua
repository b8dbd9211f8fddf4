local command = require("spec.support.command")

local runtime = require("operations.base.runtime").interpreter
local other = runtime == "luajit" and "lua5.4" or "luajit"
local build = package.cpath:match("(build/[^/;]+)/%?%.so")

-- With what the specs run on, already built; as in a user's shell.
local function shell(script)
  return command.run("exec 2>&1; unset LUA_PATH LUA_CPATH MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES LUA CC CFLAGS "
    .. "LDFLAGS VARIANT; " .. script)
end

describe("make", function()
  it("makes the same bytes in every directory, and obeys CPPFLAGS", function()
    local result = shell(([[
      set -e
      place=$(mktemp -d); trap 'rm -rf "$place"' EXIT
      mkdir "$place/one" "$place/another and longer"
      for copy in "$place/one" "$place/another and longer"; do
        cp -r Makefile src lua "$copy"; mkdir "$copy/spec"; cp spec/checks.mk "$copy/spec"
        make -s -C "$copy" LUA=%s BUILD=b b/operations/system.so b/operations/redis.so >/dev/null
      done
      cmp "$place/one/b/operations/system.so" "$place/another and longer/b/operations/system.so"
      cmp "$place/one/b/operations/redis.so" "$place/another and longer/b/operations/redis.so"
      ! grep -q "$place" "$place/one/b/operations/system.so"
      rm "$place/one/b/redis/"*.o
      ! make -s -C "$place/one" LUA=%s BUILD=b CPPFLAGS='-include no_such_header.h' \
        b/operations/redis.so >"$place/out" 2>&1
      grep -o 'no_such_header.h' "$place/out" | head -n 1
    ]]):format(runtime, runtime))
    assert.same({ 0, "no_such_header.h\n" }, { result.code, result.out })
  end)

  it("builds again with other flags, but not to install", function()
    local result = shell(([[
      set -e
      place=$(mktemp -d); trap 'rm -rf "$place"' EXIT
      unset WERROR
      step() {
        make -s LUA=%s BUILD="$place/b" "$@" "$place/b/base/lines.o" | grep -c 'cc [^ ]*/base/lines.o' || :
      }
      step CFLAGS="-O0 -DNAME='a b'"
      step CFLAGS="-O0 -DNAME='a b'"
      step CFLAGS=-O1
      step CFLAGS=-O1 WERROR=-Werror
      step -n CFLAGS=-O2 install-modules
    ]]):format(runtime))
    assert.same({ 0, "1\n0\n1\n1\n0\n" }, { result.code, result.out })
  end)

  it("builds in a directory that is named by its absolute path", function()
    local result = shell(([[
      set -e
      place=$(mktemp -d); trap 'rm -rf "$place"' EXIT
      make -s LUA=%s BUILD="$place/b" "$place/b/bin/operations"
      LUA_CPATH="%s/?.so;;" "$place/b/bin/operations" --version | grep -c '^operations '
    ]]):format(runtime, build))
    assert.same({ 0, "1\n" }, { result.code, result.out })
  end)
end)

describe("make install", function()
  local place

  before_each(function()
    place = os.tmpname()
    os.remove(place)
  end)

  after_each(function()
    os.execute("rm -rf '" .. place .. "'*")
  end)

  local function make(goal, variables)
    local script = "make %s LUA=%s BUILD=%s PREFIX='%s' %s"
    local result = shell(script:format(goal, runtime, build, place, variables or ""))
    return result.out, result.code
  end

  -- What is below a directory.
  local function below(directory)
    return shell(("cd '%s' 2>/dev/null && find . ! -name . | sort"):format(directory)).out
  end

  -- The other runtime, as if it had been installed: what is in common is the directory of programs.
  local function install_other()
    local version = other == "luajit" and "5.1" or "5.4"
    local script = ("mkdir -p build/lua && cp -r lua/operations build/lua/ 2>/dev/null; "
      .. "DESTDIR= BINDIR='%s/bin' LIBDIR='%s/lib/lua/%s' LUADIR='%s/share/lua/%s' BUILD=%s LUA=%s sh src/install.sh ")
      :format(place, place, version, place, version, build, other)
    return function(action)
      local result = shell(script .. action)
      assert.equal(0, result.code, result.out)
    end
  end

  it("puts a program of the runtime's name, and a link, below PREFIX", function()
    local out, code = make("install")
    assert.equal(0, code, out)
    assert.matches(("operations %%d+%%.%%d+%%.%%d+ for %s: %s/bin/operations%%-%s, "):format(
      runtime:gsub("%.", "%%."), place:gsub("%p", "%%%0"), runtime:gsub("%.", "%%.")), out)
    local listed = below(place)
    for _, name in ipairs({ "bin/operations", "bin/operations-" .. runtime }) do
      assert.matches("\n./" .. name .. "\n", listed, 1, true)
    end
    assert.is_nil(listed:find("share/[^\n]*%.so\n"))
    assert.matches("^%.TH OPERATIONS 1", shell(("sed 1d '%s/share/man/man1/operations.1'"):format(place)).out)
    assert.matches("/operations/server/page/index.html\n", listed, 1, true)
    if not os.getenv("LD_PRELOAD") then
      for _, name in ipairs({ "operations", "operations-" .. runtime }) do
        assert.matches("^operations %d", shell(("cd / && '%s/bin/%s' --version"):format(place, name)).out)
      end
    end
  end)

  it("is undone by make uninstall, its directories too", function()
    assert.equal(0, select(2, make("install")))
    assert.equal(0, select(2, make("uninstall")))
    assert.equal("", below(place))
    assert.equal("", shell(("ls -d '%s' 2>/dev/null"):format(place)).out)
  end)

  it("leaves the files of others beside its own", function()
    os.execute(("mkdir -p '%s/bin' && touch '%s/bin/neighbour'"):format(place, place))
    assert.equal(0, select(2, make("install")))
    os.execute(("cd '%s'/share/lua/*/operations && touch mine.lua"):format(place))
    assert.equal(0, select(2, make("uninstall")))
    local listed = below(place)
    assert.matches("/operations/mine.lua\n", listed, 1, true)
    assert.matches("./bin/neighbour\n", listed, 1, true)
    assert.is_nil(listed:find("init.lua", 1, true))
  end)

  it("removes files that a newer version no longer has", function()
    assert.equal(0, select(2, make("install")))
    shell(("cd '%s' && file=$(ls -d $PWD/share/lua/*/operations)/gone.lua && touch $file && "
      .. "echo $file >>$(ls lib/lua/*/operations/installed)"):format(place))
    assert.matches("gone.lua", below(place), 1, true)
    assert.equal(0, select(2, make("install")))
    assert.is_nil(below(place):find("gone.lua", 1, true))
    assert.equal(0, select(2, make("uninstall")))
    assert.equal("", below(place))
  end)

  it("keeps both runtimes apart, in whichever order they go", function()
    local act = install_other()
    assert.equal(0, select(2, make("install")))
    act("install")
    assert.matches("-> operations-" .. runtime, shell(("ls -l '%s/bin'"):format(place)).out, 1, true)
    assert.equal(0, select(2, make("uninstall")))
    local listed = shell(("ls -l '%s/bin'"):format(place)).out
    assert.matches("-> operations-" .. other, listed, 1, true)
    assert.matches("-> operations-" .. other .. ".1\n", shell(("ls -l '%s/share/man/man1'"):format(place)).out, 1, true)
    assert.is_nil(listed:find("operations-" .. runtime, 1, true))
    act("uninstall")
    assert.equal("", below(place))
  end)

  it("does not touch a program that is another's", function()
    os.execute(("mkdir -p '%s/bin' && echo wrapper >'%s/bin/operations'"):format(place, place))
    local out = make("install")
    assert.matches(("%s/bin/operations is not of make install (of LuaRocks?) and stays: the program is operations-%s")
      :format(place, runtime), out, 1, true)
    assert.equal(0, select(2, make("uninstall")))
    assert.equal("./bin\n./bin/operations\n", below(place))
  end)

  it("puts DESTDIR in front, and not into the program", function()
    local stage = place .. " stage"
    assert.equal(0, select(2, make("install", ("DESTDIR='%s'"):format(stage))))
    assert.equal("", below(place))
    local program = shell(("cat '%s%s/bin/operations'"):format(stage, place)).out
    assert.matches(place .. "/lib/lua/", program, 1, true)
    assert.is_nil(program:find("stage", 1, true))
    assert.equal(0, select(2, make("uninstall", ("DESTDIR='%s'"):format(stage))))
    assert.equal("", below(stage))
  end)

  it("says what to do about a place that cannot be written", function()
    os.execute(("touch '%s'"):format(place)) -- a file: root may write every directory
    local out, code = make("install")
    assert.not_equal(0, code)
    assert.matches("make install: " .. place .. " is not writable: become root (sudo make install), or name another "
      .. "place (make install PREFIX=$HOME/.local)", out, 1, true)
  end)

  it("was not called where there is nothing to remove", function()
    local out, code = make("uninstall")
    assert.not_equal(0, code)
    assert.matches("nothing was installed by make for " .. runtime .. " in this PREFIX", out, 1, true)
  end)
end)

describe("make", function()
  local function refusal(variables)
    local result = shell("make modules BUILD=$(mktemp -u) " .. variables)
    assert.not_equal(0, result.code, result.out)
    return result.out:match("(make[^\n]*: [^\n]*)\n")
  end

  local supported = "; operations supports Lua 5.4, Lua 5.5 and LuaJIT 2.1"

  it("refuses an interpreter that is not supported, by name", function()
    assert.equal("make LUA=lua5.1: lua5.1 is Lua 5.1" .. supported .. " (make LUA=lua5.4, make LUA=luajit)",
      refusal("LUA=lua5.1"))
  end)

  it("refuses headers that are not supported, or not the interpreter's", function()
    local headers = os.tmpname()
    os.remove(headers)
    local function made(version)
      os.execute(("mkdir -p %s; echo '#define LUA_VERSION_NUM %s' >%s/lua.h"):format(headers, version, headers))
      return "LUA_INCDIR=" .. headers
    end
    assert.equal(("make LUA=lua5.1: the headers in %s are of Lua 5.1%s. For LuaJIT add LUA_INCDIR=/usr/include/"
      .. "luajit-2.1 (Debian: libluajit-5.1-dev)"):format(headers, supported), refusal("LUA=lua5.1 " .. made(501)))
    for _, version in ipairs({ 502, 503, 506 }) do
      assert.equal(("make LUA=lua5.4: the headers in %s are of Lua 5.%d%s"):format(headers, version - 500, supported),
        refusal("LUA=lua5.4 " .. made(version)))
    end
    local other_headers = "make LUA=lua5.4: lua5.4 is Lua 5.4, but the headers in %s are of %s; pass LUA and "
      .. "LUA_INCDIR of one runtime"
    assert.equal(other_headers:format(headers, "Lua 5.5"), refusal("LUA=lua5.4 " .. made("(5 * 100 + 5)")))
    os.execute("rm -r " .. headers)
    assert.equal(other_headers:format("/usr/include/luajit-2.1", "LuaJIT"),
      refusal("LUA=lua5.4 LUA_INCDIR=/usr/include/luajit-2.1"))
  end)

  it("names the packages of each header that is missing", function()
    local result = shell("make modules BUILD=$(mktemp -u) LUA=lua5.4 CC='cc -nostdinc' 2>&1")
    assert.not_equal(0, result.code)
    assert.matches("make LUA=lua5.4: not found: the headers of Lua 5.4 (lua.h), libcurl's headers (curl/curl.h), "
      .. "PCRE2's headers (pcre2.h). Install\n"
      .. "  Debian, Ubuntu:  apt install liblua5.4-dev libcurl4-openssl-dev libpcre2-dev\n", result.out, 1, true)
  end)

  it("asks pkg-config where headers and libraries are, after the variables", function()
    local program = os.tmpname()
    os.execute(("echo 'echo -I/by/pkg-config -L/lib/pkg-config' >%s; chmod +x %s"):format(program, program))
    local result = shell(("make -n -B modules BUILD=$(mktemp -u) PKG_CONFIG='sh %s' CURL_INCDIR=/by/hand "
      .. "CURL_LIBDIR=/lib/hand"):format(program))
    os.remove(program)
    assert.matches("%-I/by/hand[^\n]* %-I/by/pkg%-config[^\n]* %-c ", result.out)
    assert.matches("%-L/lib/hand[^\n]* %-L/lib/pkg%-config", result.out)
  end)
end)

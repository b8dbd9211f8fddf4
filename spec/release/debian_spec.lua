local command = require("spec.support.command")

local runtime = require("operations.base.runtime").interpreter

-- lintian's list of interpreters lacks LuaJIT, which Debian has.
local unknown = runtime == "luajit" and ",unusual-interpreter" or ""

local installation = [[
  unset LUA_PATH LUA_CPATH MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES LUA VARIANT
  CFLAGS="$(dpkg-buildflags --get CFLAGS)" LDFLAGS="$(dpkg-buildflags --get LDFLAGS) -Wl,-z,now" \
    make -s -j2 install LUA=%s BUILD=%s/build DESTDIR=%s/package PREFIX=/usr >/dev/null
]]

-- What Debian's own tools add to a package: compressed pages, stripped modules, a control file, changelog, copyright.
local script = [[
  set -e
  cd %s/package
  find usr -name '*.so' -exec strip --strip-unneeded {} +
  page=$(ls usr/share/man/man1/operations-*.1)
  rm usr/share/man/man1/operations.1
  gzip -9n "$page"
  ln -s "${page##*/}.gz" usr/share/man/man1/operations.1.gz
  documents=usr/share/doc/lua-operations
  mkdir -p DEBIAN $documents
  cp "$OLDPWD/LICENSE" $documents/copyright
  printf 'lua-operations (0.1.0) unstable; urgency=low\n\n  * First.\n\n -- A Packager <a@example.org>  %%s\n' \
    "$(date -R)" | gzip -9n >$documents/changelog.gz
  cat >DEBIAN/control <<END
Package: lua-operations
Version: 0.1.0
Architecture: $(dpkg --print-architecture)
Maintainer: A Packager <a@example.org>
Depends: libc6, libcurl4, libpcre2-8-0, libhiredis0.14, libwslay1, libssl3, %s
Section: interpreters
Priority: optional
Description: one call interface for everything a Lua program can invoke
 Functions, HTTP APIs and MCP tools are operations of one registry.
END
  dpkg-deb --root-owner-group --build . ../lua-operations.deb >/dev/null
  lintian --allow-root --suppress-tags script-not-executable%s ../lua-operations.deb
]]

-- The program for LuaRocks (lua/operations/cli/main.lua) is a script that a package does not make executable.
describe("a package of Debian made of `make install`", function()
  it("has nothing that lintian warns of: hardening, paths, executable stacks, pages", function()
    if command.run("which lintian dpkg-deb dpkg-buildflags").code ~= 0 then
      pending("no lintian")
      return
    end
    local place = os.tmpname()
    os.remove(place)
    finally(function()
      os.execute("rm -rf " .. place)
    end)
    assert(os.execute(installation:format(runtime, place, place)))
    local result = command.run(script:format(place, runtime, unknown))
    assert.same({ code = 0, out = "", err = "" }, { code = result.code, out = result.out, err = result.err })
  end)
end)

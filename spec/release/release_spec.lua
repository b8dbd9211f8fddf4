local clones = require("spec.release.clone")

local changelog = [[
# Changelog

## 4.5.6 - today

Text.

### Added
- one, as [a page](doc/data.md)
  says: `x`
- two

## 4.5.5 - before

### Fixed
- three
]]

describe("make release", function()
  local clone

  setup(function()
    clone = clones.new("a clone")
  end)

  teardown(function()
    clone:remove()
  end)

  local function refusal(arguments, before)
    local result = clone:run((before or ":") .. "; make release " .. arguments)
    assert.not_equal(0, result.code, result.out)
    return result.out:match("make release: ([^\n]*)")
  end

  it("refuses an invalid version", function()
    assert.equal("which version? make release VERSION=0.1.0", refusal(""))
    for _, version in ipairs({ "v0.1.0", "0.1", "0.1.0-rc1", "01.0.0", "0.1.0 ", "a" }) do
      assert.equal(('"%s" is not a version: expected three numbers, as in VERSION=0.1.0 (no v, no suffix)')
        :format(version), refusal(("VERSION='%s'"):format(version)))
    end
  end)

  it("refuses a version that the tree does not have, or that has no changes", function()
    clone:set_version("4.5.6")
    assert.equal("lua/operations/base/version.lua says 4.5.6, not 4.5.7: change it there, commit, and try again",
      refusal("VERSION=4.5.7"))
    clone:must("sed -i 's/^## 4.5.6 .*/## Unreleased/' CHANGELOG.md; git commit -qam changes")
    assert.equal('CHANGELOG.md has no section "## 4.5.6"; give "## Unreleased" that name (and a date), commit, '
      .. "and try again", refusal("VERSION=4.5.6"))
  end)

  it("refuses a tree that differs from its commit, or is no repository", function()
    clone:set_version("4.5.6")
    local result = clone:run("echo >new-file; make release VERSION=4.5.6; rm new-file")
    assert.matches("the tree differs from its last commit; commit or stash first:\n?? new-file", result.out, 1, true)
    assert.equal("this is not a clone of the repository: a release is made of a commit",
      refusal("VERSION=4.5.6", "export GIT_DIR=/nonexistent"))
  end)

  describe("writes", function()
    setup(function()
      clone:set_version("4.5.6")
      clone:must("cat >CHANGELOG.md <<'END'\n" .. changelog .. "END\ngit commit -qam changes")
      clone:must("make release VERSION=4.5.6")
    end)

    local function read(name)
      return clone:must("cat build/release/" .. name)
    end

    it("a rockspec that LuaRocks has nothing against", function()
      clone:must("luarocks --lua-version 5.4 lint build/release/operations-4.5.6-1.rockspec")
      local rockspec = read("operations-4.5.6-1.rockspec")
      assert.matches('\nversion = "4.5.6-1"\n', rockspec, 1, true)
      local source = '/releases/download/v4.5.6/operations-4.5.6.tar.gz",\n  dir = "operations-4.5.6"'
      assert.matches(source, rockspec, 1, true)
      assert.is_nil(rockspec:find("scm", 1, true))
    end)

    it("an archive with the tree, and this rockspec alone", function()
      local listed = clone:must("tar -tzf build/release/operations-4.5.6.tar.gz")
      for _, name in ipairs({ "Makefile", "LICENSE", "README.md", "src/release.sh", "lua/operations/init.lua",
        "doc/operations.txt", "examples/hello.lua", "spec/rockspec_spec.lua", "operations-4.5.6-1.rockspec" }) do
        assert.matches("\noperations-4.5.6/" .. name .. "\n", listed, 1, true)
      end
      for line in listed:gmatch("[^\n]+") do
        assert.matches("^operations%-4%.5%.6/", line)
        for _, foreign in ipairs({ "/build/", "scm", "/.git/" }) do
          assert.is_nil(line:find(foreign, 1, true), line)
        end
      end
    end)

    it("the sums, the changes and the tag's message", function()
      clone:must("cd build/release && sha256sum --strict -c SHA256SUMS")
      local home = read("operations-4.5.6-1.rockspec"):match('homepage = "([^"]*)"')
      assert.equal("Text.\n\n### Added\n- one, as [a page](" .. home .. "/blob/v4.5.6/doc/data.md) says: `x`\n- two\n",
        read("CHANGELOG-4.5.6.md"))
      assert.equal("operations 4.5.6\n\nText.\n\nAdded:\n- one, as doc/data.md\n  says: `x`\n- two\n\nSHA-256:\n"
        .. read("SHA256SUMS"), read("tag-message"))
      clone:must("git tag -a v4.5.6 -F build/release/tag-message; git tag -d v4.5.6")
    end)

    it("the same bytes again, elsewhere and later", function()
      local first = read("SHA256SUMS")
      clone:must("git clone -q . ../other")
      local again = clone:must("cd ../other; umask 077; sleep 1.1; make release VERSION=4.5.6 >/dev/null; "
        .. "cat build/release/SHA256SUMS")
      assert.equal(first, again)
    end)
  end)
end)

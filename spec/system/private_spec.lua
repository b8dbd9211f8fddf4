-- The specs of stores (spec/oauth/store_spec.lua) use them as programs do.
local command = require("spec.support.command")
local system = require("operations.system")

describe("a private file", function()
  local root

  before_each(function()
    root = os.tmpname()
    os.remove(root)
    assert(system.make_private_directory(root))
  end)

  after_each(function()
    command.run(("rm -rf '%s'"):format(root))
  end)

  local function sh(text)
    assert.equal(0, command.run((text:gsub("ROOT", root))).code)
  end

  it("is read by its owner alone, up to a size", function()
    local path = root .. "/a"
    assert.is_true(system.write_private(path, "text"))
    assert.equal("text", system.read_private(path, 4))
    assert.same({ nil, path .. ": too large" }, { system.read_private(path, 3) })
    assert.same({ nil, path .. "b: No such file or directory" }, { system.read_private(path .. "b", 3) })
    for _, mode in ipairs({ "640", "604", "620", "777" }) do
      sh(("chmod %s ROOT/a"):format(mode))
      assert.same({ nil, path .. ": others may use it (its mode)" }, { system.read_private(path, 4) })
    end
    sh("chmod 600 ROOT/a; ln -s a ROOT/l; mkfifo -m 600 ROOT/p; mkdir -m 700 ROOT/d")
    for name, problem in pairs({ l = "Too many levels of symbolic links", p = "not a regular file",
      d = "not a regular file" }) do
      assert.same({ nil, ("%s/%s: %s"):format(root, name, problem) }, { system.read_private(root .. "/" .. name, 4) })
    end
  end)

  it("is in a directory that its owner alone can use", function()
    assert.is_true(system.check_private_directory(root))
    sh("chmod 750 ROOT; : >ROOT/f")
    assert.same({ nil, root .. ": others may use it (its mode)" }, { system.check_private_directory(root) })
    assert.same({ nil, root .. "/f: Not a directory" }, { system.check_private_directory(root .. "/f") })
  end)

  it("is a lock, held once, until it is released, collected or its process ends", function()
    local path = root .. "/lock"
    local first = assert(system.lock(path))
    assert.is_false(system.lock(path))
    system.unlock(first, path)
    system.unlock(first, path)
    assert.same({}, system.list(root))
    assert(system.lock(path)) -- luacheck: ignore
    collectgarbage()
    collectgarbage()
    local again = assert(system.lock(path))
    system.unlock(again, path)
    local held = command.run(([[lua -e 'local s = require("operations.system")
      held = s.lock("ROOT/lock") print(s.lock("ROOT/lock"))']]):gsub("ROOT", root))
    assert.equal("false\n", held.out)
    system.unlock(assert(system.lock(path)), path)
    sh(": >ROOT/lock; chmod 644 ROOT/lock")
    assert.same({ nil, path .. ": others may use it (its mode)" }, { system.lock(path) })
  end)
end)

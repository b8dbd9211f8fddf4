local command = require("spec.support.command")
local system = require("operations.system")

describe("operations.system", function()
  local root

  before_each(function()
    root = os.tmpname()
    os.remove(root)
    assert(os.execute(("mkdir '%s'"):format(root)))
  end)

  after_each(function()
    os.execute(("rm -rf '%s'"):format(root))
  end)

  it("lists a directory without its dots", function()
    assert(os.execute(("cd '%s' && touch a && mkdir b && touch b/c"):format(root)))
    local listed = assert(system.list(root))
    table.sort(listed)
    assert.same({ "a", "b" }, listed)
  end)

  it("tells files from directories, and follows links to their identity", function()
    assert(os.execute(("cd '%s' && touch a && ln -s a b"):format(root)))
    local kind, identity, version = system.kind(root .. "/a")
    assert.equal("file", kind)
    assert.same({ "file", identity, version }, { system.kind(root .. "/b") })
    assert.equal("directory", (system.kind(root)))
    assert.equal("other", (system.kind("/dev/null")))
  end)

  it("gives a file another version once it was written to", function()
    local function version_after(script)
      assert(os.execute(("cd '%s' && %s"):format(root, script)))
      return (select(3, system.kind(root .. "/a")))
    end
    local first = version_after("printf x >a && touch -d @1000.25 a")
    assert.equal(first, version_after("cat a >b"))
    assert.not_equal(first, version_after("touch -d @1000.5 a"))
    assert.not_equal(first, version_after("printf xy >a && touch -d @1000.25 a"))
  end)

  it("says why it could not look", function()
    assert.same({ nil, root .. "/x: No such file or directory" }, { system.list(root .. "/x") })
    assert.same({ nil, root .. "/x: No such file or directory" }, { system.kind(root .. "/x") })
  end)

  it("knows that a closed descriptor is no terminal", function()
    assert.is_false(system.is_terminal(-1))
    assert.is_nil(system.terminal_width(-1))
  end)

  local function output_of(line)
    local pipe = io.popen(line)
    local text = pipe:read("*a")
    pipe:close()
    return text
  end

  it("writes a file that only its owner reads, whole or not at all", function()
    local path = root .. "/secret"
    assert(os.execute(("umask 0; echo old >'%s'; ln '%s' '%s/linked'"):format(path, path, root)))
    assert.is_true(system.write_private(path, "new\0text"))
    assert.equal("600\n", output_of(("stat -c %%a '%s'"):format(path)))
    assert.equal("new\0text", io.open(path):read("*a"))
    assert.equal("old\n", io.open(root .. "/linked"):read("*a")) -- replaced, not written over
    assert.is_true(system.write_private(path, ""))
    assert.equal("", io.open(path):read("*a"))
    assert.equal(2, #system.list(root))
  end)

  it("leaves the file that is there when it cannot write", function()
    assert.same({ nil, root .. "/x/y: No such file or directory" }, { system.write_private(root .. "/x/y", "") })
    assert(os.execute(("mkdir '%s/full' && touch '%s/full/x'"):format(root, root)))
    assert.same({ nil, root .. "/full: Is a directory" }, { system.write_private(root .. "/full", "text") })
    assert.same({ "full" }, system.list(root))
    assert.same({ nil, ("/x"):rep(2100) .. ": File name too long" }, { system.write_private(("/x"):rep(2100), "") })
  end)

  it("makes directories that only their owner enters, and leaves those that are there", function()
    assert(os.execute(("umask 0; mkdir -m 755 '%s/a'"):format(root)))
    for _ = 1, 2 do
      assert.is_true(system.make_private_directory(root .. "/a/b/c/"))
    end
    assert.equal("755\n700\n700\n", output_of(("cd '%s'; stat -c %%a a a/b a/b/c"):format(root)))
    assert(os.execute(("touch '%s/file'"):format(root)))
    assert.same({ nil, root .. "/file: Not a directory" }, { system.make_private_directory(root .. "/file") })
    assert.same({ nil, root .. "/file/x: Not a directory" }, { system.make_private_directory(root .. "/file/x") })
    local long = ("/x"):rep(2100)
    assert.same({ nil, long .. ": File name too long" }, { system.make_private_directory(long) })
  end)

  it("survives pipes that nobody reads, but not for the programs it starts", function()
    local path = root .. "/program.lua"
    local file = assert(io.open(path, "w"))
    file:write([[
      require("operations.system").survive_broken_pipes()
      repeat until not (io.write(("x"):rep(65536)) and io.flush())
      local ended = os.execute("kill -PIPE $$")
      io.stderr:write((ended == true or ended == 0) and "ignored" or "as ever")
    ]])
    file:close()
    assert.equal("as ever", output_of(("{ %s %s 2>&3 | true; } 3>&1"):format(command.interpreter(), path)))
  end)

  it("raises a signal again that came before it let go of them", function()
    local result = require("spec.support.command").run([[lua -e '
      local system = require("operations.system")
      assert(system.catch_signals() and not system.catch_signals())
      os.execute("kill -TERM $PPID")
      system.release_signals()
      print("not reached")
    ']])
    assert.same({ "", 143 }, { result.out, result.code })
  end)

  it("counts HUP once it is asked to, so that it ends nothing", function()
    local result = require("spec.support.command").run([[lua -e '
      local system = require("operations.system")
      assert(system.catch_signals() and system.hangups() == 0)
      os.execute("kill -HUP $PPID; kill -HUP $PPID")
      assert(system.hangups() > 0)
      io.write("goes on\n")
      io.flush()
      system.release_signals()
      os.execute("kill -HUP $PPID")
      print("not reached")
    ']])
    assert.same({ "goes on\n", 129 }, { result.out, result.code })
  end)

  it("names the argument that is wrong", function()
    assert.error_matches(function() system.make_private_directory("") end, "bad argument #1 to 'make_private")
    assert.error_matches(function() system.write_private("a") end, "bad argument #2 to 'write_private'")
    assert.error_matches(function() system.list({}) end, "bad argument #1 to 'list'")
    assert.error_matches(function() system.kind("a\0b") end, "bad argument #1 to 'kind'.*zero byte")
  end)
end)

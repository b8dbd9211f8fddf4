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
    local kind, identity = system.kind(root .. "/a")
    assert.equal("file", kind)
    assert.same({ "file", identity }, { system.kind(root .. "/b") })
    assert.equal("directory", (system.kind(root)))
    assert.equal("other", (system.kind("/dev/null")))
  end)

  it("says why it could not look", function()
    assert.same({ nil, root .. "/x: No such file or directory" }, { system.list(root .. "/x") })
    assert.same({ nil, root .. "/x: No such file or directory" }, { system.kind(root .. "/x") })
  end)

  it("knows that a closed descriptor is no terminal", function()
    assert.is_false(system.is_terminal(-1))
  end)

  it("names the argument that is wrong", function()
    assert.error_matches(function() system.list({}) end, "bad argument #1 to 'list'")
    assert.error_matches(function() system.kind("a\0b") end, "bad argument #1 to 'kind'.*zero byte")
  end)
end)

local address = require("operations.nvim.serve.address")

local function directory(env)
  return address.directory(function(name)
    return env[name]
  end)
end

describe("the address of an editor's socket", function()
  it("is in the user's runtime directory, else in the cache", function()
    assert.equal("/run/user/7/operations-nvim", (directory({ XDG_RUNTIME_DIR = "/run/user/7/", HOME = "/home/a" })))
    assert.equal("/c/operations-nvim", (directory({ XDG_CACHE_HOME = "/c", HOME = "/home/a" })))
    assert.equal("/home/a/.cache/operations-nvim", (directory({ HOME = "/home/a", XDG_RUNTIME_DIR = "relative" })))
    assert.same({ nil, "no directory for sockets: neither XDG_RUNTIME_DIR nor HOME is an absolute path" },
      { directory({ HOME = "" }) })
  end)

  it("follows from the editor's address alone, and is short whatever that is", function()
    local one, other = address.path("/d", "/tmp/nvimX/0"), address.path("/d", "/tmp/nvimY/0")
    assert.equal(one, address.path("/d", "/tmp/nvimX/0"))
    assert.not_equal(one, other)
    assert.matches("^/d/%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%.sock$", one)
    assert.equal(#one, #address.path("/d", ("/long"):rep(100)))
    assert.equal(one, address.path("/d", one)) -- a socket's is itself
    assert.not_equal("/e/x.sock", address.path("/d", "/e/x.sock"))
  end)

  it("tells sockets from other files", function()
    assert.is_true(address.is_socket("0123.sock"))
    assert.is_false(address.is_socket("0123.sock~"))
  end)
end)

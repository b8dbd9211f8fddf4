local options = require("operations.oauth.options")
local system = require("operations.system")

describe("a store of tokens", function()
  local root

  before_each(function()
    root = os.tmpname()
    os.remove(root)
  end)

  after_each(function()
    os.execute(("rm -rf '%s'"):format(root))
  end)

  for name, open in pairs({
    memory = function()
      local one = options.memory_store()
      return function()
        return one
      end
    end,
    directory = function()
      return function()
        return options.directory_store(root .. "/state")
      end
    end,
  }) do
    it("keeps what it is given, and forgets it: " .. name, function()
      local get = open()
      assert.is_nil(get().load("server https://h/mcp"))
      get().save("server https://h/mcp", { token = { access_token = "a\n/" }, n = 1 })
      get().save("client x", { client_id = "b" })
      assert.same({ token = { access_token = "a\n/" }, n = 1 }, get().load("server https://h/mcp"))
      get().save("server https://h/mcp", { n = 2 })
      assert.same({ n = 2 }, get().load("server https://h/mcp"))
      get().save("server https://h/mcp", nil)
      get().save("server https://h/mcp", nil)
      assert.is_nil(get().load("server https://h/mcp"))
      assert.same({ client_id = "b" }, get().load("client x"))
    end)
  end

  it("takes a file that it cannot read for none", function()
    local one = options.directory_store(root)
    one.save("key", { n = 1 })
    local path = root .. "/" .. system.list(root)[1]
    for _, text in ipairs({ "", "{", "[]", '{"key":"other","value":{"n":1}}' }) do
      local file = assert(io.open(path, "w"))
      file:write(text)
      file:close()
      assert.is_nil(one.load("key"))
    end
  end)

  it("raises when it cannot keep anything", function()
    assert(io.open(root, "w")):close()
    local ok, err = pcall(options.directory_store(root).save, "key", {})
    assert.is_false(ok)
    assert.equal("EXECUTION_ERROR: cannot keep a token: " .. root .. ": Not a directory", tostring(err))
  end)
end)

local operations = require("operations")
local stores = require("operations.oauth.store")
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
      local one = stores.memory()
      return function()
        return one
      end
    end,
    directory = function()
      return function()
        return stores.directory(root .. "/state")
      end
    end,
  }) do
    it("keeps and forgets tokens: " .. name, function()
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
    local one = stores.directory(root)
    one.save("key", { n = 1 })
    local path = root .. "/" .. system.list(root)[1]
    for _, text in ipairs({ "", "{", "[]", '{"key":"other","value":{"n":1}}' }) do
      local file = assert(io.open(path, "w"))
      file:write(text)
      file:close()
      assert.is_nil(one.load("key"))
    end
  end)

  local function sh(command)
    assert.equal(0, require("spec.support.command").run(command:gsub("ROOT", root)).code)
  end

  it("takes a file that others can use, or that is a link, for none", function()
    local one = stores.directory(root)
    for _, command in ipairs({ "chmod 644 ROOT/*.json", "chmod 620 ROOT/*.json",
      "cd ROOT && for f in *.json; do mv $f planted; ln -s planted $f; done",
      "cd ROOT && for f in *.json; do rm -f $f; mkfifo $f; done" }) do
      sh("rm -rf ROOT")
      one.save("key", { n = 1 })
      assert.same({ n = 1 }, one.load("key"))
      sh(command)
      assert.is_nil(one.load("key"))
    end
    one.save("key", { n = 2 }) -- replaces it
    assert.same({ n = 2 }, one.load("key"))
  end)

  it("refuses a directory that others can use", function()
    local one = stores.directory(root)
    one.save("key", { n = 1 })
    for _, mode in ipairs({ "777", "755", "710" }) do
      sh(("chmod %s ROOT"):format(mode))
      assert.is_nil(one.load("key"))
      for _, use in ipairs({ one.lock, one.save }) do
        local ok, err = pcall(use, "key", {})
        assert.is_false(ok)
        assert.equal(("EXECUTION_ERROR: cannot keep a token: %s: others may use it (its mode)"):format(root),
          tostring(err))
      end
    end
    sh("chmod 700 ROOT")
    assert.same({ n = 1 }, one.load("key"))
  end)

  it("has a lock for each key, that ends with its holder", function()
    local one, two = stores.directory(root), stores.directory(root)
    local release = one.lock("key")
    two.lock("other")()
    local order = {}
    operations.run(function()
      local waiting = operations.spawn(function()
        local own = two.lock("key")
        order[#order + 1] = "second"
        own()
      end)
      operations.sleep(0.05)
      order[#order + 1] = "first"
      release()
      waiting:wait()
    end)
    assert.same({ "first", "second" }, order)
  end)

  it("raises when it cannot keep anything", function()
    assert(io.open(root, "w")):close()
    local ok, err = pcall(stores.directory(root).save, "key", {})
    assert.is_false(ok)
    assert.equal("EXECUTION_ERROR: cannot keep a token: " .. root .. ": Not a directory", tostring(err))
  end)
end)

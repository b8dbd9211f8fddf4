local operations = require("operations")
local secrets = require("operations.base.secrets")

describe("secrets", function()
  local function hidden(value, ...)
    local list = {}
    for _, text in ipairs({ ... }) do
      secrets.add(list, text)
    end
    return secrets.hide(value, list)
  end

  it("are not shown, as they are or as URLs write them", function()
    assert.equal("a *** b ***", hidden("a s%cret b s%25cret", "s%cret"))
    assert.equal("******", hidden("s3cr3ts3cr3t", "s3cr3t"))
  end)

  it("are not shown in part where one holds another", function()
    assert.equal("*** ***", hidden("password pass", "pass", "password"))
    assert.equal("*** ***", hidden("password pass", "password", "pass"))
  end)

  it("are not shown within a table, which stays as it is", function()
    local body = operations.array({ { token = "s3cr3t" }, 7 })
    local shown = hidden(body, "s3cr3t")
    assert.same({ { token = "***" }, 7 }, shown)
    assert.equal(operations.array_mt, getmetatable(shown))
    assert.equal("s3cr3t", body[1].token)
  end)

  it("have four characters at the least", function()
    assert.equal("the cat", hidden("the cat", "cat", "", 7))
  end)

  it("have names that say so, in any case", function()
    for _, name in ipairs({ "Authorization", "X-Api-Key", "DB_PASSWORD", "PGPASS", "Set-Cookie", "my_pwd" }) do
      assert.is_true(secrets.is_name(name), name)
    end
    for _, name in ipairs({ "Accept", "X-Request-Id", "HOME", "page" }) do
      assert.is_false(secrets.is_name(name), name)
    end
  end)
end)

local remembered = require("operations.cli.remembered")

describe("a remembered source", function()
  it("holds no secrets", function()
    local function problem(name, value)
      local message = remembered.secret_problem(name, value)
      return message and message:gsub("^a remembered source holds no secrets: ", "")
    end
    for name, word in pairs({ bearer = "token", ["api-key"] = "key", ["client-secret"] = "secret",
      basic = "password" }) do
      assert.equal(("give env:NAME, file:PATH or cmd:COMMAND instead of the %s itself"):format(word),
        problem(name, "u:s3cret"))
      assert.is_nil(problem(name, "env:NAME"))
    end
    assert.is_nil(problem("basic", "u:env:NAME"))
    assert.is_nil(problem("basic", "file:x"))
    for _, header in ipairs({ "Authorization", "Cookie", "X-Api-Key", "X-Password", "Secret", "X-Session", "token" }) do
      assert.equal(("give env:NAME, file:PATH or cmd:COMMAND behind '%s:'"):format(header),
        problem("header", header .. ": x"))
      assert.is_nil(problem("document-header", header .. ": env:X"))
    end
    assert.is_nil(problem("header", "Accept: x"))
    assert.equal("https://a.test/x has a password", problem("openapi", "https://u:p@a.test/x"))
    assert.equal("http://p:1 has a password", problem("proxy", "http://u:p@p:1"))
    assert.equal("https://a.test has a password", problem("base-url", "https://u@a.test"))
    assert.is_nil(problem("openapi", "https://a.test/u@b"))
    assert.is_nil(problem("namespace", "https://u:p@a.test"))
    assert.is_nil(problem("bearer", true))
  end)

  local function order(entry, profile)
    local list = {}
    for i, option in ipairs(remembered.order({ name = "s", base = "/base", entry = entry }, profile)) do
      list[i] = option.name .. "=" .. tostring(option.value)
    end
    return list
  end

  it("is the options of a command line, its kind first, then its namespace", function()
    assert.same({ "openapi=https://a.test/x", "namespace=s", "base-url=https://b", "bearer=env:T", "header=A: 1",
      "header=B: 2", "remote-refs=true" }, order({ openapi = "https://a.test/x", header = { "A: 1", "B: 2" },
      ["base-url"] = "https://b", bearer = "env:T", ["remote-refs"] = true }))
    assert.same({ "mcp=npx x", "namespace=n", "header=A: 1" },
      order({ mcp = "npx x", namespace = "n", header = "A: 1" }))
  end)

  it("has paths beside the file that it is in", function()
    assert.same({ "openapi=/base/a.json", "namespace=s", "ca-file=/base/ca.pem", "cert=/base/c.pem", "key=/abs/k.pem" },
      order({ openapi = "a.json", ["ca-file"] = "ca.pem", cert = "c.pem", key = "/abs/k.pem" }))
    assert.same({ "lua=/base/x", "namespace=s" }, order({ lua = "x" }))
    assert.same({ "mcp-config=/base/m.json", "namespace=s" }, order({ ["mcp-config"] = "m.json" }))
    assert.same({ "websocket=wss://h", "namespace=s" }, order({ websocket = "wss://h" }))
  end)

  it("is changed by a profile", function()
    local entry = { openapi = "https://a", bearer = "env:A", profiles = { work = { bearer = "env:B" } } }
    assert.same({ "openapi=https://a", "namespace=s", "bearer=env:A" }, order(entry))
    assert.same({ "openapi=https://a", "namespace=s", "bearer=env:B" }, order(entry, "work"))
    assert.same({ "openapi=https://a", "namespace=s", "bearer=env:A" }, order(entry, "home"))
    assert.is_table(entry.profiles)
  end)
end)

local extension = require("operations.openapi.extension")

local function with(more)
  local value = { namespace = "a", name = "b", type = "query", input = "body" }
  for key, item in pairs(more) do
    value[key] = item
  end
  return extension.of({ ["x-operation"] = value })
end

describe("x-operation", function()
  it("is taken where it is valid", function()
    assert.equal("b", with({}).name)
    assert.is_not_nil(with({ version = "1.0.0", input = "parameters", open = true, tags = { "t" }, destructive = false,
      accessControl = { requiredScopes = { "s" } }, errors = { ["404"] = { "GONE" } }, idempotent = true, cache = true,
      idempotencyKey = "required" }))
    assert.is_not_nil(with({ cache = { maxAge = 0 } }))
    assert.is_nil(extension.of({}))
  end)

  it("is refused with its issues", function()
    for path, more in pairs({ ["/name"] = { name = 7 }, ["/namespace"] = { namespace = "" }, ["/type"] = { type = "x" },
      ["/input"] = { input = "query" }, ["/open"] = { open = 1 }, ["/errors/404/0"] = { errors = { ["404"] = { "" } } },
      ["/errors/404"] = { errors = { ["404"] = "GONE" } }, ["/destructive"] = { destructive = 1 },
      ["/idempotent"] = { idempotent = "x" }, ["/cache"] = { cache = { maxAge = -1 } },
      ["/idempotencyKey"] = { idempotencyKey = true }, ["/tags"] = { tags = 7 },
      ["/accessControl"] = { accessControl = 7 } }) do
      local value, issues = with(more)
      assert.is_nil(value)
      assert.equal(path, issues[1].path:sub(1, #path))
    end
    for _, cache in ipairs({ false, {}, { maxAge = 1, more = 2 }, 7 }) do
      assert.is_nil((with({ cache = cache })))
    end
    for _, name in ipairs({ "namespace", "name", "type", "input" }) do
      local value = { namespace = "a", name = "b", type = "query", input = "body" }
      value[name] = nil
      assert.is_nil((extension.of({ ["x-operation"] = value })))
    end
    assert.is_nil((extension.of({ ["x-operation"] = 7 })))
  end)
end)

describe("a definition with x-operation", function()
  local function described(more, x, node, trusted)
    local definition = { _meta = { method = "POST", path = "/a/b" }, title = "T", description = "D", tags = { "a" } }
    for key, value in pairs(more) do
      definition[key] = value
    end
    local all = { namespace = "a", name = "b", type = "mutation", input = "body" }
    for key, value in pairs(x) do
      all[key] = value
    end
    extension.describe(definition, all, node or {}, trusted or false)
    return definition
  end

  it("has its version, type, access and hints", function()
    local made = described({}, { version = "2.0.0", accessControl = { requiredScopes = { "s" } }, destructive = true,
      idempotent = false })
    assert.same({ "2.0.0", "mutation", { requiredScopes = { "s" } }, true, false }, { made.version, made.type,
      made.accessControl, made._meta.destructive, made._meta.idempotent })
    assert.is_nil(made._meta.http)
    assert.is_nil(described({}, {}).version)
  end)

  it("has no title or description that only repeat its id or its title", function()
    assert.is_nil(described({}, {}, { summary = "a.b" }).title)
    assert.equal("T", described({}, {}, { summary = "other" }).title)
    assert.is_nil(described({}, {}, { summary = "D" }).description)
    assert.equal("D", described({}, {}, { summary = "T" }).description)
  end)

  it("has no tag that is only its namespace, unless it says so", function()
    assert.is_nil(described({}, {}).tags)
    assert.same({ "a" }, described({}, { tags = { "a" } }).tags)
    assert.same({ "c" }, described({ tags = { "c" } }, {}).tags)
    assert.same({ "a", "c" }, described({ tags = { "a", "c" } }, {}).tags)
  end)

  it("is open to others only where the document is trusted, or was already", function()
    assert.is_falsy(described({}, {})._meta.exposed)
    assert.is_true(described({}, {}, {}, true)._meta.exposed)
    assert.is_true(described({ _meta = { exposed = true } }, {})._meta.exposed)
  end)

  it("has the path of a trusted document, and a method that is not usual", function()
    assert.same({ path = "/x", method = "POST" }, described({ _meta = { method = "POST", path = "/x" } }, {}, {},
      true)._meta.http)
    assert.is_nil(described({ _meta = { method = "POST", path = "/x" } }, {}, {}, false)._meta.http)
    assert.is_nil(described({}, {}, {}, true)._meta.http)
    assert.same({ method = "PUT" }, described({ _meta = { method = "PUT", path = "/a/b" } }, {})._meta.http)
    assert.same({ method = "POST" }, described({}, { type = "query" })._meta.http)
    for _, method in ipairs({ "GET", "QUERY" }) do
      assert.is_nil(described({ _meta = { method = method, path = "/a/b" } }, { type = "query" })._meta.http)
    end
  end)

  it("has its cache, key and status", function()
    assert.same({ cache = { maxAge = 5 } }, described({}, { cache = { maxAge = 5 } })._meta.http)
    assert.same({ idempotencyKey = "required" }, described({}, { idempotencyKey = "required" })._meta.http)
    assert.same({ status = 201 }, described({}, {}, { responses = { ["201"] = { description = "d" } } })._meta.http)
    assert.is_nil(described({}, {}, { responses = { ["200"] = { description = "d" } } })._meta.http)
  end)
end)

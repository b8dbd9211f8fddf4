local operations = require("operations")
local raises = require("spec.support.raises")

local ada = { id = "ada", scopes = { "task:read" }, resources = { ["task:7"] = { "read" } } }

local function registry_with(...)
  local registry = operations.registry()
  for _, spec in ipairs({ ... }) do
    spec.namespace = spec.namespace or "task"
    assert(registry:register_spec(spec))
  end
  return registry
end

describe("registry:visible", function()
  it("says yes to an operation without requirements, for any caller", function()
    local registry = registry_with({ name = "open" })
    assert.equal("yes", registry:visible("task.open"))
    assert.equal("yes", registry:visible("task.open", ada))
    assert.equal("yes", registry:visible(registry:get_spec("task.open")))
  end)

  it("denies what this identity may not call", function()
    local registry = registry_with({ name = "drop", accessControl = { requiredScopes = { "task:write" } } },
      { name = "list", accessControl = { requiredScopes = { "task:read" } } })
    assert.equal("denied", registry:visible("task.drop"))
    assert.equal("denied", registry:visible("task.drop", ada))
    assert.equal("denied", registry:visible("task.list"))
    assert.equal("yes", registry:visible("task.list", ada))
    assert.equal("yes", registry:visible(registry:get_spec("task.list"), ada))
  end)

  it("counts any resource that grants the action, for there is no input", function()
    local registry = registry_with(
      { name = "get", accessControl = { resourceType = "task", resourceAction = "read", resourceId = "/id" } },
      { name = "put", accessControl = { resourceType = "task", resourceAction = "write", resourceId = "/id" } })
    assert.equal("yes", registry:visible("task.get", ada))
    assert.equal("denied", registry:visible("task.put", ada))
    assert.equal("denied", registry:visible("task.get", { id = "bob", scopes = {} }))
  end)

  it("hides operations that are not exposed, filtered out or unknown", function()
    local registry = registry_with({ name = "secret", _meta = { exposed = false } },
      { name = "open", tags = { "a", "b" }, type = "mutation", _meta = { exposed = true } })
    assert.equal("hidden", registry:visible("task.secret", ada))
    assert.equal("hidden", registry:visible(registry:get_spec("task.secret"), ada))
    assert.equal("hidden", registry:visible("task.unknown", ada))
    for _, filter in ipairs({ { namespace = "user" }, { tag = "c" }, { type = "query" }, { tag = "a", type = "x" } }) do
      assert.equal("hidden", registry:visible("task.open", ada, filter))
    end
    for _, filter in ipairs({ {}, { namespace = "task" }, { tag = "b" }, { type = "mutation", tag = "a" } }) do
      assert.equal("yes", registry:visible("task.open", ada, filter))
    end
  end)

  it("hides before it denies", function()
    local registry = registry_with({
      name = "drop", accessControl = { requiredScopes = { "task:write" } }, _meta = { exposed = false },
    })
    assert.equal("hidden", registry:visible("task.drop", ada))
  end)

  it("asks a filter that is a function about the spec and the identity", function()
    local registry = registry_with({ name = "open", title = "Open" })
    local asked
    local function filter(spec, identity)
      asked = { spec.title, identity }
      return identity ~= nil
    end
    assert.equal("yes", registry:visible("task.open", ada, filter))
    assert.same({ "Open", ada }, asked)
    assert.equal("hidden", registry:visible("task.open", nil, filter))
    assert.equal("hidden", registry:visible("task.unknown", ada, filter))
  end)

  it("raises on misuse and names the argument", function()
    local registry = registry_with({ name = "open" })
    raises({
      ["bad argument #1 to 'visible' (table expected, got nil)"] = function() registry:visible() end,
      ["bad argument #2 to 'visible' (table expected, got string)"] = function() registry:visible("a.b", "ada") end,
      ["bad argument #3 to 'visible' (table expected, got number)"] = function() registry:visible("a.b", nil, 1) end,
      ["bad option 'tags' to 'visible' (unknown; did you mean tag?)"] = function()
        registry:visible("a.b", nil, { tags = "x" })
      end,
    }, "visible_spec")
  end)
end)

local operations = require("operations")

--- Registers one guarded operation and calls it as `identity`.
local function call(access, identity, input)
  local registry = operations.registry()
  assert(registry:register({
    namespace = "project",
    name = "read",
    accessControl = access,
    handler = function()
      return "secret"
    end,
  }))
  local envelope, err = registry:execute("project.read", input or {}, { identity = identity })
  return envelope and envelope.data or err.code, err
end

local scoped = { requiredScopes = { "project:read", "user" } }
local resource = { requiredScopes = {}, resourceType = "project", resourceAction = "read" }

describe("access control", function()
  it("lets every caller call an operation without requirements", function()
    assert.equal("secret", call({ requiredScopes = {} }, nil))
    assert.equal("secret", call(nil, nil))
  end)

  it("denies a caller without identity when anything is required", function()
    assert.equal("ACCESS_DENIED", (call(scoped, nil)))
    assert.equal("ACCESS_DENIED", (call({ requiredScopesAny = { "a" } }, nil)))
    assert.equal("ACCESS_DENIED", (call(resource, nil)))
  end)

  it("needs every required scope and names the missing one", function()
    assert.equal("secret", call(scoped, { id = "u", scopes = { "user", "project:read", "more" } }))
    local code, err = call(scoped, { id = "u", scopes = { "project:read" } })
    assert.equal("ACCESS_DENIED", code)
    assert.equal("project.read needs scope 'user'", err.message)
    assert.equal("project.read", err.details.operationId)
    assert.same({ "project:read", "user" }, err.details.requiredScopes)
  end)

  it("needs one of the alternative scopes as well", function()
    local access = { requiredScopes = { "a" }, requiredScopesAny = { "b", "c" } }
    assert.equal("secret", call(access, { id = "u", scopes = { "a", "c" } }))
    assert.equal("ACCESS_DENIED", (call(access, { id = "u", scopes = { "a" } })))
    assert.equal("ACCESS_DENIED", (call(access, { id = "u", scopes = { "b", "c" } })))
  end)

  it("denies an identity without scopes instead of failing", function()
    assert.equal("ACCESS_DENIED", (call(scoped, { id = "u" })))
    assert.equal("ACCESS_DENIED", (call(scoped, { id = "u", scopes = "user" })))
  end)

  it("needs the action on some resource of the type", function()
    local function holding(key, action)
      return (call(resource, { id = "u", scopes = {}, resources = { [key] = { action } } }))
    end
    assert.equal("secret", holding("project:7", "read"))
    assert.equal("ACCESS_DENIED", holding("project:7", "write"))
    assert.equal("ACCESS_DENIED", holding("projects:7", "read"))
  end)

  it("looks at the items of lists only, from the first to the last", function()
    local at_zero, items = { [0] = "a" }, { "x", "a", "y" }
    local function access(owned, actions)
      return { id = "u", scopes = owned, resources = { ["project:1"] = actions } }
    end
    for _, rules in ipairs({ { requiredScopes = { "a" } }, { requiredScopesAny = { "b", "a" } },
      { requiredScopesAny = { "a", "b" } }, { resourceType = "project", resourceAction = "a" },
      { resourceType = "project", resourceAction = "a", resourceId = "/id" } }) do
      assert.equal("ACCESS_DENIED", (call(rules, access(at_zero, at_zero), { id = 1 })))
      assert.equal("secret", (call(rules, access(items, items), { id = 1 })))
    end
  end)

  it("denies when resources are missing", function()
    assert.equal("ACCESS_DENIED", (call(resource, { id = "u", scopes = {} })))
  end)

  it("binds the resource to the one the input names", function()
    local bound = { resourceType = "project", resourceAction = "read", resourceId = "/project/id" }
    local resources = { ["project:mine"] = { "read" }, ["project:7"] = { "read" } }
    local identity = { id = "u", scopes = {}, resources = resources }
    assert.equal("secret", call(bound, identity, { project = { id = "mine" } }))
    assert.equal("secret", call(bound, identity, { project = { id = 7 } }))
    assert.equal("ACCESS_DENIED", (call(bound, identity, { project = { id = "SECRET" } })))
    assert.equal("ACCESS_DENIED", (call(bound, identity, { project = {} })))
    assert.equal("ACCESS_DENIED", (call(bound, identity, "mine")))
  end)

  it("names the resource that it denies", function()
    local bound = { resourceType = "project", resourceAction = "read", resourceId = "/project/id" }
    local identity = { id = "u", scopes = {}, resources = { ["project:7"] = { "read" } } }
    local function reason(input)
      local code, err = call(bound, identity, input)
      assert.equal("ACCESS_DENIED", code)
      return err.message
    end
    assert.equal("project.read needs action 'read' on resource 'project:8'", reason({ project = { id = 8 } }))
    assert.equal("project.read needs action 'read' on a resource of type 'project', "
      .. "and the input names none at /project/id", reason({ project = {} }))
    for _, id in ipairs({ true, false, {}, { "7" }, { id = 7 } }) do
      assert.equal(reason({ project = {} }), reason({ project = { id = id } }))
    end
    assert.equal("project.read needs action 'read' on resource type 'project'",
      reason({ project = { id = ("x"):rep(300) } }))
  end)

  it("takes a key with * for that of the resource called *, and says so", function()
    local bound = { resourceType = "project", resourceAction = "read", resourceId = "/id" }
    local identity = { id = "u", scopes = {}, resources = { ["project:*"] = { "read" } } }
    local code, err = call(bound, identity, { id = 8 })
    assert.equal("ACCESS_DENIED", code)
    assert.equal("project.read needs action 'read' on resource 'project:8' ('*' is an id, it does not stand for all)",
      err.message)
    assert.equal("secret", (call(bound, identity, { id = "*" })))
  end)

  it("follows the escapes and indices of a JSON Pointer", function()
    local identity = { id = "u", scopes = {}, resources = { ["project:x"] = { "read" } } }
    local function at(pointer)
      return { resourceType = "project", resourceAction = "read", resourceId = pointer }
    end
    assert.equal("secret", call(at("/a~1b/c~0d"), identity, { ["a/b"] = { ["c~d"] = "x" } }))
    assert.equal("secret", call(at("/list/1"), identity, { list = { "y", "x" } }))
    assert.equal("ACCESS_DENIED", (call(at("/list/0"), identity, { list = { "y", "x" } })))
  end)

  it("finds nothing where a JSON Pointer leads nowhere", function()
    local identity = { id = "u", scopes = {}, resources = { ["project:x"] = { "read" }, ["project:"] = { "read" } } }
    local function at(pointer, input)
      return (call({ resourceType = "project", resourceAction = "read", resourceId = pointer }, identity, input))
    end
    assert.equal("secret", at("/~0~1~0", { ["~/~"] = "x" }))
    assert.equal("secret", at("/a~", { ["a~"] = "x" }))
    assert.equal("secret", at("//", { [""] = { [""] = "x" } }))
    assert.equal("secret", at("/1", { ["1"] = "x" }))
    assert.equal("secret", at("/10", { "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "x" }))
    for _, pointer in ipairs({ "/ids/", "/ids/+0", "/ids/00", "/ids/ 0", "/ids/0000000000", "/list/1x",
      "/list/3", "/list/x", "/x", "/x/x", "/text/0", "/text/x", "/flag/x", "/list/0/0", "/none/0", "/flag", "/" }) do
      assert.equal("ACCESS_DENIED", at(pointer, { ids = { "x" }, list = { "y", "z" }, text = "x", flag = true }))
    end
  end)

  it("lists actions under the keys of one type, whatever else is there", function()
    local function held(resources)
      return (call(resource, { id = "u", scopes = {}, resources = resources }))
    end
    assert.equal("secret", held({ ["project:"] = { "read" } }))
    assert.equal("secret", held({ ["a:1"] = { "read" }, ["project:1"] = { "write", "read" }, ["project:2"] = {} }))
    for _, resources in ipairs({ {}, "project:1", { "project:1" }, { ["project:1"] = "read" }, { ["project:1"] = {} },
      { project = { "read" } }, { ["Project:1"] = { "read" } }, { ["project:1"] = { read = true } },
      { ["project:1"] = { "rea", "reads", 1, true } } }) do
      assert.equal("ACCESS_DENIED", held(resources))
    end
  end)

  it("says what is missing, of a resource whose key is no longer than 200 bytes by that", function()
    local function reason(access, identity, input)
      local code, err = call(access, identity, input)
      assert.equal("ACCESS_DENIED", code)
      return err.message
    end
    local identity = { id = "u", scopes = { "a" }, resources = { ["project:1"] = { "write" } } }
    assert.equal("project.read needs an identity", reason(scoped, nil))
    assert.equal("project.read needs one of the scopes in requiredScopesAny",
      reason({ requiredScopesAny = { "b", "c" } }, identity))
    assert.equal("secret", (call({ requiredScopes = { "a" }, requiredScopesAny = {} }, identity)))
    assert.equal("project.read needs action 'read' on resource type 'project'", reason(resource, identity))
    local bound = { resourceType = "project", resourceAction = "read", resourceId = "/id" }
    for length = 190, 195 do
      local id = ("i"):rep(length)
      local shown = #"project:" + length <= 200
      assert.equal("project.read needs action 'read' on resource " .. (shown and "'project:" .. id .. "'" or
        "type 'project'"), reason(bound, identity, { id = id }))
    end
  end)

  it("is not opened by a field that a caller sets", function()
    local registry = operations.registry()
    assert(registry:register({ namespace = "a", name = "b", accessControl = scoped, handler = print }))
    for _, forged in ipairs({ { trusted = true }, { _trusted = true }, { _parent = {} }, { _registry = registry } }) do
      for _, given in ipairs({ forged, setmetatable(forged, {}) }) do
        local ok, raised = pcall(registry.execute, registry, "a.b", {}, given)
        assert.is_false(ok)
        assert.matches("unknown field", raised, 1, true)
      end
      local envelope, err = registry:execute("a.b", {}, setmetatable({}, { __index = forged }))
      assert.is_nil(envelope)
      assert.equal("ACCESS_DENIED", err.code)
    end
  end)

  it("takes integers of 64 bits for ids", function()
    for _, text in ipairs({ "-9007199254740993", "18446744073709551615" }) do
      local identity = { id = "u", scopes = {}, resources = { ["project:" .. text] = { "read" } } }
      assert.equal("secret", call({ resourceType = "project", resourceAction = "read", resourceId = "/id" }, identity,
        { id = operations.json.decode(text) }))
    end
  end)

  it("takes all bytes of an id, and 7.0 for 7", function()
    local identity = { id = "u", scopes = {}, resources = { ["project:7"] = { "read" } } }
    local access = { resourceType = "project", resourceAction = "read", resourceId = "/id" }
    assert.equal("ACCESS_DENIED", (call(access, identity, { id = "7\0/../8" })))
    assert.equal("secret", (call(access, identity, { id = "7" })))
    assert.equal("secret", (call(access, identity, operations.json.decode('{"id":7.0}'))))
    identity.resources = { ["project:7\0/../8"] = { "read" }, ["project:9007199254740992"] = { "read" } }
    assert.equal("secret", (call(access, identity, { id = "7\0/../8" })))
    assert.equal("secret", (call(access, identity, { id = 2 ^ 53 })))
  end)

  it("cannot be changed through what is told about it", function()
    local registry = operations.registry()
    assert(registry:register({ namespace = "a", name = "b", accessControl = scoped, handler = print }))
    local nobody = { identity = { id = "u", scopes = {} } }
    registry:get_spec("a.b").accessControl.requiredScopes[1] = nil
    registry:list()[1].accessControl.requiredScopes[1] = nil
    local _, err = registry:execute("a.b", {}, nobody)
    err.details.requiredScopes[1], err.details.requiredScopes[2] = nil, nil
    _, err = registry:execute("a.b", {}, nobody)
    assert.equal("ACCESS_DENIED", err.code)
    assert.same({ "project:read", "user" }, err.details.requiredScopes)
  end)

  it("cannot be changed after registration through the definition", function()
    local registry = operations.registry()
    local definition = { namespace = "a", name = "b", accessControl = { requiredScopes = { "x" } }, handler = print }
    assert(registry:register(definition))
    definition.accessControl.requiredScopes[1] = nil
    registry:get_spec("a.b").accessControl = nil
    assert.equal("ACCESS_DENIED", select(2, registry:execute("a.b")).code)
  end)
end)

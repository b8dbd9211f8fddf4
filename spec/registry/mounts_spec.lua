local operations = require("operations")

local ada = { id = "ada", scopes = { "read" } }

local function echo(input)
  return input
end

describe("a mounted registry", function()
  local outer, inner

  local function add(registry, name, fields)
    fields = fields or {}
    fields.namespace, fields.name, fields.handler = "tasks", name, fields.handler or echo
    return assert(registry:register(fields))
  end

  before_each(function()
    outer = operations.registry({ log = function() end })
    inner = operations.registry({ log = function() end })
    assert(outer:mount(inner, { prefix = "team" }))
  end)

  it("is called by its prefix, now and later", function()
    local _, err = outer:execute("team.tasks.echo", { a = 1 })
    assert.equal("no operation 'team.tasks.echo'", err.message)
    add(inner, "echo")
    local envelope = assert(outer:execute("team.tasks.echo", { a = 1 }))
    assert.same({ { a = 1 }, "tasks.echo" }, { envelope.data, envelope.meta.operationId })
    assert.equal(2, outer:env()["team.tasks"].echo({ b = 2 }).data.b)
    inner:unregister("tasks.echo")
    assert.equal("OPERATION_NOT_FOUND", select(2, outer:execute("team.tasks.echo")).code)
  end)

  it("streams and gives pages by its prefix", function()
    add(inner, "watch", { type = "subscription", handler = function()
      coroutine.yield(1)
      coroutine.yield(2)
    end })
    add(inner, "list", { type = "query", handler = function(_, context)
      context.emit("first")
      return "last"
    end })
    local seen = {}
    for event in assert(outer:subscribe("team.tasks.watch")) do
      seen[#seen + 1] = event.data
    end
    for page in assert(outer:pages("team.tasks.list")) do
      seen[#seen + 1] = page.data
    end
    assert.same({ 1, 2, "first", "last" }, seen)
    assert.equal("OPERATION_NOT_FOUND", select(2, outer:pages("team.tasks.no")).code)
  end)

  it("is listed behind what is registered here, which comes first", function()
    add(inner, "echo", { tags = { "x" } })
    add(inner, "hidden", { handler = function() return "inner" end })
    assert(outer:register({ namespace = "team.tasks", name = "hidden", handler = function() return "outer" end }))
    local function ids(filter)
      local list = {}
      for i, spec in ipairs(outer:specs(filter)) do
        list[i] = spec.namespace .. "." .. spec.name
      end
      return list
    end
    assert.same({ "team.tasks.hidden", "team.tasks.echo" }, ids())
    assert.same({ "team.tasks.echo" }, ids({ tag = "x", schemas = false }))
    assert.same({ "team.tasks.hidden", "team.tasks.echo" }, ids({ namespace = "team.tasks" }))
    assert.same({}, ids({ namespace = "tasks" }))
    assert.equal("outer", outer:execute("team.tasks.hidden").data)
    assert.equal("outer", outer:list()[1].handler())
    assert.equal(echo, outer:list()[2].handler)
  end)

  it("is looked up by its prefix, in copies", function()
    add(inner, "echo", { type = "query" })
    assert.equal("team.tasks", outer:get_spec("team.tasks.echo").namespace)
    assert.equal(echo, outer:get("team.tasks.echo").handler)
    assert.equal(echo, outer:get_by_name("team.tasks", "echo").handler)
    assert.equal(echo, outer:get_handler("team.tasks.echo"))
    assert.equal("query", (outer:type_of("team.tasks.echo")))
    assert.equal("tasks", inner:get_spec("tasks.echo").namespace)
    for _, id in ipairs({ "team.tasks.no", "tasks.echo", "team", "team." }) do
      assert.is_nil(outer:get(id))
      assert.is_nil(outer:get_spec(id))
      assert.is_nil(outer:get_handler(id))
      assert.is_nil((outer:type_of(id)))
    end
    assert.is_false(outer:unregister("team.tasks.echo"))
  end)

  it("keeps its own middleware, options and access control", function()
    local strict = operations.registry({ on_mismatch = "fail", middleware = { function(handler)
      return function(input, context)
        return { wrapped = handler(input, context), by = context.identity.id }
      end
    end } })
    assert(outer:mount(strict, { prefix = "strict" }))
    add(strict, "text", { outputSchema = { type = "string" }, handler = function() return "x" end })
    add(strict, "guarded", { accessControl = { requiredScopes = { "read" } } })
    assert.equal("OUTPUT_INVALID", select(2, outer:execute("strict.tasks.text", nil, { identity = ada })).code)
    assert.equal("ACCESS_DENIED", select(2, outer:execute("strict.tasks.guarded")).code)
    assert.equal("ada", outer:execute("strict.tasks.guarded", {}, { identity = ada }).data.by)
    -- What an operation calls through env is trusted in its own registry only.
    assert(outer:register({ namespace = "a", name = "calls", handler = function(_, context)
      return context.env["strict.tasks"].guarded({})
    end }))
    local eve = { id = "eve", scopes = {} }
    assert.equal("ACCESS_DENIED", select(2, outer:execute("a.calls", {}, { identity = eve })).code)
    assert.equal("ada", outer:execute("a.calls", {}, { identity = ada }).data.by)
  end)

  it("is as visible as in itself, and no more", function()
    add(inner, "open", { tags = { "x" } })
    add(inner, "guarded", { accessControl = { requiredScopes = { "read" } } })
    add(inner, "hidden", { _meta = { exposed = false } })
    local function seen(name, identity, filter)
      return outer:visible("team.tasks." .. name, identity, filter)
    end
    assert.same({ "yes", "denied", "yes", "hidden", "hidden" },
      { seen("open"), seen("guarded"), seen("guarded", ada), seen("hidden", ada), seen("no", ada) })
    assert.equal("yes", seen("open", nil, { namespace = "team.tasks", tag = "x" }))
    assert.equal("hidden", seen("open", nil, { namespace = "tasks" }))
    assert.equal("hidden", seen("open", nil, function(spec) return spec.namespace == "tasks" end))
    assert.equal("yes", seen("open", nil, function(spec) return spec.namespace == "team.tasks" end))
    assert.equal("denied", outer:visible(outer:get_spec("team.tasks.guarded")))
  end)

  it("is served to others by its prefix", function()
    add(inner, "echo")
    local here, there = operations.transports.pair()
    local map = operations.call_map(here)
    operations.call_handler(outer, operations.call_map(there))
    assert.equal(5, assert(map:call("team.tasks.echo", { n = 5 })).data.n)
    assert.equal("team.tasks", map:call("services.list").data.operations[1].namespace)
  end)

  it("may route to a call map, and have registries mounted in it", function()
    local far, below = operations.registry(), operations.registry()
    add(far, "remote")
    add(below, "deep")
    local map = operations.call_map()
    operations.call_handler(far, map)
    inner:route(map)
    assert(inner:mount(below, { prefix = "below" }))
    assert.equal(1, outer:execute("team.tasks.remote", { n = 1 }).data.n)
    assert.equal(2, outer:execute("team.below.tasks.deep", { n = 2 }).data.n)
    assert.equal("team.below.tasks", outer:specs()[1].namespace)
    assert.is_true(outer:routes_to(map))
    assert.is_false(below:routes_to(map))
  end)

  it("cannot be mounted in itself, nor where another one is", function()
    local below = operations.registry()
    assert(inner:mount(below, { prefix = "below" }))
    for _, other in ipairs({ outer, inner, below }) do
      local ok, err = below:mount(other, { prefix = "x" })
      assert.is_nil(ok)
      assert.equal("VALIDATION_ERROR: a registry cannot be mounted in itself (prefix \"x\")", tostring(err))
    end
    for _, prefix in ipairs({ "team", "team.tasks", "", "a b" }) do
      local ok, err = outer:mount(operations.registry(), { prefix = prefix })
      assert.is_nil(ok)
      assert.equal("/prefix", err.details[1].path)
    end
    local _, err = outer:mount(operations.registry(), { prefix = "team.tasks" })
    assert.equal('VALIDATION_ERROR: the prefix "team.tasks" overlaps with that of another mount, "team"', tostring(err))
    assert.is_true(outer:mount(operations.registry(), { prefix = "teams" }))
    assert.has_error(function() outer:mount({}, { prefix = "x" }) end,
      "bad argument #1 to 'mount' (registry expected, got table)")
    assert.is_nil((outer:mount(operations.registry(), {})))
  end)
end)

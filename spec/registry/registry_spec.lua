local compat = require("operations.base.compat")
local core = require("operations.core")
local members = require("operations.base.members")
local operations = require("operations")
local raises = require("spec.support.raises")
local schemas = require("operations.schema")

local function echo(input)
  return input
end

local function definition(fields)
  return members.merged({ namespace = "task", name = "create", handler = echo }, fields)
end

describe("a registry", function()
  local registry

  before_each(function()
    registry = operations.registry({ log = function() end })
  end)

  it("names the wrong argument of its functions in C", function()
    local parts = core.registry()
    local operation = parts:operation({ namespace = "a", name = "b" })
    raises({
      ["bad argument #1 to 'registry' (invalid option 'maybe')"] = function() core.registry("maybe") end,
      ["bad argument #1 to 'operation' (table expected, got number)"] = function() parts:operation(1) end,
      ["bad argument #2 to 'operation' (compiled schema expected)"] = function() parts:operation({}, {}) end,
      ["bad argument #3 to 'operation' (compiled schema expected)"] = function() parts:operation({}, nil, {}) end,
      ["bad argument #1 to 'put' (operations.operation expected, got nil)"] = function() parts:put(nil) end,
      ["bad argument #1 to 'set_handler' (function expected, got number)"] = function() operation:set_handler(1) end,
      ["bad argument #1 to 'make' (table expected, got number)"] = function() operation:make(1) end,
      ["bad argument #2 to 'make' (compiled schema expected)"] = function() operation:make({}, {}) end,
      ["bad argument #3 to 'make' (compiled schema expected)"] = function() operation:make({}, nil, 1) end,
      ["bad argument #1 to 'flaw' (value expected)"] = function() operation:flaw() end,
      ["bad argument #1 to 'field' (string expected, got table)"] = function() operation:field({}) end,
      ["bad argument #1 to 'admit' (operation expected)"] = function() parts:admit("a.c", {}) end,
    })
  end)

  it("has functions in C that take registries and operations only", function()
    local parts = core.registry()
    local operation = parts:operation({ namespace = "a", name = "b" })
    for kind, object in pairs({ registry = parts, operation = operation }) do
      for name, method in pairs(getmetatable(object).__index) do
        for _, other in ipairs({ {}, "x", core.trust(), kind == "registry" and operation or parts, io.stdout }) do
          local ok, raised = pcall(method, other, "a.b", {})
          assert.is_false(ok, name)
          assert.matches(("operations.%s expected"):format(kind), raised, 1, true)
        end
      end
    end
  end)

  it("knows which handlers take a context", function()
    local handlers = operations.registry()
    for i, case in ipairs({ { function() end, false }, { function(_) end, false }, { function(_, _) end, true },
      { function(...) return ... end, true }, { print, true } }) do
      assert(handlers:register({ namespace = "a", name = "n" .. i, handler = case[1] }))
      assert.equal(case[2], select(3, handlers:type_of("a.n" .. i)))
    end
  end)

  it("describes an operation", function()
    local parts = core.registry()
    local function told(name, spec, ...)
      spec.namespace, spec.name = "a", name
      local operation = parts:operation(spec)
      if select("#", ...) > 0 then
        operation:set_handler(...)
      end
      parts:put(operation)
      return { parts:type_of("a." .. name) }
    end
    assert.same({ "query", true, false }, told("a", {}))
    assert.same({ "mutation", true, false }, told("b", { type = "mutation" }, print))
    assert.same({ "subscription", true, true }, told("c", { type = "subscription" }, print, true))
    assert.same({ "query", false, false }, told("d", { type = "query", _meta = { exposed = false } }, print, false))
    assert.same({ "query", true, true }, told("e", { _meta = { exposed = true } }, print, 0))
    assert.same({ nil, true, false, n = 3 }, compat.pack(parts:type_of("a.f")))
    assert.same({ nil, true, false, n = 3 }, compat.pack(parts:type_of(nil)))
    assert.same({ "a.d", "none", "none" }, { parts:find("a.d", "more"):id(), parts:find("a.f") or "none",
      parts:find({}) or "none" })
  end)

  it("has an operation once, which may come again when it was removed or replaced", function()
    local parts = core.registry()
    local function operation_of(name)
      return parts:operation({ namespace = "a", name = name })
    end
    local first, second, other = operation_of("b"), operation_of("b"), operation_of("c")
    local function ids()
      local list = {}
      for i, operation in ipairs(parts:select(nil, "more")) do
        list[i] = operation:id() .. (operation == second and " 2" or "")
      end
      return list
    end
    parts:put(first, "more")
    parts:put(other)
    assert.error_matches(function() parts:put(first) end, "operation is registered")
    parts:put(second)
    assert.same({ "a.b 2", "a.c" }, ids())
    assert.error_matches(function() parts:put(second) end, "operation is registered")
    parts:put(first)
    assert.same({ "a.b", "a.c" }, ids())
    assert.same({ true, false, false }, { parts:remove("a.b", "more"), parts:remove("a.b"), parts:remove(1) })
    parts:put(second)
    assert.same({ "a.c", "a.b 2" }, ids())
    assert.is_true(parts:remove("a.b"))
    parts:put(second)
    assert.same({ "a.c", "a.b 2" }, ids())
  end)

  it("prepares a call, or says why it cannot run", function()
    local parts = core.registry()
    local input, ada = { n = 1 }, { id = "ada", scopes = { "s" } }
    local function put(name, fields)
      local operation = parts:operation(members.merged({ namespace = "a", name = name }, fields), fields.input)
      if fields.handler then
        operation:set_handler(fields.handler, fields.looks)
      end
      parts:put(operation)
      return operation
    end
    local plain, looks = put("plain", { handler = echo }), put("looks", { handler = echo, looks = true })
    local closed = put("closed", { handler = echo, accessControl = { requiredScopes = { "s" } } })
    local unmade = put("unmade", { handler = echo, inputSchema = function() end })
    local stream = put("stream", { handler = echo, type = "subscription" })
    local strict = put("strict", { handler = echo, input = assert(schemas.compile({ type = "object" })) })
    put("far", {})
    for id, expected in pairs({
      ["a.plain"] = { echo, input, plain, n = 3 }, ["a.looks"] = { echo, input, looks, true, n = 4 },
      ["a.unmade"] = { nil, nil, unmade, n = 3 }, ["a.strict"] = { echo, input, strict, n = 3 }, ["a.far"] = { n = 0 },
      ["a.none"] = { n = 0 },
    }) do
      assert.same(expected, compat.pack(parts:prepare(id, input)), id)
      assert.same(expected, compat.pack(parts:prepare(id, input, ada, nil, "more")), id)
    end
    local function code(handler, err, operation)
      assert.is_nil(operation)
      return { handler, err.code }
    end
    assert.same({ nil, "ACCESS_DENIED" }, code(parts:prepare("a.closed", input)))
    assert.same({ nil, "VALIDATION_ERROR" }, code(parts:prepare("a.strict", "x")))
    assert.same({ nil, "EXECUTION_ERROR" }, code(parts:prepare("a.stream", input)))
    assert.same({ nil, "EXECUTION_ERROR" }, code(parts:prepare_stream("a.plain", input)))
    assert.same({ echo, input, stream, n = 3 }, compat.pack(parts:prepare_stream("a.stream", input)))
    for _, trusted in ipairs({ { ada }, { nil, core.trust() } }) do
      assert.same({ echo, input, closed, n = 3 }, compat.pack(parts:prepare("a.closed", input, trusted[1], trusted[2])))
    end
    assert.same({ nil, "ACCESS_DENIED" }, code(parts:prepare("a.closed", input, nil, io.stdout)))
    -- Elsewhere access is checked there, and whether there is a handler is not known here.
    for _, id in ipairs({ "a.plain", "a.closed", "a.strict", "a.far" }) do
      assert.same({ true, input, n = 2 }, compat.pack(parts:admit(id, input, false, "more")), id)
    end
    assert.same({ true, input, n = 2 }, compat.pack(parts:admit("a.stream", input, true)))
    assert.same({ nil, "EXECUTION_ERROR" }, code(parts:admit("a.stream", input)))
    assert.same({ nil, "VALIDATION_ERROR" }, code(parts:admit("a.strict", "x")))
    assert.same({ nil, nil, unmade, n = 3 }, compat.pack(parts:admit("a.unmade", input)))
  end)

  it("says of an operation or a spec whether it may be seen", function()
    local parts = core.registry()
    local spec = { namespace = "a", name = "b", tags = { "t" }, accessControl = { requiredScopes = { "s" } } }
    parts:put(parts:operation(spec))
    local ada = { id = "ada", scopes = { "s" } }
    for _, what in ipairs({ "a.b", spec }) do
      assert.equal("denied", parts:visible(what))
      assert.equal("yes", parts:visible(what, ada))
      assert.equal("yes", parts:visible(what, ada, { tag = "t" }, "more"))
      assert.equal("hidden", parts:visible(what, ada, { tag = "u" }))
    end
    for _, what in ipairs({ "a.c", 1, true }) do
      assert.equal("hidden", parts:visible(what, ada))
    end
  end)

  it("calls what was registered", function()
    assert.equal("task.create", registry:register(definition()))
    local envelope = assert(registry:execute("task.create", { title = "x" }))
    assert.same({ title = "x" }, envelope.data)
    assert.equal("task.create", envelope.meta.operationId)
  end)

  it("fills in a spec's defaults", function()
    assert(registry:register(definition()))
    local spec = registry:get_spec("task.create")
    assert.equal("1.0.0", spec.version)
    assert.equal("", spec.description)
    assert.equal("mutation", spec.type)
    assert.is_true(spec.inputSchema)
    assert.is_true(spec.outputSchema)
    assert.same({}, spec.accessControl.requiredScopes)
    assert.is_nil(spec.handler)
  end)

  it("refuses a bad spec with every issue by its path", function()
    local id, err = registry:register({
      namespace = "",
      type = "stream",
      tags = { 1 },
      inputSchema = { type = "strin" },
      handler = "print",
      inputschema = true,
      on_mismatch = "raise",
      normalize = "always",
    })
    assert.is_nil(id)
    assert.equal("VALIDATION_ERROR", err.code)
    local paths = {}
    for _, issue in ipairs(err.details) do
      assert.is_string(issue.message)
      paths[issue.path] = true
    end
    for _, path in ipairs({ "/namespace", "/name", "/type", "/tags/0", "/handler", "/inputschema", "/on_mismatch",
      "/normalize" }) do
      assert.is_true(paths[path], "no issue for " .. path)
    end
  end)

  it("says which field or name was expected", function()
    local function complaint(fields)
      local _, err = operations.registry():register(fields)
      return (tostring(err):gsub("^.-spec of ", ""))
    end
    assert.equal("a.b: /handlr: unknown field (did you mean handler?)",
      complaint({ namespace = "a", name = "b", handlr = print }))
    assert.equal("a.b: /x: unknown field; expected one of _meta, accessControl, description, errorSchemas, fill, "
      .. "handler, inputSchema, name, namespace, normalize, on_mismatch, outputSchema, tags, "
      .. "title, type, validate, version",
      complaint({ namespace = "a", name = "b", x = 1 }))
    assert.equal('a.b c: /name: expected a name without blanks and control characters, got "b c"',
      complaint({ namespace = "a", name = "b c" }))
    assert.equal(".b: /namespace: expected at least 1 character, got 0", complaint({ namespace = "", name = "b" }))
  end)

  it("refuses an invalid schema, by its path", function()
    local _, err = registry:register(definition({ inputSchema = { properties = { a = { type = "strin" } } } }))
    assert.equal("VALIDATION_ERROR", err.code)
    assert.equal("/inputSchema/properties/a/type", err.details[1].path)
  end)

  it("refuses a resource type without an action and an action without a type", function()
    assert.is_nil((registry:register(definition({ accessControl = { resourceType = "project" } }))))
    assert.is_nil((registry:register(definition({ accessControl = { resourceAction = "read" } }))))
    assert.is_nil((registry:register(definition({ accessControl = { resourceId = "/id" } }))))
    assert.is_nil((registry:register(definition({ accessControl = { requiredScope = { "typo" } } }))))
    assert.equal(0, #registry:list())
  end)

  it("refuses a second operation of the same id unless told to replace", function()
    assert(registry:register(definition()))
    local id, err = registry:register(definition())
    assert.is_nil(id)
    assert.equal("VALIDATION_ERROR", err.code)
    assert(registry:register(definition({ title = "new" }), { replace = true }))
    assert.equal("new", registry:get("task.create").title)
    assert.equal(1, #registry:list())
  end)

  it("keeps no handler of what was replaced", function()
    assert(registry:register(definition()))
    assert(registry:register_spec({ namespace = "task", name = "create" }, { replace = true }))
    assert.is_nil(registry:get_handler("task.create"))
    assert.equal("OPERATION_NOT_FOUND", select(2, registry:execute("task.create")).code)
  end)

  it("takes a handler later", function()
    assert(registry:register_spec({ namespace = "task", name = "create" }))
    local _, err = registry:execute("task.create")
    assert.equal("OPERATION_NOT_FOUND", err.code)
    assert.equal("operation 'task.create' has no handler", err.message)
    assert(registry:register_handler("task.create", function() return 7 end))
    assert.equal(7, registry:execute("task.create").data)
    assert.equal("OPERATION_NOT_FOUND", select(2, registry:register_handler("no.such", echo)).code)
  end)

  it("registers a list whole or not at all", function()
    local ids, err = registry:register_all({ definition(), definition({ name = "" }), definition() })
    assert.is_nil(ids)
    assert.equal("/1/name", err.details[1].path)
    assert.equal("/2/name", err.details[2].path)
    assert.equal(0, #registry:list())
    assert.same({ "task.create", "task.drop" }, registry:register_all({ definition(), definition({ name = "drop" }) }))
  end)

  it("forgets an operation", function()
    assert(registry:register_all({ definition({ name = "a" }), definition(), definition({ name = "b" }) }))
    assert.is_true(registry:unregister("task.create"))
    assert.equal("a", registry:list()[1].name)
    assert.equal("b", registry:list()[2].name)
    assert.equal(2, #registry:specs())
    assert.is_false(registry:unregister("task.create"))
    assert.is_nil(registry:get("task.create"))
    assert.equal("OPERATION_NOT_FOUND", select(2, registry:execute("task.create")).code)
  end)

  it("lists in the order of registration, filtered", function()
    assert(registry:register(definition({ name = "z", type = "query", tags = { "a" } })))
    assert(registry:register(definition({ name = "a", type = "mutation" })))
    assert(registry:register(definition({ namespace = "user", name = "m", tags = { "a", "b" } })))
    local function names(filter)
      local result = {}
      for i, spec in ipairs(registry:specs(filter)) do
        assert.is_nil(spec.handler)
        result[i] = spec.name
      end
      return result
    end
    assert.same({ "z", "a", "m" }, names())
    assert.same({ "z", "a" }, names({ namespace = "task" }))
    assert.same({ "a", "m" }, names({ type = "mutation" }))
    assert.same({ "z" }, names({ type = "query" }))
    assert.same({ "z", "m" }, names({ tag = "a" }))
    assert.equal("m", registry:get_by_name("user", "m").name)
    assert.is_function(registry:list()[1].handler)
    assert.error_matches(function()
      registry:list({ namespce = "task" })
    end, "bad option 'namespce' to 'list' %(unknown; did you mean namespace%?%)")
  end)

  it("keeps its specs to itself, all the way down", function()
    local title = { type = "string" }
    local mine = definition({
      tags = { "a" }, accessControl = { requiredScopes = { "x" } }, _meta = { http = { path = "/" } },
      inputSchema = { type = "object", properties = { title = title, name = title } },
      errorSchemas = { { code = "GONE", schema = { type = "object" } } },
    })
    local function change(spec)
      spec.tags[1], spec.accessControl.requiredScopes[1], spec._meta.http.path = "z", nil, "/changed"
      spec.inputSchema.properties.title.type, spec.errorSchemas[1].schema.type = "integer", "null"
    end
    local function check()
      local spec = registry:get_spec("task.create")
      assert.same({ "a" }, spec.tags)
      assert.same({ "x" }, spec.accessControl.requiredScopes)
      assert.equal("/", spec._meta.http.path)
      assert.equal("string", spec.inputSchema.properties.title.type)
      assert.equal(spec.inputSchema.properties.title, spec.inputSchema.properties.name)
      assert.equal("object", spec.errorSchemas[1].schema.type)
      assert.equal(1, #registry:specs({ tag = "a" }))
      assert.equal("ACCESS_DENIED", select(2, registry:execute("task.create", {})).code)
    end
    assert(registry:register(mine))
    for _, give in ipairs({
      function() return mine end,
      function() return registry:get_spec("task.create") end,
      function() return registry:get("task.create") end,
      function() return registry:specs()[1] end,
      function() return registry:list()[1] end,
      function() return registry:get_by_name("task", "create") end,
    }) do
      change(give())
      check()
    end
    change = function(spec) spec.tags[1], spec._meta.http.path = "z", "/changed" end
    change(registry:specs({ schemas = false })[1])
    check()
  end)

  it("gives middleware a copy of the spec", function()
    registry = operations.registry({ middleware = { function(handler, spec)
      spec.tags[1] = "changed"
      return handler
    end } })
    assert(registry:register(definition({ tags = { "a" } })))
    assert(registry:register_handler("task.create", echo))
    assert.same({ "a" }, registry:get_spec("task.create").tags)
  end)

  it("copies a spec, so that no table is shared", function()
    local mine = definition({ title = "one" })
    assert(registry:register(mine))
    mine.title = "two"
    registry:get("task.create").title = "three"
    assert.equal("one", registry:get("task.create").title)
  end)

  it("keeps its order however many come and go", function()
    local expected = {}
    for i = 1, 301 do
      assert(registry:register(definition({ name = "o" .. i })))
    end
    for i = 1, 301 do
      if i % 7 ~= 0 then
        assert.is_true(registry:unregister("task.o" .. i))
        assert.is_false(registry:unregister("task.o" .. i))
      else
        expected[#expected + 1] = "o" .. i
      end
    end
    assert(registry:register(definition({ name = "o1" })))
    assert(registry:register(definition({ name = "o7" }), { replace = true }))
    expected[#expected + 1] = "o1"
    for i, spec in ipairs(registry:specs()) do
      assert.equal(expected[i], spec.name)
      assert(registry:execute("task." .. spec.name))
    end
    assert.equal(#expected, #registry:list())
  end)

  it("may be changed by a schema function that a list calls", function()
    for i = 1, 3 do
      assert(registry:register(definition({ name = "o" .. i, inputSchema = function()
        registry:unregister("task.o" .. i)
        assert(registry:register(definition({ name = "new" .. i })))
        return true
      end })))
    end
    assert.equal(3, #registry:specs())
    assert.same({ "new1", "new2", "new3" }, { registry:specs()[1].name, registry:specs()[2].name,
      registry:specs()[3].name })
  end)

  it("answers a call as what was called, whatever is registered in the meantime", function()
    for _, change in ipairs({
      function() registry:unregister("task.slow") end,
      function() assert(registry:register(definition({ name = "slow", outputSchema = false }), { replace = true })) end,
    }) do
      assert(registry:register(definition({
        name = "slow", outputSchema = { type = "object", properties = { n = { type = "integer" } } },
        handler = function()
          change()
          collectgarbage()
          collectgarbage()
          return { n = "1", more = true }
        end,
      }), { replace = true }))
      local envelope = assert(registry:execute("task.slow"))
      assert.same({ n = 1 }, envelope.data)
      assert.equal("task.slow", envelope.meta.operationId)
    end
  end)

  it("says which operation is missing", function()
    local envelope, err = registry:execute("no.such", {})
    assert.is_nil(envelope)
    assert.equal("OPERATION_NOT_FOUND: no operation 'no.such'", tostring(err))
    assert.equal("no.such", err.details.operationId)
  end)

  it("says which operation may be meant, but not to a handler", function()
    local shop = operations.registry()
    shop:register({ namespace = "shop", name = "items", handler = function() end })
    shop:register({ namespace = "shop", name = "watch", type = "subscription", handler = function() end })
    for id, near in pairs({ ["shop.itms"] = "items", ["store.items"] = "items", ["shop.Watch"] = "watch" }) do
      for _, method in ipairs({ "execute", "subscribe" }) do
        local _, err = shop[method](shop, id, {})
        assert.equal(("OPERATION_NOT_FOUND: no operation '%s' (did you mean shop.%s?)"):format(id, near), tostring(err))
      end
    end
    shop:register({ namespace = "shop", name = "nested", handler = function(_, context)
      return select(2, context.env.shop.itms({})).message
    end })
    assert.equal("no operation 'shop.itms'", shop:execute("shop.nested").data)
  end)

  it("asks the call map for operations without a handler here", function()
    local asked
    registry:route({
      call = function(_, id, input, options)
        asked = { id, input, options }
        return "envelope"
      end,
      subscribe = print,
    })
    local identity = { id = "u", scopes = {} }
    assert.equal("envelope", registry:execute("far.away", { 1 }, { identity = identity, deadline = 1e15 }))
    assert.equal("far.away", asked[1])
    assert.same({ 1 }, asked[2])
    assert.equal(identity, asked[3].identity)
    assert.equal(1e15, asked[3].deadline)
  end)

  it("routes to nothing but a call map", function()
    for _, no_map in ipairs({ {}, { call = print }, { subscribe = print } }) do
      assert.error_matches(function()
        registry:route(no_map)
      end, "bad argument #1 to 'route' %(call map expected, got table%)")
    end
  end)

  it("checks the input of a known spec before it is sent elsewhere, but not access", function()
    local sent
    local function send(_, _, input)
      sent = input
      return "envelope"
    end
    registry:route({ call = send, subscribe = send })
    assert(registry:register_spec({
      namespace = "far", name = "away", type = "query", accessControl = { requiredScopes = { "x" } },
      inputSchema = function() return { type = "object", properties = { n = { type = "integer", default = 1 } } } end,
    }))
    assert.equal("VALIDATION_ERROR", select(2, registry:execute("far.away", { n = "x" })).code)
    assert.is_nil(sent)
    assert.equal("envelope", registry:execute("far.away"))
    assert.same({ n = 1 }, sent)
    assert.equal("EXECUTION_ERROR: far.away is a query: use registry:execute",
      tostring(select(2, registry:subscribe("far.away"))))
  end)

  it("refuses to execute a subscription and to subscribe to a query", function()
    assert(registry:register(definition({ type = "subscription" })))
    assert(registry:register(definition({ name = "get", type = "query" })))
    assert.equal("EXECUTION_ERROR: task.create is a subscription: use registry:subscribe",
      tostring(select(2, registry:execute("task.create"))))
    assert.equal("EXECUTION_ERROR: task.get is a query: use registry:execute",
      tostring(select(2, registry:subscribe("task.get"))))
  end)

  it("raises on misuse and names the argument", function()
    raises({
      ["bad argument #1 to 'register' (table expected, got nil)"] = function() registry:register() end,
      ["bad argument #1 to 'execute' (string expected, got nil)"] = function() registry:execute() end,
      ["bad argument #1 to 'subscribe' (string expected, got table)"] = function() registry:subscribe({}) end,
      ["bad option 'namespce' to 'list' (unknown; did you mean namespace?)"] = function()
        registry:list({ namespce = "task" })
      end,
      ["bad option 'schemas' to 'specs' (boolean expected, got number)"] = function()
        registry:specs({ schemas = 1 })
      end,
      ["bad argument #1 to 'route' (call map expected, got userdata)"] = function() registry:route(io.stdout) end,
      ["bad argument #1 to 'route' (call map expected, got table)"] = function() registry:route({}) end,
      ["bad argument #1 to 'route' (call map expected, got number)"] = function() registry:route(1) end,
      ["calling 'execute' on bad self (registry expected, got table)"] = function() registry.execute({}) end,
      ["calling 'subscribe' on bad self (registry expected, got table)"] = function() registry.subscribe({}) end,
      ["calling 'pages' on bad self (registry expected, got string)"] = function() registry.pages("a.b") end,
      ["calling 'env' on bad self (registry expected, got nil)"] = function() registry.env() end,
      ["calling 'route' on bad self (registry expected, got table)"] = function() registry.route({}) end,
      ["calling 'get' on bad self (registry expected, got string)"] = function() registry.get("a.b") end,
      ["calling 'specs' on bad self (registry expected, got nil)"] = function() registry.specs() end,
      ["calling 'list' on bad self (registry expected, got table)"] = function() registry.list({}) end,
      ["calling 'register' on bad self (registry expected, got table)"] = function() registry.register({}) end,
      ["bad argument 'context' (table expected, got number)"] = function() registry:subscribe("a.b", nil, 1) end,
      ["bad argument #1 to 'unregister' (string expected, got number)"] = function() registry:unregister(1) end,
      ["bad argument #1 to 'register_all' (table expected, got nil)"] = function() registry:register_all() end,
      ["bad argument #2 to 'register_handler' (function expected, got nil)"] = function()
        registry:register_handler("a.b")
      end,
      ["bad argument #1 to 'register_spec' (a spec has no handler; use register)"] = function()
        registry:register_spec(definition())
      end,
      ["bad option 'normalise' to 'registry' (unknown; did you mean normalize?)"] = function()
        operations.registry({ normalise = "cast" })
      end,
      ["bad option 'log' to 'registry' (function expected, got string)"] = function()
        operations.registry({ log = "x" })
      end,
      ["bad option 'on_mismatch' to 'registry' (\"warn\" or \"fail\" expected)"] = function()
        operations.registry({ on_mismatch = "raise" })
      end,
      ["bad option 'normalize' to 'registry' (\"cast\", \"force\" or \"off\" expected)"] = function()
        operations.registry({ normalize = "maybe" })
      end,
    }, "registry_spec")
  end)
end)

describe("schemas that are functions", function()
  local registry, made

  local function counted(name, schema)
    return function()
      made[name] = (made[name] or 0) + 1
      return schema
    end
  end

  before_each(function()
    made = {}
    registry = operations.registry({ log = function() end })
    assert(registry:register(definition({
      inputSchema = counted("input", { type = "object", required = { "title" } }),
      outputSchema = counted("output", { type = "object", properties = { title = { type = "string" } } }),
      errorSchemas = counted("errors", { { code = "NOT_FOUND" } }),
    })))
  end)

  it("are made when the operation is first called, once", function()
    assert.same({}, made)
    assert.same({ title = "x" }, assert(registry:execute("task.create", { title = "x", more = 1 })).data)
    local _, err = registry:execute("task.create", {})
    assert.equal("VALIDATION_ERROR: /title: required, but missing", tostring(err))
    assert.same({ input = 1, output = 1, errors = 1 }, made)
  end)

  it("are made when the spec is read", function()
    assert.same({ "title" }, registry:get_spec("task.create").inputSchema.required)
    assert.same({ "title" }, registry:get("task.create").inputSchema.required)
    assert.equal("NOT_FOUND", registry:specs()[1].errorSchemas[1].code)
    assert.is_table(registry:list()[1].outputSchema)
    assert.same({ input = 1, output = 1, errors = 1 }, made)
  end)

  it("stay unmade in a list that leaves schemas out", function()
    assert(registry:register(definition({ name = "drop", inputSchema = { type = "object" } })))
    local list = registry:specs({ schemas = false })
    assert.same({ "create", "drop" }, { list[1].name, list[2].name })
    assert.is_nil(list[2].inputSchema)
    assert.is_function(registry:list({ schemas = false })[1].handler)
    assert.same({}, made)
  end)

  it("are made after access was granted, not before", function()
    assert(registry:register(definition({
      name = "drop", inputSchema = counted("drop", true), accessControl = { requiredScopes = { "admin" } },
    })))
    assert.equal("ACCESS_DENIED", select(2, registry:execute("task.drop")).code)
    assert.is_nil(made.drop)
    assert(registry:execute("task.drop", {}, { identity = { id = "u", scopes = { "admin" } } }))
    assert.equal(1, made.drop)
  end)

  it("may return nothing, which accepts everything", function()
    assert(registry:register(definition({ name = "drop", inputSchema = counted("drop") })))
    assert.equal(7, assert(registry:execute("task.drop", 7)).data)
    assert.is_true(registry:get_spec("task.drop").inputSchema)
  end)

  it("serve subscriptions too", function()
    assert(registry:register(definition({
      name = "watch", type = "subscription", outputSchema = counted("watch", { type = "integer" }),
      handler = function() coroutine.yield("1") end,
    })))
    for envelope in assert(registry:subscribe("task.watch")) do
      assert.equal(1, envelope.data)
    end
    assert.equal(1, made.watch)
  end)

  it("serve the pages of a query, and fail where its handler does", function()
    assert(registry:register(definition({ name = "list", type = "query", handler = function(input, context)
      context.emit("first")
      if input.fails then
        return nil, operations.error("GONE", "no more")
      end
    end, inputSchema = {}, outputSchema = {} })))
    local pages = assert(registry:pages("task.list", {}))
    assert.equal("first", pages:next().data)
    assert.is_nil(pages:next().data)
    assert.is_nil(pages:next())
    pages = assert(registry:pages("task.list", { fails = true }))
    assert.equal("first", pages:next().data)
    local page, err = pages:next()
    assert.is_nil(page)
    assert.equal("GONE: no more", tostring(err))
  end)

  it("tell their errors to the first failure", function()
    assert(registry:register(definition({
      name = "drop", errorSchemas = counted("errors", { { code = "GONE" } }),
      handler = function() error("GONE: long ago") end,
    })))
    assert.equal("GONE: long ago", tostring(select(2, registry:execute("task.drop"))))
  end)

  describe("and turn out to be none", function()
    local function flawed(fields)
      fields.name = "flawed"
      assert(registry:register(definition(fields)))
    end

    it("make the operation fail with every issue by its path", function()
      flawed({ inputSchema = counted("input", { properties = { a = { type = "strin" } } }) })
      for _ = 1, 2 do
        local envelope, err = registry:execute("task.flawed")
        assert.is_nil(envelope)
        assert.equal("EXECUTION_ERROR", err.code)
        assert.matches("task.flawed cannot be used: /inputSchema/properties/a/type: ", err.message, 1, true)
        assert.equal("/inputSchema/properties/a/type", err.details.issues[1].path)
        assert.equal("task.flawed", err.details.operationId)
      end
      assert.equal(1, made.input)
      assert.equal("EXECUTION_ERROR", select(2, registry:get_spec("task.flawed")).code)
    end)

    it("are what the function raised", function()
      flawed({ outputSchema = function() error("no such file", 0) end })
      assert.equal("EXECUTION_ERROR: task.flawed cannot be used: /outputSchema: no such file",
        tostring(select(2, registry:execute("task.flawed"))))
    end)

    it("may be of the wrong type", function()
      flawed({ errorSchemas = function() return { { description = "no code" } } end })
      assert.equal("/errorSchemas/0/code", select(2, registry:get("task.flawed")).details.issues[1].path)
    end)

    it("cost no other operation its place in the list", function()
      flawed({ inputSchema = function() return "string" end })
      local specs, flaws = registry:specs()
      assert.equal(1, #specs)
      assert.equal("create", specs[1].name)
      assert.equal("task.flawed", flaws[1].details.operationId)
      assert.equal(1, #select(2, registry:list()))
      assert.equal(2, #registry:specs({ schemas = false }))
    end)
  end)
end)

describe("registry:on_revision", function()
  it("tells of what is registered and removed, here and in what is mounted", function()
    local registry, other, count = operations.registry(), operations.registry(), 0
    registry:on_revision(function()
      count = count + 1
    end)
    local revision = registry:revision()
    local function changed(times)
      local found, newer = count, registry:revision()
      assert.equal(times > 0, newer > revision)
      count, revision = 0, newer
      assert.equal(times, found)
    end
    assert(registry:register({ namespace = "a", name = "b" }))
    changed(1)
    assert(registry:register_all({ { namespace = "a", name = "c" }, { namespace = "a", name = "d" } }))
    changed(1)
    assert.is_nil(registry:register({ namespace = "a", name = "b" }))
    changed(0)
    registry:unregister("a.b")
    changed(1)
    registry:unregister("a.b")
    changed(0)
    assert(registry:mount(other, { prefix = "far" }))
    changed(1)
    assert(other:register({ namespace = "a", name = "b" }))
    changed(1)
    local again = 0
    local stop = registry:on_revision(function()
      again = again + 1
    end)
    registry:unregister("far.a.b")
    assert(other:register({ namespace = "a", name = "c" }))
    stop()
    stop()
    assert(other:register({ namespace = "a", name = "d" }))
    assert.equal(1, again)
    changed(2)
    assert.error_matches(function() registry:on_revision(1) end, "bad argument #1 to 'on_revision' %(function expected")
  end)

  it("is collected with its handlers and what they refer to", function()
    local kept = setmetatable({}, { __mode = "k" })
    for _, type_of in ipairs({ "query", "subscription" }) do
      local state, registry = {}, operations.registry()
      kept[state] = true
      assert(registry:register({ namespace = "a", name = "b", type = type_of, handler = function()
        return #state, registry
      end }))
    end
    for _ = 1, 3 do
      collectgarbage()
    end
    assert.is_nil(next(kept))
  end)
end)

local config = require("operations.mcp.client.config")
local definitions = require("operations.mcp.client.definitions")
local json = require("operations.base.json")
local operations = require("operations")

-- The definitions of tools as a client would make them, their plans and what is told.
local function of_tools(tools, more, modern, url)
  local given = { namespace = "n", [url and "url" or "command"] = url or "true" }
  for name, value in pairs(more or {}) do
    given[name] = value
  end
  local client = { name = "s", _config = config.check("s", given), _session = { modern = modern or false } }
  local told = {}
  local list, plans = definitions.of_tools(client, json.decode(tools), function(tool, problem)
    told[#told + 1] = tool .. ": " .. problem
  end)
  return list, plans, told
end

local function one(tool, more)
  local list, plans, told = of_tools("[" .. tool .. "]", more)
  local definition = list[1]
  return definition, definition and plans[definition._meta.tool], told
end

describe("the definition of a tool", function()
  it("has its name, texts and schemas", function()
    local made = one([[{"name":"a b","title":"T","description":"D","inputSchema":{"type":"object"},
      "outputSchema":{"type":"object","required":["x"]}}]])
    assert.same({ "n", "a_b", "mutation", "T", "D", { type = "object" }, { type = "object", required = { "x" } } },
      { made.namespace, made.name, made.type, made.title, made.description, made.inputSchema, made.outputSchema })
  end)

  it("is described by what there is: its description, title or name", function()
    assert.equal("T", one('{"name":"a","title":"T","inputSchema":{}}').description)
    assert.equal("a", one('{"name":"a","title":7,"description":{},"inputSchema":{}}').description)
    assert.equal("H", one('{"name":"a","annotations":{"title":"H"},"inputSchema":{}}').title)
    assert.equal("T", one('{"name":"a","title":"T","annotations":{"title":"H"},"inputSchema":{}}').title)
    assert.is_nil(one('{"name":"a","annotations":{"title":7},"inputSchema":{}}').title)
  end)

  it("says whether it destroys something and may be repeated, as far as its server does", function()
    for hints, expected in pairs({ ['{"readOnlyHint":true,"destructiveHint":true}'] = { false, true },
      ['{"destructiveHint":true,"idempotentHint":false}'] = { true, false },
      ['{"destructiveHint":false,"idempotentHint":true}'] = { false, true }, ["{}"] = {},
      ['{"destructiveHint":"true","idempotentHint":1}'] = {} }) do
      local meta = one(('{"name":"a","annotations":%s,"inputSchema":{}}'):format(hints))._meta
      assert.same(expected, { meta.destructive, meta.idempotent })
    end
  end)

  it("is a query where the tool only reads", function()
    for hints, expected in pairs({ ['{"readOnlyHint":true}'] = "query", ['{"readOnlyHint":false}'] = "mutation",
      ['{"readOnlyHint":"true"}'] = "mutation", ['"x"'] = "mutation" }) do
      assert.equal(expected, one(('{"name":"a","annotations":%s,"inputSchema":{}}'):format(hints)).type)
    end
  end)

  it("keeps the server's fields, unknown ones in a place of their own", function()
    local meta = one([[{"name":"a","title":"T","annotations":{"x":1},"icons":[1],"execution":{"y":2},"_meta":{"m":1},
      "inputSchema":{},"more":[2]}]])._meta
    assert.same({ source = "mcp", tool = "a", title = "T", annotations = { x = 1 }, icons = { 1 },
      execution = { y = 2 }, _meta = { m = 1 }, unknown = { more = { 2 } }, server = "s", exposed = false }, meta)
    assert.is_nil(one('{"name":"a","inputSchema":{}}')._meta.unknown)
  end)

  it("goes without schemas that cannot be used, which is told", function()
    local made, _, told = one('{"name":"a","inputSchema":true,"outputSchema":{"type":"x"}}')
    assert.is_nil(made.inputSchema)
    assert.same({}, made.outputSchema)
    assert.same({ outputSchema = { type = "x" } }, made._meta.schemas) -- as it came
    assert.equal("a: inputSchema is not a JSON Schema object", told[1])
    assert.matches("^a: outputSchema is not checked: /type: ", told[2])
    assert.same({ "a: inputSchema is not a JSON Schema object" }, (select(3, one('{"name":"a"}'))))
    assert.same({}, (select(3, one('{"name":"a","inputSchema":{}}'))))
  end)

  it("has the access and the options of the configuration", function()
    local made = one('{"name":"a","inputSchema":{}}', { accessControl = { requiredScopes = { "s" } },
      normalize = "off", on_mismatch = "fail" })
    assert.same({ { requiredScopes = { "s" } }, true, "off", "fail" }, { made.accessControl, made._meta.exposed,
      made.normalize, made.on_mismatch })
    assert.equal("required", made.fill)
    made = one('{"name":"a","inputSchema":{}}', { fill = false, validate = "warn" })
    assert.same({ "none", "warn" }, { made.fill, made.validate })
    local asked
    made = one('{"name":"a","inputSchema":{}}', { accessControl = function(definition)
      asked = definition.name
      return { requiredScopes = { "t" } }
    end })
    assert.same({ "a", { requiredScopes = { "t" } }, true }, { asked, made.accessControl, made._meta.exposed })
    made = one('{"name":"a","inputSchema":{}}', { accessControl = function() end })
    assert.is_false(made._meta.exposed)
  end)
end)

describe("the plan of a tool", function()
  it("may be sent again where that does no harm", function()
    for hints, expected in pairs({ ['{"readOnlyHint":true}'] = true, ['{"idempotentHint":true}'] = true,
      ['{"idempotentHint":false}'] = false, ['7'] = false }) do
      local tool = ('{"name":"a","annotations":%s,"inputSchema":{}}'):format(hints)
      assert.equal(expected, select(2, one(tool)).options.repeatable)
      assert.is_false(select(2, one(tool, { retry = false })).options.repeatable)
    end
  end)

  it("has the schema where arrays may have to be marked, and says whether the tool is a task", function()
    local _, plan = one('{"name":"a","inputSchema":{"properties":{"l":{"type":"array"}}},'
      .. '"outputSchema":{"type":"object"}}')
    assert.is_table(plan.schema)
    assert.same({ type = "object" }, plan.output)
    assert.is_false(plan.task)
    assert.is_nil(select(2, one('{"name":"a","inputSchema":{"properties":{"l":{"type":"string"}}}}')).schema)
    for execution, expected in pairs({ ['{"taskSupport":"required"}'] = true, ['{"taskSupport":"optional"}'] = false,
      ["7"] = false }) do
      assert.equal(expected, select(2, one(('{"name":"a","execution":%s,"inputSchema":{}}'):format(execution))).task)
    end
  end)

  it("lists the arguments that headers repeat, in the modern era over HTTP only", function()
    local tools = '[{"name":"a","inputSchema":{"properties":{"p":{"type":"string","x-mcp-header":"P"}}}}]'
    assert.is_not_nil(select(2, of_tools(tools, nil, true, "http://a.test/mcp")).a.options.mirrored)
    assert.is_nil(select(2, of_tools(tools, nil, false, "http://a.test/mcp")).a.options.mirrored)
    assert.is_nil(select(2, of_tools(tools, nil, true)).a.options.mirrored)
  end)
end)

describe("a list of tools", function()
  local function names(list)
    local found = {}
    for i, definition in ipairs(list) do
      found[i] = definition.name
    end
    return found
  end

  it("continues behind an invalid tool, or one whose name is taken", function()
    local list, plans, told = of_tools([=[[7, {}, {"name":7}, {"name":""}, {"name":"c","inputSchema":{}},
      {"name":"c","inputSchema":{}}, {"name":"d","inputSchema":{}}]]=])
    assert.same({ "c", "d" }, names(list))
    assert.is_not_nil(plans.c)
    assert.same({ "tools/list[1]: a tool is an object", "tools/list[2]: a tool has a name",
      "tools/list[3]: a tool has a name", ": a tool has a name",
      "c: the name is already used: this tool cannot be called" },
      told)
  end)

  it("gives a tool no name that is another tool's", function()
    local list, plans, told = of_tools([=[[{"name":"a b","inputSchema":{}}, {"name":"a_b","inputSchema":{}},
      {"name":"a\tb","inputSchema":{}}]]=])
    assert.same({ "a_b_2", "a_b", "a_b_3" }, names(list))
    assert.equal("a_b_2", plans["a b"].definition.name)
    assert.same({}, told)
  end)

  it("has the tools that the configuration asks for", function()
    local tools = '[{"name":"a","inputSchema":{}},{"name":"b","inputSchema":{}}]'
    assert.same({ "a" }, names((of_tools(tools, { include = { "a" } }))))
    assert.same({ "b" }, names((of_tools(tools, { exclude = { "a" } }))))
  end)
end)

describe("the operations beside tools", function()
  it("are those of the kinds that the server has", function()
    local function of(kinds)
      local client = { name = "s", _config = config.check("s", { command = "true", namespace = "n",
        accessControl = { requiredScopes = { "s" } } }), has = function(_, kind)
        return kinds[kind] or false
      end }
      local found = {}
      for i, definition in ipairs(definitions.of_server(client)) do
        found[i] = definition.name
        assert.same({ "n", "query", "mcp", true, { requiredScopes = { "s" } } }, { definition.namespace,
          definition.type, definition._meta.source, definition._meta.exposed, definition.accessControl })
        assert(operations.registry():register(definition))
      end
      return found
    end
    assert.same({}, of({}))
    assert.same({ "resources.list", "resources.templates", "resources.read" }, of({ resources = true }))
    assert.same({ "prompts.list", "prompts.get" }, of({ prompts = true }))
  end)
end)

describe("what a list has become", function()
  local function tool(name, more)
    local made = one(('{"name":%q,"inputSchema":{}}'):format(name))
    for key, value in pairs(more or {}) do
      made[key] = value
    end
    return made
  end

  local function names(list)
    local found = {}
    for i, definition in ipairs(list) do
      found[i] = definition.name
    end
    return found
  end

  it("lists the tools that were added, removed and changed", function()
    local found = definitions.changes({ tool("a"), tool("b"), tool("c"), tool("e") },
      { tool("b"), tool("c", { description = "new" }), tool("d") })
    assert.same({ { "d" }, { "a", "e" }, { "c" } }, { names(found.added), names(found.removed), names(found.changed) })
  end)

  it("comes to a registry, which keeps what the program has registered itself", function()
    local registry = operations.registry()
    assert(registry:register_all({ tool("a"), tool("b"), { namespace = "n", name = "own", handler = print } }))
    local ok, err = definitions.apply(registry, { added = { tool("own"), tool("d") }, removed = { tool("a"),
      tool("own") }, changed = { tool("b", { description = "new" }) } })
    assert.is_nil(ok)
    assert.equal("VALIDATION_ERROR", err.code)
    assert.same({ "b", "own", "d" }, names(registry:list()))
    assert.equal("new", registry:get_spec("n.b").description)
    assert.equal(print, registry:get_handler("n.own"))
    assert.is_true(definitions.apply(registry, { added = {}, removed = { tool("d") }, changed = {} }))
    assert.is_nil(registry:get_spec("n.d"))
  end)

  it("leaves the operations of another server alone", function()
    local registry = operations.registry()
    local other = tool("a")
    other._meta.server = "other"
    assert(registry:register(other))
    definitions.apply(registry, { added = {}, removed = { tool("a") }, changed = {} })
    assert.is_not_nil(registry:get_spec("n.a"))
  end)
end)

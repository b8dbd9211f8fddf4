local exposures = require("operations.cli.exposure")

local function opened(patterns, id, raw)
  local namespace, name = id:match("^([^.]+)%.(.+)$")
  local definition = { namespace = namespace, name = name, _meta = { source = "openapi", exposed = false, raw = raw } }
  exposures.new({ options = { expose = patterns } }):open(definition)
  return definition._meta.exposed
end

describe("--expose", function()
  it("opens what its patterns name, and nothing else", function()
    assert.is_true(opened({ "pets.get" }, "pets.get"))
    assert.is_false(opened({ "pets.get" }, "pets.get_all"))
    assert.is_true(opened({ "pets.*" }, "pets.get_all"))
    assert.is_false(opened({ "pets.*" }, "petsx.get"))
    assert.is_true(opened({ "x", "*.get*" }, "pets.get_all"))
    assert.is_true(opened({ "*" }, "pets.get"))
    assert.is_false(opened({ "pets%.get", "pets.g?t", "pets.[a-z]*" }, "pets.get"))
    assert.is_false(opened({}, "pets.get"))
  end)

  it("opens an operation that takes any query only where its id is written", function()
    assert.is_false(opened({ "*", "a.*", "graphql" }, "a.graphql", true))
    assert.is_true(opened({ "a.graphql" }, "a.graphql", true))
  end)

  it("leaves the rest of a definition's meta as it is", function()
    local meta = { source = "openapi", exposed = false }
    local definition = { namespace = "pets", name = "get", _meta = meta }
    exposures.new({ options = { expose = { "*" } } }):open(definition)
    assert.same({ source = "openapi", exposed = true }, definition._meta)
    assert.same({ source = "openapi", exposed = false }, meta)
  end)

  it("knows whether there are any", function()
    assert.is_true(exposures.new({ options = { expose = { "*" } } }):any())
    assert.is_false(exposures.new({ options = {} }):any())
  end)
end)

describe("what a server of the command line tells", function()
  local command = require("spec.support.command")

  -- The lines on stderr about operations { "a.b", meta or access }, for patterns and a caller.
  local function told(registrations, patterns, who)
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write(([[
      local operations = require("operations")
      local registry = operations.registry()
      local exposure = require("operations.cli.exposure").new({ options = { expose = { %s } } })
      for _, definition in ipairs({ %s }) do
        definition.handler = print
        exposure:open(definition)
        assert(registry:register(definition))
      end
      exposure:tell(registry, %s)
    ]]):format(patterns or "", registrations, who or "nil"))
    file:close()
    local result = command.run("lua " .. path)
    os.remove(path)
    return (result.err:gsub("operations: ", ""))
  end

  local function hidden(id)
    return ('{ namespace = %q, name = %q, _meta = { exposed = false } }'):format(id:match("^(.-)%.(.*)$"))
  end

  local function needs(name, access)
    return ('{ namespace = "n", name = %q, accessControl = %s }'):format(name, access)
  end

  it("is how many operations there are", function()
    assert.equal("serving 1 operation\n", told('{ namespace = "a", name = "b" }'))
    assert.equal("serving 2 operations\n", told('{ namespace = "a", name = "b" }, { namespace = "a", name = "c" }'))
    assert.equal("serving 0 operations\n", told(""))
  end)

  it("is how to serve the others", function()
    assert.equal("serving 0 of 1 operations; --expose 'a.*' serves more\n", told(hidden("a.b")))
    assert.equal("serving 1 of 4 operations; --expose 'a.*', --expose 'b.*' serve more\n",
      told('{ namespace = "c", name = "d" },' .. hidden("a.b") .. "," .. hidden("a.c") .. "," .. hidden("b.b")))
    assert.equal("serving 0 of 4 operations; --expose 'a.*', --expose 'b.*', --expose 'c.*' and 1 more serve more\n",
      told(table.concat({ hidden("a.a"), hidden("b.a"), hidden("c.a"), hidden("d.a") }, ",")))
    assert.equal("serving 1 operation\n", told(hidden("a.b"), '"a.*"'))
  end)

  it("is which pattern names nothing", function()
    assert.equal("serving 1 operation\n--expose x.*: no operation of a source is called so\n",
      told(hidden("a.b"), '"a.*", "x.*"'))
  end)

  it("names the operations that callers cannot call, and the reason", function()
    local three = table.concat({ needs("a", '{ requiredScopes = { "x", "y" } }'),
      needs("b", '{ requiredScopesAny = { "x", "z" } }'), needs("c", '{ requiredScopesAny = { "z" } }'),
      needs("d", '{ resourceType = "file", resourceAction = "read" }') }, ",")
    assert.equal("serving 4 operations\n4 of them need scopes that everybody lacks (--scope): n.a (x y), "
      .. "n.b (one of x z), n.c (z), n.d (rights on a file)\n", told(three, nil, '{ advice = " (--scope)" }'))
    assert.equal("serving 4 operations\n3 of them need scopes that the token lacks: n.a (y), n.c (z), "
      .. "n.d (rights on a file)\n", told(three, nil, '{ identity = { id = "i", scopes = { "x" } }, advice = "" }'))
    assert.equal("serving 1 operation\n1 of them needs scopes that everybody lacks: n.c (z)\n",
      told(needs("c", '{ requiredScopesAny = { "z" } }'), nil, '{ advice = "" }'))
    assert.equal("serving 1 operation\n", told(needs("c", '{ requiredScopesAny = { "z" } }')))
  end)

  it("lists 20 operations that callers cannot call", function()
    local list = {}
    for i = 1, 22 do
      list[i] = needs(("o%02d"):format(i), '{ requiredScopes = { "s" } }')
    end
    assert.matches(", n.o20 (s) and 2 more\n", told(table.concat(list, ","), nil, '{ advice = "" }'), 1, true)
    list[22], list[21] = nil, nil
    assert.matches(", n.o20 (s)\n", told(table.concat(list, ","), nil, '{ advice = "" }'), 1, true)
  end)
end)

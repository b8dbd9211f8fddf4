local json = require("operations.base.json")
local operations = require("operations")
local services = require("operations.calls.services")
local wire = require("spec.support.wire")

local ada = { id = "ada", scopes = { "read" } }

local function served()
  local registry = operations.registry()
  local function add(name, fields)
    fields.namespace, fields.name, fields.type, fields.handler = "a", name, "query", function() return 1 end
    assert(registry:register(fields))
  end
  add("open", {})
  add("guarded", { accessControl = { requiredScopes = { "read" } } })
  add("hidden", { _meta = { exposed = false } })
  return registry
end

-- The two ends of a wire; the one that serves believes who calls.
local function over_a_wire(registry)
  local one, other = wire.pair()
  local map, far = operations.call_map(one), operations.call_map(other)
  other.peer.vouches = true
  operations.call_handler(registry, far)
  return map
end

local function in_process(registry)
  local one, other = operations.transports.pair()
  operations.call_handler(registry, operations.call_map(other))
  return operations.call_map(one)
end

local function names(map, identity)
  local listed = {}
  for i, spec in ipairs(assert(map:call("services.list", nil, { identity = identity })).data.operations) do
    listed[i] = spec.name
  end
  return listed
end

describe("the list of operations that a peer offers", function()
  it("marks the empty arrays of a spec, its schemas and their defaults", function()
    local spec = {
      tags = {}, accessControl = { requiredScopes = {}, requiredScopesAny = {} }, _meta = { tags = {} },
      inputSchema = { required = {}, properties = {
        required = {}, list = { type = "array", default = {} }, rest = { default = {}, enum = {} },
        deep = { items = { anyOf = { { allOf = {} }, { properties = { default = { required = {} } } } } } },
        text = { contentSchema = { required = {} } }, tuple = { additionalItems = { enum = {} } },
        object = { type = "object", properties = { l = { type = "array" } }, default = { l = {}, o = {} } },
      } },
      outputSchema = true,
      errorSchemas = { { code = "A", schema = { dependentRequired = { a = {} } } } },
    }
    assert.equal('{"_meta":{"tags":{}},"accessControl":{"requiredScopes":[],"requiredScopesAny":[]},'
      .. '"errorSchemas":[{"code":"A","schema":{"dependentRequired":{"a":[]}}}],"inputSchema":{"properties":{"deep":'
      .. '{"items":{"anyOf":[{"allOf":[]},{"properties":{"default":{"required":[]}}}]}},"list":{"default":[],"type":'
      .. '"array"},"object":{"default":{"l":[],"o":{}},"properties":{"l":{"type":"array"}},"type":"object"},"required":'
      .. '{},"rest":{"default":{},"enum":[]},"text":{"contentSchema":{"required":[]}},"tuple":{"additionalItems":'
      .. '{"enum":[]}}},"required":[]},"outputSchema":true,"tags":[]}',
      json.encode(services.marked(spec), { sort_keys = true }))
    assert.is_nil(getmetatable(spec.tags))
    local plain = { inputSchema = { type = "object" }, tags = { "a" } }
    assert.equal(plain, services.marked(plain))
  end)

  it("lists the operations that the caller may call", function()
    local map = over_a_wire(served())
    assert.same({ "open" }, names(map))
    assert.same({ "open" }, names(map, { id = "eve", scopes = {} }))
    assert.same({ "open", "guarded" }, names(map, ada))
    local input = { operationId = "a.guarded" }
    local _, denied = map:call("services.schema", input)
    local _, unknown = map:call("services.schema", { operationId = "a.nowhere" })
    assert.equal("no operation 'a.guarded'", denied.message)
    assert.equal("no operation 'a.nowhere'", unknown.message)
    assert.equal("guarded", assert(map:call("services.schema", input, { identity = ada })).data.name)
    map:close()
  end)

  it("is everything to the program itself, and the operations an identity may call where it names one", function()
    local map = in_process(served())
    assert.same({ "open", "guarded", "hidden" }, names(map))
    assert.same({ "open", "hidden" }, names(map, { id = "eve", scopes = {} }))
  end)

  it("is imported from what can be called, into what takes it", function()
    local registry, map = operations.registry(), { call = function() end }
    for message, given in pairs({
      ["bad argument #1 to 'import' (registry expected, got string)"] = { "x", map },
      ["bad argument #2 to 'import' (call map expected, got table)"] = { registry, {} },
      ["bad argument #3 to 'import' (table expected, got string)"] = { registry, map, "x" },
      ["bad argument #4 to 'import' (table expected, got string)"] = { registry, map, {}, "x" },
      ["bad option 'identity' to 'import' (table expected, got string)"] = { registry, map, {}, { identity = "x" } },
      ["bad option 'x' to 'import' (unknown)"] = { registry, map, {}, { x = 1 } },
    }) do
      assert.has_error(function()
        operations.import(given[1], given[2], given[3], given[4])
      end, message)
    end
  end)

  it("is imported from all peers that the call map knows, without a filter", function()
    local one, two = { namespace = "a", name = "one" }, { namespace = "b", name = "two" }
    local map = {
      offered = function()
        return { "services.list", "services.schema", "a.one", "b.two", "c.gone" }
      end,
      call = function(_, id, input)
        if id == "services.list" then
          return { data = { operations = { one } } }
        end
        assert(input.operationId == "b.two" or input.operationId == "c.gone")
        return input.operationId == "b.two" and { data = two } or nil
      end,
    }
    assert.same({ "a.one", "b.two" }, operations.import(operations.registry(), map))
    assert.same({ "a.one" }, operations.import(operations.registry(), map, { tag = "x" }))
  end)

  it("is imported as the identity sees it", function()
    local map, registry = over_a_wire(served()), operations.registry()
    assert.same({ "a.open" }, operations.import(registry, map))
    assert.same({ "a.open", "a.guarded" }, operations.import(registry, map, nil, { identity = ada }))
    map:close()
    assert.equal("TRANSPORT_LOST: the call map is closed", tostring(select(2, operations.import(registry, map))))
  end)
end)

describe("the definitions of a peer's operations", function()
  local function far(namespace)
    local registry = operations.registry()
    assert(registry:register({ namespace = namespace, name = "add", type = "query", _meta = { idempotent = true },
      accessControl = { requiredScopes = { "read" } }, inputSchema = { type = "object", required = { "n" },
        properties = { n = { type = "integer" }, m = { type = "integer", default = 1 } } },
      handler = function(input, context)
        context.on_progress(1, 2)
        return { sum = input.n + input.m, who = context.identity.id }
      end }))
    assert(registry:register({ namespace = namespace, name = "watch", type = "subscription", handler = function()
      for i = 1, 3 do
        coroutine.yield(i)
      end
    end }))
    assert(registry:register({ namespace = namespace, name = "fail", handler = function()
      error(operations.error("NOT_FOUND", "no"))
    end }))
    return registry
  end

  it("of several peers are registered as those of other sources, and call each peer", function()
    local one, two = over_a_wire(far("one")), over_a_wire(far("two"))
    local here, done = operations.registry(), nil
    for name, map in pairs({ one = one, two = two }) do
      local list, report = operations.from_peer(map, { identity = ada })
      assert.same({}, report)
      assert(here:register_all(assert(operations.transform(list, {
        [name .. ".add"] = { namespace = "sums", name = name } }))))
    end
    local ids = {}
    for i, spec in ipairs(here:specs()) do
      ids[i] = spec.namespace .. "." .. spec.name
    end
    table.sort(ids)
    assert.same({ "one.fail", "one.watch", "sums.one", "sums.two", "two.fail", "two.watch" }, ids)
    local given = { identity = ada, on_progress = function(at, total) done = { at, total } end }
    assert.same({ sum = 3, who = "ada" }, assert(here:execute("sums.one", { n = 2 }, given)).data)
    assert.same({ 1, 2 }, done)
    assert.equal("VALIDATION_ERROR", select(2, here:execute("sums.two", { n = "x" }, given)).code)
    assert.equal("NOT_FOUND", select(2, here:execute("two.fail")).code)
    local seen = {}
    for envelope in assert(here:subscribe("two.watch")) do
      seen[#seen + 1] = envelope.data
    end
    assert.same({ 1, 2, 3 }, seen)
    one:close()
    assert.equal("TRANSPORT_LOST", select(2, here:execute("one.fail")).code)
    assert.is_false(select(2, here:execute("one.fail")).mayHaveRun)
    two:close()
    assert.equal("TRANSPORT_LOST", select(2, operations.from_peer(two)).code)
  end)

  it("are offered to others where the program says so; the peer checks access", function()
    local map, here = over_a_wire(far("a")), operations.registry()
    local access = { requiredScopes = { "own" } }
    assert(here:register_all(assert(operations.from_peer(map, { identity = ada, namespace = "b", include = { "add" },
      accessControl = access }))))
    assert(here:register_all(assert(operations.from_peer(map, { identity = ada, exclude = function(spec)
      return spec.name ~= "add"
    end }))))
    assert.same({ access, true, true }, { here:get_spec("b.add").accessControl, here:get_spec("b.add")._meta.exposed,
      here:get_spec("b.add")._meta.idempotent })
    assert.is_false(here:get_spec("a.add")._meta.exposed)
    assert.equal("ACCESS_DENIED", select(2, here:execute("a.add", { n = 1 })).code)
    map:close()
  end)

  it("leave out invalid specs, and say so", function()
    local list, report = operations.from_peer({ subscribe = print, offered = function() return {} end, call = function()
      return { data = { operations = { "x", { namespace = "a", name = "b" }, { namespace = "a", name = 1 } } } }
    end })
    assert.equal(1, #list)
    assert.same({ "/operations/0", "/operations/2" }, { report[1].pointer, report[2].pointer })
    assert.matches("expected table, got string", report[1].message, 1, true)
  end)
end)

describe("results of imported operations", function()
  local function importing(options, registry_options)
    local far = operations.registry({ on_warning = function() end })
    local output = { type = "integer" }
    assert(far:register({ namespace = "a", name = "one", outputSchema = output, normalize = "off", handler = function()
      return "1"
    end }))
    assert(far:register({ namespace = "a", name = "text", outputSchema = output, handler = function()
      return "text"
    end }))
    assert(far:register({ namespace = "a", name = "watch", type = "subscription", outputSchema = output,
      handler = function()
        coroutine.yield(1)
        coroutine.yield("text")
      end }))
    local map, here = in_process(far), operations.registry(registry_options)
    here:route(map)
    assert(operations.import(here, map, nil, options))
    return here
  end

  it("come as they are sent", function()
    local here = importing()
    assert.equal("1", here:execute("a.one").data)
    assert.equal("text", here:execute("a.text").data)
    assert.is_nil(here:get_spec("a.one").normalize)
  end)

  local fail = { on_mismatch = "fail" }
  for name, set in pairs({ import = { fail }, ["the registry"] = { nil, fail } }) do
    it("fail when they do not fit, where " .. name .. " says so", function()
      local here = importing(set[1], set[2])
      assert.equal(1, here:execute("a.one").data)
      assert.equal("OUTPUT_INVALID", select(2, here:execute("a.text")).code)
      local stream = assert(here:subscribe("a.watch"))
      assert.equal(1, stream:next().data)
      local event, err = stream:next()
      assert.is_nil(event)
      assert.equal("OUTPUT_INVALID", err.code)
      assert.is_nil((stream:next()))
    end)
  end

  it("are normalized here, where import says so", function()
    local here = importing({ normalize = "cast" }, { on_warning = function() end })
    assert.equal(1, here:execute("a.one").data)
    assert.equal("text", here:execute("a.text").data)
  end)
end)

local operations = require("operations")
local random_schema = require("spec.support.random_schema")
local round_trip = require("spec.support.round_trip")

local T, json = operations.type, operations.json

local task = T.object({ id = T.integer(), parts = T.optional(T.array(T.ref("#/$defs/task"))) })

-- What can be said of operations, each in one of them; the handlers show what came.
local function definitions()
  local function echo(input)
    return { got = input }
  end
  return {
    { namespace = "text", name = "flat", type = "query", title = "Flat", description = "A query string carries it.",
      inputSchema = T.object({ word = T.string(), n = T.optional(T.integer({ minimum = 0, default = 3 })),
        exact = T.optional(T.boolean()), list = T.optional(T.array(T.number())) }), handler = echo },
    { namespace = "text", name = "closed", type = "query", version = "2.1.0", tags = { "text" },
      inputSchema = T.object({ maybe = T.nullable(T.string()), any = T.optional(true) },
        { additionalProperties = false }), handler = echo },
    { namespace = "text", name = "open", type = "query", tags = { "a", "b" },
      inputSchema = { type = "object", additionalProperties = { type = "integer" } }, handler = echo },
    { namespace = "any", name = "thing", type = "query", handler = echo },
    { namespace = "any", name = "empty", type = "mutation", inputSchema = {}, outputSchema = {}, handler = echo },
    { namespace = "any", name = "nothing", outputSchema = { type = "null" }, handler = function()
      return json.null
    end },
    { namespace = "any", name = "list", handler = echo,
      inputSchema = { type = "array", items = { type = "integer" } } },
    { namespace = "tree", name = "grow", inputSchema = T.object({ task = T.ref("#/$defs/task") },
      { ["$defs"] = { task = task } }), outputSchema = T.ref("#/$defs/task", { ["$defs"] = { task = task } }),
      handler = function(input)
        return input.task
      end },
    { namespace = "tree", name = "other", inputSchema = T.ref("#/$defs/task", { ["$defs"] = {
      task = T.object({ name = T.string() }) } }), handler = echo },
    { namespace = "tree", name = "itself", inputSchema = { type = "object",
      properties = { left = { ["$ref"] = "#" }, right = { ["$ref"] = "#/properties/left" },
        n = { type = "integer" } } }, handler = echo },
    { namespace = "tree", name = "named", inputSchema = { ["$id"] = "https://tree.example/node",
      ["$anchor"] = "node", type = "object", properties = { child = { ["$ref"] = "#node" } },
      required = { "n" } }, handler = echo },
    { namespace = "old", name = "draft", inputSchema = { ["$schema"] = "http://json-schema.org/draft-07/schema#",
      type = "object", properties = { pair = { type = "array", items = { { type = "integer" } } },
        card = { type = "string" } }, dependencies = { card = { "pair" } } }, handler = echo },
    { namespace = "strict", name = "both", inputSchema = T.object({ a = T.optional(T.string()),
      b = T.optional({ type = "string", readOnly = true }) }, { dependentRequired = { a = { "b" } } }),
      type = "query", handler = echo },
    { namespace = "odd/name", name = "a?b=%", type = "query", handler = echo },
    { namespace = "bytes", name = "size", inputSchema = T.string({ contentMediaType = "image/png" }),
      handler = function(input)
        return #input
      end },
    { namespace = "bytes", name = "text", type = "query", inputSchema = T.object({ n = T.integer({ maximum = 9 }) }),
      outputSchema = T.string({ contentMediaType = "text/plain" }), handler = function(input)
        return ("x"):rep(input.n)
      end },
    { namespace = "fail", name = "declared", inputSchema = T.object({ code = T.string() }),
      errorSchemas = {
        { code = "GONE", description = "It is gone.", schema = T.object({ at = T.integer() }), statusCode = 410 },
        { code = "ODD", description = "", schema = true },
        { code = "OTHER", description = "Another one.",
          schema = T.ref("#/$defs/task", { ["$defs"] = { task = task } }) },
      }, handler = function(input)
        return nil, operations.error(input.code, "it is " .. input.code, { id = 1, at = 2 })
      end },
    { namespace = "count", name = "up", type = "subscription",
      inputSchema = T.object({ n = T.integer({ maximum = 4 }) }), outputSchema = T.object({ i = T.integer() }),
      errorSchemas = { { code = "ODD", description = "", schema = true } }, handler = function(input, context)
        for i = (tonumber(context.lastEventId) or 0) + 1, input.n do
          context.emit({ i = i }, { id = tostring(i) })
        end
        if input.n == 3 then
          return nil, operations.error("ODD", "three is odd", { n = 3 })
        end
      end },
    { namespace = "path", name = "get", type = "query", _meta = { http = { path = "/things/{id}", method = "GET" } },
      inputSchema = T.object({ id = T.string({ minLength = 1 }), q = T.optional(T.string()) }), handler = echo },
    { namespace = "path", name = "put",
      _meta = { http = { path = "/things/{id}", method = "PUT" }, destructive = true },
      inputSchema = T.object({ id = T.integer(), body = T.optional(T.array(T.integer())) }), handler = echo },
    { namespace = "secret", name = "read", type = "query", accessControl = { requiredScopes = { "r" },
      requiredScopesAny = { "x", "y" } }, handler = echo },
    { namespace = "secret", name = "own", accessControl = { requiredScopes = operations.array(), resourceType = "doc",
      resourceAction = "read", resourceId = "/id" }, inputSchema = T.object({ id = T.string() }), handler = echo },
  }
end

local identity = { id = "me", scopes = { "r", "y" }, resources = { ["doc:1"] = { "read" } } }

describe("a document of a registry, read again", function()
  local trip

  before_each(function()
    trip = round_trip.of(definitions(), { authorize = function()
      return identity
    end })
  end)

  after_each(function()
    trip:close()
  end)

  for _, version in ipairs({ "3.1", "3.2" }) do
    it("gives the same operations and the same bytes, " .. version, function()
      local registry = trip:read(version)
      assert.same(0, #trip.report, json.encode(trip.report))
      trip:compare_specs(registry)
      local again = assert(operations.to_http(registry, trip.options))
      assert.is_true(trip:text(trip.server, version) == trip:text(again, version))
    end)
  end

  it("answers as the registry does, to inputs that fit and to inputs that do not", function()
    local registry = trip:read("3.1")
    local calls = trip:compare_calls(registry, random_schema.generator(7), 60)
    assert.is_true(calls.all >= 1000, calls.all)
    assert.is_true(calls.succeeded > calls.all / 5 and calls.failed > calls.all / 10,
      ("%d of %d succeeded"):format(calls.succeeded, calls.all))
  end)

  it("gives streams their events, ids, failures and ends", function()
    local registry = trip:read("3.1")
    for n = 1, 4 do
      assert.same(trip:events(trip.registry, "count.up", { n = n }), trip:events(registry, "count.up", { n = n }))
    end
    local resumed = trip:events(registry, "count.up", { n = 4 }, { lastEventId = "2" })
    assert.same({ { i = 3 }, { i = 4 } }, resumed.data)
    assert.same({ "3", "4" }, resumed.ids)
  end)

  it("calls with equal data without x-operation", function()
    local document = json.decode(trip:text(trip.server, "3.1"))
    for _, item in pairs(document.paths) do
      for _, operation in pairs(item) do
        operation["x-operation"] = nil
      end
    end
    local registry = operations.registry()
    assert(registry:register_all(assert(operations.from_openapi.document(document, { base_url = trip.url,
      namespace = "bare" }))))
    for _, case in ipairs({
      { "text_flat", { word = "a b", exact = true, list = { 1, 2.5 } }, { n = 3 } },
      { "text_open", { body = { a = 1 } } }, { "any_thing", {} }, { "tree_other", { body = { name = "n" } } },
      { "path_get", { id = "x/y", q = "ä" } }, { "path_put", { id = 7, body = { body = { 1 } } }, { id = 7 } },
    }) do
      local expected = {}
      for _, part in ipairs({ case[2].body and not case[3] and case[2].body or case[2], case[3] or {} }) do
        for key, value in pairs(part) do
          expected[key] = value
        end
      end
      if case[1] == "path_put" then
        expected.body = { 1 }
      end
      local envelope = assert(registry:execute("bare." .. case[1], case[2]))
      assert.same({ got = expected }, envelope.data)
    end
    assert.same({ { i = 1 }, { i = 2 } }, trip:events(registry, "bare.count_up", { n = 2 }).data)
  end)
end)

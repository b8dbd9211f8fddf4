local json = require("operations.base.json")
local operations = require("operations")
local sources = require("spec.support.sources")

local T = operations.type
local sorted = { sort_keys = true }

local function no() end

local item = T.object({ { "id", T.integer() }, { "name", T.optional(T.string({ minLength = 1,
  description = "What it is called" })) } }, { title = "Item" })
local tree = { ["$ref"] = "#/$defs/n", ["$defs"] = { n = { type = "object", properties = {
  next = { ["$ref"] = "#/$defs/n" } } } } }

local function server()
  local registry = operations.registry()
  assert(registry:register_all({
    { namespace = "b", name = "get", type = "query", title = "Get one", description = "Gets one item.",
      tags = { "items", "x" }, inputSchema = T.object({ { "id", T.integer({ description = "Which" }) },
        { "word", T.optional(T.string({ deprecated = true })) } }), outputSchema = item,
      _meta = { http = { path = "/items/{id}", cache = { maxAge = 5 } }, deprecated = true },
      errorSchemas = { { code = "GONE", description = "It is gone.", statusCode = 410, schema = { type = "object",
        required = { "since" }, properties = { since = { type = "string" } } } }, { code = "LATE", statusCode = 410 },
        { code = "FULL", description = "No room.", schema = true }, { code = "ODD",
          pattern = "^ODD_[0-9]+$", description = "Odd ones." } }, handler = no },
    { namespace = "b", name = "change", inputSchema = T.object({ id = T.integer(), name = T.optional(T.string()) }),
      outputSchema = item, _meta = { http = { path = "/items/{id}/change", method = "PUT", status = 201 },
        destructive = true, idempotent = true }, accessControl = { requiredScopes = { "write" },
        requiredScopesAny = { "a", "b" } }, handler = no },
    { namespace = "a", name = "watch", type = "subscription", inputSchema = T.object({ n = T.optional(T.integer()) }),
      outputSchema = T.string(), handler = no },
    { namespace = "a", name = "resume", type = "subscription", inputSchema = T.object({
      lastEventId = T.optional(T.string()) }), outputSchema = {}, handler = no },
    { namespace = "a", name = "any", handler = no },
    { namespace = "a", name = "list", type = "query", outputSchema = T.array(item), handler = no },
    { namespace = "a", name = "union", type = "query", inputSchema = { anyOf = { item, { type = "null" } } },
      outputSchema = true, tags = { "a" }, handler = no },
    { namespace = "a", name = "open", type = "query", inputSchema = { type = "object", properties = {
      x = { type = "string" } }, required = { "x" } }, handler = no },
    { namespace = "a", name = "typed", type = "query", inputSchema = { type = "object", properties = {
      x = { type = "string" } }, additionalProperties = { type = "integer" } }, handler = no },
    { namespace = "a", name = "csv", inputSchema = { type = "string", contentMediaType = "text/csv" },
      outputSchema = { type = "string", contentMediaType = "image/png" }, handler = no },
    { namespace = "a", name = "remove", inputSchema = T.object({ id = T.integer() }), _meta = { http = {
      path = "/things/{id}", method = "DELETE" } }, accessControl = { resourceType = "thing", resourceAction = "remove",
      resourceId = "/id" }, handler = no },
    { namespace = "a", name = "pay", inputSchema = T.object({ amount = T.number() }), _meta = { http = {
      idempotencyKey = "required" } }, handler = no },
    { namespace = "c", name = "tree", type = "query", inputSchema = tree, outputSchema = tree, handler = no },
  }))
  return assert(operations.to_http(registry, { log = no, idempotency = true, authorize = function()
    return { id = "x", scopes = { "write", "a" }, resources = { ["thing:*"] = { "remove" } } }
  end }))
end

describe("a document", function()
  it("names events before lines, as generators take the first media type of a stream", function()
    for _, version in ipairs({ "3.0", "3.1", "3.2" }) do
      local text = json.encode(server():openapi(version), { keep_order = true })
      assert.matches('{"text/event%-stream":{.-,"application/x%-ndjson":{', text)
    end
  end)
end)

for version, expected in pairs(assert(json.decode(sources.read("spec/vectors/openapi/served.json")))) do
  describe("a document of version " .. version, function()
    local document

    setup(function()
      document = assert(json.decode(assert(json.encode(server():openapi(version)))))
    end)

    for path, shown in pairs(expected.paths) do
      it("has " .. path .. " as its vector says", function()
        assert.equal(json.encode(shown, sorted), json.encode(document.paths[path], sorted))
      end)
    end

    it("has these paths, and all beside them as its vector says", function()
      for key, value in pairs(document) do
        if key ~= "paths" then
          assert.equal(json.encode(expected[key], sorted), json.encode(value, sorted))
        end
      end
      for path in pairs(document.paths) do
        assert.is_not_nil(expected.paths[path])
      end
    end)
  end)
end

--- Operations of every shape: each possible property of an operation is in one of them. Their handlers return their
--- input.
local operations = require("operations")

local T, json = operations.type, operations.json

local task = T.object({ id = T.integer(), parts = T.optional(T.array(T.ref("#/$defs/task"))) })

return function()
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
    { namespace = "text", name = "cached", type = "query", _meta = { http = { cache = { maxAge = 60000 } } },
      inputSchema = T.object({ word = T.string() }), handler = echo },
    { namespace = "text", name = "checked", type = "query", _meta = { http = { cache = true } },
      inputSchema = T.object({ n = T.integer() }), handler = echo },
    { namespace = "any", name = "thing", type = "query", handler = echo },
    { namespace = "any", name = "empty", type = "mutation", inputSchema = {}, outputSchema = {}, handler = echo },
    { namespace = "any", name = "made", _meta = { http = { status = 201 } },
      inputSchema = T.object({ n = T.integer() }), handler = echo },
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
    { namespace = "long", name = "report", _meta = { task = "optional" },
      inputSchema = T.object({ pages = T.integer() }), outputSchema = T.object({ pages = T.integer() }),
      handler = function(input)
        return { pages = input.pages }
      end },
    { namespace = "secret", name = "read", type = "query", accessControl = { requiredScopes = { "r" },
      requiredScopesAny = { "x", "y" } }, handler = echo },
    { namespace = "secret", name = "own", accessControl = { requiredScopes = operations.array(), resourceType = "doc",
      resourceAction = "read", resourceId = "/id" }, inputSchema = T.object({ id = T.string() }), handler = echo },
  }
end

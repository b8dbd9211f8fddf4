local document = require("operations.openapi.document")
local inputs = require("operations.openapi.inputs")
local property_order = require("operations.base.property_order")
local support = require("spec.support.openapi")

local function query(name, more)
  local node = { name = name, ["in"] = "query" }
  for key, value in pairs(more or {}) do
    node[key] = value
  end
  return node
end

describe("the parameters of an operation", function()
  for _, case in ipairs({
    { "without a name", { ["in"] = "query" }, "the parameter has no name" },
    { "with an empty name", query(""), "the parameter has no name" },
    { "whose name is no text", query(7), "the parameter has no name" },
    { "without a place", { name = "p" }, 'the parameter "p" has no known location (in: nil)' },
    { "with an unknown place", { name = "p", ["in"] = "body" }, 'the parameter "p" has no known location (in: body)' },
    { "whose place is no text", { name = "p", ["in"] = 7 }, 'the parameter "p" has no known location (in: 7)' },
    { "that cannot be a header", { name = "a b", ["in"] = "header" }, '"a b" is not a header name' },
    { "that OpenAPI ignores", { name = "ACCEPT", ["in"] = "header" },
      'the header parameter "ACCEPT" is ignored, as OpenAPI says' },
    { "that the client sets", { name = "Content-Length", ["in"] = "header" },
      'the header parameter "Content-Length" is ignored: the HTTP client sets it' },
    { "that the path does not have", { name = "id", ["in"] = "path", required = true }, "the path has no {id}" },
  }) do
    it("leave out one " .. case[1], function()
      local api = support.api(support.one({ parameters = { case[2] } }))
      assert.same({ type = "object", properties = {}, additionalProperties = false }, api.definitions[1].inputSchema)
      assert.equal(1, #api.report)
      assert.same({ "#/paths/~1op/get/parameters/0", case[3] }, { api.report[1].pointer, api.report[1].message })
    end)
  end

  it("may have names of headers that are elsewhere", function()
    local api = support.api(support.one({ parameters = { query("Accept"), query("Content-Length"), query("a b"),
      { name = "Accept", ["in"] = "cookie" } } }))
    assert.is_not_nil(api.definitions[1].inputSchema.properties["query.Accept"])
    assert.is_not_nil(api.definitions[1].inputSchema.properties["cookie.Accept"])
    assert.is_not_nil(api.definitions[1].inputSchema.properties["Content-Length"])
    assert.is_not_nil(api.definitions[1].inputSchema.properties["a b"])
  end)

  it("of the path are texts where the document does not declare them", function()
    local a = { name = "a", ["in"] = "path", schema = { type = "integer" } }
    local api = support.api(support.one({ parameters = { a } }, { path = "/{a}/{b}" }))
    assert.same({ type = "object", required = { "a", "b" }, additionalProperties = false,
      properties = { a = { type = "integer" }, b = { type = "string" } } }, api.definitions[1].inputSchema)
    assert.same({ "#/paths/~1{a}~1{b}/get", "the path parameter {b} is not declared; it is taken for a string" },
      { api.report[1].pointer, api.report[1].message })
    assert(api.definitions[1].handler({ a = 1, b = "x" }))
    assert.equal("http://api.test/1/x", api.requests[1].url)
  end)

  it("have the description of the parameter, else that of the schema", function()
    local text = { type = "string", description = "of the schema", deprecated = true }
    local function schema(more)
      return support.api(support.one({ parameters = { query("p", more) } })).definitions[1].inputSchema.properties.p
    end
    assert.same(text, schema({ schema = text }))
    assert.same({ type = "string", description = "own", deprecated = true }, schema({ schema = text,
      description = "own" }))
    assert.same({ type = "string", description = "own" }, schema({ schema = { type = "string" }, description = "own",
      deprecated = false }))
    assert.same({ type = "string", deprecated = true }, schema({ schema = { type = "string" }, deprecated = true,
      description = 7 }))
    assert.same({ description = "own" }, schema({ schema = true, description = "own" }))
    assert.same({ description = "own" }, schema({ description = "own" }))
    assert.is_false(schema({ schema = false, description = "own" }))
    local integer = { type = "integer" }
    assert.same(integer, schema({ content = { ["application/json"] = { schema = integer } } }))
    assert.same({}, schema({ content = { ["application/json"] = {} } }))
  end)

  it("may be empty in a query, where the document says so", function()
    local function schema(more, where)
      local node = query("p", more)
      node["in"] = where or "query"
      return support.api(support.one({ parameters = { node } })).definitions[1].inputSchema.properties.p
    end
    local number = { type = "number" }
    assert.same({ anyOf = { number, { const = "" } } }, schema({ schema = number, allowEmptyValue = true }))
    assert.is_true(schema({ schema = true, allowEmptyValue = true }))
    assert.same(number, schema({ schema = number, allowEmptyValue = true }, "header"))
    assert.same(number, schema({ content = { ["application/json"] = { schema = number } }, allowEmptyValue = true }))
    assert.same(number, schema({ schema = number, allowEmptyValue = 1 }))
  end)

  it("are written in the style of their place where that has not theirs", function()
    for style, message in pairs({ matrix = "style matrix does not exist in: query; the default is used",
      [7] = "style 7 does not exist in: query; the default is used" }) do
      local api = support.api(support.one({ parameters = { query("p", { style = style }) } }))
      assert.same({ "#/paths/~1op/get/parameters/0/style", message }, { api.report[1].pointer, api.report[1].message })
      assert(api.definitions[1].handler({ p = { 1, 2 } }))
      assert.equal("http://api.test/op?p=1&p=2", api.requests[1].url)
    end
  end)

  it("are exploded as their style is, unless they say otherwise", function()
    local function request(node, version)
      local api = support.api(support.one({ parameters = { node } }, { doc = { openapi = version } }))
      assert(api.definitions[1].handler({ p = { "a", "b" } }))
      return api.requests[1]
    end
    assert.matches("?p=a&p=b", request(query("p")).url, 1, true)
    assert.matches("?p=a&p=b", request(query("p", { explode = "no" })).url, 1, true)
    assert.matches("?p=a,b", request(query("p", { explode = false })).url, 1, true)
    assert.matches("?p=a%7Cb", request(query("p", { style = "pipeDelimited" })).url, 1, true)
    assert.equal("a,b", request({ name = "p", ["in"] = "header" }).headers.p)
    assert.equal("p=a; p=b", request({ name = "p", ["in"] = "cookie", style = "cookie" }, "3.2.0").headers.Cookie)
    assert.equal("p=a,b", request({ name = "p", ["in"] = "cookie", style = "cookie", explode = false },
      "3.2.0").headers.Cookie)
  end)

  it("keep reserved characters in queries, since 3.2 in paths and cookies too, where the document says so", function()
    local function sent(where, version, reserved)
      local node = { name = "p", ["in"] = where, allowReserved = reserved, required = true }
      local api = support.api(support.one({ parameters = { node } },
        { path = where == "path" and "/{p}" or "/op", doc = { openapi = version } }))
      assert(api.definitions[1].handler({ p = "a@:" }))
      local request = api.requests[1]
      return request.headers.Cookie or request.headers.p or request.url:match("^http://api.test/(.*)$")
    end
    assert.same({ "op?p=a@:", "op?p=a%40%3A" }, { sent("query", "3.0.3", true), sent("query", "3.2.0", 1) })
    assert.same({ "a%40%3A", "a@:" }, { sent("path", "3.1.0", true), sent("path", "3.2.0", true) })
    assert.same({ "p=a%40%3A", "p=a@:" }, { sent("cookie", "3.1.0", true), sent("cookie", "3.2.0", true) })
    assert.equal("a@:", sent("header", "3.2.0", false))
  end)

  it("are listed in the order of the document, the path's before the operation's, the body last", function()
    local api = support.api(support.one({ parameters = { query("z"), query("b"), query("m") },
      requestBody = { content = { ["application/json"] = {}, ["text/plain"] = {} } } },
      { method = "post", item = { parameters = { query("y"), query("a") } } }))
    assert.same({ "y", "a", "z", "b", "m", "body", "contentType" },
      property_order.names(api.definitions[1].inputSchema.properties))
  end)
end)

describe("the names of an operation's inputs", function()
  local function names(item, operation, parameters)
    local source = document.new({ openapi = "3.1.0", components = { parameters = parameters } })
    local function place(node)
      return { node = node, file = source.file, pointer = "#" }
    end
    return inputs.names(source, place(item), place(operation))
  end

  it("are known before it is read", function()
    assert.same({ "a", "b", "c", "body" }, names({ parameters = { query("a") } },
      { parameters = { query("b"), { ["$ref"] = "#/components/parameters/C" } }, requestBody = {} },
      { C = query("c") }))
    assert.same({}, names({}, {}))
  end)

  it("leave out invalid parameters", function()
    assert.same({ "a" }, names({ parameters = 7 }, { parameters = { 7, {}, query(7), query("a"),
      { ["$ref"] = "#/components/parameters/none" } } }, {}))
  end)
end)

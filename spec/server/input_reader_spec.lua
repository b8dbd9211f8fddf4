local errors = require("operations.base.error")
local http_request = require("spec.support.http_request")
local input_reader = require("operations.server.input_reader")
local operations = require("operations")
local url = require("operations.base.url")

describe("the body of a request", function()
  local function body(given, max, headers)
    local found, err, status = input_reader.body({ body = given, headers = headers or {} }, max or 10)
    return { found, err and err.message, status }
  end

  local function pieces(...)
    local list, i = { ... }, 0
    return function()
      i = i + 1
      local piece = list[i]
      if errors.is_error(piece) then
        return nil, piece
      end
      return piece
    end
  end

  it("is its bytes, whole or in pieces", function()
    assert.same({ "abc" }, body("abc"))
    assert.same({ "" }, body(nil))
    assert.same({ "abcde" }, body(pieces("abc", "de")))
    assert.same({ "" }, body(pieces()))
    assert.same({ "abc" }, body("abc", 10, { ["content-encoding"] = "Identity" }))
  end)

  it("is no longer than is allowed", function()
    local refused = { nil, "the body is larger than max_body (10 bytes)", 413 }
    assert.same({ "0123456789" }, body("0123456789"))
    assert.same({ "0123456789" }, body(pieces("01234", "56789")))
    assert.same(refused, body("01234567890"))
    assert.same(refused, body(pieces("01234", "567890")))
    assert.same(refused, body("x", 10, { ["content-length"] = "11" }))
    assert.same({ "x" }, body("x", 10, { ["content-length"] = "10" }))
  end)

  it("is not encoded", function()
    assert.same({ nil, "Content-Encoding: gzip is not understood; send the body as it is", 415 },
      body("x", 10, { ["content-encoding"] = "gzip" }))
  end)

  it("fails as it is read, with the status that is known", function()
    assert.same({ nil, "slow", 408 }, body(pieces("x", errors.new("TIMEOUT", "slow", { statusCode = 408 }))))
    assert.same({ nil, "broken", 400 }, body(pieces(errors.new("VALIDATION_ERROR", "broken"))))
  end)
end)

describe("the input of an operation", function()
  local server, got

  setup(function()
    local registry = operations.registry()
    local T = operations.type
    local function take(value)
      got = value
      return true
    end
    assert(registry:register_all({
      { namespace = "a", name = "query", type = "query", inputSchema = T.object({ n = T.optional(T.integer()),
        word = T.optional(T.string()) }), handler = take },
      { namespace = "a", name = "change", inputSchema = T.object({ n = T.optional(T.integer()) }), handler = take },
      { namespace = "a", name = "any", handler = take },
      { namespace = "a", name = "text", inputSchema = { type = "string", contentMediaType = "text/csv" },
        handler = take },
      { namespace = "a", name = "bytes", inputSchema = { type = "string", contentMediaType =
        "application/octet-stream" }, handler = take },
      { namespace = "a", name = "item", type = "query", inputSchema = T.object({ id = T.integer(),
        n = T.optional(T.integer()) }), _meta = { http = { path = "/items/{id}" } }, handler = take },
      { namespace = "a", name = "put", inputSchema = T.object({ id = T.integer(), n = T.optional(T.integer()) }),
        _meta = { http = { path = "/put/{id}", method = "PUT" } }, handler = take },
    }))
    server = operations.to_http(registry, { log = function() end })
  end)

  before_each(function()
    got = "nothing"
  end)

  -- The status, and the input or the detail of the problem.
  local function send(method, target, body, headers)
    local answer = http_request.send(server, method, target, headers, body)
    if answer.status < 300 then
      return answer.status, got
    end
    return answer.status, answer.json.detail, answer.json.details and answer.json.details[1].path
  end

  local json = { ["content-type"] = "application/json" }

  it("is the query of GET, converted by the schema", function()
    assert.same({ 200, { n = 7, word = "a b" } }, { send("GET", "/a/query?n=7&word=a%20b") })
    assert.same({ 200, {} }, { send("GET", "/a/query") })
    assert.same({ 422, '/n: expected integer, got "x"', "/n" }, { send("GET", "/a/query?n=x") })
    local status, detail = send("GET", "/a/query?word=%ff")
    assert.equal(400, status)
    assert.matches("^the query is malformed at '", detail)
  end)

  it("is the body of other methods", function()
    assert.same({ 200, { n = 7 } }, { send("POST", "/a/change", '{"n":7}', json) })
    assert.same({ 200, { n = 7 } }, { send("QUERY", "/a/query", '{"n":7}', json) })
    assert.same({ 200, {} }, { send("POST", "/a/change", "", {}) })
    assert.same({ 422, "POST carries its input in the body, not in the query", "" },
      { send("POST", "/a/change?n=7", '{"n":7}', json) })
    assert.same({ 200, { n = 7 } }, { send("POST", "/a/change?", '{"n":7}', json) })
  end)

  it("is JSON in UTF-8", function()
    for _, content_type in ipairs({ "application/json", "Application/JSON ; charset=UTF-8",
      'application/json;charset="utf8"' }) do
      assert.equal(200, (send("POST", "/a/change", '{"n":7}', { ["content-type"] = content_type })))
    end
    for _, content_type in ipairs({ "text/plain", "application/json; charset=latin1", "application/jsonx" }) do
      assert.same({ 415, "Content-Type: application/json expected, got " .. content_type },
        { send("POST", "/a/change", '{"n":7}', { ["content-type"] = content_type }) })
    end
    assert.same({ 415, "Content-Type: application/json expected, got none" }, { send("POST", "/a/change", '{"n":7}') })
    local status, detail, path = send("POST", "/a/change", "{", json)
    assert.same({ 400, "" }, { status, path })
    assert.matches("^the body is not JSON: ", detail)
    assert.same({ 200, false }, { send("POST", "/a/any", "false", json) })
  end)

  it("is a text or bytes where the operation takes such", function()
    assert.same({ 200, "a,b" }, { send("POST", "/a/text", "a,b", { ["content-type"] = "text/csv; charset=utf-8" }) })
    assert.same({ 415, "Content-Type: text/csv expected, got text/plain" },
      { send("POST", "/a/text", "a,b", { ["content-type"] = "text/plain" }) })
    assert.same({ 415, "Content-Type: text/csv expected, got none" }, { send("POST", "/a/text", "a,b") })
    assert.same({ 200, "\0\255" }, { send("POST", "/a/bytes", "\0\255", { ["content-type"] = "image/png" }) })
    assert.same({ 200, "x" }, { send("POST", "/a/bytes", "x") })
  end)

  it("has the parameters of the path, which go before the others", function()
    assert.same({ 200, { id = 5, n = 7 } }, { send("GET", "/items/5?n=7") })
    assert.same({ 422, '/id: expected integer, got "x"', "/id" }, { send("GET", "/items/x") })
    assert.same({ 200, { id = 5, n = 7 } }, { send("PUT", "/put/5", '{"n":7,"id":6}', json) })
    assert.same({ 200, { id = 5 } }, { send("PUT", "/put/5", "", {}) })
    local status, detail, path = send("PUT", "/put/5", "7", json)
    assert.same({ 422, "" }, { status, path })
    assert.matches("expected an object, for the parameters of the path$", detail)
  end)
end)

local T = operations.type

local function compile(schema, elsewhere)
  return input_reader.compile(schema, elsewhere or {})
end

local function query_of(...)
  local pairs_of = {}
  for i, pair in ipairs({ ... }) do
    pairs_of[i] = url.encode(pair[1]) .. "=" .. url.encode(pair[2])
  end
  return table.concat(pairs_of, "&")
end

local function read(schema, ...)
  return compile(schema):read(query_of(...))
end

local function issue(schema, ...)
  local input, issues = read(schema, ...)
  assert.is_nil(input)
  return issues[1].path .. ": " .. issues[1].message
end

describe("a flat input", function()
  it("tells the first hundred of many issues", function()
    local _, issues = compile(T.object({ a = T.optional(T.string()) })):read(("b&"):rep(8000))
    assert.equal(100, #issues)
  end)

  it("has scalars, enums, and arrays of these", function()
    assert.is_truthy(compile(T.object({ a = T.string(), b = T.array(T.integer()), c = T.enum({ "x", "y" }) })))
    assert.is_truthy(compile({ type = "object" }))
    assert.is_truthy(compile(true))
    assert.is_truthy(compile(nil))
    assert.is_truthy(compile({ properties = { a = { const = 1 }, b = { type = { "integer", "null" } } } }))
    assert.is_truthy(compile({ type = "object", properties = { a = { ["$ref"] = "#/$defs/n" } },
      ["$defs"] = { n = { type = "integer" } } }))
    assert.is_truthy(compile({ type = "object", properties = { a = { anyOf = { { type = "null" },
      { type = "array", items = { type = "string" } } } } } }))
  end)

  it("has the text itself as a member that takes strings and other scalars", function()
    local flat = compile({ type = "object", properties = { id = { type = { "string", "integer", "null" } },
      ids = { type = "array", items = { anyOf = { { type = "integer" }, { type = "string" } } } },
      n = { oneOf = { { type = "integer" }, { type = "number" } } } } })
    assert.same({ id = "007", ids = { "7", "x" }, n = 1.5 }, flat:read("id=007&ids=7&ids=x&n=1.5"))
    assert.equal("null", flat:read("id=null").id)
  end)

  it("has no objects, no arrays of arrays, and no member whose text may be of two types", function()
    assert.is_nil(compile(T.object({ a = T.object({}) })))
    assert.is_nil(compile(T.object({ a = T.array(T.array(T.string())) })))
    assert.is_nil(compile({ type = "object", properties = { a = { anyOf = { { type = "boolean" },
      { type = "integer" } } } } }))
    assert.is_nil(compile({ type = "object", properties = { a = { type = { "string", "integer" },
      enum = { 1, "1" } } } }))
    assert.is_nil(compile({ type = "object", properties = { a = { enum = { 1, "x" } } } }))
    assert.is_nil(compile({ type = "array" }))
    assert.is_nil(compile({ type = "string" }))
    assert.is_nil(compile({ oneOf = { { type = "object" } } }))
    assert.is_nil(compile({ type = "object", properties = { a = { ["$ref"] = "#/$defs/a" } },
      ["$defs"] = { a = { ["$ref"] = "#/$defs/a" } } }))
  end)

  describe("has as member", function()
    local defs = { n = { type = "integer" }, null = { type = "null" }, list = { type = "array", items = { type =
      "integer" } }, any = true, ["a/b"] = { type = "integer" }, ["a%"] = { type = "integer" } }

    local function member(schema)
      local found = compile({ type = "object", properties = { p = schema }, ["$defs"] = defs })
      local of_p = found and found.members.p
      return of_p and of_p.one .. (of_p.null and " null" or "") .. (of_p.list and " list" or "") or "none"
    end

    local null = operations.null
    local function ref(name)
      return { ["$ref"] = "#/$defs/" .. name }
    end

    for expected, schemas in pairs({
      ["string"] = { true, {}, { description = "d" }, { type = "string" }, { type = { "string" } }, ref("any"),
        { enum = { "a", "b" } }, { const = "a" }, { anyOf = { { type = "string" } } }, { oneOf = { true } } },
      ["string null"] = { { type = { "null", "string" } }, { enum = { "a", null } }, { enum = { null, "a" } },
        { oneOf = { { const = null }, { type = "string" } } }, { anyOf = { {}, { type = "null" } } } },
      ["integer"] = { ref("n"), { enum = { 1, 2 } }, { const = 1 }, { type = "integer", enum = { "a" } } },
      ["integer null"] = { { anyOf = { { type = "null" }, ref("n") } }, { oneOf = { ref("n"), ref("null") } },
        { anyOf = { { oneOf = { { type = "null" }, ref("n") } } } }, { type = { "integer", "null", "integer" } } },
      ["number"] = { { enum = { 1.5, 2.5 } }, { enum = { 1, 1.5 } }, { type = { "integer", "number" } } },
      ["boolean"] = { { const = true }, { const = false } },
      ["null null"] = { { type = "null" }, { const = null }, { enum = { null } }, ref("null") },
      ["string list"] = { { type = "array" }, { type = "array", items = true }, { type = "array", items = {} } },
      ["integer list"] = { ref("list"), { type = "array", items = ref("n") }, { type = { "array", "null" },
        items = ref("n") }, { type = { "null", "array" }, items = ref("n") },
        { anyOf = { { type = "null" }, ref("list") } }, { oneOf = { ref("list") } } },
      ["integer null list"] = { { type = "array", items = { type = { "integer", "null" } } } },
      ["none"] = { false, { type = "object" }, { enum = { 1, "a" } }, { anyOf = {} },
        { type = { "boolean", "number" } },
        { anyOf = { { type = "string", minLength = 2 }, { type = "integer" } } },
        { anyOf = { { type = "null" } } }, { anyOf = { ref("n"), ref("any") } }, { const = {} },
        { type = "array", prefixItems = {} }, { type = "array", items = false },
        { type = "array", items = ref("list") },
        { type = { "array", "string" } }, { type = { "array", "null", "null" } }, { type = { "object", "null" } },
        ref("none"), ref("a/b"), ref("a%"), ref("n/x"), { ["$ref"] = 7 }, { ["$ref"] = "#" } },
    }) do
      it(expected, function()
        for _, schema in ipairs(schemas) do
          assert.equal(expected, member(schema), operations.json.encode(schema))
        end
      end)
    end

    it("what a chain of 31 references leads to", function()
      local function chain(length)
        local definitions = { ["n" .. length] = { type = "integer" } }
        for i = 1, length - 1 do
          definitions["n" .. i] = ref("n" .. i + 1)
        end
        return compile({ type = "object", properties = { p = ref("n1") }, ["$defs"] = definitions })
      end
      assert.same({ one = "integer" }, chain(31).members.p)
      assert.is_nil(chain(32))
      assert.is_nil(compile({ type = "object", properties = { p = ref("n") } }))
    end)
  end)

  it("is an object whose members stand by themselves", function()
    for keyword, value in pairs({ ["$ref"] = "#/$defs/a", allOf = {}, anyOf = {}, oneOf = {} }) do
      assert.is_nil(compile({ type = "object", [keyword] = value }))
    end
    assert.is_nil(compile({ description = "d" }))
    assert.is_nil(compile(false))
    assert.is_nil(compile(7))
  end)

  it("is open where its schema allows members that it does not name", function()
    for keyword, open in pairs({ additionalProperties = true, patternProperties = true, unevaluatedProperties = true,
      minProperties = false }) do
      assert.equal(open, compile({ type = "object", [keyword] = {} }).open)
      assert.is_false(compile({ type = "object", [keyword] = false }).open)
    end
    assert.is_true(compile({}).open)
  end)

  it("leaves the members to the path that it carries", function()
    local schema = T.object({ a = T.object({}), b = T.string() })
    assert.is_nil(compile(schema))
    assert.is_truthy(compile(schema, { "a" }))
  end)

  it("converts text by the member's type, and no other", function()
    local schema = T.object({ s = T.optional(T.string()), i = T.optional(T.integer()), n = T.optional(T.number()),
      b = T.optional(T.boolean()), l = T.optional(T.array(T.integer())), e = T.optional(T.enum({ 1, 2 })) })
    assert.same({ s = "1", i = 1, n = 1.5, b = true, l = { 1, 2 }, e = 2 },
      read(schema, { "s", "1" }, { "i", "1" }, { "n", "1.5" }, { "b", "true" }, { "l", "1" }, { "l", "2" },
        { "e", "2" }))
    assert.same({ b = false, l = { 7 }, s = "" }, read(schema, { "b", "false" }, { "l", "7" }, { "s", "" }))
    assert.equal(operations.array_mt, getmetatable(read(schema, { "l", "7" }).l))
    assert.equal('/i: expected integer, got "x"', issue(schema, { "i", "x" }))
    assert.equal("/i: expected integer, got nothing", issue(schema, { "i", "" }))
    assert.equal('/i: expected integer, got "01"', issue(schema, { "i", "01" }))
    assert.equal('/n: expected number, got "NaN"', issue(schema, { "n", "NaN" }))
    assert.equal('/n: expected number, got "0x10"', issue(schema, { "n", "0x10" }))
    assert.equal('/n: expected number, got "1 "', issue(schema, { "n", "1 " }))
    assert.equal('/b: expected boolean, got "1"', issue(schema, { "b", "1" }))
    assert.equal("/s: is given more than once", issue(schema, { "s", "a" }, { "s", "b" }))
    assert.equal("/b: is given more than once", issue(schema, { "b", "false" }, { "b", "false" }))
  end)

  it("loses no digit", function()
    local schema = T.object({ i = T.integer() })
    assert.equal("9007199254740993", tostring(read(schema, { "i", "9007199254740993" }).i):match("%d+"))
  end)

  it("reads null where it is accepted, but for strings", function()
    local schema = { type = "object", properties = { i = { type = { "integer", "null" } },
      s = { type = { "string", "null" } } } }
    assert.same({ i = operations.null, s = "null" }, read(schema, { "i", "null" }, { "s", "null" }))
    assert.equal('/i: expected integer, got "nil"', issue(schema, { "i", "nil" }))
    assert.equal('/n: expected integer, got "null"', issue(T.object({ n = T.integer() }), { "n", "null" }))
    assert.same({ n = operations.null }, read({ properties = { n = { type = "null" } } }, { "n", "null" }))
  end)

  it("knows no other parameters, unless the schema does", function()
    assert.equal("/x: unknown parameter", issue(T.object({}), { "x", "1" }))
    assert.equal("/x: unknown parameter", issue({ type = "object", properties = {} }, { "x", "1" }))
    assert.same({ x = "1" }, read(true, { "x", "1" }))
    assert.same({ x = "1" }, read({ type = "object", additionalProperties = true }, { "x", "1" }))
    assert.equal("/a~1b: unknown parameter", issue(T.object({}), { "a/b", "1" }))
  end)

  it("reports all errors, and shortens long values", function()
    local _, issues = read(T.object({ i = T.integer() }), { "i", ("ü"):rep(40) }, { "x", "1" })
    assert.equal(2, #issues)
    assert.equal('expected integer, got "' .. ("ü"):rep(18) .. '..."', issues[1].message)
    local function told(text)
      return issue(T.object({ i = T.integer() }), { "i", text })
    end
    assert.equal('/i: expected integer, got "' .. ("x"):rep(40) .. '"', told(("x"):rep(40)))
    assert.equal('/i: expected integer, got "' .. ("x"):rep(37) .. '..."', told(("x"):rep(41)))
  end)

  it("makes text of path parameters that the schema does not know", function()
    local schema = T.object({ id = T.integer(), list = T.array(T.string()) })
    local members = input_reader.of_members(schema, { "id", "list", "x" })
    local input = {}
    assert.is_nil(members:add(input, "id", "5"))
    assert.is_nil(members:add(input, "list", "a"))
    assert.is_nil(members:add(input, "x", "b"))
    assert.same({ id = 5, list = "a", x = "b" }, input)
    assert.equal("/id", members:add({}, "id", "x").path)
  end)
end)

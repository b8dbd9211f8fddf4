local errors = require("operations.base.error")
local http_request = require("spec.support.http_request")
local input = require("operations.server.input")
local operations = require("operations")

describe("the body of a request", function()
  local function body(given, max, headers)
    local found, err, status = input.body({ body = given, headers = headers or {} }, max or 10)
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

  it("is the query of GET, made what the schema says", function()
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

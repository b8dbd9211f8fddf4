local json = require("operations.base.json")
local shell_api = require("spec.support.shell_api")

local api = shell_api.during(setup, teardown)

-- What the server received by `operations request shop ARGUMENTS`, where shop is remembered.
local function received(arguments)
  local result = api:run(("KEY=abcdefgh; export KEY; operations add shop %s --bearer env:KEY 2>/dev/null; "
    .. "operations request shop %s"):format(api.document, arguments))
  assert.same({ "", 0 }, { result.err, result.code })
  return assert(json.decode(result.out))
end

describe("a request to the API of a source", function()
  it("has the source's base URL and credentials, and the input as its query", function()
    local seen = received("get '/echo/any/path?a=1' b=2 'c[]=x y' d:=true")
    assert.same({ "GET", "/echo/any/path?a=1&b=2&c%5B%5D=x%20y&d=true", "Bearer abcdefgh" },
      { seen.method, seen.uri, seen.headers.authorization })
  end)

  it("has the input as its body where the method takes one", function()
    local seen = received("PATCH /echo/%7Bid%7D/{id} title=x count:=3 owner.name=ada")
    assert.same({ "PATCH", "/echo/%7Bid%7D/%7Bid%7D", "application/json" },
      { seen.method, seen.uri, seen.headers["content-type"] })
    assert.same({ title = "x", count = 3, owner = { name = "ada" } }, json.decode(seen.body))
    assert.same({ 1, "b" }, json.decode(received("POST /echo/x '[1,\"b\"]'").body))
    assert.equal("", received("POST /echo/x </dev/null").body)
  end)

  it("takes the options of call", function()
    assert.equal(("GET %s/x?a=1\nAccept: application/json, */*;q=0.8\n"):format(api.url),
      api:run("operations request GET /x a=1 --dry-run --openapi " .. api.document).out)
    local result = api:run("operations request DELETE /shell/error --openapi " .. api.document)
    assert.same({ 10, "" }, { result.code, result.out })
    assert.equal('"Ada"\n', api:run("operations request GET /shell/thing --select owner.name --openapi "
      .. api.document).out)
    assert.equal("\0\1\255bytes", api:run("operations request GET /shell/bytes --openapi " .. api.document).out)
  end)

  it("sends the keys of a document only where its schemes want them", function()
    local result = api:run([[echo '{ "swagger": "2.0", "host": "api.test", "basePath": "/v1", "schemes": ["https"],
      "info": { "title": "a", "version": "1" }, "paths": {}, "securityDefinitions": { "k": { "type": "apiKey",
      "in": "header", "name": "X-Key" } } }' >a.json
      operations request POST /x a=1 --openapi a.json --api-key secret --dry-run
      operations request GET /x a=1 a=2 --openapi a.json --dry-run]])
    assert.equal("POST https://api.test/v1/x\nAccept: application/json, */*;q=0.8\nContent-Type: application/json\n"
      .. "X-Key: ***\n\n" .. '{"a":"1"}\nGET https://api.test/v1/x?a=1&a=2\nAccept: application/json, */*;q=0.8\n',
      result.out)
  end)

  it("is refused without a method or path, with what was expected", function()
    for arguments, message in pairs({
      ["shop"] = 'request: expected SOURCE METHOD /PATH, got "" as the method',
      ["shop FETCH /x"] = 'request: expected SOURCE METHOD /PATH, got "FETCH" as the method',
      ["shop GET https://x.test/"] = 'request: expected a path such as /users?page=2, got "https://x.test/"',
      ["shop GET /x a"] = '"a" is not an input: expected key=value, key:=json, @file, - or a JSON object',
      ["shp GET /x"] = 'no source "shp" (did you mean shop?); operations sources lists them',
      ["own GET /x"] = "request: own is no OpenAPI document, so it has no paths",
      ["shop GET /x --lua-code"] = "unknown option --lua-code; see operations request --help", -- no operation has it
    }) do
      local result = api:run(("echo 'return { namespace = \"a\", name = \"b\", handler = print }' >a.lua; "
        .. "operations add own a.lua -q; operations add shop %s -q; operations request %s")
        :format(api.document, arguments))
      assert.same({ "operations: " .. message .. "\n", 2, "" }, { result.err, result.code, result.out })
    end
  end)
end)

describe("a request in the place of an operation's name", function()
  local function called(arguments)
    return api:run("operations call " .. arguments .. " --openapi " .. api.document)
  end

  it("fills the parameters of the operation whose template it fits", function()
    local seen = json.decode(called("'POST /echo/a%20da?note=1+2' title=x").out)
    assert.same({ "/echo/a%20da?note=1%202", '{"title":"x"}' }, { seen.uri, seen.body })
    assert.equal("/echo/ada?note=b", json.decode(called("'post /echo/ada?note=a' note=b title=x").out).uri)
  end)

  it("prefers the operation with the fewest parameters", function()
    assert.matches("^POST %S+/echo/file\n", called("'POST /echo/file' body=x --dry-run").out)
  end)

  it("has no parameters that the operation lacks", function()
    assert.equal('operations: VALIDATION_ERROR\n  /x: unknown property; expected "owner", "body" or "note"\n',
      called("'POST /echo/ada?x=1' title=y").err)
  end)

  it("is answered with the command for any request where no operation fits", function()
    assert.equal("operations: OPERATION_NOT_FOUND: no operation 'GET /nowhere'; operations request SOURCE GET /nowhere "
      .. "sends it anyway\n", called("'GET /nowhere'").err)
  end)
end)

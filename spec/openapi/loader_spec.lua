local operations = require("operations")
local support = require("spec.support.openapi")

local function names(api)
  local list = {}
  for i, definition in ipairs(api.definitions) do
    list[i] = definition.name
  end
  table.sort(list)
  return table.concat(list, " ")
end

local function problem(api, pointer)
  for _, entry in ipairs(api.report) do
    if entry.pointer == pointer then
      return entry
    end
  end
end

describe("a definition of a document", function()
  local definition = support.api({
    info = { title = "Pet Store - API 2", version = "2.1" },
    paths = { ["/pets"] = { get = {
      operationId = "listPets", summary = "List pets", description = "All of them.", tags = { "pets" },
      deprecated = true,
    } } },
  }).definitions[1]

  it("has the fields of the operation", function()
    assert.equal("pet_store_api_2", definition.namespace)
    assert.equal("listPets", definition.name)
    assert.equal("2.1", definition.version)
    assert.equal("List pets", definition.title)
    assert.equal("All of them.", definition.description)
    assert.same({ "pets" }, definition.tags)
  end)

  it("remembers where it comes from", function()
    assert.equal("GET", definition._meta.method)
    assert.equal("/pets", definition._meta.path)
    assert.equal("listPets", definition._meta.operationId)
    assert.is_true(definition._meta.deprecated)
  end)

  it("is not exposed to others until the program says so", function()
    assert.is_false(definition._meta.exposed)
    assert.is_nil(definition.accessControl)
  end)

  it("needs the scopes of the configuration, and is then exposed", function()
    local access = { requiredScopes = { "pets" } }
    local other = support.api(support.one({}), { accessControl = access }).definitions[1]
    assert.same(access, other.accessControl)
    assert.is_true(other._meta.exposed)
  end)

  it("may need scopes of its own", function()
    local api = support.api({ paths = { ["/a"] = { get = {}, delete = {} } } }, {
      accessControl = function(found)
        return { requiredScopes = { found._meta.method == "GET" and "read" or "write" } }
      end,
    })
    assert.same({ "read" }, api.by_name.get_a.accessControl.requiredScopes)
    assert.same({ "write" }, api.by_name.delete_a.accessControl.requiredScopes)
  end)

  it("is left out and reported by its operationId when the program's choice of scopes fails", function()
    local api = support.api({ paths = { ["/a"] = { get = { operationId = "get.a" }, delete = {} } } }, {
      accessControl = function()
        error("no scopes", 0)
      end,
    })
    assert.same({}, api.definitions)
    assert.same({ pointer = "#/paths/~1a/get", message = "cannot be read: no scopes", operation = "get.a" },
      problem(api, "#/paths/~1a/get"))
    assert.equal("delete_a", problem(api, "#/paths/~1a/delete").operation)
  end)

  it("is a query for GET, HEAD and QUERY, else a mutation", function()
    local item = {}
    for _, method in ipairs({ "get", "head", "query", "post", "put", "patch", "delete", "options", "trace" }) do
      item[method] = { operationId = method }
    end
    local api = support.api({ paths = { ["/a"] = item } })
    assert.equal(9, #api.definitions)
    for name, found in pairs(api.by_name) do
      local is_query = name == "get" or name == "head" or name == "query"
      assert.equal(is_query and "query" or "mutation", found.type)
    end
  end)

  it("has a path that begins with a slash", function()
    local api = support.api({ paths = { ["a~"] = { get = {} }, ["x-note"] = {}, ["/b"] = { get = {} } } })
    assert.equal(1, #api.definitions)
    assert.equal(1, #api.report)
    assert.equal("a path must begin with /", problem(api, "#/paths/a~0").message)
  end)

  it("may have a method of its own (3.2)", function()
    local item = { additionalOperations = { COPY = { operationId = "copy" }, ["A B"] = {} } }
    local api = support.api({ openapi = "3.2.0", paths = { ["/a"] = item } })
    api.by_name.copy.handler({})
    assert.equal("COPY", api.requests[1].method)
    assert.equal('"A B" is not an HTTP method', problem(api, "#/paths/~1a/additionalOperations").message)
  end)

  it("can be registered and called", function()
    local reply = { status = 200, headers = { ["content-type"] = "application/json" }, body = '{"n":12}' }
    local schema = { type = "object", properties = { n = { type = "integer" } } }
    local responses = { ["200"] = { content = { ["application/json"] = { schema = schema } } } }
    local api = support.api(support.one({ responses = responses }), nil, reply)
    local registry = operations.registry()
    assert(registry:register_all(api.definitions))
    local envelope = assert(registry:execute("test.op"))
    assert.same({ n = 12 }, envelope.data)
    assert.equal("http", envelope.meta.source)
    local _, err = registry:execute("test.op", { nope = 1 })
    assert.equal("VALIDATION_ERROR", err.code)
  end)
end)

describe("the name of an operation", function()
  it("is its operationId, with underscores for characters that no identifier may hold", function()
    assert.equal("repos_list_for_user", names(support.api(support.one({ operationId = "repos/list-for-user" }))))
  end)

  it("is made of method and path where there is no operationId", function()
    local item = { get = {}, post = {} }
    local api = support.api({ paths = {
      ["/"] = { get = {} }, ["/users"] = item, ["/users/{id}"] = { get = {} }, ["/users/id"] = { get = {} },
      ["/users/{id}.{format}/x:run"] = { get = {} },
    } })
    assert.equal("get_root get_users get_users_by_id get_users_by_id_by_format_x_run get_users_id post_users",
      names(api))
  end)

  it("is made of method and path where nothing of the operationId is left", function()
    assert.equal("get_op", names(support.api(support.one({ operationId = "\228\189\160" }))))
  end)

  it("gets a number when it is taken, which is reported", function()
    local api = support.api({ paths = {
      ["/a"] = { get = { operationId = "list-x" } }, ["/b"] = { get = { operationId = "list_x" } },
      ["/c"] = { get = { operationId = "list_x_2" } },
    } })
    assert.equal("list_x list_x_2 list_x_2_2", names(api))
    assert.equal("#/paths/~1b/get", api.report[1].pointer)
    assert.matches("list_x_2", api.report[1].message, 1, true)
  end)

  it("is the same each time", function()
    local doc = { paths = {} }
    for i = 1, 20 do
      doc.paths["/" .. i] = { get = { operationId = "same" } }
    end
    local first, second = support.api(doc), support.api(doc)
    for i, definition in ipairs(first.definitions) do
      assert.equal(definition.name, second.definitions[i].name)
      assert.equal(definition._meta.path, second.definitions[i]._meta.path)
    end
  end)
end)

describe("an operation that is a reference", function()
  local list = { operationId = "list", parameters = { { name = "n", ["in"] = "query", required = true } } }

  it("is the operation that it refers to", function()
    local api = support.api({ paths = { ["/a"] = { get = { ["$ref"] = "#/x-operations/list" } } },
      ["x-operations"] = { list = list } })
    assert.same({}, api.report)
    assert.same({ "n" }, api.by_name.list.inputSchema.required)
  end)

  it("has the fields beside the reference", function()
    local api = support.api({ paths = { ["/a"] = { get = { ["$ref"] = "#/x-operations/list", operationId = "mine" } } },
      ["x-operations"] = { list = list } })
    assert.same({ "n" }, api.by_name.mine.inputSchema.required)
  end)

  it("may be in Swagger 2.0, too", function()
    local api = support.api({ swagger = "2.0", host = "a.test", info = { title = "T", version = "1" },
      paths = { ["/a"] = { get = { ["$ref"] = "#/x-operations/list" } } }, ["x-operations"] = { list = {
        operationId = "list", responses = {}, parameters = { { name = "n", ["in"] = "query", type = "string" } } } } })
    assert.truthy(api.by_name.list.inputSchema.properties.n)
  end)

  it("of a path item has its methods, parameters and servers joined with those beside the reference", function()
    local shared = { parameters = { { name = "a", ["in"] = "query" } }, get = { operationId = "get" } }
    local api = support.api({ ["x-items"] = { shared = shared }, paths = { ["/a"] = { ["$ref"] = "#/x-items/shared",
      parameters = { { name = "b", ["in"] = "query" } }, post = { operationId = "post" } } } })
    assert.same({}, api.report)
    for _, name in ipairs({ "get", "post" }) do
      assert.truthy(api.by_name[name].inputSchema.properties.a)
      assert.truthy(api.by_name[name].inputSchema.properties.b)
    end
  end)
end)

describe("a document with something broken", function()
  local null = operations.null

  for title, item in pairs({
    ["a path item that is null"] = null,
    ["a path item that is false"] = false,
    ["an operation that is null"] = { get = null },
    ["an operation that is a string"] = { get = "x" },
    ["a path item that refers to nothing"] = { ["$ref"] = "#/nope" },
    ["a path item that refers to itself"] = { ["$ref"] = "#/paths/~1broken" },
    ["a parameter that refers to nothing"] = { get = { parameters = { { ["$ref"] = "#/nope" } } } },
    ["a parameter without a location"] = { get = { parameters = { { name = "a" } } } },
    ["a parameter in a strange place"] = { get = { parameters = { { name = "a", ["in"] = "soul" } } } },
    ["a header that can be none"] = { get = { parameters = { { name = "a\r\nb", ["in"] = "header" } } } },
    ["a parameter that is null"] = { get = { parameters = { null } } },
    ["a style that does not exist"] = {
      get = { parameters = { { name = "a", ["in"] = "query", style = "baroque" } } },
    },
    ["a schema that is null"] = { get = { parameters = { { name = "a", ["in"] = "query", schema = null } } } },
    ["a body that refers to nothing"] = { post = { requestBody = { ["$ref"] = "#/nope" } } },
    ["a schema that is a list"] = { get = { parameters = { { name = "a", ["in"] = "query", schema = { 1 } } } } },
    ["a body that refers to a number"] = { post = { requestBody = { ["$ref"] = "#/info/version" } } },
    ["a response that refers to nothing"] = { get = { responses = { ["200"] = { ["$ref"] = "#/nope" } } } },
  }) do
    it("still gives the others: " .. title, function()
      local api = support.api({ paths = { ["/broken"] = item, ["/right"] = { get = { operationId = "right" } } } })
      assert.equal("right", api.by_name.right.name)
      assert.equal(1, #api.report)
      assert.matches("^#/paths/~1broken", api.report[1].pointer)
    end)
  end

  for title, operation in pairs({
    ["responses that are null"] = { responses = null },
    ["parameters that are a string"] = { parameters = "x" },
    ["strange response codes"] = { responses = { code = {}, ["99"] = {}, ["200"] = { content = null } } },
    ["media types that are none"] = { responses = { ["200"] = { content = { code = {}, message = {} } } } },
    ["tags, texts and ids that are none"] = { tags = { 1, null, "a" }, summary = {}, description = 3, operationId = 7 },
    ["servers and security that are none"] = { servers = "x", security = "y" },
  }) do
    it("gives all of it where that does no harm: " .. title, function()
      local api = support.api({ paths = { ["/op"] = { get = operation } } }, { auth = { a = "b" } })
      assert.equal(1, #api.definitions)
      assert.equal("test.get_op", operations.registry():register(api.definitions[1]))
    end)
  end

  it("says that a method in upper case is left out", function()
    local api = support.api({ paths = { ["/op"] = { GET = {}, post = {} } } })
    assert.equal("post_op", names(api))
    assert.matches("lower case", problem(api, "#/paths/~1op/GET").message, 1, true)
  end)

  it("says that webhooks are no operations", function()
    local api = support.api({ webhooks = { x = { post = {} } } })
    assert.same({}, api.definitions)
    assert.equal("#/webhooks", api.report[1].pointer)
  end)

  it("says that callbacks are nothing that it waits for", function()
    local api = support.api(support.one({ callbacks = { done = { ["{$request.body#/url}"] = { post = {} } } } }))
    assert.equal("#/paths/~1op/get/callbacks", api.report[1].pointer)
    assert.equal("op", api.report[1].operation)
    assert.same({}, support.api(support.one({ callbacks = {} })).report)
  end)

  it("names an operation as the document does, else as the registry will", function()
    local report = support.api({ paths = { ["/a"] = {
      get = { operationId = "is-called", callbacks = { done = {} } }, put = { callbacks = { done = {} } },
      post = { operationId = "is-bad", parameters = { { ["$ref"] = "#/nowhere" } } },
      patch = { parameters = { { ["$ref"] = "#/nowhere" } } },
    } } }).report
    local named = {}
    for i, entry in ipairs(report) do
      named[i] = entry.operation
    end
    table.sort(named)
    assert.same({ "is-bad", "is-called", "patch_a", "put_a" }, named)
  end)

  it("says which dialect it does not read", function()
    local api = support.api({ jsonSchemaDialect = "http://json-schema.org/draft-07/schema#" })
    assert.equal("#/jsonSchemaDialect", api.report[1].pointer)
    for _, known in ipairs({ "https://spec.openapis.org/oas/3.1/dialect/base",
      "https://json-schema.org/draft/2020-12/schema" }) do
      assert.same({}, support.api({ jsonSchemaDialect = known }).report)
    end
  end)

  it("may have no paths", function()
    assert.same({}, support.api({}).definitions)
    assert.equal(1, #support.api({ paths = "x" }).report)
  end)
end)

describe("the choice of operations", function()
  local doc = { paths = {
    ["/a"] = { get = { operationId = "a/one", tags = { "x" } }, post = { operationId = "a/two" } },
    ["/b"] = { get = { operationId = "b", tags = { "x", "y" } } },
  } }

  it("includes by operationId, name and tag", function()
    assert.equal("a_one", names(support.api(doc, { include = { "a/one" } })))
    assert.equal("a_one", names(support.api(doc, { include = { "a_one" } })))
    assert.equal("a_one b", names(support.api(doc, { include = { "x" } })))
  end)

  it("excludes after that", function()
    assert.equal("a_one", names(support.api(doc, { include = { "x" }, exclude = { "y" } })))
  end)

  it("asks a function", function()
    assert.equal("a_two", names(support.api(doc, { include = function(info)
      return info.method == "POST" and info.path == "/a"
    end })))
  end)
end)

describe("a document that cannot be used", function()
  for said, doc in pairs({
    ["Swagger 1.2"] = { swagger = "1.2" }, ["OpenAPI 4.0.0"] = { openapi = "4.0.0" }, ["no version"] = { a = 1 },
    ["a version that is a number, not a string"] = { openapi = 3.1 },
  }) do
    it("is refused with what was found: " .. said, function()
      local list, err = operations.from_openapi.document(doc)
      assert.is_nil(list)
      assert.equal("EXECUTION_ERROR", err.code)
      assert.matches(said, err.message, 1, true)
    end)
  end

  it("is misuse when it is no table", function()
    assert.has_error(function()
      operations.from_openapi.document("{}")
    end, "bad argument #1 to 'document' (table expected, got string)")
  end)
end)

describe("the configuration", function()
  for said, config in pairs({
    ["bad option 'basUrl' to 'from_openapi' (unknown; did you mean base_url?)"] = { basUrl = "x" },
    ["bad option 'timeout' to 'from_openapi' (number expected, got string)"] = { timeout = "5" },
    ["bad option 'proxy' to 'from_openapi' (string or false expected, got boolean)"] = { proxy = true },
    ["bad option 'retry' (there is no 'tries')"] = { retry = { tries = 3 } },
    ["config.base_url is not an absolute http or https URL"] = { base_url = "localhost" },
    ["config.base_url must not contain a user name or password"] = { base_url = "http://u:p@x" },
    ['config.headers: "a b" is not a header name'] = { headers = { ["a b"] = "x" } },
    ["config.headers: the value of A must be a string without control characters"] = { headers = { A = "x\ny" } },
    ["config.headers: the value of B must be a string without control characters"] = { headers = { B = 1 } },
    ['config.document_headers: "1" is not a header name'] = { document_headers = { "x" } },
    ['config.normalize: expected cast, force or off, got "x"'] = { normalize = "x" },
    ['config.on_mismatch: expected warn or fail, got "x"'] = { on_mismatch = "x" },
    ['config.deep_arrays: expected brackets, indices or repeat, got "x"'] = { deep_arrays = "x" },
    ["config: expected a table, got string"] = "x",
  }) do
    it("is refused where it is wrong, at the caller's line: " .. said, function()
      local ok, message = pcall(function()
        operations.from_openapi.document({ openapi = "3.1.0" }, config)
      end)
      assert.is_false(ok)
      assert.matches(said, message, 1, true)
      assert.matches("loader_spec.lua", message, 1, true)
    end)
  end

  it("is not changed", function()
    local config = { base_url = "http://x/" }
    operations.from_openapi.document({ openapi = "3.1.0" }, config)
    assert.same({ base_url = "http://x/" }, config)
  end)
end)

describe("a patch of a document", function()
  local doc = { openapi = "4.0", info = { title = "T" }, paths = { ["/a"] = { get = { operationId = "a" } } } }
  local mends = { { op = "test", path = "/openapi", value = "4.0" },
    { op = "replace", path = "/openapi", value = "3.1.0" },
    { op = "add", path = "/paths/~1a/get/parameters", value = { { name = "q", ["in"] = "query" } } } }

  it("mends it before it is read, and leaves the table as it is", function()
    local api = support.api(doc, { patch = mends })
    assert.same({}, api.report)
    assert(api.by_name.a.handler({ q = 1 }))
    assert.matches("/a?q=1", api.requests[1].url, 1, true)
    assert.same({ "4.0", nil }, { doc.openapi, doc.paths["/a"].get.parameters })
  end)

  it("is applied each time that the document is fetched", function()
    local fetched = 0
    local config = { patch = mends, http = { request = function()
      fetched = fetched + 1
      return { status = 200, headers = {}, body = operations.json.encode(doc) }
    end } }
    for _ = 1, 2 do
      local list = assert(operations.from_openapi.url("https://api.test/openapi.json", config))
      assert.is_table(list[1].inputSchema().properties.q)
    end
    assert.equal(2, fetched)
  end)

  it("fails with the operation that does not fit the document", function()
    for _, operation in ipairs({ { op = "remove", path = "/paths/~1b" },
      { op = "test", path = "/openapi", value = "3.0.0" } }) do
      local list, err = operations.from_openapi.document(doc, { patch = { mends[1], operation } })
      assert.is_nil(list)
      assert.same({ "EXECUTION_ERROR", "patch", operation.path }, { err.code, err.details.kind, err.details.path })
      assert.matches("operation 2 (" .. operation.op .. " " .. operation.path .. ")", err.message, 1, true)
    end
  end)
end)

-- registry:pages over a real API.
local limits = require("operations.base.limits")
local operations = require("operations")
local server = require("spec.support.server")
local support = require("spec.support.openapi")

describe("the pages of an answer", function()
  local running = server.around(setup, teardown)

  local parameters = {
    { name = "page", ["in"] = "query", schema = { type = "integer" } },
    { name = "of", ["in"] = "query", schema = { type = "integer" } },
    { name = "origin", ["in"] = "query" }, { name = "body", ["in"] = "query" },
    { name = "X-Own", ["in"] = "header" }, { name = "c", ["in"] = "cookie" },
  }

  local function registry_of(config, operation)
    operation = operation or {}
    operation.parameters = parameters
    return (support.registry(support.one(operation, { path = "/pages", doc = { components = { securitySchemes = {
      key = { type = "apiKey", ["in"] = "query", name = "key" }, bearer = { type = "http", scheme = "bearer" },
    } } } }), running.url, config))
  end

  local function pages_of(registry, input)
    local list = {}
    for envelope in assert(registry:pages("api.op", input)) do
      list[#list + 1] = envelope.data.page
    end
    return list
  end

  local function failure_of(registry, input)
    local stream = assert(registry:pages("api.op", input))
    while true do
      local envelope, err = stream:next()
      if not envelope then
        return err
      end
    end
  end

  it("are those that the Link headers name", function()
    assert.same({ 1, 2, 3 }, pages_of(registry_of(), { of = 3 }))
  end)

  it("are one where there is no more", function()
    assert.same({ 1 }, pages_of(registry_of(), { of = 1 }))
  end)

  it("are fetched when they are asked for", function()
    local count = 0
    local registry = registry_of({ http = { request = function(message)
      count = count + 1
      return operations.http.request(message)
    end } })
    local stream = assert(registry:pages("api.op", { of = 5 }))
    assert.equal(0, count)
    stream:next()
    stream:next()
    stream:close()
    assert.equal(2, count)
  end)

  it("are asked for with the credentials of their origin, in the query once", function()
    local registry = registry_of({ auth = { key = "k3y", bearer = "t0ken" }, headers = { ["X-Config"] = "c" } },
      { security = { { key = {}, bearer = {} } } })
    for page in assert(registry:pages("api.op", { of = 2, ["X-Own"] = "own", c = "cookie" })) do
      assert.equal("k3y", page.data.key)
      assert.equal("Bearer t0ken", page.data.headers.authorization)
      assert.equal("c", page.data.headers["x-config"])
      assert.equal("own", page.data.headers["x-own"])
      assert.equal("c=cookie", page.data.headers.cookie)
    end
  end)

  it("take nothing of that to another origin", function()
    local registry = registry_of({ auth = { key = "k3y", bearer = "t0ken" }, headers = { ["X-Config"] = "c" } },
      { security = { { key = {}, bearer = {} } } })
    local input = { of = 2, origin = running.other, ["X-Own"] = "own", c = "cookie" }
    local seen = {}
    for page in assert(registry:pages("api.op", input)) do
      seen[page.data.page] = page.data
    end
    assert.equal("Bearer t0ken", seen[1].headers.authorization)
    for _, name in ipairs({ "authorization", "x-config", "x-own", "cookie" }) do
      assert.is_nil(seen[2].headers[name])
    end
    assert.is_nil(seen[2].key)
    assert.equal("application/json, */*;q=0.8", seen[2].headers.accept)
  end)

  it("that go in a circle fail", function()
    local err = failure_of(registry_of(), { of = 0, page = 1 })
    assert.equal("EXECUTION_ERROR", err.code)
    assert.equal("pages", err.details.kind)
    assert.matches("cycle", err.message)
  end)

  it("have a limit", function()
    local limit = limits.pages
    limits.pages = 3
    local err = failure_of(registry_of(), { of = 9 })
    assert.same({ 1, 2, 3 }, pages_of(registry_of(), { of = 3 }))
    limits.pages = limit
    assert.matches("more than 3 pages", err.message)
  end)

  it("at other URLs than http fail", function()
    local err = failure_of(registry_of(), { of = 2, origin = "file://etc" })
    assert.equal("pages", err.details.kind)
  end)

  it("end with the error of a page", function()
    local registry = registry_of({ next_page = function()
      return "/status/503"
    end })
    local stream = assert(registry:pages("api.op", { of = 1 }))
    assert.equal(1, stream:next().data.page)
    local envelope, err = stream:next()
    assert.is_nil(envelope)
    assert.equal("HTTP_503", err.code)
  end)

  it("are those of the configuration, as a URL or as an input", function()
    local registry = registry_of({ next_page = function(envelope, input)
      local page = envelope.data.page
      if page == 1 then
        return { page = 4, of = input.of }
      elseif page == 4 then
        return "/pages?of=9&page=7"
      end
      return false
    end })
    assert.same({ 1, 4, 7 }, pages_of(registry, { of = 9 }))
  end)

  it("are left to the answer where the configuration says nil, and end where it says false", function()
    local told
    local registry = registry_of({ next_page = function(_, _, info)
      told = info
    end })
    assert.same({ 1, 2, 3 }, pages_of(registry, { of = 3 }))
    assert.equal("op", told.operationId)
    registry = registry_of({ next_page = function()
      return false
    end })
    assert.same({ 1 }, pages_of(registry, { of = 3 }))
  end)

  describe("by a rule of the configuration", function()
    -- The inputs that reach an API of `pages`, whose data is `make(query)`.
    local function asked(rule, make, input)
      local queries = {}
      local fake = operations.testing.http(function(request)
        queries[#queries + 1] = request.url:match("%?(.*)$") or ""
        local data = make(request.query)
        return type(data) == "string" and { body = data, headers = { ["content-type"] = "text/csv; charset=utf-8" } }
          or { json = data }
      end)
      local registry = registry_of({ next_page = rule, http = fake })
      local last
      for envelope in assert(registry:pages("api.op", input or {})) do
        last = envelope
      end
      return queries, last
    end

    local function items(first, count)
      local list = operations.array({})
      for i = first, math.min(first + count - 1, 5) do
        list[#list + 1] = i
      end
      return list
    end

    it("have the value at a place as parameter", function()
      for name, last in pairs({ null = operations.null, text = "", boolean = false, absent = {} }) do
        local queries = asked({ from = "/meta/next", to = "body" }, function(query)
          local after = query.body == nil and "b" or query.body == "b" and "c" or last
          return { meta = { next = after ~= last and after or name ~= "absent" and last or nil } }
        end)
        assert.same({ name, { "", "body=b", "body=c" } }, { name, queries })
      end
    end)

    it("are at the URL at a place", function()
      assert.same({ "", "page=2", "x=3" }, (asked({ from = "/next" }, function(query)
        return { next = query.page == "2" and "?x=3" or not query.x and "/pages?page=2" or operations.null }
      end)))
    end)

    it("are counted until one is empty, from the input or the parameter's first value on", function()
      local function make(query)
        return items((tonumber(query.page or 1) - 1) * 2 + 1, 2)
      end
      assert.same({ "", "page=2", "page=3", "page=4" }, (asked({ page = "page" }, make)))
      assert.same({ "page=3", "page=4" }, (asked({ page = "page" }, make, { page = 3 })))
    end)

    it("begin behind the items so far, which are the only list, or those at a place", function()
      local function make(query)
        return { total = 5, rows = items(tonumber(query.of or 0) + 1, 2) }
      end
      assert.same({ "", "of=2", "of=4", "of=5" }, (asked({ offset = "of" }, make)))
      local queries, last = asked({ offset = "of", items = "/rows" }, function(query)
        return { other = operations.array({}), rows = make(query).rows }
      end)
      assert.same({ { "", "of=2", "of=4", "of=5" }, "/rows" }, { queries, last.meta.items })
    end)

    it("may be rows of CSV", function()
      assert.same({ "", "of=2", "of=3" }, (asked({ offset = "of" }, function(query)
        return query.of == "2" and 'a,b\n1,"x\n\ny"\n' or query.of and "a,b\n" or "a,b\r\n1,2\r\n3,4\r\n"
      end)))
    end)

    it("are left to the answer where the operation lacks the parameter, or answers no list", function()
      assert.same({ "" }, (asked({ page = "start" }, function() return items(1, 2) end)))
      assert.same({ "" }, (asked({ page = "page" }, function() return { a = 1 } end)))
      assert.same({ "" }, (asked({ page = "page" }, function()
        return { a = operations.array({}), b = operations.array({}) }
      end)))
    end)

    it("are not read by a wrong rule", function()
      for message, rule in pairs({
        ["one of from, page and offset expected"] = {},
        ["one of from, page and offset expected "] = { page = "page", offset = "of" },
        ["to needs from"] = { page = "page", to = "of" },
        ["from: a JSON Pointer expected"] = { from = "next" },
        ["page: a parameter's name expected"] = { page = 1 },
        ['there is no "pages"'] = { pages = "page" },
      }) do
        local ok, raised = pcall(registry_of, { next_page = rule })
        assert.is_false(ok)
        assert.matches("config.next_page: " .. message:gsub(" $", ""), raised, 1, true)
      end
    end)
  end)

  describe("by the document's links", function()
    local function linked(link, more)
      local operation = { operationId = "op", responses = { ["200"] = { links = { NextPage = link } } } }
      for key, value in pairs(more or {}) do
        operation[key] = value
      end
      return registry_of(nil, operation)
    end

    it("are called with the parameters that they name", function()
      local registry = linked({ operationId = "op", parameters = { page = "$response.body#/next" } })
      assert.same({ 1, 2, 3 }, pages_of(registry, { of = 3, body = "only" }))
    end)

    it("may be named by location, and by texts with expressions within", function()
      local registry = linked({ operationRef = "#/paths/~1pages/get", parameters = {
        ["query.page"] = "{$response.body#/next}", of = "$request.query.of",
      } })
      assert.same({ 1, 2, 3 }, pages_of(registry, { of = 3, body = "only" }))
    end)

    it("may be named by integers of 64 bits", function()
      local sent = {}
      local api = support.api(support.one({ operationId = "op", parameters = { { name = "at", ["in"] = "query" } },
        responses = { ["200"] = { links = { NextPage = { operationId = "op", parameters = {
          at = "{$response.body#/next}" } } } } } }), nil, function(request)
        sent[#sent + 1] = request.url
        return { status = 200, headers = { ["content-type"] = "application/json" },
          body = #sent == 1 and '{"next":9007199254740993}' or "{}" }
      end)
      local registry = operations.registry()
      assert(registry:register_all(api.definitions))
      for _ in registry:pages(api.definitions[1].namespace .. ".op", {}) do -- luacheck: ignore 542
      end
      assert.equal("http://api.test/op?at=9007199254740993", sent[2])
    end)

    -- The second request that a link leads to from the first answer; nil without one.
    local function second(link, answer, more)
      local operation = { operationId = "op", requestBody = { content = { ["application/json"] = {} } },
        parameters = { { name = "at", ["in"] = "query" }, { name = "id", ["in"] = "query" },
          { name = "id", ["in"] = "header" } },
        responses = { [more and more.status or "200"] = { links = { nextOne = link } } } }
      local api = support.api(support.one(operation, { method = more and more.method or "query",
        doc = { openapi = "3.2.0" } }), nil, function()
        return answer
      end)
      local count = 0
      api.definitions[1].handler({ body = { n = 5 }, ["query.id"] = "q", ["header.id"] = "h" },
        { emit = function()
          count = count + 1
          if count == 1 then
            answer = { status = 200, headers = {}, body = "" }
          end
        end })
      return api.requests[2]
    end

    local function first(status)
      return { status = status or 200, url = "http://api.test/op?id=q",
        body = '{"next":7,"none":null,"empty":"","no":false}',
        headers = { ["content-type"] = "application/json", ["x-next"] = "up" } }
    end

    for value, expected in pairs({
      ["$statusCode"] = "200", ["$method"] = "QUERY", ["$url"] = "http%3A%2F%2Fapi.test%2Fop%3Fid%3Dq",
      ["$response.header.X-Next"] = "up", ["$response.body#/next"] = "7", ["$response.body#/no"] = "false",
      ["$request.body#/n"] = "5", ["$request.query.id"] = "q",
      ["$request.header.id"] = "h", ["a{$response.body#/next}-{$request.query.id}"] = "a7-q", plain = "plain",
      ["$response.body#/none"] = false, ["$response.body#/empty"] = false, ["$response.body#/gone"] = false,
      ["$response.header.X-None"] = false, ["$request.cookie.c"] = false, ["$response.query.id"] = false,
      ["{$response.body#/gone}"] = false, ["{$response.body#/none}"] = false, ["$other.body"] = false, ["$"] = false,
    }) do
      it("have as value " .. value, function()
        local sent = second({ operationId = "op", parameters = { at = value } }, first())
        assert.equal(expected, sent and sent.url:match("[?&]at=([^&]*)") or false)
      end)
    end

    it("have a body where they say so, else that of the request", function()
      local link = { operationId = "op", parameters = { at = 1 } }
      assert.equal('{"n":5}', second(link, first()).body)
      link.requestBody = "$response.body#/next"
      assert.equal("7", second(link, first()).body)
    end)

    it("are those of the status, its range or the default", function()
      local link = { operationId = "op", parameters = { at = 1 } }
      for status, found in pairs({ ["201"] = true, ["2XX"] = true, default = true, ["200"] = false,
        ["3XX"] = false }) do
        assert.equal(found, second(link, first(201), { status = status }) ~= nil, status)
      end
    end)

    it("are followed for methods that are safe", function()
      local link = { operationId = "op", parameters = { at = 1 } }
      for method, found in pairs({ get = true, head = true, query = true, post = false, put = false }) do
        assert.equal(found, second(link, first(), { method = method }) ~= nil, method)
      end
    end)

    it("are absent when they lead to another operation", function()
      local registry = linked({ operationId = "other", parameters = { page = "$response.body#/next" } })
      assert.same({ 1 }, pages_of(registry, { of = 3, body = "only" }))
    end)

    it("are absent when a parameter is missing", function()
      local registry = linked({ operationId = "op", parameters = { nowhere = "$response.body#/next" } })
      assert.same({ 1 }, pages_of(registry, { of = 3, body = "only" }))
    end)

    it("go in a circle when nothing changes", function()
      local err = failure_of(linked({ operationId = "op", parameters = { of = 3 } }), { of = 3, body = "only" })
      assert.matches("cycle", err.message)
    end)
  end)
end)

describe("the next page of an API", function()
  -- Follows one link; the second request, or the error.
  local function follow(target, base, config)
    config = config or {}
    config.base_url = base or "https://api.test/v1/"
    local sent = 0
    local api = support.api(support.one({}), config, function(request)
      sent = sent + 1
      local link = sent == 1 and "<" .. target .. '>; rel="next"' or nil
      return { status = 200, url = request.url, headers = { link = link } }
    end)
    local _, err = api.definitions[1].handler({}, { emit = function() end })
    return api.requests[2], err
  end

  it("has a URL of http or https, without a user, and of https where the API has it", function()
    for _, case in ipairs({
      { "/next", "https://api.test/next" }, { "https://api.test/next", "https://api.test/next" },
      { "https://other.test/x?y", "https://other.test/x?y" }, { "?page=2", "https://api.test/v1/op?page=2" },
      { "http://api.test/", nil, "the next page has an http URL, but the API uses https" },
      { "ftp://api.test/", nil, "the next page has no valid http or https URL" },
      { "https://me@api.test/", nil, "the next page has no valid http or https URL" },
      { "https://api.test/a b", nil, "the next page has no valid http or https URL" },
      { "mailto:a@b", nil, "the next page has no valid http or https URL" },
    }) do
      local request, err = follow(case[1])
      assert.same({ case[2], case[3] }, { request and request.url, err and err.message })
    end
    assert.equal("http://api.test/x", follow("http://api.test/x", "http://api.test").url)
    assert.equal("https://api.test/x", follow("https://api.test/x", "http://api.test").url)
  end)

  it("has the cookies of the API at its origin only", function()
    local jar = operations.http.jar()
    assert.equal(jar, follow("/next", nil, { jar = jar }).jar)
    assert.is_nil(follow("https://other.test/", nil, { jar = jar }).jar)
  end)

  it("is not asked for by a caller that takes one answer", function()
    local api = support.api(support.one({}), nil, { status = 200, body = "x", headers = {
      link = '</next>; rel="next"' } })
    assert.equal("x", api.definitions[1].handler({}, {}).data)
    assert.equal("x", api.definitions[1].handler().data)
    assert.equal(2, #api.requests)
  end)
end)

describe("registry:pages", function()
  local registry = operations.registry()
  registry:register({ namespace = "local", name = "one", inputSchema = { required = { "a" } },
    handler = function(input)
      return input.a
    end })
  registry:register({ namespace = "local", name = "many", handler = function(_, context)
    context.emit(1)
    context.emit(2)
    return 3
  end })
  registry:register({ namespace = "local", name = "stream", type = "subscription", handler = function() end })
  registry:register({ namespace = "local", name = "secret", accessControl = { requiredScopes = { "s" } },
    handler = function() end })
  registry:register({ namespace = "local", name = "fails", handler = function()
    return nil, operations.error("NOT_FOUND", "nothing")
  end })

  local function collect(...)
    local list = {}
    for envelope in assert(registry:pages(...)) do
      list[#list + 1] = envelope.data
    end
    return list
  end

  it("gives the one result of a handler that knows of no pages", function()
    assert.same({ 7 }, collect("local.one", { a = 7 }))
  end)

  it("gives the events of a handler, and its result", function()
    assert.same({ 1, 2, 3 }, collect("local.many"))
  end)

  it("gives one page without data when the handler returns nothing", function()
    local stream = assert(registry:pages("local.secret", nil, { identity = { id = "a", scopes = { "s" } } }))
    local page = stream:next()
    assert.is_nil(page.data)
    assert.equal("local.secret", page.meta.operationId)
    assert.is_nil((stream:next()))
  end)

  it("checks access and input before anything runs", function()
    assert.equal("ACCESS_DENIED", select(2, registry:pages("local.secret")).code)
    assert.equal("VALIDATION_ERROR", select(2, registry:pages("local.one", {})).code)
  end)

  it("fails as execute does", function()
    assert.equal("NOT_FOUND", select(2, assert(registry:pages("local.fails")):next()).code)
    assert.equal("OPERATION_NOT_FOUND", select(2, registry:pages("local.nothing")).code)
    assert.equal("EXECUTION_ERROR", select(2, registry:pages("local.stream")).code)
    assert.has_error(function()
      registry:pages(1)
    end)
  end)
end)

local operations = require("operations")
local ticker = require("spec.support.ticker")

local T, json = operations.type, operations.json

local function registry_of()
  local registry = operations.registry()
  local function nothing() end
  assert(registry:register_all({
    { namespace = "t", name = "open", type = "query", handler = nothing },
    { namespace = "t", name = "secret", accessControl = { requiredScopes = { "s" } }, handler = nothing },
    { namespace = "t", name = "own", _meta = { exposed = false }, handler = nothing },
  }))
  return registry
end

local function server_of(options, registry)
  options = options or {}
  options.log = function() end
  return assert(operations.to_http(registry or registry_of(), options))
end

local function get(server, target, headers, method)
  return server:handle({ method = method or "GET", target = target or "/openapi.json", headers = headers or {} })
end

local function paths_of(answer)
  local names = {}
  for path in pairs(assert(json.decode(answer.body)).paths) do
    names[#names + 1] = path
  end
  table.sort(names)
  return names
end

local function authorize(request)
  if request.token then
    return request.token ~= "bad" and { id = request.token, scopes = { request.token } } or nil, "unknown"
  end
end

describe("/openapi.json", function()
  it("describes the served operations, with the server's own information", function()
    local server = server_of({ prefix = "/api", openapi = { info = { title = "Mine", version = "3" } } })
    local answer = get(server, "/api/openapi.json")
    assert.equal(200, answer.status)
    assert.equal("application/json", answer.headers["content-type"])
    local document = json.decode(answer.body)
    assert.same({ "3.1.1", { title = "Mine", version = "3" }, { { url = "/api" } } },
      { document.openapi, document.info, document.servers })
    assert.equal(json.encode(server:openapi("3.1", {}), { sort_keys = true }), answer.body)
    assert.equal(404, get(server, "/openapi.json").status)
  end)

  it("is in the version that is asked for", function()
    local server = server_of()
    assert.equal("3.2.0", json.decode(get(server, "/openapi.json?version=3.2").body).openapi)
    assert.equal("3.1.1", json.decode(get(server, "/openapi.json?version=3.1").body).openapi)
    assert.equal("3.0.4", json.decode(get(server, "/openapi.json?version=3.0").body).openapi)
    assert.equal("3.1.1", json.decode(get(server, "/openapi.json?").body).openapi)
    for _, query in ipairs({ "version=2.0", "version=", "x=1", "version=3.1&version=3.2" }) do
      local answer = get(server, "/openapi.json?" .. query)
      local problem = json.decode(answer.body)
      assert.same({ 422, "VALIDATION_ERROR" }, { answer.status, problem.code })
      assert.matches("version=3%.0, 3%.1 or 3%.2", problem.detail)
    end
    assert.has_error(function()
      server:openapi("2.0")
    end, 'bad argument #1 to \'openapi\' ("3.0", "3.1" or "3.2" expected, got 2.0)')
  end)

  it("has an ETag, and is not sent again", function()
    local server = server_of()
    local first = get(server)
    local tag = first.headers.etag
    assert.is_truthy(tag:find('^"%x+"$'))
    assert.equal("private, no-cache", first.headers["cache-control"])
    for _, field in ipairs({ tag, "*", "W/" .. tag, '"x", ' .. tag }) do
      local answer = get(server, nil, { ["if-none-match"] = field })
      assert.same({ 304, "", tag }, { answer.status, answer.body, answer.headers.etag })
    end
    assert.equal(200, get(server, nil, { ["if-none-match"] = '"x"' }).status)
    assert.not_equal(tag, get(server, "/openapi.json?version=3.2").headers.etag)
    assert(server.registry:register({ namespace = "t", name = "new", handler = function() end }))
    local later = get(server, nil, { ["if-none-match"] = tag })
    assert.equal(200, later.status)
    assert.same({ "/t/new", "/t/open" }, paths_of(later))
  end)

  it("is only for callers, and has only the operations that they may call", function()
    local server = server_of({ authorize = authorize })
    assert.equal(401, get(server).status)
    assert.equal(401, get(server, nil, { authorization = "Bearer bad" }).status)
    local other = get(server, nil, { authorization = "Bearer other" })
    local holder = get(server, nil, { authorization = "Bearer s" })
    assert.same({ "/t/open" }, paths_of(other))
    assert.same({ "/t/open", "/t/secret" }, paths_of(holder))
    assert.equal("Authorization", holder.headers.vary)
    assert.equal(200, get(server, nil, { authorization = "Bearer s",
      ["if-none-match"] = other.headers.etag }).status)
    local anonymous = server_of({ authorize = authorize, anonymous = true })
    assert.same({ "/t/open" }, paths_of(get(anonymous)))
    assert.is_nil(get(server_of()).headers.vary)
  end)

  it("names the required credentials", function()
    local document = server_of({ authorize = authorize, anonymous = true }):openapi()
    assert.same({ {}, { { bearer = {} } } },
      { document.paths["/t/open"].get.security, document.paths["/t/secret"].post.security })
    assert.same({ bearer = { type = "http", scheme = "bearer" } }, document.components.securitySchemes)
    document = server_of({ authorize = authorize }):openapi()
    assert.same({ { bearer = {} } }, document.paths["/t/open"].get.security)
    assert.is_nil(server_of():openapi().components.securitySchemes)
  end)

  it("answers other methods as ever", function()
    local server = server_of()
    local answer = get(server, nil, nil, "POST")
    assert.same({ 405, "GET, HEAD, OPTIONS" }, { answer.status, answer.headers.allow })
    answer = get(server, nil, nil, "OPTIONS")
    assert.same({ 204, "GET, HEAD, OPTIONS" }, { answer.status, answer.headers.allow })
    assert.equal(200, get(server, nil, nil, "HEAD").status)
  end)

  it("is missing where the option turns it off", function()
    assert.equal(404, get(server_of({ openapi = false })).status)
  end)

  it("lets others run while a large one is made", function()
    local registry, list = operations.registry(), {}
    for i = 1, 600 do
      list[i] = { namespace = "t", name = "n" .. i, handler = function() end, inputSchema = function()
        local properties = {}
        for n = 1, 40 do
          properties["p" .. n] = T.array(T.string({ minLength = n }))
        end
        return T.object(properties)
      end }
    end
    assert(registry:register_all(list))
    local server, ticks, answer = server_of(nil, registry), 0, nil
    operations.run(function()
      local stop = ticker.start(function()
        ticks = ticks + 1
      end)
      answer = get(server)
      stop()
    end)
    assert.equal(600, #paths_of(answer))
    assert.is_true(ticks > 3)
  end)

  it("is equal for equal registries, whatever the order of registration", function()
    local function text(order)
      local registry = operations.registry()
      for _, name in ipairs(order) do
        assert(registry:register({ namespace = "n", name = name, type = "query",
          inputSchema = T.object({ x = T.ref("#/$defs/" .. "d") }, { ["$defs"] = { d = { enum = { name } } } }) }))
      end
      return json.encode(server_of(nil, registry):openapi(), { sort_keys = true })
    end
    local one = text({ "a", "b", "c" })
    assert.equal(one, text({ "c", "a", "b" }))
    for name in ("abc"):gmatch(".") do
      assert.is_truthy(one:find('"n.' .. name .. '.d":{"enum":["' .. name .. '"]}', 1, true))
    end
  end)
end)

describe("x-operation in a foreign document", function()
  local function document(x)
    return { openapi = "3.1.0", info = { title = "F", version = "1" }, servers = { { url = "http://localhost" } },
      paths = { ["/a"] = { post = { operationId = "op", responses = {}, ["x-operation"] = x } } } }
  end

  local x = { namespace = "theirs", name = "a", type = "query", input = "body",
    accessControl = { requiredScopes = { "s" } } }

  it("gives the shape, and exposes nothing", function()
    local definition = assert(operations.from_openapi.document(document(x)))[1]
    assert.same({ "theirs", "a", "query", false }, { definition.namespace, definition.name, definition.type,
      definition._meta.exposed })
    assert.same({ requiredScopes = { "s" } }, definition.accessControl)
    definition = operations.from_openapi.document(document(x), { namespace = "mine" })[1]
    assert.equal("mine", definition.namespace)
    definition = operations.from_openapi.document(document(x), { accessControl = { requiredScopes = { "t" } } })[1]
    assert.same({ true, { "t" } }, { definition._meta.exposed, definition.accessControl.requiredScopes })
  end)

  it("is trusted where that is said", function()
    local definition = operations.from_openapi.document(document(x), { trust_extension = true })[1]
    assert.is_true(definition._meta.exposed)
    assert.same({ path = "/a", method = "POST" }, definition._meta.http)
  end)

  it("does not count where it is malformed, which is reported", function()
    for _, wrong in ipairs({ { namespace = "a b", name = "a", type = "query", input = "body" },
      { namespace = "n", name = "a", type = "event", input = "body" }, { namespace = "n", name = "a", type = "query" },
      { namespace = "n", name = "a", type = "query", input = "body", accessControl = { resourceType = "x" } },
      { namespace = "n", name = "a", type = "query", input = "body", errors = { ["404"] = "X" } }, "x", true }) do
      local definitions, report = operations.from_openapi.document(document(wrong))
      assert.same({ "f", "op", "mutation" }, { definitions[1].namespace, definitions[1].name, definitions[1].type })
      assert.equal(1, #report)
      assert.is_truthy(report[1].pointer:find("^#/paths/~1a/post/x%-operation"))
    end
  end)

  it("cannot take another operation's name", function()
    local doc = document(x)
    doc.paths["/b"] = doc.paths["/a"]
    local definitions, report = operations.from_openapi.document(doc)
    assert.same({ "a", "a_2" }, { definitions[1].name, definitions[2].name })
    assert.equal('the name "a" is taken; this operation is called "a_2"', report[1].message)
  end)

  it("costs its operation, and no other, where the rest is broken", function()
    for message, broken in pairs({ ["its parameters are invalid"] = { parameters = { { name = "x" } } },
      ["its body cannot be sent"] = { requestBody = { content = { ["text/event-stream"] = {} } } } }) do
      local doc = document(x)
      for key, value in pairs(broken) do
        doc.paths["/a"].post[key] = value
      end
      local definitions, report = operations.from_openapi.document(doc, { eager = true })
      assert.same({}, definitions)
      assert.equal("x-operation: " .. message, report[#report].message)
    end
  end)

  it("makes no schemas of operations elsewhere", function()
    local doc = document(x)
    doc.paths["/a"].post.requestBody = { content = { ["application/json"] = { schema = { ["$ref"] = "other.json" } } } }
    local definition = operations.from_openapi.document(doc)[1]
    local ok, message = pcall(definition.inputSchema)
    assert.is_false(ok)
    assert.is_truthy(message:find("x-operation: the schema of the input is not the document's own", 1, true), message)
  end)
end)

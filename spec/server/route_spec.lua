local http_request = require("spec.support.http_request")
local operations = require("operations")

local T = operations.type

local function registry_with(...)
  local registry = operations.registry()
  for _, definition in ipairs({ ... }) do
    definition.namespace = definition.namespace or "task"
    definition.handler = definition.handler or function(input)
      return { id = definition.name, input = input }
    end
    assert(registry:register(definition))
  end
  return registry
end

local function silent() end

local function serve(registry, options)
  options = options or {}
  options.log = options.log or silent
  return assert(operations.to_http(registry, options))
end

local function status(server, method, path, body)
  return http_request.send(server, method, path, nil, body).status
end

describe("the paths of a server", function()
  it("are namespace and name, each encoded as one segment", function()
    local server = serve(registry_with({ name = "list", type = "query" },
      { namespace = "a/b", name = "c.d%", type = "query" }))
    assert.equal(200, status(server, "GET", "/task/list"))
    assert.equal(200, status(server, "GET", "/%74ask/list"))
    assert.equal(200, status(server, "GET", "/a%2Fb/c.d%25"))
    for _, path in ipairs({ "/task", "/task/list/", "/task//list", "/task/./list", "/task/x/../list", "/Task/list",
      "/a/b/c.d%25", "/task%2Flist", "/", "*", "/task/list%", "/task/li%FFst" }) do
      assert.equal(path:find("/%.") and 400 or 404, status(server, "GET", path), path)
    end
  end)

  it("tell a.b of c from a of b.c", function()
    local server = serve(registry_with({ namespace = "a.b", name = "c", type = "query" }))
    assert.equal(200, status(server, "GET", "/a.b/c"))
    assert.equal(404, status(server, "GET", "/a/b.c"))
  end)

  it("stand below the prefix", function()
    local server = serve(registry_with({ name = "list", type = "query" }), { prefix = "/api/v1" })
    assert.equal(200, status(server, "GET", "/api/v1/task/list"))
    for _, path in ipairs({ "/task/list", "/api/v1", "/api/v1task/list", "/api/v1//task/list" }) do
      assert.equal(404, status(server, "GET", path), path)
    end
    for _, prefix in ipairs({ "api", "/", "/api/", "/a b", "/a?b" }) do
      assert.has_error(function()
        serve(registry_with(), { prefix = prefix })
      end)
    end
  end)

  it("can be named by a request, or are refused", function()
    local function definition(name, path)
      return { name = name, type = "query", _meta = { http = { path = path } } }
    end
    for _, path in ipairs({ 5, true, "tasks", "", "/", "//", "/x/", "/x//y", "/x?y", "/x#y", "/x y", "/%zz", "/x\n",
      "/{id}.json", "/{}", "/{id", "/{id}/{id}" }) do
      local server, err = operations.to_http(registry_with(definition("a", path)))
      assert.is_nil(server)
      assert.matches('^task.a: a path such as "/tasks/{id}" expected, got', err.message)
    end
    local registry = registry_with(definition("a", "/b/{id}/%C3%BC"))
    local server = serve(registry)
    assert.equal(200, status(server, "GET", "/b/1/ü"))
    assert(registry:register({ namespace = "task", name = "b", type = "query", _meta = { http = { path = 5 } },
      handler = silent }))
    assert(registry:register({ namespace = "task", name = "c", type = "query", handler = function() return 1 end }))
    assert.equal(200, status(server, "GET", "/task/c"))
  end)

  it("have the methods of their type", function()
    local flat, nested = T.object({ n = T.optional(T.integer()) }), T.object({ o = T.object({}) })
    local server = serve(registry_with({ name = "list", type = "query", inputSchema = flat },
      { name = "find", type = "query", inputSchema = nested }, { name = "add", inputSchema = flat },
      { name = "watch", type = "subscription", inputSchema = flat, handler = function() end }))
    local allow = {}
    for _, name in ipairs({ "list", "find", "add", "watch" }) do
      allow[name] = http_request.send(server, "OPTIONS", "/task/" .. name).headers.allow
      assert.equal(405, status(server, "TRACE", "/task/" .. name))
      assert.equal(405, status(server, "DELETE", "/task/" .. name))
    end
    assert.same({ list = "GET, HEAD, OPTIONS, POST, QUERY", find = "OPTIONS, POST, QUERY", add = "OPTIONS, POST",
      watch = "GET, HEAD, OPTIONS, POST, QUERY" }, allow)
    assert.equal("OPTIONS, POST", http_request.send(server, "GET", "/task/add").headers.allow)
    assert.equal("application/json", http_request.send(server, "OPTIONS", "/task/list").headers["accept-query"])
    assert.equal(200, status(server, "QUERY", "/task/list", { n = 1 }))
    assert.equal(200, status(server, "HEAD", "/task/list"))
  end)

  it("may be the operation's own, with parameters", function()
    local server = serve(registry_with(
      { name = "get", type = "query", _meta = { http = { method = "GET", path = "/tasks/{id}" } },
        inputSchema = T.object({ id = T.integer(), full = T.optional(T.boolean()) }) },
      { name = "put", _meta = { http = { method = "PUT", path = "/tasks/{id}" } },
        inputSchema = T.object({ id = T.integer(), title = T.string() }) },
      { name = "drop", _meta = { http = { method = "DELETE", path = "/tasks/{id}" } },
        inputSchema = T.object({ id = T.integer() }) },
      { name = "new", type = "query", _meta = { http = { path = "/tasks/new" } } }))
    assert.same({ id = "get", input = { id = 7, full = true } },
      http_request.send(server, "GET", "/tasks/7?full=true").json)
    assert.same({ id = "put", input = { id = 7, title = "x" } },
      http_request.send(server, "PUT", "/tasks/7", nil, { title = "x" }).json)
    assert.same({ id = "drop", input = { id = 7 } }, http_request.send(server, "DELETE", "/tasks/7").json)
    assert.equal("new", http_request.send(server, "GET", "/tasks/new").json.id)
    assert.equal("DELETE, GET, HEAD, OPTIONS, PUT", http_request.send(server, "OPTIONS", "/tasks/7").headers.allow)
    assert.equal(404, status(server, "GET", "/task/get"))
    assert.equal(404, status(server, "GET", "/tasks/"))
    local refused = http_request.send(server, "GET", "/tasks/x")
    assert.equal(422, refused.status)
    assert.equal("/id", refused.json.details[1].path)
  end)

  it("follow the registry", function()
    local registry = registry_with({ name = "list", type = "query" })
    local server = serve(registry)
    assert.equal(404, status(server, "GET", "/task/late"))
    registry:register({ namespace = "task", name = "late", type = "query", handler = function() return 1 end })
    assert.equal(200, status(server, "GET", "/task/late"))
    registry:unregister("task.list")
    assert.equal(404, status(server, "GET", "/task/list"))
  end)

  it("are not kept by the registry that they follow", function()
    local registry = operations.registry()
    local gone = setmetatable({}, { __mode = "v" })
    for i = 1, 3 do
      gone[i] = assert(operations.to_http(registry))
    end
    for _ = 1, 2 do
      collectgarbage()
    end
    assert.same({}, gone)
    assert(registry:register({ namespace = "a", name = "b", handler = function() end })) -- nobody is left to be told
  end)

  it("are refused when they are the server's own or given twice", function()
    local server, err = operations.to_http(registry_with({ namespace = "docs", name = "x" }))
    assert.is_nil(server)
    assert.equal("VALIDATION_ERROR: docs.x: the path /docs/x belongs to the server; _meta.http.path gives another",
      tostring(err))
    for _, first in ipairs({ "docs", "openapi.json", "mcp", "healthz", "readyz", "metrics", ".well-known" }) do
      local path = ("/%s/x"):format(first)
      server, err = operations.to_http(registry_with({ name = "x", _meta = { http = { path = path } } }))
      assert.is_nil(server)
      assert.matches(("task.x: the path %s belongs to the server"):format(path), err.message, 1, true)
    end
    server, err = operations.to_http(registry_with({ name = "a", _meta = { http = { path = "/x/{y}" } } },
      { name = "b", _meta = { http = { path = "/x/{z}" } } }))
    assert.is_nil(server)
    assert.equal("task.b: the path /x/{z} is that of task.a already", err.message)
    server, err = operations.to_http(registry_with({ name = "a",
      _meta = { http = { path = "/x", method = "FETCH" } } }))
    assert.is_nil(server)
    assert.matches('GET, QUERY, POST, PUT, PATCH or DELETE expected, got "FETCH"', err.message, 1, true)
  end)

  it("are not taken by operations that are for the program alone", function()
    local server = serve(registry_with({ namespace = "docs", name = "x", _meta = { exposed = false } },
      { name = "a", _meta = { exposed = false, http = { path = "/x" } } },
      { name = "b", type = "query", _meta = { http = { path = "/x" } } }))
    assert.equal(200, status(server, "GET", "/x"))
    assert.equal(404, status(server, "POST", "/docs/x"))
  end)

  it("serve the first operation of one path, and report the others", function()
    local told = {}
    local registry = registry_with({ name = "a", type = "query", _meta = { http = { path = "/x" } } })
    local server = serve(registry, { log = function(_, message)
      told[#told + 1] = message
    end })
    registry:register({ namespace = "task", name = "b", _meta = { http = { path = "/x" } }, handler = silent })
    assert.equal("a", http_request.send(server, "GET", "/x").json.id)
    assert.same({ "not served: task.b: the path /x is that of task.a already" }, told)
  end)

  it("are those of the document, where that is asked for", function()
    local registry = registry_with({ name = "get", type = "query", inputSchema = T.object({ id = T.integer() }),
      _meta = { source = "openapi", path = "/pets/{id}", method = "GET" } })
    assert.equal(200, status(serve(registry), "GET", "/task/get?id=1"))
    assert.equal(200, status(serve(registry, { paths = "source" }), "GET", "/pets/1"))
  end)

  it("take tools of foreign servers by POST only", function()
    local server = serve(registry_with({ name = "read", type = "query", _meta = { source = "mcp" } }))
    assert.equal("OPTIONS, POST", http_request.send(server, "OPTIONS", "/task/read").headers.allow)
  end)

  it("take a body as it is where its schema is bytes of a media type", function()
    local text = T.string()
    local server = serve(registry_with({ name = "text", inputSchema = text },
      { name = "bytes", inputSchema = { type = "string", contentMediaType = "text/csv" } },
      { name = "base64", inputSchema = { type = "string", contentMediaType = "text/csv", contentEncoding = "base64" } },
      { name = "number", inputSchema = { type = "number", contentMediaType = "text/csv" } }))
    local statuses = {}
    for _, name in ipairs({ "text", "bytes", "base64", "number" }) do
      statuses[name] = {}
      for i, media in ipairs({ "application/json", "text/csv" }) do
        statuses[name][i] = http_request.send(server, "POST", "/task/" .. name, { ["content-type"] = media },
          name == "number" and "1" or '"x"').status
      end
    end
    assert.same({ text = { 200, 415 }, bytes = { 415, 200 }, base64 = { 200, 415 }, number = { 200, 415 } }, statuses)
  end)

  it("say that an operation cannot be called whose schema cannot be made, and nothing of why", function()
    local told = {}
    local server = serve(registry_with({ name = "bad", inputSchema = function()
      error("no schema", 0)
    end }, { name = "good", type = "query" }), { log = function(level, message)
      told[#told + 1] = level .. ": " .. message
    end })
    for _ = 1, 2 do
      local refused = http_request.send(server, "POST", "/task/bad", nil, {})
      assert.same({ 500, "EXECUTION_ERROR" }, { refused.status, refused.json.code })
      assert.is_nil(refused.text:find("no schema", 1, true))
    end
    assert.matches("^error: /task/bad: .*no schema", told[1])
    assert.equal(200, status(server, "GET", "/task/good"))
    told = {}
    local paths = server:openapi("3.1").paths
    assert.is_nil(paths["/task/bad"])
    assert.is_not_nil(paths["/task/good"])
    assert.same({ "warn: not in the document: task.bad cannot be used: /inputSchema: no schema" }, told)
  end)

  it("say that an operation cannot be called whose answers are bytes and would have to be kept", function()
    local kept = { http = { idempotencyKey = "required" } }
    local server = serve(registry_with({ name = "bytes", _meta = kept,
      outputSchema = { type = "string", contentMediaType = "text/csv" } }, { name = "text", _meta = kept,
      outputSchema = T.string(), handler = function() return "x" end }), { idempotency = true })
    local headers = { ["idempotency-key"] = "k" }
    assert.equal("x", http_request.send(server, "POST", "/task/text", headers, {}).json)
    local refused = http_request.send(server, "POST", "/task/bytes", headers, {})
    assert.same({ 422, "VALIDATION_ERROR" }, { refused.status, refused.json.code })
  end)

  it("have no method GET or HEAD where the input does not fit in a query string, which is logged", function()
    for _, method in ipairs({ "GET", "HEAD" }) do
      local told = {}
      local server = serve(registry_with({ name = "a", type = "query", inputSchema = T.object({ o = T.object({}) }),
        _meta = { http = { method = method } } }), { log = function(_, message)
        told[#told + 1] = message
      end })
      assert.equal("OPTIONS", http_request.send(server, "OPTIONS", "/task/a").headers.allow)
      assert.same({ "not served: the input of task.a does not fit in a query string, as its method " .. method
        .. " needs" }, told)
    end
  end)

  it("are in the document as they are, with the names of their parameters", function()
    local server = serve(registry_with({ name = "a", inputSchema = T.object({ x = T.string(), y = T.string() }),
      _meta = { http = { path = "/a/{x}/b/{y}" } } }, { name = "b", type = "query" }))
    local found = server:openapi("3.1").paths
    assert.same({ "x", "y" }, { found["/a/{x}/b/{y}"].post.parameters[1].name,
      found["/a/{x}/b/{y}"].post.parameters[2].name })
    assert.is_not_nil(found["/task/b"].get)
    assert.is_nil(found["/task/b"].post)
  end)

  it("have the methods of an operation that takes the place of another", function()
    local registry = registry_with({ name = "a", type = "query" })
    local server = serve(registry)
    assert.equal(200, status(server, "GET", "/task/a"))
    assert.is_not_nil(server:openapi("3.1").paths["/task/a"])
    registry:unregister("task.a")
    assert.is_nil(server:openapi("3.1").paths["/task/a"])
    assert(registry:register({ namespace = "task", name = "a", handler = function() return 1 end }))
    assert.equal(405, status(server, "GET", "/task/a"))
    assert.equal(200, status(server, "POST", "/task/a", {}))
  end)

  it("answer that another server fails where that does not do what its document says", function()
    for source, expected in pairs({ openapi = 502, mcp = 502, ["local"] = 500 }) do
      local server = serve(registry_with({ name = "a", outputSchema = T.integer(), on_mismatch = "fail",
        _meta = { source = source }, handler = function() return "x" end }))
      assert.equal(expected, status(server, "POST", "/task/a", {}))
    end
  end)
end)

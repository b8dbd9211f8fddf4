local openapi = require("spec.support.openapi")
local operations = require("operations")
local with_yaml = require("spec.support.with_yaml")(it, pending)

local from_openapi = operations.from_openapi

--- Writes files into a new directory, calls `fn` with its path, and removes it.
local function with_files(files, fn)
  local pipe = assert(io.popen("mktemp -d"))
  local directory = pipe:read("*l")
  pipe:close()
  for path, content in pairs(files) do
    local name = directory .. "/" .. path
    os.execute("mkdir -p '" .. name:match("^(.*)/") .. "'")
    local file = assert(io.open(name, "wb"))
    file:write(type(content) == "string" and content or assert(operations.json.encode(content)))
    file:close()
  end
  local ok, raised = pcall(fn, directory)
  os.execute("rm -rf '" .. directory .. "'")
  if not ok then
    error(raised, 0)
  end
end

local function document(operation)
  return { openapi = "3.1.0", info = { title = "Files", version = "1" }, paths = { ["/a"] = { get = operation } } }
end

local function json_response(schema)
  return { ["200"] = { description = "", content = { ["application/json"] = { schema = schema } } } }
end

describe("a reference whose way leads through itself", function()
  it("points to nothing", function()
    local list, report = from_openapi.document({
      openapi = "3.1.0", info = { title = "T", version = "1" },
      paths = { ["/a"] = { get = { operationId = "op", responses = { ["200"] = { ["$ref"] = "#/components/a" } } } },
        ["/b"] = { get = { operationId = "other", responses = {} } } },
      components = { ["$ref"] = "#/components/a/b", a = { ["$ref"] = "#/components/x/y" } },
    }, { base_url = "http://x", eager = true })
    assert.equal(2, #list)
    assert.matches('^%$ref "#/components/[ax/y]+" points to nothing$', report[1].message)
  end)
end)

describe("a document in a file", function()
  it("is read", function()
    with_files({ ["api.json"] = document({ operationId = "op" }) }, function(directory)
      local list, report = from_openapi.file(directory .. "/api.json", { base_url = "http://x", eager = true })
      assert.equal("op", list[1].name)
      assert.same({}, report)
    end)
  end)

  it("may refer to files beside it, which may refer to others and back", function()
    with_files({
      ["api/api.json"] = {
        openapi = "3.1.0", info = { title = "Files" }, servers = { { url = "http://x" } },
        paths = { ["/a"] = { ["$ref"] = "paths/a.json" } },
        components = { schemas = { Back = { type = "integer" } } },
      },
      ["api/paths/a.json"] = { get = {
        operationId = "op",
        parameters = { { ["$ref"] = "../more.json#/parameters/q" } },
        responses = json_response({ ["$ref"] = "../../common/pet.json" }),
      } },
      ["api/more.json"] = { parameters = { q = { name = "q", ["in"] = "query", schema = { type = "boolean" } } } },
      ["common/pet.json"] = { type = "object", properties = {
        kids = { type = "array", items = { ["$ref"] = "#" } },
        n = { ["$ref"] = "../api/api.json#/components/schemas/Back" },
      } },
    }, function(directory)
      local list, report = from_openapi.file(directory .. "/api/api.json", { eager = true, ref_root = directory })
      assert.same({}, report)
      assert.same({ type = "boolean" }, list[1].inputSchema.properties.q)
      local schema = list[1].outputSchema
      assert.equal("object", schema.type)
      local kid = schema.properties.kids.items["$ref"]:match("^#/%$defs/(.+)$")
      assert.equal("array", schema["$defs"][kid].properties.kids.type)
      local back = schema.properties.n["$ref"]:match("^#/%$defs/(.+)$")
      assert.same({ type = "integer" }, schema["$defs"][back])
    end)
  end)

  it("is kept without the parts of a missing or broken file, which is reported", function()
    with_files({
      ["api.json"] = document({
        operationId = "op", parameters = { { ["$ref"] = "gone.json" }, { ["$ref"] = "bad.json" } },
      }),
      ["bad.json"] = "{",
    }, function(directory)
      local list, report = from_openapi.file(directory .. "/api.json", { base_url = "http://x", eager = true })
      assert.equal("op", list[1].name)
      assert.equal(2, #report)
      assert.matches("gone.json", report[1].message, 1, true)
      assert.matches("bad.json", report[2].message, 1, true)
    end)
  end)

  it("causes no fetch of URLs", function()
    local reference = { ["$ref"] = "http://127.0.0.1:9/x.json" }
    with_files({ ["api.json"] = document({ operationId = "op", parameters = { reference } }) }, function(directory)
      local _, report = from_openapi.file(directory .. "/api.json", { base_url = "http://x", eager = true })
      assert.matches("config.remote_refs = true would fetch it", report[1].message, 1, true)
    end)
  end)

  it("that is not there is an error with the system's words", function()
    local list, err = from_openapi.file("/nowhere/api.json")
    assert.is_nil(list)
    assert.equal("EXECUTION_ERROR", err.code)
    assert.matches("/nowhere/api.json: No such file", err.message, 1, true)
  end)

  it("that is a directory is an error", function()
    local list, err = from_openapi.file("/")
    assert.is_nil(list)
    assert.equal("EXECUTION_ERROR", err.code)
  end)

  it("that is broken JSON is an error with line and column", function()
    with_files({ ["api.json"] = '{\n "openapi": }' }, function(directory)
      local list, err = from_openapi.file(directory .. "/api.json")
      assert.is_nil(list)
      assert.matches("line 2", err.message, 1, true)
    end)
  end)
end)

describe("a document in YAML", function()
  local petstore = [[
openapi: 3.1.0
info: {title: Pets, version: 1.0}
servers: [{url: http://x}]
paths:
  /pets:
    get:
      operationId: on
      parameters:
        - {$ref: more.yml#/limit}
      responses:
        200:
          description: a list
          content:
            application/json:
              schema: &pets {type: array, items: {type: string, enum: [yes, no, 2020-01-01]}}
        default:
          description: an error
          content: {application/json: {schema: *pets}}
]]

  with_yaml("has the same meaning in JSON", function()
    with_files({
      ["api.yaml"] = petstore,
      ["more.yml"] = "limit: {name: limit, in: query, schema: {type: integer, default: 010}}",
    }, function(directory)
      local list, report = from_openapi.file(directory .. "/api.yaml", { eager = true })
      assert.same({}, report)
      assert.equal("on", list[1].name)
      assert.equal("1.0", list[1].version)
      assert.equal(10, list[1].inputSchema.properties.limit.default)
      assert.same({ "yes", "no", "2020-01-01" }, list[1].outputSchema.items.enum)
      assert.equal("HTTP_DEFAULT", list[1].errorSchemas[1].code)
    end)
  end)

  with_yaml("that is broken is an error with its line", function()
    with_files({ ["api.yaml"] = "openapi: 3.1.0\ninfo: {}\ninfo: {}\n" }, function(directory)
      local list, err = from_openapi.file(directory .. "/api.yaml")
      assert.is_nil(list)
      assert.equal(directory .. '/api.yaml: line 3: the key "info" is a duplicate', err.message)
    end)
  end)

  with_yaml("may be in flow style, and JSON may be called YAML", function()
    local name = "op"
    with_files({
      ["flow.yaml"] = "{openapi: 3.1.0, paths: {/a: {get: {operationId: op}}}}",
      ["json.yaml"] = document({ operationId = name }),
    }, function(directory)
      assert.equal(name, from_openapi.file(directory .. "/flow.yaml")[1].name)
      assert.equal(name, from_openapi.file(directory .. "/json.yaml")[1].name)
    end)
  end)

  with_yaml("that is only a text is no document", function()
    with_files({ ["api.yaml"] = "hello" }, function(directory)
      local _, err = from_openapi.file(directory .. "/api.yaml")
      assert.matches("api.yaml: expected an OpenAPI document, a JSON or YAML object", err.message, 1, true)
    end)
  end)
end)

describe("a reference of a document in a file", function()
  local parameter = { name = "q", ["in"] = "query", schema = { default = "s3cret" } }

  local function refer(ref, at_path)
    local doc = document({ operationId = "op", parameters = { not at_path and { ["$ref"] = ref } or nil } })
    if at_path then
      doc.paths["/a"] = { ["$ref"] = ref }
    end
    return doc
  end

  local function text_of(...)
    return operations.json.encode({ ... })
  end

  -- The messages for references of api/api.json, and whether one of them gave the parameter.
  local function follow(files, refs, options, prepare)
    local messages = {}
    for _, ref in ipairs(refs) do
      with_files(files, function(directory)
        os.execute(("cd '%s' && mkdir -p api && %s"):format(directory, prepare or ":"))
        local function at(text)
          return (text:gsub("DIRECTORY", directory))
        end
        local config = { base_url = "http://x", eager = true }
        for name, value in pairs(options or {}) do
          config[name] = at(value)
        end
        local path = directory .. "/api/api.json"
        local file = assert(io.open(path, "w"))
        file:write(operations.json.encode(refer(at(ref))))
        file:close()
        local list, report = from_openapi.file(path, config)
        assert.equal(list[1].inputSchema.properties.q == nil, report[1] ~= nil, ref)
        messages[#messages + 1] = report[1] and report[1].message:gsub(directory, "DIRECTORY") or "read"
      end)
    end
    return messages
  end

  local outside = { "../other/p.json", "paths/../../other/p.json", "..%2fother%2Fp.json", "%2e%2e/other/p.json",
    "DIRECTORY/other/p.json", "file:DIRECTORY/other/p.json", "file://DIRECTORY/other/p.json",
    "FILE://localhostDIRECTORY/other/%70.json", "../api2/p.json", "link.json", "linked/p.json" }
  local files = { ["other/p.json"] = parameter, ["api2/p.json"] = parameter }
  local links = "ln -s ../other/p.json api/link.json; ln -s ../other api/linked"

  it("reads no file outside of the document's directory, and names the option that allows it", function()
    for i, message in ipairs(follow(files, outside, nil, links)) do
      assert.matches("outside of DIRECTORY/api/; config.ref_root (--ref-root) names", message, 1, true, outside[i])
    end
  end)

  it("reads files below ref_root", function()
    for i, message in ipairs(follow(files, outside, { ref_root = "DIRECTORY" }, links)) do
      assert.equal("read", message, outside[i])
    end
    for i, message in ipairs(follow(files, outside, { ref_root = "DIRECTORY/other/" }, links)) do
      assert.equal(outside[i] == "../api2/p.json", message ~= "read", outside[i])
    end
  end)

  it("reads only regular files", function()
    for i, message in ipairs(follow({}, { "pipe", "directory", "zero" }, { ref_root = "/" },
      "mkfifo api/pipe; mkdir api/directory; ln -s /dev/zero api/zero")) do
      assert.matches("cannot be read: .*not a regular file", message, i)
    end
  end)

  it("is decoded as a URL is", function()
    assert.same({ "read", "read", "read" }, follow({ ["api/my file.json"] = parameter },
      { "my%20file.json", "./my file.json", "file://DIRECTORY/api/my%20file.json" }))
    assert.matches("zero byte", follow({}, { "a%00.json" })[1], 1, true)
    assert.matches("only files may refer to other files", follow({}, { "file://other.test/a.json" })[1], 1, true)
  end)

  it("cannot move the directory by $self or $id", function()
    with_files({ ["api/api.json"] = "", ["other/p.json"] = parameter }, function(directory)
      local doc = refer("p.json")
      doc.openapi, doc["$self"] = "3.2.0", directory .. "/other/api.json"
      local _, report = from_openapi.document(doc,
        { location = directory .. "/api/api.json", base_url = "http://x", eager = true })
      assert.matches("outside of", report[1].message, 1, true)
      doc = document({ operationId = "op", responses = json_response({ ["$id"] = "file://" .. directory .. "/other/",
        type = "object", properties = { a = { ["$ref"] = "p.json" } } }) })
      _, report = from_openapi.document(doc,
        { location = directory .. "/api/api.json", base_url = "http://x", eager = true })
      assert.matches("outside of", report[1].message, 1, true)
    end)
  end)

  it("stays in the directory also for path items and Swagger", function()
    with_files({ ["other/p.json"] = { get = { operationId = "stolen" } }, ["other/s.json"] = parameter,
      ["api/item.json"] = refer("../other/p.json", true), ["api/swagger.json"] = { swagger = "2.0",
        info = { title = "S", version = "1" }, paths = { ["/a"] = { get = { operationId = "op", responses = {},
          parameters = { { ["$ref"] = "../other/s.json" } } } } } } }, function(directory)
      for _, name in ipairs({ "item", "swagger" }) do
        local list, report = from_openapi.file(("%s/api/%s.json"):format(directory, name),
          { base_url = "http://x", eager = true })
        assert.matches("outside of", report[1].message, 1, true)
        assert.is_nil(text_of(list[1] and list[1].inputSchema or {}):find("s3cret", 1, true))
      end
    end)
  end)
end)

describe("a document from a table", function()
  it("refers to no files", function()
    local list, report = from_openapi.document(document({ parameters = { { ["$ref"] = "/etc/hostname" } } }),
      { base_url = "http://x", eager = true })
    assert.equal(1, #list)
    assert.matches("only files may refer to other files", report[1].message, 1, true)
  end)
end)

describe("a document from a URL", function()
  local function fetch(reply, config)
    local requests = {}
    config = config or {}
    config.http = { request = function(request)
      requests[#requests + 1] = request
      return reply
    end }
    local list, err = from_openapi.url("https://api.test/docs/v1/openapi.json", config)
    return list, err, requests
  end

  local function answer(doc, status)
    return { status = status or 200, headers = { ["content-type"] = "application/json" },
      body = assert(operations.json.encode(doc)) }
  end

  it("is fetched, with the configured headers and without credentials", function()
    local list, _, requests = fetch(answer(document({ operationId = "op" })),
      { headers = { ["X-A"] = "1" }, auth = { type = "bearer", token = "t" }, timeout = 5 })
    assert.equal("op", list[1].name)
    assert.equal("1", requests[1].headers["X-A"])
    assert.is_nil(requests[1].headers.Authorization)
    assert.equal(5, requests[1].timeout)
  end)

  it("is fetched with headers of its own, which the API is not sent", function()
    local list, _, requests = fetch(answer(document({ operationId = "op" })),
      { headers = { ["X-A"] = "1" }, document_headers = { ["X-D"] = "2" } })
    assert.same({ nil, "2" }, { requests[1].headers["X-A"], requests[1].headers["X-D"] })
    list[1].handler({}, {})
    assert.same({ "1", nil }, { requests[2].headers["X-A"], requests[2].headers["X-D"] })
  end)

  it("is where redirects led to: relative URLs of servers are so from there", function()
    local doc = document({ operationId = "op" })
    doc.servers = { { url = "/v2" } }
    local reply = answer(doc)
    reply.url = "https://docs.test/moved/openapi.json"
    local list, _, requests = fetch(reply)
    list[1].handler({}, {})
    assert.equal("https://docs.test/v2/a", requests[2].url)
  end)

  for server, expected in pairs({
    ["/v2"] = "https://api.test/v2/a", ["v2"] = "https://api.test/docs/v1/v2/a",
    ["../x/"] = "https://api.test/docs/x/a", [""] = "https://api.test/a", ["?v=1"] = "https://api.test/a",
    ["//other.test/z"] = "https://other.test/z/a", ["http://plain.test"] = "http://plain.test/a",
  }) do
    it("has its server resolved against it: " .. server, function()
      local doc = document({ operationId = "op" })
      doc.servers = { { url = server } }
      local list, _, requests = fetch(answer(doc))
      list[1].handler({})
      assert.equal(expected, requests[2].url)
    end)
  end

  it("is its server when it names none", function()
    local list, _, requests = fetch(answer(document({ operationId = "op" })))
    list[1].handler({})
    assert.equal("https://api.test/a", requests[2].url)
  end)

  it("that needs credentials names the option that has them", function()
    for _, status in ipairs({ 401, 403 }) do
      local _, err = fetch(answer({ message = "no token" }, status), { auth = { type = "bearer", token = "t" } })
      assert.equal("HTTP_" .. status, err.code)
      assert.matches("no token; config.document_headers has the credentials", err.message, 1, true)
    end
  end)

  it("that answers with an error status is that error", function()
    local list, err = fetch(answer({ message = "gone" }, 404))
    assert.is_nil(list)
    assert.equal("HTTP_404", err.code)
    assert.equal("404 Not Found: gone", err.message)
  end)

  with_yaml("is YAML when it is not JSON", function()
    local list = fetch({ status = 200, headers = {}, body = "openapi: 3.0.0\npaths: {/a: {get: {operationId: op}}}" })
    assert.equal("op", list[1].name)
  end)

  with_yaml("has its references fetched when that is allowed, headers kept at its origin", function()
    local places = {
      ["https://api.test/docs/v1/openapi.json"] = document({ operationId = "op", parameters = {
        { ["$ref"] = "../more.json#/a" }, { ["$ref"] = "https://other.test/more.yaml#/b" },
      } }),
      ["https://api.test/docs/more.json"] = { a = { name = "a", ["in"] = "query", schema = { ["$ref"] = "#/s" } },
        s = { type = "integer" } },
    }
    local requests = {}
    local http = { request = function(request)
      requests[request.url] = request
      local doc = places[request.url]
      return doc and answer(doc) or { status = 200, headers = {}, body = "b: {name: b, in: query}" }
    end }
    local list, report = from_openapi.url("https://api.test/docs/v1/openapi.json",
      { http = http, remote_refs = true, headers = { ["X-Key"] = "k" }, eager = true })
    assert.same({}, report)
    assert.same({ type = "integer" }, list[1].inputSchema["$defs"].s)
    assert.is_table(list[1].inputSchema.properties.b)
    assert.equal("k", requests["https://api.test/docs/more.json"].headers["X-Key"])
    assert.is_nil(requests["https://other.test/more.yaml"].headers["X-Key"])
  end)

  it("asks once for a missing document", function()
    local asked = 0
    local doc = document({ operationId = "op",
      parameters = { { ["$ref"] = "gone.json#/a" }, { ["$ref"] = "gone.json#/b" } } })
    local _, report = from_openapi.url("https://api.test/api.json", { remote_refs = true, eager = true, http = {
      request = function(request)
        asked = asked + (request.url:find("gone") and 1 or 0)
        return request.url:find("gone") and { status = 404, headers = {} } or answer(doc)
      end,
    } })
    assert.equal(2, #report)
    assert.matches("cannot be read: 404 Not Found", report[2].message, 1, true)
    assert.equal(1, asked)
  end)

  it("never causes files to be read", function()
    for _, ref in ipairs({ "file:///etc/hostname", "/etc/hostname" }) do
      local doc = document({ operationId = "op", parameters = { { ["$ref"] = ref } } })
      local list, _, requests = fetch(answer(doc), { eager = true, remote_refs = true })
      assert.same({}, list[1].inputSchema.properties)
      for _, request in ipairs(requests) do
        assert.matches("^https://api.test/", request.url)
      end
    end
  end)

  with_yaml("is YAML in flow style when its type or its path says so", function()
    local flow = "{openapi: 3.1.0, paths: {/a: {get: {operationId: op, parameters: [{$ref: 'more#/p'}]}}}}"
    local more = "{p: {name: q, in: query}}"
    for content_type, path in pairs({
      ["application/yaml"] = "/api", ["Application/x-yaml; charset=utf-8"] = "/api", ["text/vnd.yaml"] = "/api.json",
      ["text/plain"] = "/api.YAML?v=1",
    }) do
      local list, report = from_openapi.url("https://api.test" .. path, { remote_refs = true, eager = true, http = {
        request = function(request)
          local is_more = request.url:find("more", 1, true)
          return { status = 200, body = is_more and more or flow,
            headers = { ["content-type"] = is_more and "application/yaml" or content_type } }
        end,
      } })
      assert.equal("op", list and list[1].name, content_type)
      assert.same({}, report)
      assert.is_table(list[1].inputSchema.properties.q)
    end
    local _, err = fetch({ status = 200, headers = { ["content-type"] = "application/json" }, body = flow })
    assert.equal("parse", err.details.kind)
  end)

  it("that is no JSON is an error with the URL", function()
    local list, err = fetch({ status = 200, headers = {}, body = "<html>" })
    assert.is_nil(list)
    assert.matches("https://api.test/docs/v1/openapi.json", err.message, 1, true)
  end)

  it("is misuse when the URL is invalid", function()
    assert.has_error(function()
      from_openapi.url("file:///etc/passwd")
    end, "bad argument #1 to 'url' (an http or https URL expected)")
  end)
end)

local function output(schema, components, version)
  local doc = openapi.one({ responses = { ["200"] = { content = { ["application/json"] = { schema = schema } } } } })
  doc.openapi, doc.components = version or "3.1.0", { schemas = components }
  local api = openapi.api(doc)
  return api.by_name.op.outputSchema, api.report
end

local function target(schema, ref)
  return schema["$defs"][ref:match("^#/%$defs/(.+)$")]
end

describe("a reference in 3.1", function()
  it("may name an anchor", function()
    local schema, report = output({ ["$ref"] = "#pet" }, { Pet = { ["$anchor"] = "pet", type = "integer" } })
    assert.same({}, report)
    assert.same({ type = "integer" }, schema)
  end)

  it("may name a schema by its $id, with a pointer below it", function()
    local components = {
      Pet = { ["$id"] = "https://example.com/schemas/pet", type = "object", properties = {
        tag = { ["$ref"] = "#/$defs/tag" }, owner = { ["$ref"] = "owner#name" },
      }, ["$defs"] = { tag = { type = "integer" } } },
      Owner = { ["$id"] = "https://example.com/schemas/owner", properties = {
        name = { ["$anchor"] = "name", type = "string" },
      } },
    }
    for _, ref in ipairs({ "https://example.com/schemas/pet", "#/components/schemas/Pet" }) do
      local schema, report = output({ type = "array", items = { ["$ref"] = ref } }, components)
      assert.same({}, report)
      local pet = target(schema, schema.items["$ref"])
      assert.same({ type = "integer" }, target(schema, pet.properties.tag["$ref"]))
      assert.same({ type = "string" }, target(schema, pet.properties.owner["$ref"]))
      assert.is_nil(pet["$id"])
    end
  end)

  it("may be dynamic, and leads where it statically does", function()
    local schema, report = output({ ["$ref"] = "#/components/schemas/Tree" }, { Tree = {
      ["$dynamicAnchor"] = "node", type = "object",
      properties = { kids = { type = "array", items = { ["$dynamicRef"] = "#node" } } },
    } })
    assert.same({}, report)
    local ref = schema.properties.kids.items["$ref"]
    assert.equal("object", target(schema, ref).type)
  end)

  it("to an anchor that is not there is reported", function()
    local _, report = output({ type = "array", items = { ["$ref"] = "#pet" } })
    assert.equal('$ref "#pet" names an unknown anchor', report[1].message)
  end)
end)

describe("a reference", function()
  it("has escapes of pointers and of URLs", function()
    local schema, report = output({ ["$ref"] = "#/components/schemas/a~1b%7Bc%7D~0" },
      { ["a/b{c}~"] = { type = "integer" } }, "3.0.0")
    assert.same({}, report)
    assert.same({ type = "integer" }, schema)
  end)

  it("may lead through another one", function()
    local schema, report = output({ ["$ref"] = "#/components/schemas/Alias/properties/x" }, {
      Alias = { ["$ref"] = "#/components/schemas/Real" },
      Real = { properties = { x = { type = "integer" } } },
    }, "3.0.0")
    assert.same({}, report)
    assert.same({ type = "integer" }, schema)
  end)
end)

describe("the store of a document", function()
  local store = require("operations.openapi.document")

  -- What a reference from the document leads to: its node and pointer, or nil and why it leads to none.
  local function lookup(root, ref, files)
    local source = store.new(root, "api.json", files and function(where)
      return files[where], "is not there"
    end)
    local place, message = source:lookup(ref, source.file)
    place, message = place and source:follow(place), message
    if place then
      return { place.node, place.pointer }
    end
    return { message }
  end

  local root = { openapi = "3.1.0", ["$id"] = "https://a.test/root", a = { b = { "x", "y" } }, ["c/d~"] = 1,
    s = { ["$anchor"] = "here", t = { ["$dynamicAnchor"] = "there" } } }
  local files = { ["b.json"] = '{"x":{"$ref":"c.json#/y"},"n":{"$anchor":"n"}}', ["c.json"] = '{"y":7}',
    ["d.json"] = "{" }

  for _, case in ipairs({
    { "#", { root, "#" } }, { "#/a/b", { { "x", "y" }, "#/a/b" } }, { "#/a/b/1", { "y", "#/a/b/1" } },
    { "#/c~1d~0", { 1, "#/c~1d~0" } }, { "#/c%7E1d%7E0", { 1, "#/c~1d~0" } },
    { "#here", { root.s, "#/s" } }, { "#there", { root.s.t, "#/s/t" } },
    { "https://a.test/root#/a/b/0", { "x", "#/a/b/0" } },
    { "b.json#/x", { 7, "c.json#/y" } }, { "b.json#n", { { ["$anchor"] = "n" }, "b.json#/n" } },
    { "#/a/z", { '$ref "#/a/z" points to nothing' } }, { "#/a/b/2", { '$ref "#/a/b/2" points to nothing' } },
    { "#nowhere", { '$ref "#nowhere" names an unknown anchor' } },
    { "e.json", { '$ref "e.json" is not there' } },
  }) do
    it("leads from " .. case[1], function()
      assert.same(case[2], lookup(root, case[1], files))
    end)
  end

  it("says why another file is not read", function()
    assert.same({ '$ref "b.json" refers to b.json; only files may refer to other files' }, lookup(root, "b.json"))
    assert.matches('^%$ref "d.json" cannot be read: d.json: JSON, line 1', lookup(root, "d.json", files)[1])
  end)

  it("knows another file by its $id, which is relative to its location", function()
    local source = store.new({ openapi = "3.1.0" }, "api.json", function(where)
      return where == "sub/b.json" and '{"$id":"named.json","y":7}' or nil, "is not there"
    end)
    assert.equal(7, source:lookup("sub/b.json#/y", source.file).node)
    assert.equal(7, source:lookup("sub/named.json#/y", source.file).node)
    assert.is_nil(source:lookup("named.json#/y", source.file))
  end)

  it("reads each file once, whether it is there or not", function()
    local reads = {}
    local source = store.new({ openapi = "3.0.0" }, "api.json", function(where)
      reads[#reads + 1] = where
      return where == "b.json" and "{}" or nil, "is not there"
    end)
    for _ = 1, 2 do
      assert.is_not_nil(source:lookup("b.json", source.file))
      assert.is_nil(source:lookup("b.json#/x", source.file))
      assert.is_nil(source:lookup("c.json", source.file))
      assert.is_nil(source:lookup("c.json#/x", source.file))
    end
    assert.same({ "b.json", "c.json" }, reads)
  end)

  it("follows 63 references one behind the other", function()
    local function chain(length)
      local doc = { openapi = "3.1.0", ["n" .. length] = { found = true } }
      for i = 0, length - 1 do
        doc["n" .. i] = { ["$ref"] = "#/n" .. i + 1 }
      end
      local source = store.new(doc)
      local place, message = source:follow({ node = doc.n0, file = source.file, pointer = "#/n0" })
      return place and place.pointer or message
    end
    assert.equal("#/n63", chain(63))
    assert.equal("$ref is circular", chain(64))
  end)

  it("gives the members of a place, with references followed or as they are", function()
    local doc = { openapi = "3.1.0", list = { { ["$ref"] = "#/target" } }, target = { a = 1 }, text = "t",
      bad = { ["$ref"] = "#/text" }, ["a/b"] = {} }
    local source = store.new(doc)
    local place = { node = doc, file = source.file, pointer = "#" }
    assert.equal("#/list/0", source:member(source:member(place, "list"), 1).pointer)
    assert.equal("#/a~1b", source:member(place, "a/b").pointer)
    assert.is_nil(source:member(place, "none"))
    assert.equal("#/target", source:child(source:member(place, "list"), 1).pointer)
    assert.same({}, { source:child(place, "none") })
    assert.same({}, { source:child(place, "text") })
    assert.same({ nil, "$ref leads to a string, expected an object" }, { source:child(place, "bad") })
    assert.is_nil((source:child({ node = 7, file = source.file, pointer = "#" }, "a")))
  end)
end)

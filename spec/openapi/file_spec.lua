local file = require("operations.openapi.file")
local operations = require("operations")
local support = require("spec.support.openapi")

local binary, text, integer = { type = "string", format = "binary" }, { type = "string" }, { type = "integer" }
local one_file = file.schema({ files_allowed = true })

-- The schema of a body of this type, and the report.
local function body(media_type, kind, config, schemas)
  local api = support.api(support.one({ requestBody = { content = { [media_type] = kind } } },
    { method = "post", doc = { openapi = "3.2.0", components = { schemas = schemas } } }), config)
  return api.definitions[1].inputSchema.properties.body, api.report
end

local function form(schema, encoding, schemas)
  return body("multipart/form-data", { schema = schema, encoding = encoding }, nil, schemas)
end

local function ref(name)
  return { ["$ref"] = "#/components/schemas/" .. name }
end

describe("the schema of a body with files", function()
  it("has a file for bytes, and for text of another type", function()
    assert.same({ type = "object", required = { "a" }, properties = {
      a = one_file, b = text, c = one_file, d = one_file, e = text, f = text, g = { type = "object" },
    } }, form({ type = "object", required = { "a" }, properties = {
      a = binary, b = text, c = {}, d = text, e = text, f = text, g = { type = "object" },
    } }, { d = { contentType = "image/png" }, e = { contentType = "text/plain" }, f = { contentType = "a/b+json" },
      g = { contentType = "image/png" } }))
  end)

  it("has no path of a file where files are not sent for others", function()
    local schema = body("multipart/form-data", { schema = { properties = { a = binary } } }, { files = false })
    assert.is_nil(schema.properties.a.anyOf[2].properties.path)
    assert.same({ text, { type = "integer", minimum = 0 } },
      { schema.properties.a.anyOf[2].properties.filename, schema.properties.a.anyOf[2].properties.size })
    assert.same(text.type, one_file.anyOf[2].properties.path.type)
  end)

  it("says how callers that speak JSON give bytes, also to models", function()
    local registry = operations.registry()
    local api = support.api(support.one({ requestBody = { content = { ["multipart/form-data"] = { schema = {
      properties = { a = binary } } } } } }, { path = "/a", method = "post" }), { accessControl = {} })
    assert(registry:register_all(api.definitions))
    local tool = operations.to_tools(registry, { format = "anthropic" }).definitions[1]
    local properties = tool.input_schema.properties.body.properties.a.anyOf[2].properties
    assert.equal("base64", properties.base64.contentEncoding)
    assert.same({ "string", "string" }, { properties.name.type, properties.type.type })
    registry:execute("test.op", { body = { a = { base64 = "AP8=", name = "x.png", type = "image/png" } } })
    assert.matches('name="a"; filename="x.png"\r\nContent-Type: image/png\r\n\r\n\0\255\r\n',
      api.requests[1].body, 1, true)
  end)

  it("keeps the limits and the description of a list of files", function()
    assert.same({ properties = {
      a = { type = "array", items = one_file, minItems = 1, maxItems = 2, description = "d" },
      b = { type = "array", items = one_file }, c = { type = "array", items = one_file },
    } }, (form({ properties = {
      a = { type = "array", items = binary, minItems = 1, maxItems = 2, description = "d", uniqueItems = true },
      b = { type = "array", items = binary, minItems = -1, maxItems = "2", description = 7 }, c = ref("files"),
    } }, nil, { files = { type = "array", items = binary } })))
  end)

  it("has the files of combined schemas, and the rest of each", function()
    local object = { properties = { a = one_file } }
    assert.same({ minProperties = 1, allOf = { object, { properties = { b = text } } },
      anyOf = { object, { required = { "a" } } }, oneOf = { object } },
      (form({ minProperties = 1, allOf = { { properties = { a = binary } }, { properties = { b = text } } },
        anyOf = { ref("A"), { required = { "a" } } }, oneOf = { ref("A") } }, nil,
        { A = { properties = { a = binary } } })))
  end)

  it("has no properties of answers, and does not require them", function()
    assert.same({ properties = { a = one_file, c = text }, required = { "a" } },
      (form({ properties = { a = binary, b = { type = "string", readOnly = true }, c = text },
        required = { "a", "b" } })))
  end)

  it("is read as usual where its properties or combinations are invalid", function()
    local schema, report = form({ type = "object", properties = 7, allOf = 7 })
    assert.same({ type = "object" }, schema)
    assert.equal(2, #report)
    assert.is_true((form(true)))
    assert.is_true((body("multipart/form-data", {})))
  end)

  it("has files in 64 schemas at most, the whole among them", function()
    local function last_of(count)
      local branches = {}
      for i = 1, count do
        branches[i] = { properties = { ["p" .. i] = binary } }
      end
      return form({ allOf = branches }).allOf[count].properties["p" .. count]
    end
    assert.same(one_file, last_of(63))
    assert.same(binary, last_of(64))
  end)

  it("has them for the parts of a list, by position", function()
    local schema = body("multipart/mixed", { schema = { type = "array", description = "d", minItems = 1, maxItems = 3,
      prefixItems = { integer, binary, ref("F") }, items = text }, prefixEncoding = { { contentType = "image/png" } },
      itemEncoding = { contentType = "image/png" } }, nil, { F = binary })
    assert.same({ type = "array", description = "d", minItems = 1, maxItems = 3,
      prefixItems = { one_file, one_file, one_file }, items = one_file }, schema)
    assert.same({ type = "array", items = text }, (body("multipart/mixed", { schema = { type = "array", items = text },
      prefixEncoding = { { contentType = "image/png" } } })))
    assert.same({ type = "array" }, (body("multipart/mixed", { schema = { type = "array" } })))
    assert.same({ type = "object", properties = { a = one_file } },
      (body("multipart/mixed", { schema = { type = "object", properties = { a = binary } } })))
  end)
end)

describe("a value that looks like a file", function()
  it("has one of its sources, and nothing else than the members of a file", function()
    for _, value in ipairs({ { path = "p" }, { data = "" }, { reader = print }, { data = "d", size = 1, filename = "f",
      contentType = "c", headers = {} } }) do
      assert.is_true(file.is_file(value))
    end
    for _, value in ipairs({ { filename = "f" }, { data = "d", more = 1 }, { "d" }, {}, "d", 7 }) do
      assert.is_false(file.is_file(value))
    end
    assert.is_false(file.is_file(nil))
  end)
end)

describe("the content of a file", function()
  local path

  before_each(function()
    path = os.tmpname()
  end)

  after_each(function()
    os.remove(path)
  end)

  local function write(bytes)
    local handle = assert(io.open(path, "wb"))
    handle:write(bytes)
    handle:close()
  end

  -- The pieces that a content gives, the error at the end.
  local function pieces_of(content)
    local sizes = {}
    while true do
      local piece, err = content.read()
      if not piece then
        return sizes, err
      end
      sizes[#sizes + 1] = #piece
    end
  end

  it("is text with its length", function()
    assert.same({ text = "abc", size = 3 }, file.content("abc", false))
    assert.same({ text = "abc", size = 3, filename = "f", content_type = "a/b", headers = { X = "1" } },
      file.content({ data = "abc", size = 7, filename = "f", contentType = "a/b", headers = { X = "1" } }, false))
  end)

  it("is base64 from callers that speak JSON, with a name and a type", function()
    assert.same({ text = "\0\255", size = 2, filename = "a.png", content_type = "image/png" },
      file.content({ base64 = "AP8=", name = "a.png", type = "image/png" }, false))
    assert.same({ text = "", size = 0, filename = "f", content_type = "a/b" },
      file.content({ base64 = "", filename = "f", contentType = "a/b" }, false))
    assert.is_true(file.is_file({ base64 = "AA==", name = "n", type = "a/b" }))
    assert.is_false(file.is_file({ data = "", name = "n" }))
  end)

  it("is read from a path, in pieces of 64 KiB", function()
    for size, expected in pairs({ [0] = {}, [1] = { 1 }, [65535] = { 65535 }, [65536] = { 65536 },
      [65537] = { 65536, 1 }, [131072] = { 65536, 65536 } }) do
      write(("x"):rep(size))
      local content = assert(file.content({ path = path }, true))
      assert.equal(size, content.size)
      assert.equal(path:match("[^/]*$"), content.filename)
      local sizes, err = pieces_of(content)
      assert.same(expected, sizes)
      assert.is_nil(err)
      content.close()
    end
    assert.equal("other", file.content({ path = path, filename = "other" }, true).filename)
  end)

  it("that a path names ends where it was when the file grows, and fails when that shrinks", function()
    write(("x"):rep(100))
    local content = assert(file.content({ path = path }, true))
    write(("x"):rep(200))
    assert.same({ 100 }, (pieces_of(content)))
    for _, size in ipairs({ 100000, 65537 }) do
      write(("x"):rep(100001))
      content = assert(file.content({ path = path }, true))
      write(("x"):rep(size))
      local sizes, err = pieces_of(content)
      assert.same({ 65536, size - 65536 }, sizes)
      assert.equal(path .. " became shorter while it was sent", err)
    end
  end)

  it("comes with progress in bytes while it is sent", function()
    local name, told = os.tmpname(), {}
    local out = assert(io.open(name, "wb"))
    out:write(("x"):rep(100000))
    out:close()
    operations.run(function()
      local listener = assert(operations.to_http(operations.registry())):listen({ port = 0 })
      local bytes = { content = { ["application/octet-stream"] = {} } }
      local registry = support.registry(support.one({ requestBody = bytes }, { path = "/a", method = "post" }),
        "http://127.0.0.1:" .. listener.port)
      registry:execute("api.op", { body = { path = name } }, { on_progress = function(...)
        told[#told + 1] = { ... }
      end })
      listener:close()
    end)
    os.remove(name)
    assert.same({ { 65536, 100000 }, { 100000, 100000 } }, told)
  end)

  it("is read from a reader of any kind, once", function()
    local function reads()
      local done = false
      return function()
        local piece = not done and "abc" or nil
        done = true
        return piece
      end
    end
    local handle = assert(io.tmpfile())
    handle:write("abc")
    handle:seek("set")
    for _, reader in ipairs({ reads(), { read = reads() }, handle }) do
      local content = assert(file.content({ reader = reader, size = 3 }, false))
      assert.same({ true, 3 }, { content.once, content.size })
      local sizes, err = pieces_of(content)
      assert.same({ 3 }, sizes)
      assert.is_nil(err)
      content.close()
    end
    assert.same({ 3 }, (pieces_of(file.content({ reader = reads() }, false))))
  end)

  it("fails where a reader gives another number of bytes than its size, and where it fails", function()
    for _, given in ipairs({ { "ab" }, { "abcd" }, { "abc", "d" }, {} }) do
      local i = 0
      local _, err = pieces_of(file.content({ size = 3, reader = function()
        i = i + 1
        return given[i]
      end }, false))
      assert.equal("the reader did not give as many bytes as its size says", err)
    end
    local lost = operations.error("EXECUTION_ERROR", "lost")
    local _, err = pieces_of(file.content({ size = 3, reader = function()
      return nil, lost
    end }, false))
    assert.equal(lost, err)
  end)

  for _, case in ipairs({
    { "/reader", "expected a function or an object with a method read", { reader = "r" } },
    { "/path", "expected a string", { path = 7 } }, { "/data", "expected a string", { data = {} } },
    { "/size", "expected a number", { data = "", size = "1" } },
    { "/headers", "expected a table", { data = "", headers = "h" } },
    { "/more", "a file has no such member", { data = "", more = 1 } },
    { "/a~1b~0c", "a file has no such member", { data = "", ["a/b~c"] = 1 } },
    { "", "expected one of path, data, base64 and reader", { size = 1 } },
    { "", "expected one of path, data, base64 and reader", { data = "", base64 = "" } },
    { "/base64", "is not base64", { base64 = "AP8" } }, { "/base64", "is not base64", { base64 = "A P8=" } },
    { "/name", "is for base64 only", { data = "", name = "n" } },
    { "/type", "given beside contentType", { base64 = "", type = "a/b", contentType = "a/b" } },
    { "/type", "is not a media type", { base64 = "", type = "png" } },
    { "", "expected one of path, data, base64 and reader", { data = "", reader = print } },
    { "", "expected one of path, data, base64 and reader", { path = "", reader = print } },
    { "", "expected a string, or a file: one of path, data, base64 and reader", 7 },
    { "", "expected a string, or a file: one of path, data, base64 and reader", { "a" } },
    { "/path", "files of this machine are not sent on behalf of others; config.files allows it", { path = "/x" } },
    { "/contentType", "is not a media type", { data = "", contentType = "png" } },
    { "/contentType", "is not a media type", { data = "", contentType = "a b/c" } },
    { "/contentType", "is not a media type", { data = "", contentType = "a/b\127" } },
    { "/contentType", "is not a media type", { data = "", contentType = "a/b;\tc" } },
  }) do
    it("is refused at " .. case[1] .. ": " .. case[2], function()
      local content, message, at = file.content(case[3], false)
      assert.same({ nil, case[2], case[1] }, { content, message, at })
    end)
  end

  it("has any media type, with parameters", function()
    for _, name in ipairs({ "a/b", "image/svg+xml", 'text/plain; charset="x y~"', "A.1!#$&^_-/b" }) do
      assert.equal(name, file.content({ data = "", contentType = name }, false).content_type)
    end
  end)

  it("is refused where a path names no regular file", function()
    local pipe = os.tmpname() -- opening it would wait
    os.execute(("rm '%s' && mkfifo '%s'"):format(pipe, pipe))
    for _, other in ipairs({ "/", "/proc/self/status", "/dev/zero", "/nowhere/at all", pipe }) do
      local content, message, at = file.content({ path = other }, true)
      assert.is_nil(content)
      assert.matches("^cannot be read: ", message)
      assert.equal("/path", at)
    end
    os.remove(pipe)
  end)
end)

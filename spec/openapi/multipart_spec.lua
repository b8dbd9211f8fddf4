-- Forms and multipart bodies: what a real server gets of them.
local eventually = require("spec.support.eventually")
local multipart_body = require("operations.openapi.multipart")
local operations = require("operations")
local server = require("spec.support.server")
local support = require("spec.support.openapi")

local function body_of(media_type, schema, encoding)
  return { content = { [media_type] = { schema = schema, encoding = encoding } } }
end

local function object(properties)
  return { type = "object", properties = properties }
end

local binary = { type = "string", format = "binary" }

describe("a body of", function()
  local running, directory

  setup(function()
    running = server.start()
    directory = running.directory
  end)

  teardown(function()
    running:stop()
  end)

  local function write(name, text)
    local path = directory .. "/" .. name
    local file = assert(io.open(path, "wb"))
    file:write(text)
    file:close()
    return path
  end

  --- What the server saw: the echo's data; or nil and the error.
  local function send(request_body, input, config, version)
    local registry = support.registry(support.one({ requestBody = request_body },
      { path = "/echo", method = "post", doc = { openapi = version } }), running.url, config)
    local envelope, err = registry:execute("api.op", input)
    return envelope and envelope.data, err
  end

  --- The same, with the boundary written as B.
  local function parts(request_body, input, config, version)
    local data, err = send(request_body, input, config, version)
    assert.is_nil(err)
    local boundary = data.headers["content-type"]:match("^multipart/[%w-]+; boundary=(operations%-[%w-]+)$")
    assert.truthy(boundary)
    return (data.body:gsub(boundary:gsub("%-", "%%-"), "B")), data
  end

  local function multipart(schema, encoding)
    return body_of("multipart/form-data", schema, encoding)
  end

  describe("multipart/form-data", function()
    it("has a part for each property, by name, with the type that follows from its schema", function()
      local text = parts(multipart(object({
        id = { type = "string", format = "uuid" }, n = { type = "integer" }, picture = binary,
        address = object({ city = { type = "string" } }), tags = { type = "array", items = { type = "string" } },
        places = { type = "array", items = object({}) }, grid = { type = "array", items = { type = "array" } },
      })), { body = {
        id = "7e8d7b1a-94ab-4ee9-a57e-d1cb31a29b59", n = 3, picture = "\0\127\r\n", address = { city = "\195\156" },
        tags = { "a", "b" }, places = { { x = 1 } }, grid = { { 1 }, { 2 } },
      } })
      assert.equal(table.concat({
        "--B", 'Content-Disposition: form-data; name="address"', "Content-Type: application/json", "",
        '{"city":"\195\156"}',
        "--B", 'Content-Disposition: form-data; name="grid"', "Content-Type: application/json", "", "[1]",
        "--B", 'Content-Disposition: form-data; name="grid"', "Content-Type: application/json", "", "[2]",
        "--B", 'Content-Disposition: form-data; name="id"', "", "7e8d7b1a-94ab-4ee9-a57e-d1cb31a29b59",
        "--B", 'Content-Disposition: form-data; name="n"', "", "3",
        "--B", 'Content-Disposition: form-data; name="picture"; filename="blob"',
        "Content-Type: application/octet-stream", "", "\0\127\r\n",
        "--B", 'Content-Disposition: form-data; name="places"', "Content-Type: application/json", "", '{"x":1}',
        "--B", 'Content-Disposition: form-data; name="tags"', "", "a",
        "--B", 'Content-Disposition: form-data; name="tags"', "", "b", "--B--", "",
      }, "\r\n"), text)
    end)

    it("sends false, 0 and empty strings, and leaves null out", function()
      local text = parts(multipart(object({})), { body = { a = false, b = 0, c = "", d = operations.null } })
      assert.equal(table.concat({
        "--B", 'Content-Disposition: form-data; name="a"', "", "false",
        "--B", 'Content-Disposition: form-data; name="b"', "", "0",
        "--B", 'Content-Disposition: form-data; name="c"', "", "", "--B--", "",
      }, "\r\n"), text)
    end)

    it("reads a file from its path while it is sent, with its name and its length", function()
      local content = ("0123456789abcdef"):rep(20000)
      local text, data = parts(multipart(object({ file = binary })),
        { body = { file = { path = write("report 1.pdf", content) } } })
      assert.equal(table.concat({
        "--B", 'Content-Disposition: form-data; name="file"; filename="report 1.pdf"',
        "Content-Type: application/octet-stream", "", content, "--B--", "",
      }, "\r\n"), text)
      assert.equal(tostring(#data.body), data.headers["content-length"])
    end)

    it("takes bytes and a reader, with name, type and headers", function()
      local pieces = { "one ", "two" }
      local text, data = parts(multipart(object({ a = binary, b = binary, c = { type = "array", items = binary } })), {
        body = {
          a = { data = "x", filename = "a.png", contentType = "image/png", headers = { ["X-Mark"] = "1" } },
          b = { reader = function()
            return table.remove(pieces, 1)
          end, filename = "b.txt" },
          c = { "y", { data = "z", filename = "z" } },
        },
      })
      assert.equal(table.concat({
        "--B", 'Content-Disposition: form-data; name="a"; filename="a.png"', "Content-Type: image/png", "X-Mark: 1",
        "", "x",
        "--B", 'Content-Disposition: form-data; name="b"; filename="b.txt"', "Content-Type: application/octet-stream",
        "", "one two",
        "--B", 'Content-Disposition: form-data; name="c"; filename="blob"', "Content-Type: application/octet-stream",
        "", "y",
        "--B", 'Content-Disposition: form-data; name="c"; filename="z"', "Content-Type: application/octet-stream",
        "", "z", "--B--", "",
      }, "\r\n"), text)
      assert.equal("chunked", data.headers["transfer-encoding"])
    end)

    it("has a length when every reader says how much it gives", function()
      local done = false
      local _, data = parts(multipart(object({ a = binary })), { body = { a = { size = 3, reader = { read = function()
        local piece = not done and "abc" or nil
        done = true
        return piece
      end } } } })
      assert.is_nil(data.headers["transfer-encoding"])
      assert.equal(tostring(#data.body), data.headers["content-length"])
    end)

    it("fails when a reader gives less or more than it said", function()
      for _, text in ipairs({ "ab", "abcd" }) do
        local done = false
        local _, err = send(multipart(object({ a = binary })), { body = { a = { size = 3, reader = function()
          local piece = not done and text or nil
          done = true
          return piece
        end } } })
        assert.equal("body", err.details.kind)
        assert.matches("as many bytes as its size says", err.message)
      end
    end)

    it("escapes names as browsers do, and leaves other characters as they are", function()
      local text = parts(multipart(object({ file = binary })), {
        body = { file = { data = "", filename = 'a"b\r\nX: \195\188\\;.txt' }, ['p"q\n'] = 1 },
      })
      assert.equal(table.concat({
        "--B", 'Content-Disposition: form-data; name="file"; filename="a%22b%0D%0AX: \195\188\\;.txt"',
        "Content-Type: application/octet-stream", "", "",
        "--B", 'Content-Disposition: form-data; name="p%22q%0A"', "", "1", "--B--", "",
      }, "\r\n"), text)
    end)

    for name, case in pairs({
      ["a file that is not there"] = { { path = "/nowhere/at all" }, "/body/file/path" },
      ["what is made up as it is read"] = { { path = "/proc/self/status" }, "/body/file/path" },
      ["a directory"] = { { path = "/tmp" }, "/body/file/path" },
      ["two sources"] = { { path = "/x", data = "y" }, "/body/file" },
      ["no source"] = { { filename = "x" }, "/body/file" },
      ["an unknown member"] = { { data = "x", name = "y" }, "/body/file/name" },
      ["a type with a line end"] = { { data = "x", contentType = "a/b\r\nX: 1" }, "/body/file/contentType" },
      ["a header with a line end"] = { { data = "x", headers = { A = "b\r\nX: 1" } }, "/body/file" },
      ["a header whose name is none"] = { { data = "x", headers = { ["A:b"] = "c" } }, "/body/file" },
      ["a file name with NUL"] = { { data = "x", filename = "a\0b" }, "/body/file" },
      ["a file name that is not UTF-8"] = { { data = "x", filename = "\255" }, "/body/file" },
      ["a reader that is none"] = { { reader = 1 }, "/body/file/reader" },
      ["a reader of JSON"] = { { reader = operations.object() }, "/body/file/reader" },
      ["a reader of JSON with a member read"] = { { reader = { read = "x" } }, "/body/file/reader" },
      ["a reader that is null"] = { { reader = operations.null }, "/body/file/reader" },
      ["a size that is not a number of bytes"] = { { data = "x", size = 1.5 }, "/body/file/size" },
      ["a second disposition"] = { { data = "x", headers = { ["Content-Disposition"] = "form-data; name=y" } },
        "/body/file" },
      ["another case of it"] = { { data = "x", headers = { ["content-DISPOSITION"] = "x" } }, "/body/file" },
      ["the length of a part"] = { { data = "x", headers = { ["Content-Length"] = "1" } }, "/body/file" },
      ["the coding of a part"] = { { data = "x", headers = { ["Content-Transfer-Encoding"] = "base64" } },
        "/body/file" },
      ["a second type"] = { { data = "x", contentType = "a/b", headers = { ["Content-Type"] = "c/d" } },
        "/body/file" },
      ["a type among the headers that is not one"] = { { data = "x", headers = { ["Content-Type"] = "c" } },
        "/body/file" },
      ["a header twice"] = { { data = "x", headers = { ["X-A"] = "1", ["x-a"] = "2" } }, "/body/file" },
      ["a header name with a line end"] = { { data = "x", headers = { ["A\r\nB"] = "1" } }, "/body/file" },
    }) do
      it("refuses " .. name .. ", by its path", function()
        local data, err = send(multipart(object({ file = binary })), { body = { file = case[1] } })
        assert.is_nil(data)
        assert.equal("VALIDATION_ERROR", err.code)
        assert.equal(case[2], err.details[1].path)
      end)
    end

    it("sends no file of this machine for others, unless the configuration says so", function()
      local request_body = multipart(object({ file = binary }))
      local input = { body = { file = { path = write("mine", "text") } } }
      local _, err = send(request_body, input, { accessControl = {} })
      assert.equal("VALIDATION_ERROR", err.code)
      assert.equal("/body/file/path", err.details[1].path)
      assert.matches("text", (parts(request_body, input, { accessControl = {}, files = true })))
      _, err = send(request_body, input, { files = false })
      assert.equal("VALIDATION_ERROR", err.code)
    end)

    it("obeys contentType and headers of the encoding", function()
      local text = parts(multipart(
        object({ note = { type = "string" }, list = { type = "array" }, picture = binary,
          raw = { type = "string" } }), {
          note = { contentType = "text/markdown; charset=utf-8" },
          list = { contentType = "application/json" },
          picture = { contentType = "image/png, image/jpeg", headers = {
            ["X-Limit"] = { schema = { type = "string", default = "5" } }, ["Content-Type"] = { schema = {} },
          } },
          raw = { contentType = "application/json" },
        }), { body = { note = "# x", list = { "a" }, picture = "p", raw = "q" } })
      assert.equal(table.concat({
        "--B", 'Content-Disposition: form-data; name="list"', "Content-Type: application/json", "", '"a"',
        "--B", 'Content-Disposition: form-data; name="note"; filename="blob"',
        "Content-Type: text/markdown; charset=utf-8", "", "# x",
        "--B", 'Content-Disposition: form-data; name="picture"; filename="blob"', "Content-Type: image/png",
        "X-Limit: 5", "", "p",
        "--B", 'Content-Disposition: form-data; name="raw"', "Content-Type: application/json", "", '"q"', "--B--", "",
      }, "\r\n"), text)
    end)

    it("takes the type of a part among its headers, and headers that the document declares, in any case", function()
      local request_body = multipart(object({ file = binary }), { file = { headers = {
        ["Content-ID"] = { required = true }, ["X-Limit"] = { schema = { type = "string", default = "5" } },
        ["Content-Disposition"] = { schema = { type = "string", default = "form-data; name=y" } },
      } } })
      local text = parts(request_body, { body = { file = { data = "x", headers = {
        ["content-type"] = "text/csv", ["content-id"] = "<1>", ["x-limit"] = "6" } } } })
      assert.equal(table.concat({
        "--B", 'Content-Disposition: form-data; name="file"; filename="blob"', "Content-Type: text/csv",
        "content-id: <1>", "x-limit: 6", "", "x", "--B--", "",
      }, "\r\n"), text)
    end)

    it("asks for a header that the encoding requires", function()
      local request_body = multipart(object({ file = binary }),
        { file = { headers = { ["X-Sum"] = { required = true } } } })
      local _, err = send(request_body, { body = { file = "x" } })
      assert.equal("VALIDATION_ERROR", err.code)
      assert.matches("X-Sum", err.message, 1, true)
      local file = { data = "x", headers = { ["X-Sum"] = "1" } }
      assert.truthy((parts(request_body, { body = { file = file } })):find("\r\nX-Sum: 1\r\n", 1, true))
    end)

    it("obeys styles from 3.1 on, and leaves everything unencoded then", function()
      local schema = object({ a = { type = "array" }, b = { type = "object" }, c = { type = "array" } })
      local encoding = {
        a = { style = "pipeDelimited", explode = false }, b = { style = "deepObject", explode = true },
        c = { explode = true },
      }
      local input = { body = { a = { "x y", "z" }, b = { k = { "&" } }, c = { 1, 2 } } }
      assert.equal(table.concat({
        "--B", 'Content-Disposition: form-data; name="a"', "", "x y|z",
        "--B", 'Content-Disposition: form-data; name="b[k][]"', "", "&",
        "--B", 'Content-Disposition: form-data; name="c"', "", "1",
        "--B", 'Content-Disposition: form-data; name="c"', "", "2", "--B--", "",
      }, "\r\n"), (parts(multipart(schema, encoding), input)))
      local old = parts(multipart(schema, encoding), input, nil, "3.0.3")
      assert.matches('name="b"\r\nContent-Type: application/json\r\n\r\n{"k":["&"]}', old, 1, true)
    end)

    it("takes files where the document says nothing of a property, and nothing else for one", function()
      local text = parts({ content = { ["multipart/form-data"] = {} } },
        { body = { a = { data = "x", filename = "f" }, b = { data = "x", more = 1 } } })
      assert.equal(table.concat({
        "--B", 'Content-Disposition: form-data; name="a"; filename="f"', "Content-Type: application/octet-stream", "",
        "x",
        "--B", 'Content-Disposition: form-data; name="b"', "Content-Type: application/json", "",
        '{"data":"x","more":1}', "--B--", "",
      }, "\r\n"), text)
    end)

    it("finds files in schemas that are combined or referred to", function()
      local schema = { allOf = {
        object({ one = binary, id = { type = "integer", readOnly = true } }),
        { ["$ref"] = "#/paths/~1echo/post/x-more" },
      }, required = { "one" } }
      local more = object({ two = { anyOf = { { type = "null" }, binary } } })
      local api = support.api(support.one({ requestBody = multipart(schema), ["x-more"] = more },
        { path = "/echo", method = "post" }))
      assert.same({}, api.report)
      local _, err = api.definitions[1].handler({ body = { one = { data = "a" }, two = { data = "b" } } })
      assert.is_nil(err)
      assert.matches('name="two"; filename="blob"', api.requests[1].body, 1, true)
      local input = assert(operations.schema.compile(api.definitions[1].inputSchema))
      assert.is_true(input:check({ body = { one = { data = "a" } } }))
      assert.is_false((input:check({ body = { one = 1 } })))
      assert.is_false((input:check({ body = {} })))
    end)

    it("takes files that may be null, also as null, which is not sent", function()
      local function or_null(schema)
        return { anyOf = { schema, { type = "null" } } }
      end
      local list = { type = "array", items = binary }
      local schema = object({ a = or_null(binary), b = { anyOf = { { type = "null" }, list } },
        c = { type = { "string", "null" }, format = "binary" }, d = { type = "string", format = "binary" } })
      local api = support.api(support.one({ requestBody = multipart(schema) }, { method = "post" }))
      local input = assert(operations.schema.compile(api.definitions[1].inputSchema))
      local null, file = operations.null, { data = "x", filename = "f" }
      assert.is_true(input:check({ body = { a = null, b = null, c = null } }))
      assert.is_true(input:check({ body = { a = file, b = { file }, c = file, d = file } }))
      assert.is_false((input:check({ body = { d = null } })))
      assert.is_false((input:check({ body = { a = 7 } })))
      assert(api.definitions[1].handler({ body = { a = file, b = null, c = null } }))
      assert.matches('name="a"; filename="f"', api.requests[1].body, 1, true)
      assert.is_nil(api.requests[1].body:find('name="[bc]"'))
    end)

    it("takes files under names that the schema does not list", function()
      local by_reference = { ["$ref"] = "#/paths/~1op/post/x-file" }
      for _, more in ipairs({ binary, by_reference, { type = "array", items = binary } }) do
        local schema = object({ note = { type = "string" } })
        schema.additionalProperties = more
        local api = support.api(support.one({ requestBody = multipart(schema), ["x-file"] = binary },
          { method = "post" }))
        local input = assert(operations.schema.compile(api.definitions[1].inputSchema))
        local file = { data = "x", filename = "f.txt", contentType = "text/plain" }
        local value = more.items and operations.array({ file, "y" }) or file
        assert.is_true(input:check({ body = { note = "n", other = value } }))
        assert.is_false((input:check({ body = { other = 7 } })))
        assert(api.definitions[1].handler({ body = { note = "n", other = value } }))
        local body = api.requests[1].body
        assert.matches('name="other"; filename="f.txt"\r\nContent-Type: text/plain', body, 1, true)
        assert.matches('name="note"\r\n\r\nn', body, 1, true)
        assert.equal(more.items ~= nil, body:find('name="other"; filename="blob"', 1, true) ~= nil)
      end
    end)

    it("takes files under names that a pattern matches, also within allOf and with an encoding of their own", function()
      local schema = object({ note = { type = "string" } })
      schema.patternProperties = { ["^file"] = binary, ["^n"] = { type = "integer" } }
      for _, made in ipairs({ schema, { allOf = { schema, object({}) } } }) do
        local body = multipart(made)
        body.content["multipart/form-data"].encoding = { file2 = { contentType = "image/png" } }
        local api = support.api(support.one({ requestBody = body }, { method = "post" }))
        local input = assert(operations.schema.compile(api.definitions[1].inputSchema))
        local value = { file1 = { data = "x", filename = "f" }, file2 = { base64 = "eQ==" }, n1 = 7 }
        assert.is_true(input:check({ body = value }))
        assert.is_false((input:check({ body = { n1 = { data = "x" } } })))
        assert(api.definitions[1].handler({ body = value }))
        local sent = api.requests[1].body
        assert.matches('name="file1"; filename="f"\r\nContent-Type: application/octet-stream\r\n\r\nx', sent, 1, true)
        assert.matches('name="file2"; filename="blob"\r\nContent-Type: image/png\r\n\r\ny', sent, 1, true)
        assert.matches('name="n1"\r\n\r\n7', sent, 1, true)
      end
    end)

    it("gives no file name to a text whose schema says nothing", function()
      local text = parts(multipart(object({ a = {}, b = { description = "any" }, c = {} })),
        { body = { a = "x", b = { data = "y" }, c = "" } })
      assert.equal(table.concat({
        "--B", 'Content-Disposition: form-data; name="a"', "Content-Type: application/octet-stream", "", "x",
        "--B", 'Content-Disposition: form-data; name="b"; filename="blob"',
        "Content-Type: application/octet-stream", "", "y",
        "--B", 'Content-Disposition: form-data; name="c"', "Content-Type: application/octet-stream", "", "",
        "--B--", "",
      }, "\r\n"), text)
    end)

    it("ends with schemas that are combined of themselves, or of masses", function()
      local function reference(name)
        return { ["$ref"] = "#/components/schemas/" .. name }
      end
      local loop = reference("loop")
      local schemas = { loop = {
        properties = { file = binary, list = { type = "array", items = loop } }, allOf = { loop }, anyOf = { loop },
      }, wide40 = object({ file = binary }) }
      for i = 1, 39 do
        local inner = reference("wide" .. i + 1)
        schemas["wide" .. i] = { allOf = { inner, inner } }
      end
      local doc = { components = { schemas = schemas } }
      for _, name in ipairs({ "loop", "wide1" }) do
        local api = support.api(support.one({ requestBody = multipart(reference(name)) },
          { method = "post", doc = doc }))
        assert(api.definitions[1].handler({ body = { file = { data = "x" } } }))
        assert(operations.schema.compile(api.definitions[1].inputSchema))
      end
    end)

    it("never has its boundary within a part", function()
      local core = require("operations.core")
      local random_id, ids = core.random_id, { "first", "second" }
      core.random_id = function()
        return table.remove(ids, 1)
      end
      local api = support.api(support.one({ requestBody = multipart(object({})) }, { method = "post" }))
      local _, err = api.definitions[1].handler({ body = { a = "--operations-first" } })
      core.random_id = random_id
      assert.is_nil(err)
      assert.equal("multipart/form-data; boundary=operations-second", api.requests[1].headers["Content-Type"])
    end)

    it("refuses anything but an object", function()
      local _, err = send({ content = { ["multipart/form-data"] = {} } }, { body = "text" })
      assert.equal("VALIDATION_ERROR", err.code)
      assert.equal("/body", err.details[1].path)
    end)
  end)

  describe("multipart/mixed", function()
    it("has parts without names for the items of an array", function()
      local text, data = parts({ content = { ["multipart/mixed"] = {} } }, { body = { "a", { b = 1 } } })
      assert.equal("--B\r\n\r\na\r\n--B\r\nContent-Type: application/json\r\n\r\n{\"b\":1}\r\n--B--\r\n", text)
      assert.matches("^multipart/mixed; boundary=", data.headers["content-type"])
    end)

    it("has them as the schema and the encodings of their places say (3.2)", function()
      local text = parts({ content = { ["multipart/mixed"] = {
        schema = { type = "array", prefixItems = { object({}) }, items = { type = "string" } },
        prefixEncoding = { { contentType = "application/vnd.x+json" } }, itemEncoding = { contentType = "image/png" },
      } } }, { body = { { a = 1 }, "png", { data = "more", filename = "m.png" } } }, nil, "3.2.0")
      assert.equal(table.concat({
        "--B", "Content-Type: application/vnd.x+json", "", '{"a":1}', "--B", "Content-Type: image/png", "", "png",
        "--B", 'Content-Disposition: attachment; filename="m.png"', "Content-Type: image/png", "", "more", "--B--", "",
      }, "\r\n"), text)
      local text_of_items = parts({ content = { ["multipart/related"] = { itemSchema = binary } } }, { body = { "x" } })
      assert.equal("--B\r\nContent-Type: application/octet-stream\r\n\r\nx\r\n--B--\r\n", text_of_items)
    end)

    it("has named parts for the properties of an object", function()
      local text = parts({ content = { ["multipart/mixed"] = {} } }, { body = { a = "b" } })
      assert.equal('--B\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n--B--\r\n', text)
    end)

    it("says where a value is that cannot be sent", function()
      local _, err = send({ content = { ["multipart/mixed"] = { schema = { type = "array", items = binary } } } },
        { body = { "a", { path = "/nowhere/at all" } } })
      assert.equal("/body/1/path", err.details[1].path)
    end)
  end)

  describe("application/x-www-form-urlencoded", function()
    local media_type = "application/x-www-form-urlencoded"

    local function form(properties, encoding, value, config)
      local data, err = send(body_of(media_type, object(properties), encoding), { body = value }, config)
      return data and data.body, err, data
    end

    it("is text, arrays repeated and objects as JSON, blanks as plus signs", function()
      local text, _, data = form({}, nil, {
        id = "f8", address = { street = "1 Dr.", zip = "9+1" }, list = { 1, "a&b" }, no = false, none = operations.null,
        deep = { { x = 1 }, { 2 } },
      })
      assert.equal("address=%7B%22street%22%3A%221+Dr.%22%2C%22zip%22%3A%229%2B1%22%7D"
        .. "&deep=%7B%22x%22%3A1%7D&deep=%5B2%5D&id=f8&list=1&list=a%26b&no=false", text)
      assert.equal(media_type, data.headers["content-type"])
    end)

    it("obeys style, explode and allowReserved of the encoding", function()
      local value = { a = { "x", "y" }, b = { k = "v", l = { "1", { m = "2" } } }, c = "/+&", d = { p = 1 } }
      assert.equal("a=x,y&b%5Bk%5D=v&b%5Bl%5D%5B0%5D=1&b%5Bl%5D%5B1%5D%5Bm%5D=2&c=/%2B%26&p=1", (form({}, {
        a = { explode = false }, b = { style = "deepObject", explode = true }, c = { allowReserved = true },
        d = { style = "form" },
      }, value)))
    end)

    it("writes arrays of deepObject as Stripe wants them, or as the configuration says", function()
      local encoding = { expand = { style = "deepObject", explode = true } }
      local value = { expand = { "data.customer", "x" } }
      assert.equal("expand%5B%5D=data.customer&expand%5B%5D=x", (form({}, encoding, value)))
      assert.equal("expand%5B0%5D=data.customer&expand%5B1%5D=x",
        (form({}, encoding, value, { deep_arrays = "indices" })))
      assert.equal("expand=data.customer&expand=x", (form({}, encoding, value, { deep_arrays = "repeat" })))
    end)

    it("obeys contentType of the encoding", function()
      assert.equal("s=%22a%22", (form({ s = { type = "string" } }, { s = { contentType = "application/json" } },
        { s = "a" })))
    end)

    it("says where a value is that cannot be sent", function()
      local _, err = send({ content = { [media_type] = { encoding = { a = { style = "deepObject" } } } } },
        { body = { a = { b = { 1, 1 / 0 } } } })
      assert.equal("VALIDATION_ERROR", err.code)
      assert.equal("/body/a/b/1", err.details[1].path)
    end)
  end)

  describe("bytes", function()
    it("is a string as it is, or a file", function()
      local octets = { content = { ["application/octet-stream"] = {} } }
      assert.equal("\0\127", send(octets, { body = "\0\127" }).body)
      local data = send(octets, { body = { path = write("bytes", ("x"):rep(100000)), contentType = "image/png" } })
      assert.equal(100000, #data.body)
      assert.equal("100000", data.headers["content-length"])
      assert.equal("image/png", data.headers["content-type"])
    end)

    it("is read from a reader piece by piece", function()
      local count = 0
      local data = send({ content = { ["image/*"] = {} } }, { body = { reader = function()
        count = count + 1
        return count <= 3 and tostring(count) or nil
      end }, contentType = "image/gif" })
      assert.equal("123", data.body)
      assert.equal("image/gif", data.headers["content-type"])
    end)
  end)

  it("a file goes out piece by piece, each when the connection takes it", function()
    local file_type = { content = { ["multipart/form-data"] = { schema = object({ file = binary }) } } }
    local registry = support.registry(support.one({ requestBody = file_type },
      { path = "/upload?note=pieces", method = "post" }), running.url)
    local given, arrived = 0, {}
    local function arrived_bytes()
      return eventually(function()
        local size = tonumber(assert(operations.http.request({ url = running.url .. "/note/pieces" })).body) or 0
        return size >= given and size
      end)
    end
    local reply = assert(registry:execute("api.op", { body = { file = { size = 300000, reader = function()
      if given > 0 then
        arrived[#arrived + 1] = arrived_bytes() -- what was given is there before more is
      end
      given = given + 100000
      return given <= 300000 and ("x"):rep(100000) or nil
    end } } }))
    assert.is_true(tonumber(reply.data) > 300000)
    assert.is_true(arrived[1] >= 100000 and arrived[1] < 200000)
    assert.is_true(arrived[2] >= 200000 and arrived[2] < 300000)
  end)

  it("XML is the string given", function()
    local data = send(body_of("application/xml", object({})), { body = "<a>1</a>" })
    assert.equal("<a>1</a>", data.body)
    assert.equal("application/xml", data.headers["content-type"])
  end)

  it("JSON lines and sequences is an item behind the other", function()
    for media_type, text in pairs({
      ["application/x-ndjson"] = '{"a":1}\nnull\n"x"\n', ["application/jsonl"] = '{"a":1}\nnull\n"x"\n',
      ["application/stream+json"] = '{"a":1}\nnull\n"x"\n',
      ["application/json-seq"] = '\30{"a":1}\n\30null\n\30"x"\n',
    }) do
      local items = { { a = 1 }, operations.null, "x" }
      local data = send({ content = { [media_type] = { itemSchema = {} } } }, { body = items })
      assert.equal(text, data.body)
      assert.equal(media_type, data.headers["content-type"])
      local _, err = send({ content = { [media_type] = { schema = { type = "integer" } } } }, { body = { 1, "x" } })
      assert.equal("/body/1", err.details[1].path)
    end
  end)
end)

-- What `parts` returns for a value, after the boolean of pcall, and the file that it opened last.
local function parts_of(value)
  local open, opened = io.open, nil
  io.open = function(...) -- luacheck: ignore 122
    opened = open(...)
    return opened
  end
  local results = { pcall(multipart_body.parts, {}, value, { files = true }) }
  io.open = open -- luacheck: ignore 122
  return results, opened
end

describe("the parts of a value that is refused", function()
  it("have the place of the value, and no open file", function()
    local path = os.tmpname()
    for _, case in ipairs({
      { { a = { path = path }, ["b/c~d"] = print }, "a function cannot be sent", "/b~1c~0d", "closed file" },
      { { a = { path = "/tmp" } }, "cannot be read: it is not a regular file", "/a/path" },
    }) do
      local results, opened = parts_of(case[1])
      assert.same({ true, nil, case[2], case[3] }, results)
      assert.equal(case[4], opened and io.type(opened))
    end
    os.remove(path)
  end)
end)

describe("the files of a multipart body", function()
  it("are closed with it, although nothing was read", function()
    local path = os.tmpname()
    local results, opened = parts_of({ a = { path = path } })
    local body, size = multipart_body.body(results[2])
    assert.same({ "file", "number" }, { io.type(opened), type(size) })
    body.close()
    assert.equal("closed file", io.type(opened))
    os.remove(path)
  end)
end)

describe("the media type of a body", function()
  local function call(content, input, config)
    local api = support.api(support.one({ requestBody = { content = content } }, { method = "post" }), config)
    local _, err = api.definitions[1].handler(input)
    return api.requests[1], err, api
  end

  local several = { ["application/json"] = {}, ["application/x-www-form-urlencoded"] = {}, ["multipart/form-data"] = {},
    ["text/csv"] = {} }

  it("is JSON, then a form, then multipart, then text", function()
    local left = { "application/json", "application/x-www-form-urlencoded", "multipart/form-data", "text/csv" }
    while left[1] do
      local content = {}
      for _, name in ipairs(left) do
        content[name] = {}
      end
      local body = left[2] and { a = 1 } or left[1] == "text/csv" and "a" or { a = 1 }
      assert.equal(left[1], (call(content, { body = body }).headers["Content-Type"]:gsub(";.*", "")))
      table.remove(left, 1)
    end
  end)

  it("is multipart where that requires a file", function()
    local schema = { type = "object", properties = { f = { type = "string", format = "binary" } }, required = { "f" } }
    local content = { ["application/json"] = { schema = schema }, ["multipart/form-data"] = { schema = schema } }
    assert.matches("^multipart/form%-data; ", call(content, { body = { f = "x" } }).headers["Content-Type"])
  end)

  it("is multipart where a file is given", function()
    local schema = object({
      f = { type = "string", contentEncoding = "binary" }, list = { type = "array", items = binary },
    })
    local content = { ["application/json"] = {}, ["multipart/form-data"] = { schema = schema } }
    assert.equal("application/json", call(content, { body = { f = "x" } }).headers["Content-Type"])
    for _, value in ipairs({ { f = { data = "x" } }, { list = { { data = "x" } } } }) do
      assert.matches("^multipart/form%-data; ", call(content, { body = value }).headers["Content-Type"])
    end
  end)

  it("is the preferred one of the configuration", function()
    local request = call(several, { body = "a,b" }, { content_types = { "text/xml", "text/csv" } })
    assert.equal("text/csv", request.headers["Content-Type"])
    assert.equal("a,b", request.body)
  end)

  it("is the caller's choice", function()
    assert.equal("a=1", call(several, { body = { a = 1 }, contentType = "application/x-www-form-urlencoded" }).body)
    local request, err = call(several, { body = {}, contentType = "image/png" })
    assert.is_nil(request)
    assert.equal("/contentType", err.details[1].path)
  end)

  it("is one of those that the input's schema lists", function()
    local _, _, api = call(several, { body = {} })
    assert.same({ "application/json", "application/x-www-form-urlencoded", "multipart/form-data", "text/csv" },
      api.definitions[1].inputSchema.properties.contentType.enum)
  end)

  it("is any that a range takes", function()
    assert.equal("a", call({ ["text/*"] = {} }, { body = "a", contentType = "text/html" }).body)
    assert.equal("text/plain", call({ ["text/*"] = {} }, { body = "a" }).headers["Content-Type"])
    assert.is_nil((call({ ["text/*"] = {} }, { body = "a", contentType = "image/png" })))
    assert.is_nil((call({ ["*/*"] = {} }, { body = "a", contentType = "a/b\r\nX: 1" })))
  end)

  it("cannot be picked where there is but one", function()
    local _, err = call({ ["application/json"] = {} }, { body = 1, contentType = "application/json" })
    assert.equal("/contentType", err.details[1].path)
  end)

  it("is picked as body.contentType where a parameter has that name", function()
    local api = support.api(support.one({
      parameters = { { name = "contentType", ["in"] = "query" } },
      requestBody = { content = several },
    }, { method = "post" }))
    assert(api.definitions[1].handler({ ["query.contentType"] = "q", contentType = "text/csv", body = "a" }))
    assert.equal("http://api.test/op?contentType=q", api.requests[1].url)
    assert.equal("text/csv", api.requests[1].headers["Content-Type"])
  end)
end)

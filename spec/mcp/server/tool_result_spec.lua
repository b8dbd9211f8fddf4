local core = require("operations.core")
local errors = require("operations.base.error")
local json = require("operations.base.json")
local operations = require("operations")
local tool_result = require("operations.mcp.server.tool_result")

local function of(data, modern, schema, meta, version)
  return json.encode((tool_result.of({ data = data, meta = meta or { source = "local" } },
    { id = "a.b", modern = modern or false, version = version,
    schema = schema })), { sort_keys = true })
end

describe("the result of a tool", function()
  it("has its data as text and structured, of legacy clients objects only", function()
    assert.equal('{"content":[{"text":"{\\"a\\":1}","type":"text"}],"structuredContent":{"a":1}}', of({ a = 1 }))
    assert.equal('{"content":[{"text":"[1]","type":"text"}]}', of({ 1 }))
    assert.equal('{"content":[{"text":"[1]","type":"text"}],"structuredContent":[1]}', of({ 1 }, true))
    assert.equal('{"content":[{"text":"7","type":"text"}]}', of(7))
    assert.equal('{"content":[{"text":"null","type":"text"}],"structuredContent":null}', of(core.null, true))
    assert.equal('{"content":[{"text":"false","type":"text"}],"structuredContent":false}', of(false, true))
  end)

  it("has a text as it is", function()
    assert.equal('{"content":[{"text":"a","type":"text"}]}', of("a"))
    assert.equal('{"content":[{"text":"a","type":"text"}],"structuredContent":"a"}', of("a", true))
  end)

  describe("that is bytes", function()
    local PNG = { type = "string", contentMediaType = "image/png" }

    it("is an image, audio or resource block, without structured content, for clients of both eras", function()
      for _, modern in ipairs({ false, true }) do
        assert.equal('{"content":[{"data":"iVBORw==","mimeType":"image/png","type":"image"}]}',
          of("\137PNG", modern, PNG))
        assert.equal('{"content":[{"data":"/w==","mimeType":"audio/wav","type":"audio"}]}',
          of("\255", modern, { type = "string", contentMediaType = "audio/wav" }))
        assert.equal('{"content":[{"resource":{"blob":"JVBERv/+AAE=","mimeType":"application/pdf",'
          .. '"uri":"operation:a.b"},"type":"resource"}]}', of("%PDF\255\254\0\1", modern, true,
          { source = "http", contentType = "application/pdf" }))
      end
    end)

    it("is known by the answer's media type, that of the schema, and the bytes themselves", function()
      local function media(data, schema, meta)
        return of(data, true, schema, meta):match('"mimeType":"([^"]*)"')
      end
      assert.equal("image/gif", media("GIF", PNG, { source = "http", contentType = "image/GIF; x=1" }))
      assert.equal("image/gif", media("GIF", nil, { source = "http", headers = { ["content-type"] = "image/gif" } }))
      assert.equal("application/octet-stream", media("a\255"))
      assert.equal("text/plain", media("a\255", { type = "string", contentMediaType = "text/plain" },
        { source = "http", contentType = "text/plain" }))
      for _, text in ipairs({ "text/csv", "application/json", "image/svg+xml", "application/xml" }) do
        assert.is_nil(media("<a/>", { type = "string", contentMediaType = text }))
      end
      assert.equal('{"content":[{"data":"iVBORw==","mimeType":"image/png","type":"image"}]}',
        of("iVBORw==", true, { type = "string", contentMediaType = "image/png", contentEncoding = "base64" }))
    end)

    it("is bytes within data, too, where only the schema says so", function()
      local schema = { type = "object", properties = { raw = { type = "string", contentMediaType = "image/gif" },
        file = { type = "string", format = "binary" }, empty = PNG, page = { contentMediaType = "text/html" },
        photo = { type = "string", contentMediaType = "image/png", contentEncoding = "base64" } } }
      local data = { raw = "GIF87a", file = "ab", empty = "", page = "<p>", photo = "iVBORw==" }
      local result = json.decode(of(data, true, schema))
      assert.same({ raw = "R0lGODdh", file = "YWI=", empty = "", page = "<p>", photo = "iVBORw==" },
        result.structuredContent)
      assert.same({ raw = "[image/gif, 6 bytes]", file = "[application/octet-stream, 2 bytes]", empty = "",
        page = "<p>", photo = "[image/png, 4 bytes]" }, json.decode(result.content[1].text))
      assert.same({ "YWI=", "iVBORw==", "R0lGODdh" },
        { result.content[2].resource.blob, result.content[3].data, result.content[4].data })
      local answered = json.decode(of(data, true, schema, { source = "http", contentType = "application/json" }))
      assert.same(data, answered.structuredContent) -- JSON has no bytes as they are
      assert.same({ "text", "image" }, { answered.content[1].type, answered.content[2].type })
    end)

    it("within data is base64 in structured content, a note in the text, and a block", function()
      local schema = { type = "object", properties = { list = { type = "array", items = { type = "object",
        properties = { photo = PNG } } } } }
      local data = { list = { { photo = "\137PNG", name = "a" } }, other = "\255" }
      for _, modern in ipairs({ false, true }) do
        local result = json.decode(of(data, modern, schema))
        assert.same({ list = { { photo = "iVBORw==", name = "a" } }, other = "/w==" }, result.structuredContent)
        assert.same({ list = { { photo = "[image/png, 4 bytes]", name = "a" } },
          other = "[application/octet-stream, 1 bytes]" }, json.decode(result.content[1].text))
        local types = { result.content[2].type, result.content[3].type }
        table.sort(types)
        assert.same({ "image", "resource" }, types)
      end
      assert.same({ list = { { photo = "\137PNG", name = "a" } }, other = "\255" }, data)
    end)

    it("is a resource where the client's revision has no audio", function()
      assert.matches('"type":"resource"', of("\255", false, { type = "string", contentMediaType = "audio/wav" }, nil,
        "2024-11-05"))
    end)
  end)

  it("has no content where there is no data", function()
    assert.equal('{"content":[]}', of(nil))
    assert.equal('{"content":[]}', of(nil, true))
  end)

  it("is an error where the data is not JSON", function()
    local made, err = tool_result.of({ data = { print }, meta = { source = "local" } },
      { id = "a.b", modern = true })
    assert.is_nil(made)
    assert.is_true(errors.is_error(err))
  end)

  it("of another server is passed on unchanged", function()
    local modern = true
    local function of_mcp(meta, data)
      meta.source = "mcp"
      return json.encode((tool_result.of({ data = data, meta = meta }, { id = "a.b", modern = modern })),
        { sort_keys = true })
    end
    assert.equal('{"_meta":{"m":1},"content":[{"type":"x"}],"isError":true,"structuredContent":7}',
      of_mcp({ content = { { type = "x" } }, structuredContent = 7, isError = true, _meta = { m = 1 } }, 7))
    assert.equal('{"content":[{"type":"x"}]}', of_mcp({ content = { { type = "x" } }, isError = false }))
    assert.equal('{"content":[],"structuredContent":7}', of_mcp({ structuredContent = 7 }))
    modern = false -- structured content is an object
    assert.equal('{"_meta":{"m":1},"content":[{"text":"1","type":"text"}],"isError":true}',
      of_mcp({ content = {}, isError = true, _meta = { m = 1 } }, 1))
    assert.equal('{"content":[{"text":"1","type":"text"}]}', of_mcp({}, 1))
    assert.equal('{"content":[{"type":"x"}]}', of_mcp({ content = { { type = "x" } }, structuredContent = 7 }))
    assert.equal('{"content":[{"text":"7","type":"text"}]}', of_mcp({ structuredContent = 7 }))
    assert.equal('{"content":[{"type":"x"}],"structuredContent":{}}',
      of_mcp({ content = { { type = "x" } }, structuredContent = operations.array() }))
    assert.equal('{"content":[],"structuredContent":{"a":1}}', of_mcp({ structuredContent = { a = 1 } }))
  end)
end)

describe("the result of a tool that failed", function()
  local function failed(code, details, told)
    local err = errors.new(code, "the message", details)
    local result = tool_result.of_error(err, told)
    assert.is_true(result.isError)
    return result.content[1].text, result._meta["operations/error"]
  end

  it("says the code and the message, where they may be told", function()
    assert.same({ "GONE: the message", { code = "GONE", details = { 1 } } }, { failed("GONE", { 1 }, true) })
    assert.same({ "the operation failed", { code = "GONE" } }, { failed("GONE", { 1 }, false) })
    assert.same({ "GONE: the message", { code = "GONE" } }, { failed("GONE", { print }, true) })
    assert.same({ "GONE?: the message", { code = "GONE?" } }, { failed("GONE\255", nil, true) })
  end)

  it("says that a call to a server that has ended may have run", function()
    local err = errors.new("EXECUTION_ERROR", "srv: the server has ended", { kind = "closed" })
    err.mayHaveRun = true
    assert.equal("EXECUTION_ERROR: srv: the server has ended; the call may have run",
      tool_result.of_error(err, true).content[1].text)
  end)

  it("says whether trying again makes sense", function()
    local err = errors.new("BUSY", "full")
    err.retryable, err.mayHaveRun = true, false
    assert.same({ code = "BUSY", retryable = true, mayHaveRun = false },
      tool_result.of_error(err, false)._meta["operations/error"])
  end)

  it("lists issues of its input", function()
    assert.equal("The input does not fit the tool's inputSchema:\n- (input): a\n- /b: c\n- nil: d",
      (failed("VALIDATION_ERROR", { { path = "", message = "a" }, { path = "/b", message = "c" }, { message = "d" } },
        false)))
    assert.equal("VALIDATION_ERROR: the message", (failed("VALIDATION_ERROR", {}, true)))
    assert.equal("VALIDATION_ERROR: the message", (failed("VALIDATION_ERROR", "x", true)))
    assert.equal("GONE: the message", (failed("GONE", { { path = "", message = "a" } }, true)))
  end)

  it("lists 20 issues, and counts the others", function()
    local function lines(count)
      local issues = {}
      for i = 1, count do
        issues[i] = { path = "/" .. i, message = "m" }
      end
      return (failed("VALIDATION_ERROR", issues, false)):match("[^\n]*$")
    end
    assert.equal("- /20: m", lines(20))
    assert.equal("and 1 more", lines(21))
    assert.equal("and 5 more", lines(25))
  end)
end)

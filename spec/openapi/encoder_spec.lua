local encoder = require("operations.openapi.encoder")
local operations = require("operations")
local support = require("spec.support.openapi")

-- The body that a value makes: its bytes and type, or nil, the message and the path.
local function encode(kind, value, plan)
  plan = plan or {}
  plan.kind, plan.content_type = kind, "a/b"
  local made, message, path = encoder.encode(plan, value, { properties = { body = true } })
  return { made and made.data, made and made.content_type, message, path }
end

describe("the kind of a body", function()
  for kind, types in pairs({
    json = { "application/json", "text/json", "application/vnd.a+json", "*/*", "application/*", "application/*+json" },
    form = { "application/x-www-form-urlencoded" }, multipart = { "multipart/form-data", "multipart/mixed" },
    lines = { "application/x-ndjson", "application/jsonl", "application/stream+json" },
    sequence = { "application/json-seq", "application/geo+json-seq" },
    bytes = { "text/plain", "image/*", "application/xml", "application/octet-stream", "x/multipart/y" },
    none = { "text/event-stream" },
  }) do
    it("is " .. kind, function()
      for _, name in ipairs(types) do
        assert.equal(kind, encoder.kind(name) or "none", name)
      end
    end)
  end
end)

describe("a body", function()
  it("of lines is one line for each item, or a text that is whole", function()
    assert.same({ "1\nnull\n", "a/b" }, encode("lines", operations.array({ 1, operations.null })))
    assert.same({ "\30" .. "1\n", "a/b" }, encode("sequence", operations.array({ 1 })))
    assert.same({ "", "a/b" }, encode("lines", operations.array({})))
    assert.same({ "1\n2\n", "a/b" }, encode("lines", "1\n2\n"))
    assert.same({ nil, nil, "expected an array, each item being one JSON text, or the whole as a string", "" },
      encode("lines", 7))
  end)

  it("names the place of a value that cannot be written", function()
    local bad = { n = { 1, 0 / 0 } }
    local message = encode("json", bad)[3]
    assert.same({ nil, nil, message, "/n/1" }, encode("json", bad))
    assert.same({ nil, nil, message, "/1/n/1" }, encode("lines", operations.array({ 1, bad })))
    assert.equal("", encode("json", 0 / 0)[4])
  end)

  it("of bytes is a text, or a file with a type of its own", function()
    assert.same({ "x", "a/b" }, encode("bytes", "x"))
    assert.same({ "x", "c/d" }, encode("bytes", { data = "x", contentType = "c/d" }))
    assert.same({ nil, nil, "a file has no such member", "/more" }, encode("bytes", { data = "x", more = 1 }))
    local read = encode("bytes", { reader = function() end })[1]
    assert.is_false(read.again)
    assert.is_nil(read.read())
  end)
end)

describe("the type of a body that the caller picks", function()
  local json = { name = "application/json", essence = "application/json", kind = "json" }
  local text = { name = "text/*; x=y", essence = "text/*", kind = "bytes" }
  local plan = { types = { json, text } }

  it("is one of the operation's, or in one of its ranges", function()
    assert.equal(json, encoder.pick(plan, {}, nil, {}))
    assert.equal(json, encoder.pick(plan, {}, "application/json; charset=utf-8"))
    assert.equal(text, encoder.pick(plan, "", "text/*; x=y"))
    assert.same({ kind = "bytes", essence = "text/csv", content_type = "text/csv; h=1", fields = {} },
      encoder.pick(plan, "", "text/csv; h=1"))
    local any = { types = { { name = "*/*", essence = "*/*", kind = "json", fields = { a = {} }, files = true } } }
    assert.same({ kind = "multipart", essence = "multipart/mixed", content_type = "multipart/mixed",
      fields = { a = {} }, files = true, positions = { prefix = {}, items = {} } },
      encoder.pick(any, {}, "multipart/mixed"))
  end)

  it("is refused otherwise", function()
    for _, wanted in ipairs({ "image/png", "textual/csv", "application/xml", "text/event-stream" }) do
      assert.same({ nil, wanted .. " is not among the operation's media types" }, { encoder.pick(plan, "", wanted) })
    end
    for _, wanted in ipairs({ 7, "text/csv\n" }) do
      assert.same({ nil, "expected a media type" }, { encoder.pick(plan, "", wanted) })
    end
    assert.same({ nil, "expected a media type" }, { encoder.pick(plan, "", false) })
  end)
end)

describe("a body of several media types", function()
  local url = { type = "object", properties = { url = { type = "string" } }, required = { "url" } }
  local open = { type = "object", properties = { url = { type = "string" } } }
  local bytes = { type = "string", format = "binary" }

  -- The type and the body that a call sends; or nil and the error.
  local function sent(content, input, config, warn)
    local api = support.api(support.one({ requestBody = { required = true, content = content } },
      { path = "/a", method = "post" }), config)
    local _, err = api.definitions[1].handler(input, { log = warn })
    local request = api.requests[1]
    if not request then
      return nil, err
    end
    local body = request.body
    return { request.headers["Content-Type"], type(body) == "table" and body.read() or body }
  end

  local either = { ["application/json"] = { schema = url }, ["application/octet-stream"] = { schema = bytes } }

  it("goes out as the first type that the value fits", function()
    assert.same({ "application/json", '{"url":"u"}' }, sent(either, { body = { url = "u" } }))
    assert.same({ "application/octet-stream", "hello" }, sent(either, { body = "hello" }))
    assert.same({ "application/octet-stream", "\0\255" }, sent(either, { body = { base64 = "AP8=" } }))
    local texts = { ["application/json"] = { schema = { type = "integer" } }, ["text/plain"] = {},
      ["application/x-www-form-urlencoded"] = { schema = url } }
    assert.same({ "application/json", "7" }, sent(texts, { body = 7 }))
    assert.same({ "application/x-www-form-urlencoded", "url=a+b" }, sent(texts, { body = { url = "a b" } }))
    assert.same({ "text/plain", "7" }, sent(texts, { body = "7" }))
    local refs = { ["application/json"] = { schema = { type = "array", items = { type = "integer" } } },
      ["application/jsonl"] = { schema = { type = "string" } } }
    assert.same({ "application/jsonl", '"a"\n' }, sent(refs, { body = operations.array({ "a" }) }))
  end)

  it("is a file where the value is one, unless another type names its members", function()
    local loose = { ["application/json"] = { schema = open }, ["image/png"] = {} }
    assert.same({ "image/png", "x" }, sent(loose, { body = { data = "x" } }))
    assert.same({ "application/json", '{"url":"u"}' }, sent(loose, { body = { url = "u" } }))
    loose["application/json"] = { schema = { type = "object", properties = { data = { type = "string" } } } }
    assert.same({ "application/json", '{"data":"x"}' }, sent(loose, { body = { data = "x" } }))
    local parts = { ["application/json"] = { schema = { type = "object" } },
      ["multipart/form-data"] = { schema = { type = "object", properties = { f = bytes } } } }
    assert.matches("^multipart/", sent(parts, { body = { f = { data = "x" } } })[1])
    assert.equal("application/json", sent(parts, { body = { f = "x" } })[1])
  end)

  it("is refused when it fits none, by the issues of the first", function()
    local _, err = sent(either, { body = { url = 7 } })
    assert.equal("VALIDATION_ERROR", err.code)
    assert.equal("/body/url", err.details[1].path)
    assert.equal("/body/url: expected string, got 7 (the body as application/json)", err.message)
    assert.matches("validate", err.hint, 1, true)
  end)

  it("is checked by the type that the caller names", function()
    assert.same({ "application/octet-stream", "x" }, sent(either,
      { body = "x", contentType = "application/octet-stream" }))
    for content_type, body in pairs({ ["application/json"] = "x", ["application/octet-stream"] = { url = "u" } }) do
      local _, err = sent(either, { body = body, contentType = content_type })
      assert.equal("/body", err.details[1].path)
      assert.matches(content_type, err.message, 1, true)
    end
  end)

  it("goes out all the same with `validate`, which says so or not", function()
    local said = {}
    local function log(_, text)
      said[#said + 1] = text
    end
    local input = { body = "x", contentType = "application/json" }
    assert.same({ "application/json", '"x"' }, sent(either, input, { validate = "off" }, log))
    assert.same({}, said)
    assert.same({ "application/json", '"x"' }, sent(either, input, { validate = "warn" }, log))
    assert.matches("the body as application/json", said[1], 1, true)
  end)
end)

local encoder = require("operations.openapi.encoder")
local operations = require("operations")

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

  it("names the place of what cannot be written", function()
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
    assert.equal(json, encoder.pick(plan, {}, nil))
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

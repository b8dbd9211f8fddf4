local base64 = require("operations.base.base64")
local content = require("operations.tools.content")
local core = require("operations.core")
local errors = require("operations.base.error")

local function options(more)
  local all = { max_result = 1000, max_image = 1000, shows = { ["image/png"] = true } }
  for key, value in pairs(more or {}) do
    all[key] = value
  end
  return all
end

local function of(data, schema, more)
  return content.of({ data = data, meta = { source = "local" } }, schema, options(more))
end

local function of_blocks(blocks, more)
  return content.of({ meta = { source = "mcp", content = blocks } }, nil, options(more))
end

describe("the content that a model gets for a result", function()
  it("is its JSON text with sorted keys, and the data", function()
    local told = of({ e = 5, d = 4, c = 3, b = 1, a = 2 })
    assert.same({ text = '{"a":2,"b":1,"c":3,"d":4,"e":5}', images = {}, failed = false,
      data = { b = 1, a = 2, c = 3, d = 4, e = 5 } }, told)
    assert.same({ text = "false", images = {}, data = false, failed = false }, of(false))
  end)

  it("says so where a result is empty", function()
    assert.same({ text = "(no result)", images = {}, failed = false }, of(nil))
    assert.same({ text = "(no result)", images = {}, data = "", failed = false },
      of("", { contentMediaType = "text/plain" }))
  end)

  it("is the text itself where the schema says that it is text", function()
    assert.equal("a b", of("a b", { contentMediaType = "text/plain" }).text)
    assert.equal('"a b"', of("a b", { contentMediaType = "application/json" }).text)
    assert.equal('"a b"', of("a b", { type = "string" }).text)
    assert.equal('"a b"', of("a b", true).text)
    assert.equal("7", of(7, { contentMediaType = "text/plain" }).text)
  end)

  it("fails where it is not JSON", function()
    local told = of({ print })
    assert.is_true(told.failed)
    assert.matches("^OUTPUT_INVALID: the result is not JSON: ", told.text)
    assert.is_nil(told.data)
  end)

  it("is cut to whole characters, and has no data then", function()
    local schema = { contentMediaType = "text/plain" }
    assert.equal("abcd", of("abcd", schema, { max_result = 4 }).text)
    local told = of("abcde", schema, { max_result = 4 })
    assert.equal("abcd\n[cut: 4 of 5 bytes]", told.text)
    assert.is_nil(told.data)
    assert.equal("a\n[cut: 1 of 4 bytes]", of("a\226\130\172", schema, { max_result = 3 }).text)
    assert.equal("a\226\130\172\n[cut: 4 of 5 bytes]", of("a\226\130\172b", schema, { max_result = 4 }).text)
    assert.equal("\n[cut: 0 of 2 bytes]", of("\195\188", schema, { max_result = 1 }).text)
    assert.equal("\n[cut: 0 of 3 bytes]", of("\128\191\128", schema, { max_result = 2 }).text)
    assert.equal("ab\n[cut: 2 of 4 bytes]", of("ab\192x", schema, { max_result = 2 }).text)
  end)

  it("has notes instead of bytes, wherever the schema tells of them", function()
    local image = { type = "string", contentMediaType = "IMAGE/PNG; x=1" }
    local told = of({ pictures = { "12345", "6" }, name = "n" }, { properties = { pictures = { items = image } } })
    assert.same({ "[image image/png, 6 B]", "[image image/png, 3 B]" }, told.data.pictures)
    assert.equal("n", told.data.name)
    assert.same({ { mimeType = "image/png", data = base64.encode("12345") },
      { mimeType = "image/png", data = base64.encode("6") } }, told.images)
  end)

  it("has notes for bytes that the schema tells of behind references, in branches and as further members", function()
    local defs = { file = { properties = { pages = { items = { ["$ref"] = "#/$defs/page" } } } },
      page = { anyOf = { { type = "null" }, { type = "string", contentMediaType = "image/png" } } } }
    for _, schema in ipairs({
      { ["$ref"] = "#/$defs/file", ["$defs"] = defs },
      { oneOf = { { properties = { id = {} } }, { ["$ref"] = "#/$defs/file" } }, ["$defs"] = defs },
      { allOf = { { ["$ref"] = "#/$defs/file" } }, ["$defs"] = defs },
      { additionalProperties = { items = { ["$ref"] = "#/$defs/page" } }, ["$defs"] = defs },
    }) do
      assert.same({ "[image image/png, 6 B]", core.null }, of({ pages = { "12345", core.null } }, schema).data.pages)
    end
    assert.equal("[image image/png, 6 B]", of("12345", { ["$ref"] = "#/$defs/page", ["$defs"] = defs }).text)
  end)

  it("has a note alone where the whole is bytes", function()
    local told = of("12345", { contentMediaType = "application/pdf" })
    assert.equal("[application application/pdf, 6 B]", told.text)
    assert.same({}, told.images)
    assert.equal("[data x-y/z, 6 B]", of("12345", { contentMediaType = "x-y/z" }).text)
  end)

  it("takes what is base64 already as it is", function()
    local told = of("QUJD", { contentMediaType = "image/png", contentEncoding = "base64" })
    assert.equal("[image image/png, 3 B]", told.text)
    assert.equal("QUJD", told.images[1].data)
  end)

  it("shows images up to the size that is allowed", function()
    local schema = { contentMediaType = "image/png", contentEncoding = "base64" }
    assert.equal(1, #of(("A"):rep(8), schema, { max_image = 8 }).images)
    assert.equal(0, #of(("A"):rep(9), schema, { max_image = 8 }).images)
  end)

  it("tells sizes in bytes below a kilobyte, then in rounded kilobytes", function()
    local schema = { contentMediaType = "image/gif", contentEncoding = "base64" }
    assert.equal("[image image/gif, 1023 B]", of(("A"):rep(1364), schema).text)
    assert.equal("[image image/gif, 1 KB]", of(("A"):rep(1366), schema).text)
    assert.equal("[image image/gif, 2 KB]", of(("A"):rep(2048), schema).text)
    assert.equal("[image image/gif, 1 KB]", of(("A"):rep(2047), schema).text)
  end)

  it("leaves texts and JSON in strings, and data of other types, as they are", function()
    local schema = { properties = { a = { contentMediaType = "text/html" }, c = { contentMediaType = "image/png" },
      b = { contentMediaType = "application/json" } } }
    local data = { a = "<p>", b = "{}", c = 7 }
    assert.equal(data, of(data, schema).data)
  end)

  it("leaves data alone that the schema does not describe", function()
    local image = { contentMediaType = "image/png" }
    for _, schema in ipairs({ true, {}, { properties = {} }, { properties = 1 }, { items = image } }) do
      local data = { a = "x" }
      assert.equal(data, of(data, schema).data)
    end
    local list = { "x" }
    assert.equal(list, of(list, { items = true }).data)
    assert.equal(list, of(list, { properties = { image } }).data)
  end)

  it("is not changed in place", function()
    local data = { a = "12345", b = 1 }
    local told = of(data, { properties = { a = { contentMediaType = "image/png" } } })
    assert.same({ a = "12345", b = 1 }, data)
    assert.same({ a = "[image image/png, 6 B]", b = 1 }, told.data)
  end)

  it("has notes down to eight levels", function()
    local function nested(levels)
      local schema, data = { contentMediaType = "image/png" }, "12345"
      for _ = 1, levels do
        schema, data = { properties = { a = schema } }, { a = data }
      end
      return #of(data, schema).images
    end
    assert.equal(1, nested(9))
    assert.equal(0, nested(10))
  end)
end)

describe("the content that a model gets for content of an MCP server", function()
  it("is the texts of its blocks, one per line", function()
    local told = of_blocks({ { type = "text", text = "a" }, { type = "text", text = "" }, { type = "text", text = 7 },
      { type = "text", text = "b" } })
    assert.same({ text = "a\nb", images = {}, failed = false }, told)
  end)

  it("is the JSON text of a block that is not known", function()
    assert.equal('{"type":"x"}\n7', of_blocks({ { type = "x" }, 7 }).text)
  end)

  it("names links by their title, else their name", function()
    assert.equal("[T](u)", of_blocks({ { type = "resource_link", title = "T", name = "n", uri = "u" } }).text)
    assert.equal("[n](u)", of_blocks({ { type = "resource_link", name = "n", uri = "u" } }).text)
    assert.equal("[resource](nil)", of_blocks({ { type = "resource_link" } }).text)
  end)

  it("is the text of a resource, or a note about its bytes", function()
    assert.equal("abc", of_blocks({ { type = "resource", resource = { uri = "u", text = "abc" } } }).text)
    local told = of_blocks({ { type = "resource", resource = { uri = "u", mimeType = "image/png", blob = "QUJD" } } })
    assert.equal("u [image image/png, 3 B]", told.text)
    assert.same({ { mimeType = "image/png", data = "QUJD" } }, told.images)
    assert.equal(" [application application/octet-stream, 0 B]", of_blocks({ { type = "resource" } }).text)
  end)

  it("has images and sounds as notes, whatever their case", function()
    local told = of_blocks({ { type = "image", mimeType = "IMAGE/PNG", data = "QUJD" }, { type = "audio" } })
    assert.equal("[image image/png, 3 B]\n[application application/octet-stream, 0 B]", told.text)
    assert.equal(1, #told.images)
  end)

  it("fails where the result is an error", function()
    local function failed(is_error)
      return content.of({ meta = { source = "mcp", isError = is_error, content = { { type = "text", text = "x" } } } },
        nil, options()).failed
    end
    assert.is_true(failed(true))
    assert.is_false(failed(false))
    assert.is_false(failed(nil))
  end)

  it("is the data where there are no blocks", function()
    assert.equal("[1]", content.of({ data = { 1 }, meta = { source = "mcp", content = {} } }, nil, options()).text)
    assert.equal("[1]", content.of({ data = { 1 }, meta = { source = "mcp" } }, nil, options()).text)
    assert.equal("[1]", content.of({ data = { 1 }, meta = { source = "http", content = { 1 } } }, nil, options()).text)
    assert.equal("[1]", content.of({ data = { 1 } }, nil, options()).text)
  end)
end)

describe("the content that a model gets for an error", function()
  local function of_error(code, details, message)
    return content.of_error(errors.new(code, message or "the message", details), options({ max_result = 10000 }))
  end

  it("is its code and message", function()
    assert.same({ text = "GONE: the message", images = {}, failed = true,
      data = { code = "GONE", message = "the message" } }, of_error("GONE"))
  end)

  it("has the details as JSON text with sorted keys", function()
    local told = of_error("GONE", { b = 1, a = 2 })
    assert.equal('GONE: the message\n{"a":2,"b":1}', told.text)
    assert.same({ b = 1, a = 2 }, told.data.details)
  end)

  it("does not have details of what went wrong inside", function()
    for _, code in ipairs({ "EXECUTION_ERROR", "UNKNOWN_ERROR", "ACCESS_DENIED" }) do
      local told = of_error(code, { secret = 1 })
      assert.equal(code .. ": the message", told.text)
      assert.is_nil(told.data.details)
    end
  end)

  it("does not have details that are longer than 4 KiB or not JSON", function()
    assert.equal(4096 + #"GONE: the message\n", #of_error("GONE", { ("x"):rep(4092) }).text)
    assert.equal("GONE: the message", of_error("GONE", { ("x"):rep(4093) }).text)
    assert.equal("GONE: the message", of_error("GONE", { print }).text)
  end)

  it("lists issues of a validation by their paths", function()
    local told = of_error("VALIDATION_ERROR", { { path = "/a", message = "one" }, { path = "", message = "two" },
      { message = "three" }, { path = "/b" }, "four" })
    local list = "the arguments do not fit; correct them and call again:\n- /a: one\n- the arguments: two\n"
      .. "- the arguments: three"
    assert.equal("VALIDATION_ERROR: " .. list, told.text)
    assert.same({ code = "VALIDATION_ERROR", message = list }, told.data)
  end)

  it("has the message of a validation that has no issues", function()
    assert.equal("VALIDATION_ERROR: the message", of_error("VALIDATION_ERROR").text)
    assert.equal("VALIDATION_ERROR: the message\n[1]", of_error("VALIDATION_ERROR", { 1 }).text)
  end)

  it("lists issues of a validation only", function()
    assert.equal('GONE: the message\n[{"message":"m","path":"/a"}]',
      of_error("GONE", { { path = "/a", message = "m" } }).text)
  end)
end)

describe("a null", function()
  it("is told as such", function()
    assert.equal("null", of(core.null).text)
  end)
end)

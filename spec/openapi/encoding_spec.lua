local document = require("operations.openapi.document")
local encoding = require("operations.openapi.encoding")
local json = require("operations.base.json")

-- The Media Type Object of a text, and what reads it.
local function read(text, old)
  local root = { openapi = old and "3.0.3" or "3.1.0", media = assert(json.decode(text)), components = { schemas = {
    list = { type = "array", items = { type = "string" } }, circle = { allOf = { { ["$ref"] =
      "#/components/schemas/circle" } } }, lists = { items = { ["$ref"] = "#/components/schemas/lists" } },
  } } }
  local source = document.new(root)
  local build = { source = source, config = { deep_arrays = "indices" }, converter = { old = old or false } }
  return build, { node = root.media, file = source.file, pointer = "#/media" }
end

local function fields(text, is_multipart, old)
  local build, place = read(text, old)
  return encoding.fields(build, place, is_multipart ~= false)
end

-- How a property of this schema is sent.
local function of(schema)
  return fields(('{"schema":{"properties":{"p":%s}}}'):format(schema)).p
end

local text, file = { text = true }, { default_type = "application/octet-stream", file = true }
local untyped = { default_type = "application/octet-stream", file = true, untyped = true }
local bytes, structured = { default_type = "application/octet-stream" }, { default_type = "application/json" }

describe("how a property is sent", function()
  it("follows from its type", function()
    for schema, expected in pairs({
      ['{"type":"string"}'] = text, ['{"type":"integer"}'] = text, ['{"type":"boolean"}'] = text,
      ['{"type":["null","number"]}'] = text, ['{"type":"object"}'] = structured, ['{"properties":{}}'] = structured,
      ['{"type":["null","object"]}'] = structured, ["{}"] = untyped, ['{"description":"x"}'] = untyped,
    }) do
      assert.same(expected, of(schema))
    end
  end)

  it("is as bytes where a string says that it is some", function()
    for schema, expected in pairs({
      ['{"type":"string","format":"binary"}'] = file, ['{"type":"string","contentEncoding":"binary"}'] = file,
      ['{"type":"string","contentEncoding":"8bit"}'] = file, ['{"type":"string","contentEncoding":"7bit"}'] = file,
      ['{"type":"string","contentMediaType":"image/png"}'] = file, ['{"type":"string","format":"byte"}'] = bytes,
      ['{"type":"string","contentEncoding":"base64"}'] = bytes,
      ['{"type":"string","contentEncoding":"base64","contentMediaType":"image/png"}'] = bytes,
      ['{"type":"string","format":"date"}'] = text,
    }) do
      assert.same(expected, of(schema))
    end
  end)

  it("is unknown where the schema has none of these but other schemas or values", function()
    for _, schema in ipairs({ '{"enum":["a"]}', '{"const":1}', '{"allOf":[]}', '{"anyOf":[]}', '{"oneOf":[]}',
      '{"type":"null"}', '{"$ref":"#/components/schemas/circle"}', '{"$ref":"#/nowhere"}', "true", "7" }) do
      assert.same({}, of(schema))
    end
  end)

  it("follows from the first schema of a combination that tells", function()
    assert.same(structured, of('{"allOf":[{"enum":[1]},{"type":"object"},{"type":"string"}]}'))
    assert.same(text, of('{"anyOf":[{"type":"null"},{"oneOf":[{"type":"string"}]}]}'))
    assert.same(text, of('{"allOf":[],"oneOf":[{"type":"string"}]}'))
    assert.same({}, of('{"allOf":{"type":"string"}}'))
  end)

  it("is that of its items, for a list", function()
    assert.same({ text = true, is_array = true }, of('{"type":"array","items":{"type":"string"}}'))
    assert.same({ text = true, is_array = true }, of('{"items":{"type":"string"}}'))
    assert.same({ text = true, is_array = true }, of('{"$ref":"#/components/schemas/list"}'))
    assert.same({ is_array = true }, of('{"type":"array"}'))
    assert.same({ default_type = "application/octet-stream", file = true, untyped = true, is_array = true },
      of('{"type":"array","items":{}}'))
  end)

  it("is as JSON, for a list of lists or of itself", function()
    for _, schema in ipairs({ '{"type":"array","items":{"type":"array","items":{"type":"string"}}}',
      '{"items":{"items":{"items":{}}}}', '{"$ref":"#/components/schemas/lists"}' }) do
      assert.same({ is_array = true, default_type = "application/json" }, of(schema))
    end
  end)
end)

describe("the properties of a body", function()
  it("are those of all schemas that it is combined of, the outermost first", function()
    local found = fields('{"schema":{"properties":{"a":{"type":"string"}},"allOf":[{"properties":{"a":{"type":'
      .. '"object"},"b":{"type":"object"}}},{"$ref":"#/components/schemas/list"}]}}')
    assert.same({ a = text, b = structured }, found)
  end)

  it("need a file where a required one is a file", function()
    local function needs(schema)
      return (select(2, fields(('{"schema":%s}'):format(schema))))
    end
    assert.is_true(needs('{"required":["a"],"properties":{"a":{}}}'))
    assert.is_true(needs('{"properties":{"a":{}},"allOf":[{"required":["a"]}]}'))
    assert.is_false(needs('{"required":["b"],"properties":{"a":{},"b":{"type":"string"}}}'))
    assert.is_false(needs('{"required":"a","properties":7}'))
  end)
end)

describe("an Encoding Object", function()
  local function with(entry, is_multipart, old)
    return fields(('{"schema":{"properties":{"p":{"type":"string"}}},"encoding":{"p":%s}}'):format(entry), is_multipart,
      old).p
  end

  it("says the media type: the first one that is a type, not a range", function()
    for content_type, expected in pairs({ ["image/png"] = "image/png", [" image/png , image/jpeg"] = "image/png",
      [" text/plain; charset=utf-8 "] = "text/plain; charset=utf-8" }) do
      assert.equal(expected, with(('{"contentType":%q}'):format(content_type)).content_type)
    end
    for _, none in ipairs({ '"image/*"', '"png"', '"a/b\\u0001"', "7", '", image/png"' }) do
      assert.is_nil(with(('{"contentType":%s}'):format(none)).content_type)
    end
  end)

  it("says the style, where it says anything of it", function()
    assert.same({ text = true }, with("{}"))
    assert.same({ text = true, style = "form", explode = true, reserved = false, arrays = "indices" },
      with('{"style":"form"}'))
    assert.same({ text = true, style = "pipeDelimited", explode = false, reserved = false, arrays = "indices" },
      with('{"style":"pipeDelimited","explode":"x"}'))
    assert.same({ text = true, style = "form", explode = false, reserved = false, arrays = "indices" },
      with('{"explode":false}'))
    assert.same({ text = true, style = "form", explode = true, reserved = true, arrays = "indices" },
      with('{"allowReserved":true,"style":7}'))
  end)

  it("says no style of parts in 3.0", function()
    assert.same({ text = true }, with('{"style":"form"}', true, true))
    assert.equal("form", with('{"style":"form"}', false, true).style)
  end)

  it("says which headers a part has, and which it must have", function()
    local field = with('{"headers":{"X-A":{"schema":{"default":"a"}},"X-B":{"schema":{"const":"b","default":"c"}},'
      .. '"X-C":{"required":true},"X-D":{"required":true,"schema":{"const":"d"}},"X-E":{"schema":{"default":7}},'
      .. '"Content-Type":{"schema":{"default":"x/y"}},"not a token":{"schema":{"default":"z"}}}}')
    assert.same({ ["X-A"] = "a", ["X-B"] = "b", ["X-D"] = "d" }, field.headers)
    assert.same({ "X-C" }, field.required_headers)
    assert.is_nil(with('{"headers":{"X-E":{}}}').required_headers)
  end)

  it("may be of a property that the schema does not have", function()
    local found = fields('{"encoding":{"q":{"contentType":"a/b"},"r":7}}')
    assert.same({ q = { content_type = "a/b" } }, found)
  end)
end)

describe("parts without names", function()
  local function positions(text_of_media)
    local build, place = read(text_of_media)
    return encoding.positions(build, place)
  end

  it("follow their places in prefixItems and prefixEncoding", function()
    assert.same({ prefix = { text, { default_type = "application/json", content_type = "a/b" } },
      items = { text = true } }, positions('{"schema":{"prefixItems":[{"type":"string"},{"type":"object"}],'
      .. '"items":{"type":"string"}},"prefixEncoding":[{},{"contentType":"a/b"}]}'))
  end)

  it("follow their items where there are more encodings than schemas", function()
    assert.same({ prefix = { { text = true, content_type = "a/b" } }, items = text },
      positions('{"schema":{"items":{"type":"string"}},"prefixEncoding":[{"contentType":"a/b"}]}'))
  end)

  it("follow itemSchema, else items, and itemEncoding", function()
    assert.same({ prefix = {}, items = { default_type = "application/json", content_type = "a/b" } },
      positions('{"itemSchema":{"type":"object"},"schema":{"items":{"type":"string"}},"itemEncoding":{"contentType":'
      .. '"a/b"}}'))
    assert.same({ prefix = {}, items = {} }, positions("{}"))
  end)
end)

describe("a value that may be a file", function()
  it("is of a schema of bytes, or of a text with the media type of others", function()
    assert.is_true(encoding.may_be_file({ file = true }))
    assert.is_true(encoding.may_be_file({ text = true, content_type = "image/png" }))
    for _, field in ipairs({ { text = true }, { text = true, content_type = "text/plain" },
      { text = true, content_type = "application/json" }, { content_type = "image/png" }, {} }) do
      assert.is_false(encoding.may_be_file(field))
    end
    assert.is_false(encoding.may_be_file(nil))
  end)
end)

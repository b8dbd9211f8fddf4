local file_input = require("operations.people.file_input")
local json = require("operations.base.json")
local with_stdin = require("spec.support.with_stdin")

local path

local function write(text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

local function value(schema, items)
  return file_input.value(path, { schema }, items)
end

describe("the file of an input", function()
  before_each(function()
    path = os.tmpname()
  end)

  after_each(function()
    os.remove(path)
  end)

  it("is text where text is wanted, else JSON", function()
    write('{"a":[1]}')
    assert.equal('{"a":[1]}', value({ type = "string" }))
    assert.equal('{"a":[1]}', json.encode(value({ type = "object" })))
  end)

  it("is base64 where bytes are written so", function()
    write("\0\255")
    assert.equal("AP8=", value({ type = "string", contentEncoding = "base64" }))
    assert.equal("AP8=", value({ type = "string", format = "byte" }))
  end)

  it("is one text of a list, when it is no JSON", function()
    write("plain")
    assert.equal("plain", value({ type = "array" }, { { type = "string" } }))
  end)

  it("is named, not read, where a file is sent", function()
    assert.same({ path = path, filename = path:match("[^/]*$") },
      value({ properties = { path = {}, data = {}, contentType = {} } }))
  end)

  it("is refused when it is not what is wanted, or is not there", function()
    write("\255")
    assert.same({ nil, path .. " is not UTF-8, and a text is wanted here" }, { value({ type = "string" }) })
    write("{")
    assert.matches("^" .. path:gsub("%p", "%%%0") .. ": ", (select(2, value({ type = "integer" }))))
    os.remove(path)
    local content, message = value({ type = "string" })
    assert.is_nil(content)
    assert.matches("No such file", message)
  end)
end)

describe("a file that is sent", function()
  local wanted = { properties = { path = {}, data = {}, contentType = {} } }

  it("has the media type of its name's end", function()
    for name, media_type in pairs({ ["a.bin"] = "application/octet-stream", ["a.css"] = "text/css",
      ["a.csv"] = "text/csv", ["a.gif"] = "image/gif", ["a.tar.gz"] = "application/gzip", ["a.HTML"] = "text/html",
      ["a.jpeg"] = "image/jpeg", ["a.jpg"] = "image/jpeg", ["a.js"] = "text/javascript",
      ["a.json"] = "application/json",
      ["a.md"] = "text/markdown", ["a.mp3"] = "audio/mpeg", ["a.mp4"] = "video/mp4", ["a.pdf"] = "application/pdf",
      ["a.png"] = "image/png", ["a.svg"] = "image/svg+xml", ["a.txt"] = "text/plain", ["a.wav"] = "audio/wav",
      ["a.webm"] = "video/webm", ["a.webp"] = "image/webp", ["a.xml"] = "application/xml",
      ["a.yaml"] = "application/yaml", ["a.yml"] = "application/yaml", ["a.zip"] = "application/zip" }) do
      assert.same({ path = "/d.x/" .. name, filename = name, contentType = media_type },
        (file_input.value("/d.x/" .. name, { wanted })))
    end
    assert.is_nil(file_input.value("/d/a.other", { wanted }).contentType)
    assert.is_nil(file_input.value("/d.png/a", { wanted }).contentType)
  end)

  it("is one item of a list of files, too", function()
    assert.equal("/d/a.png", file_input.value("/d/a.png", { { type = "array" } }, { wanted }).path)
  end)

  it("is wanted where path, data and contentType may be given", function()
    path = os.tmpname()
    write("{}")
    for _, left_out in ipairs({ "path", "data", "contentType" }) do
      local properties = { path = {}, data = {}, contentType = {} }
      properties[left_out] = nil
      assert.same({}, value({ type = "object", properties = properties }))
    end
    assert.same({}, value({ type = "object", properties = 1 }))
    os.remove(path)
  end)
end)

describe("the content of a file", function()
  before_each(function()
    path = os.tmpname()
  end)

  after_each(function()
    os.remove(path)
  end)

  it("is JSON before it is a text of a list", function()
    write("[1]")
    assert.same({ 1 }, value({ type = "array" }, { { type = "string" } }))
  end)

  it("is no text of a list that takes none, and none that is not UTF-8", function()
    write("plain")
    assert.is_nil((value({ type = "array" }, { { type = "integer" } })))
    assert.is_nil((value({ type = "array" }, {})))
    write("\255")
    local content, message = value({ type = "array" }, { { type = "string" } })
    assert.is_nil(content)
    assert.equal(path .. ": ", message:sub(1, #path + 2))
  end)

  it("is base64 in one of several schemas", function()
    write("abc")
    assert.equal("YWJj", (file_input.value(path, { { type = "string" }, { format = "byte" } })))
    assert.equal("abc", (file_input.value(path, { { type = "string", format = "date" } })))
  end)

  it("cannot be read of a directory", function()
    local content, message = file_input.value("/tmp", { { type = "string" } })
    assert.is_nil(content)
    assert.matches("^/tmp: ", message)
  end)
end)

describe("standard input", function()
  local file_schema = { properties = { path = {}, data = {}, contentType = {} } }

  local function body(text, schema)
    return with_stdin(text, function()
      return file_input.body({ schema })
    end)
  end

  local function drained(file)
    local pieces = {}
    for piece in file.reader do
      pieces[#pieces + 1] = piece
    end
    return pieces
  end

  it("is sent while it is read, in pieces, and its size is known where it is a file", function()
    local text = ("x"):rep(70000)
    with_stdin("before" .. text, function()
      assert.equal("before", io.stdin:read(6))
      local file = file_input.value("-", { file_schema })
      assert.equal(70000, file.size)
      local pieces = drained(file)
      assert.equal(2, #pieces)
      assert.equal(text, table.concat(pieces))
    end)
  end)

  it("has no size where it is a pipe, or where its end cannot be found", function()
    local texts = { "abc" }
    local device = {
      read = function() return table.remove(texts) end,
      seek = function(_, whence) return whence == nil and 1 or nil end,
    }
    for _, stdin in ipairs({ assert(io.popen("printf abc")), device }) do
      with_stdin(stdin, function()
        local file = file_input.value("-", { file_schema })
        assert.is_nil(file.size)
        assert.same({ "abc" }, drained(file))
      end)
    end
  end)

  it("is an empty text where a file is sent from empty input", function()
    assert.equal("", with_stdin("", function()
      return file_input.value("-", { file_schema })
    end))
    assert.is_nil(body("", file_schema))
  end)

  it("is a value of a key, and is named in messages", function()
    local function value_of(schema)
      return with_stdin("{", function()
        return file_input.value("-", { schema })
      end)
    end
    assert.equal("{", value_of({ type = "string" }))
    assert.matches("^standard input: .", select(2, value_of({ type = "object" })))
  end)

  it("is a body: a file, a text where only a text is taken, else JSON", function()
    assert.equal(3, body("abc", file_schema).size)
    assert.equal("[1]", (body("[1]", { type = "string" })))
    assert.same({ 1 }, (body("[1]", { type = { "string", "object" } })))
    assert.same({ 1 }, (body("[1]", { type = "object" })))
    local refused, message = body("{", { type = "object" })
    assert.is_nil(refused)
    assert.matches("^standard input, taken for the body: .", message)
    assert.same({}, { body("", { type = "object" }) })
  end)
end)

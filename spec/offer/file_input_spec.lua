local file_input = require("operations.offer.file_input")
local json = require("operations.base.json")

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

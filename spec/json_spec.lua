local json = require("operations.json")

local function decodes(text)
  local value, err = json.decode(text)
  assert.is_nil(err)
  return value
end

local function encodes(value, options)
  local text, err = json.encode(value, options)
  assert.is_nil(err)
  return text
end

describe("JSON", function()
  it("keeps empty arrays, empty objects and null apart", function()
    assert.equal('{"a":[]}', encodes(decodes('{"a":[]}')))
    assert.equal('{"a":{}}', encodes(decodes('{"a":{}}')))
    assert.equal('{"a":null}', encodes(decodes('{"a":null}')))
  end)

  it("names line, column and byte of what is wrong", function()
    local value, err = json.decode('{\n  "é": 1,\n  "b" 2\n}')
    assert.is_nil(value)
    assert.equal("VALIDATION_ERROR", err.code)
    assert.equal("JSON, line 3, column 7 (byte 20): expected ':', got '2'", err.message)
    assert.same({ offset = 20, line = 3, column = 7 }, err.details)
  end)

  it("names the place of what is no JSON value", function()
    local text, err = json.encode({ a = { 1, { ["b/c"] = print } } })
    assert.is_nil(text)
    assert.equal("/a/1/b~1c: function is no JSON value", err.message)
    assert.equal("/a/1/b~1c", err.details.path)
  end)
end)

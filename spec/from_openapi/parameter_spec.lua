local operations = require("operations")
local support = require("spec.support.openapi")

local function vectors()
  local file = assert(io.open("spec/vectors/openapi/parameters.json", "rb"))
  local text = file:read("*a")
  file:close()
  return assert(operations.json.decode(text))
end

--- What of a request the vectors speak of.
local function sent(request, location)
  if location == "path" then
    return (request.url:match("^http://api.test/(.*)$"))
  elseif location == "query" then
    return request.url:match("%?(.*)$") or ""
  elseif location == "header" then
    return request.headers.p
  end
  return request.headers.Cookie
end

local function call(vector)
  local parameter = vector.parameter
  parameter.required = parameter["in"] == "path" or nil
  local template = parameter["in"] == "path" and "/{p}" or "/"
  local api = support.api({ paths = { [template] = { get = { parameters = { parameter }, responses = {} } } } })
  local _, err = api.definitions[1].handler({ [parameter.name] = vector.value })
  return api.requests[1], err
end

describe("a parameter on the wire:", function()
  for _, vector in ipairs(vectors()) do
    it(vector.name, function()
      local request, err = call(vector)
      if vector.refused then
        assert.is_nil(request)
        assert.equal("VALIDATION_ERROR", err.code)
        assert.equal("/p", err.details[1].path:sub(1, 2))
      else
        assert.is_nil(err)
        assert.equal(vector.sent, sent(request, vector.parameter["in"]))
      end
    end)
  end

  it("refuses numbers that are none", function()
    for _, value in ipairs({ 0 / 0, math.huge, -math.huge }) do
      local request, err = call({ parameter = { name = "p", ["in"] = "query" }, value = value })
      assert.is_nil(request)
      assert.equal("VALIDATION_ERROR", err.code)
    end
  end)

  it("sends integers of 64 bits in full", function()
    local value = operations.json.decode("9007199254740993")
    local request = call({ parameter = { name = "p", ["in"] = "query" }, value = value })
    assert.equal("p=9007199254740993", sent(request, "query"))
  end)

  it("refuses functions", function()
    local request, err = call({ parameter = { name = "p", ["in"] = "query" }, value = print })
    assert.is_nil(request)
    assert.equal("/p", err.details[1].path)
  end)
end)

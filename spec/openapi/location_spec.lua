local support = require("spec.support.openapi")

describe("a path parameter", function()
  local document = function()
    return support.one(
      { parameters = { { name = "id", ["in"] = "path", required = true, schema = { type = "string" } } } },
      { path = "/files/{id}" }
    )
  end

  local function call(value, config)
    local api = support.api(document(), config)
    local envelope, err = api.definitions[1].handler({ id = value })
    return api.requests[1] and api.requests[1].url, err, envelope
  end

  it("cannot leave its segment", function()
    for value, expected in pairs({
      ["../admin"] = "..%2Fadmin", ["a/b"] = "a%2Fb", ["a?b#c"] = "a%3Fb%23c", ["..\\x"] = "..%5Cx",
      ["%2e%2e"] = "%252e%252e", ["a;b"] = "a%3Bb", ["a\r\nb"] = "a%0D%0Ab",
    }) do
      assert.equal("http://api.test/files/" .. expected, (call(value)))
    end
  end)

  it("cannot be a segment that means another", function()
    for _, value in ipairs({ ".", "..", "" }) do
      local url, err = call(value)
      assert.is_nil(url)
      assert.equal("VALIDATION_ERROR", err.code)
    end
  end)

  it("has no slash where the server might decode it", function()
    local strict = { encoded_slashes = false }
    for _, value in ipairs({ "../admin", "a/b", "a\\b" }) do
      local url, err = call(value, strict)
      assert.is_nil(url)
      assert.equal("VALIDATION_ERROR", err.code)
      assert.equal("/id", err.details[1].path)
    end
    assert.equal("http://api.test/files/a.b", (call("a.b", strict)))
  end)
end)

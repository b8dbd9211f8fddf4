local json = require("operations.base.json")
local operations = require("operations")
local request = require("operations.cli.request")

local schema = { type = "object", properties = { title = {}, owner = { type = "object", properties = { name = {} } },
  lines = { type = "array", items = { type = "object", properties = { count = {} } } },
  pair = { prefixItems = { { properties = { first = {} } }, { properties = { second = {} } } } } } }

local function issue(path, keyword)
  return { path = path, keyword = keyword or "additionalProperties", message = "unknown property" }
end

describe("the error of an input with an unknown key", function()
  -- The message, and those of the issues.
  local function hinted(...)
    local issues = json.decode("[]")
    for i, one in ipairs({ ... }) do
      issues[i] = one
    end
    local err = request.hinted(operations.error("VALIDATION_ERROR", "as it was", issues), schema)
    local messages = {}
    for i, one in ipairs(err.details) do
      messages[i] = one.message
    end
    return { err.message, messages }
  end

  it("suggests one that is near, at any depth, and begins with the first issue", function()
    local title, name, count = "unknown property (did you mean title?)", "unknown property (did you mean name?)",
      "unknown property (did you mean count?)"
    assert.same({ "/titel: " .. title, { title } }, hinted(issue("/titel")))
    assert.same({ "/owner/nam: " .. name, { name, count } }, hinted(issue("/owner/nam"), issue("/lines/1/coutn")))
    assert.same({ "/titel: " .. title, { title } }, hinted(issue("/titel", "unevaluatedProperties")))
    assert.same({ "unknown property (did you mean first?)", "unknown property (did you mean second?)" },
      hinted(issue("/pair/0/frist"), issue("/pair/1/secnod"))[2])
    assert.same({ "/zzz: unknown property", { "unknown property" } }, hinted(issue("/zzz")))
  end)

  it("stays unchanged where the error is of another kind", function()
    assert.same({ "as it was", { "unknown property" } }, hinted(issue("/titel", "type")))
    assert.same({ "as it was", { "unknown property", "unknown property (did you mean title?)" } },
      hinted(issue("/titel", "type"), issue("/titel")))
    for _, err in ipairs({ "text", operations.error("GONE", "m", { issue("/titel") }),
      operations.error("VALIDATION_ERROR", "m"), operations.error("VALIDATION_ERROR", "m", { a = 1 }) }) do
      assert.equal(err, request.hinted(err, schema))
    end
  end)
end)

describe("keys that a schema allows, and that are near to one of its own", function()
  local function near(value, issues, of)
    return request.near(json.decode(value), of or schema, issues or {})
  end

  it("are reported, the others are not", function()
    assert.same({ 'the input has no "ownr" by its schema (did you mean owner?)',
      'the input has no "titel" by its schema (did you mean title?)' },
      near('{"titel":1,"ownr":{"nam":1},"title":1,"zzz":1}'))
    assert.same({}, near('{"title":1}'))
    assert.same({}, near('["titel"]'))
    assert.same({}, near('"titel"'))
    assert.same({}, near('{"titel":1}', {}, true))
  end)

  it("are left out where an issue tells them", function()
    assert.same({}, near('{"titel":1}', { issue("/titel") }))
    assert.equal(1, #near('{"titel":1}', { issue("/titel/x") }))
    assert.equal(1, #near('{"titel":1}', { issue("/titel", "type") }))
  end)
end)

local operations = require("operations")
local sample = require("operations.cli.sample")

local T = operations.type

describe("a sample of a call", function()
  local function of(schema)
    return table.concat(sample.words(schema), " ")
  end

  it("has what is required, the fields of a body by their names", function()
    assert.equal("owner=OWNER title=TITLE", of({ type = "object", required = { "owner", "body" }, properties = {
      owner = { type = "string" }, optional = { type = "string" }, body = { type = "object", required = { "title" },
        properties = { title = { type = "string" }, text = { type = "string" } } } } }))
    assert.equal("", of(true))
  end)

  it("takes examples and values of enums, quoted for the shell", function()
    assert.equal("a='it'\\''s' b=3 c=low d:='[1,2]' e.f=F g=5", of(T.object({
      a = { type = "string", example = "it's" }, b = { type = "integer", example = 3 }, c = T.enum({ "low", "high" }),
      d = { type = "array", examples = { operations.array({ 1, 2 }) } }, e = T.object({ f = T.string() }),
      g = { type = "integer", minimum = 5 } })))
  end)

  it("goes three objects deep, however deep they lie in one another", function()
    local function nested(count)
      return T.object({ a = count == 0 and T.string() or nested(count - 1) })
    end
    assert.equal("a=A", of(nested(0)))
    assert.equal("a.a.a.a=A", of(nested(3)))
    assert.equal("a.a.a.a:='{}'", of(nested(4)))
    assert.equal("a.a.a.a:='{}'", of(nested(9)))
  end)
end)

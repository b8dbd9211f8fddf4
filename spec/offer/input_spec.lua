local fields = require("operations.offer.fields")
local input = require("operations.offer.input")

--- A schema whose cast makes numbers of all texts that are some, and drops the key "gone".
local numbers = {
  cast = function(_, value)
    local cast, changes = {}, {}
    for key, item in pairs(value) do
      cast[key] = tonumber(item) or item
      if cast[key] ~= item then
        changes[#changes + 1] = { path = "/" .. key:gsub("~", "~0"):gsub("/", "~1"), kind = "converted" }
      end
    end
    if value.gone then
      cast.gone = nil
      changes[#changes + 1] = { path = "/gone", kind = "stripped" }
    end
    return cast, changes
  end,
  check = function()
    return true
  end,
}

--- The input that arguments make where no schema says anything, and what of it came as plain text.
local function parse(arguments)
  local items, message = input.read(arguments)
  if not items then
    return nil, message
  end
  return fields.build(items, true)
end

local function convert(...)
  local value, texts = parse({ ... })
  return input.convert(value, texts, numbers)
end

describe("input from the command line", function()
  it("is an empty object when there is none", function()
    assert.same({ {}, {} }, { parse({}) })
  end)

  it("is converted where it came as plain text only", function()
    assert.same({ a = 1, b = "2" }, convert("a=1", 'b:="2"'))
    assert.same({ b = "2" }, convert('{"b":"2"}'))
    assert.same({ b = "2" }, convert("b=1", 'b:="2"'))
  end)

  it("keeps what casting would strip, for validation to see", function()
    assert.same({ gone = "x" }, convert("gone=x"))
  end)

  it("finds keys with characters that JSON Pointer escapes", function()
    assert.same({ ["a/b~c"] = 1 }, convert("a/b~c=1"))
  end)

  it("gets the type that the schema wants also where the value is wrong", function()
    local T = require("operations").type
    local schema = assert(require("operations").schema.compile(T.object({
      count = T.integer({ maximum = 5 }), flag = T.boolean(), text = T.string({ maxLength = 1 }),
    })))
    local value, texts = parse({ "count=9", "flag=no", "text=12" })
    assert.same({ count = 9, flag = "no", text = "12" }, input.convert(value, texts, schema))
    value, texts = parse({ "count=9", "count=8" })
    assert.same({ count = { "9", "8" } }, input.convert(value, texts, schema))
  end)

  it("is a list of one where a list is wanted", function()
    local T = require("operations").type
    local schema = assert(require("operations").schema.compile(T.object({
      status = T.array(T.string()), ids = T.array(T.integer()), either = T.any_of({ T.string(), T.array(T.string()) }),
    })))
    local value, texts = parse({ "status=sold", "ids=7", "either=x" })
    assert.same({ status = { "sold" }, ids = { 7 }, either = "x" }, input.convert(value, texts, schema))
    value, texts = parse({ 'status:="sold"' })
    assert.same({ status = "sold" }, input.convert(value, texts, schema))
  end)

  it("is UTF-8", function()
    assert.is_nil((parse({ "name=\255" })))
    assert.matches("expected UTF%-8$", (select(2, parse({ "name=\255" }))))
  end)

  it("splits at the first equals sign", function()
    assert.same({ ["a:b"] = "c=d:=e" }, (parse({ "a:b=c=d:=e" })))
  end)

  it("replaces a list by the JSON that follows it, and adds to one of plain texts", function()
    assert.same({ a = 1 }, (parse({ "a=x", "a=y", "a:=1" })))
    assert.same({ a = { "x", "y", "z" } }, (parse({ "a=x", "a=y", "a=z" })))
  end)

  it("takes false and null for values", function()
    assert.same({ a = false }, (parse({ "a:=false" })))
    assert.equal(require("operations").null, parse({ "a:=null" }).a)
  end)
end)

local fields = require("operations.people.fields")
local input = require("operations.people.input")
local with_stdin = require("spec.support.with_stdin")

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
  it("is an empty object without arguments", function()
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
    local function or_null(other)
      return { anyOf = { other, { type = "null" } } }
    end
    schema = assert(require("operations").schema.compile(T.object({
      tags = or_null(T.array(T.string())), ids = or_null(T.array(T.integer())), price = or_null(T.number()),
      several = { oneOf = { { type = "null" }, T.array(T.boolean()), T.integer() } },
      wrong = or_null(T.array(T.integer())),
    })))
    value, texts = parse({ "tags=a", "ids=7", "price=1.50", "several=true", "wrong=x" })
    assert.same({ tags = { "a" }, ids = { 7 }, price = 1.5, several = { true }, wrong = { "x" } },
      input.convert(value, texts, schema))
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

describe("an argument of the command line", function()
  local operations = require("operations")
  local path

  before_each(function()
    path = os.tmpname()
    local file = assert(io.open(path, "wb"))
    file:write('{"a":[1]}')
    file:close()
  end)

  after_each(function()
    os.remove(path)
  end)

  local function item(argument)
    local items, message = input.read({ argument })
    return items and items[1] or message
  end

  it("is a text, a JSON value or a file of a key", function()
    assert.same({ key = "a", text = "x" }, item("a=x"))
    assert.same({ key = "a", text = "" }, item("a="))
    assert.same({ key = "a", text = "@x" }, item("a=@@x"))
    assert.same({ key = "a", value = { 1 } }, item("a:=[1]"))
    assert.same({ key = "a", value = operations.null }, item("a:=null"))
    assert.same({ key = "a", value = { a = { 1 } } }, item("a:=@" .. path))
    assert.same({ key = "a", path = path }, item("a=@" .. path))
    assert.same({ key = "a", path = "-" }, item("a=@-"))
  end)

  it("is a whole input, from JSON or a file", function()
    assert.same({ whole = { b = 1 } }, item(' {"b":1}'))
    assert.same({ whole = { 1 } }, item("[1]"))
    assert.same({ whole = { a = { 1 } } }, item("@" .. path))
  end)

  it("is read from standard input, to its end", function()
    for _, argument in ipairs({ "-", "@-" }) do
      assert.same({ whole = { 1 } }, with_stdin("[1]", function()
        return item(argument)
      end))
    end
    with_stdin("[1]", function()
      assert.same({ key = "a", value = { 1 } }, item("a:=@-"))
      assert.matches("^standard input: .", item("b:=@-"))
    end)
  end)

  it("is refused in words that name it", function()
    assert.equal('"a" is not an input: expected key=value, key:=json, @file, - or a JSON object', item("a"))
    assert.equal('"=x" is not an input: expected key=value, key:=json, @file, - or a JSON object', item("=x"))
    assert.equal('":=1": expected a key before :=', item(":=1"))
    assert.equal("a: expected a file after @; for a text that begins with @ write a=@@...", item("a=@"))
    assert.equal("expected a file after @", item("@"))
    assert.equal("expected a file after @", item("a:=@"))
    assert.equal("a: /tmp is a directory", item("a=@/tmp"))
    assert.matches("^a: .*/nothing/here", item("a=@/nothing/here"))
    assert.matches("^/nothing/here: ", item("@/nothing/here"))
    assert.matches("^a: .", item("a:={"))
    assert.matches("^input: .", item("{"))
    assert.matches("^/tmp: ", item("@/tmp"))
  end)

  it("is refused where the file is not JSON", function()
    local file = assert(io.open(path, "wb"))
    file:write("{")
    file:close()
    assert.equal(path .. ": ", item("@" .. path):sub(1, #path + 2))
    assert.equal(path .. ": ", item("a:=@" .. path):sub(1, #path + 2))
  end)

  it("stops at the first that is refused", function()
    assert.same({ nil, "expected a file after @" }, { input.read({ "a=1", "@", "b" }) })
  end)
end)

describe("a text of the command line", function()
  local operations = require("operations")
  local T = operations.type

  local function converted(schema, ...)
    local value, texts = parse({ ... })
    return input.convert(value, texts, assert(operations.schema.compile(schema)))
  end

  it("gets the type that is wanted, also deep within and where other issues are left", function()
    local schema = { type = "object", properties = { a = { type = "object", properties = {
      list = { type = "array", items = { type = "integer" } } } } } }
    assert.same({ a = { list = { 1, 2 } } }, converted(schema, "a.list=1", "a.list=2"))
    assert.same({ a = { list = { 1 } } }, converted(schema, "a.list=1"))
    assert.same({ a = { list = { 1, 2 } } }, converted(schema, "a.list[0]=1", "a.list[1]=2"))
    assert.same({ a = { list = { "x" } } }, converted(schema, "a.list=x"))
  end)

  it("is read as JSON, however that writes the value", function()
    local schema = T.object({ price = T.number(), count = T.integer(), flag = T.boolean(), none = { type = "null" } })
    assert.same({ price = 1.5, count = 7, flag = true, none = operations.null },
      converted(schema, "price=1.50", "count= 7", "flag= true", "none= null"))
  end)

  it("stays a text where the other type would be wrong, too", function()
    local schema = T.object({ n = T.integer({ minimum = 5 }), flag = T.boolean(), none = { type = "null" },
      object = T.object({}), number = T.number({ maximum = 1 }) })
    assert.same({ n = 4, flag = true, none = operations.null, object = "{}", number = 2.5 },
      converted(schema, "n=4", "flag=true", "none=null", "object={}", "number=2.5"))
    assert.same({ n = "4.5", flag = "1", none = "7" }, converted(schema, "n=4.5", "flag=1", "none=7"))
  end)

  it("stays unchanged where the schema wants a text", function()
    assert.same({ a = "12", b = "true" }, converted(T.object({ a = T.string({ maxLength = 1 }), b = T.string() }),
      "a=12", "b=true"))
  end)
end)

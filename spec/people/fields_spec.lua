local fields = require("operations.people.fields")
local input = require("operations.people.input")
local json = require("operations.base.json")

local schema = json.decode([[{"type":"object","properties":{"owner":{"type":"string"},"filter":{"type":"object"},
  "query.id":{"type":"string"},"body":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":"object","properties":{
  "title":{"type":"string"},"owner":{"type":"object"},"a.b":{}}}}}]])

local function build(...)
  local value, message = fields.build(assert(input.read({ ... })), schema, true)
  return value and json.encode(value, { sort_keys = true }) or message
end

describe("fields", function()
  it("are parameters by name, and the rest is the body's", function()
    assert.equal('{"body":{"title":"x"},"owner":"o"}', build("owner=o", "title=x"))
    assert.equal('{"query.id":"1"}', build("query.id=1"))
    assert.equal('{"body":{"a.b":"1"}}', build("a.b=1"))
    assert.equal('{"filter":{"a":"1"}}', build("filter.a=1"))
    assert.equal('{"body":{"owner":{"name":"A"}},"owner":"o"}', build("owner=o", "owner.name=A"))
    assert.equal('{"query.id":"1"}', build("query\\.id=1"))
    assert.equal('{"body":{"title":"y"}}', build("body.title=y"))
    assert.equal('{"body":[1]}', build("[1]"))
    assert.equal('{"body":{"title":"x","z":1},"owner":"o"}', build('{"owner":"o","title":"x","z":1}'))
  end)

  it("reach into objects and lists", function()
    assert.equal('{"body":{"x":[{"a":"1","b":"2"},{"a":"3"}]}}', build("x[0].a=1", "x[0].b=2", "x[].a=3"))
    assert.equal('{"body":{"x.y":{"[":"1"}}}', build("x\\.y.\\[=1"))
    assert.equal('{"body":{"x":{"y":["1","2"]}}}', build("x.y=1", "x.y=2"))
    assert.equal('{"body":{"..":"1"}}', build("..=1"))
  end)

  it("refuse names with two meanings", function()
    assert.equal("title.x: /body/title is a string already", build("title=a", "title.x=b"))
    assert.equal("x[2]: the list has 1 item, so the next one is [1]", build("x[]=a", "x[2]=b"))
    assert.equal("x.a: /body/x is a list already", build("x[]=a", "x.a=b"))
  end)
end)

describe("an input without a body", function()
  local function of(...)
    local value, texts = fields.build(assert(input.read({ ... })), { type = "object", properties = { a = true,
      n = { type = "integer" }, ["x.y"] = true } })
    return value and json.encode(value, { sort_keys = true }) or texts, texts
  end

  it("has every key in itself", function()
    assert.equal('{"a":"1","z":"2"}', (of("a=1", "z=2")))
    assert.equal('{"a":{"b":"1"}}', (of("a.b=1")))
    assert.equal('{"x.y":"1"}', (of("x.y=1")))
    assert.equal('{"a":1,"b":2}', (of("a=x", '{"a":1,"b":2}')))
  end)

  it("may be no object, as long as no key follows", function()
    assert.equal("[1]", (of("[1]")))
    assert.equal("a: an earlier argument made the input a value other than an object", (of("[1]", "a=1")))
    assert.equal("{}", (of("[1]", "{}")))
  end)

  it("takes a key that is no path as it is written", function()
    assert.equal('{"]":"1"}', (of("]=1")))
    assert.equal('{"a..b":"1"}', (of("a..b=1")))
    assert.equal('{"a[b":"1"}', (of("a[b=1")))
    assert.equal('{"a.":"1"}', (of("a.=1")))
    assert.equal('{"a[0]b":"1"}', (of("a[0]b=1")))
    assert.equal('{".a":"1"}', (of(".a=1")))
    assert.same({ ["[0]"] = "1" }, (fields.build({ { key = "[0]", text = "1" } }, {})))
    assert.same({ body = { ["[0]"] = "1" } }, (fields.build({ { key = "[0]", text = "1" } }, {}, true)))
  end)

  it("names the places that came as plain text", function()
    assert.same({ ["/a/b"] = { "1" }, ["/z"] = { "2", "3" } }, (select(2, of("a.b=1", "z=2", "z=3"))))
    assert.same({ ["/a~1b/0"] = { "1" } }, (select(2, of("a/b[]=1"))))
    assert.same({}, (select(2, of("a=1", "a:=2"))))
    assert.same({}, (select(2, of("a=1", '{"a":2}'))))
  end)

  it("refuses places in texts, numbers and null", function()
    assert.equal("a.b: /a is a string already", (of("a=1", "a.b=1")))
    assert.equal("a.b: /a is an integer already", (of("a:=1", "a.b=1")))
    assert.equal("a[0]: /a is an object already", (of('a:={"b":1}', "a[0]=1")))
    assert.equal("a[]: /a is an object already", (of("a:={}", "a[]=1")))
    assert.equal("a[]: /a is a string already", (of("a=x", "a[]=1")))
    assert.equal("a[1]: the list has 0 items, so the next one is [0]", (of("a[1]=x")))
    assert.equal("a[3]: the list has 2 items, so the next one is [2]", (of("a[]=x", "a[]=y", "a[3]=x")))
    assert.equal('{"a":["x","z"]}', (of("a[]=x", "a[]=y", "a[1]:=\"z\"")))
  end)
end)

describe("the body of an input", function()
  it("gets members of a whole input that are not parameters, beside its own", function()
    assert.equal('{"body":{"k":1,"title":"x"},"owner":"o"}', build("title=x", '{"k":1,"owner":"o"}'))
    assert.equal('{"body":{"k":2}}', build("k=1", '{"k":2}'))
  end)

  it("gets a path that begins with a parameter that has no parts", function()
    assert.equal('{"body":{"filter":{"x":"1"}}}', build("body.filter.x=1"))
    assert.equal('{"body":{"title":"1"}}', build("title=1"))
    assert.equal('{"body":{"]":"x"}}', build("]=x"))
  end)
end)

describe("a file of an input", function()
  it("is read as its place wants it, and refused with its key", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "wb"))
    file:write("{}")
    file:close()
    local wants = { type = "object", properties = { s = { type = "string" }, o = { type = "object" },
      l = { type = "array", items = { type = "string" } },
      t = { type = "array", prefixItems = { { type = "string" }, { type = "integer" } } } } }
    local function of(...)
      local value, message = fields.build(assert(input.read({ ... })), wants)
      return value or message
    end
    assert.same({ s = "{}", o = {} }, of("s=@" .. path, "o=@" .. path))
    assert.same({ l = { "{}", "{}" } }, of("l[]=@" .. path, "l[]=@" .. path))
    file = assert(io.open(path, "wb"))
    file:write("{")
    file:close()
    assert.equal("o: " .. path .. ": ", of("o=@" .. path):sub(1, #path + 5))
    assert.same({ l = "{" }, of("l=@" .. path))
    assert.same({ t = "{" }, of("t=@" .. path))
    os.remove(path)
  end)
end)

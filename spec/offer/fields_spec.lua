local fields = require("operations.offer.fields")
local input = require("operations.offer.input")
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

  it("refuse what cannot be both", function()
    assert.equal("title.x: /body/title is a string already", build("title=a", "title.x=b"))
    assert.equal("x[2]: the list has 1 item, so the next one is [1]", build("x[]=a", "x[2]=b"))
    assert.equal("x.a: /body/x is a list already", build("x[]=a", "x.a=b"))
  end)
end)

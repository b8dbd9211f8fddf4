local json = require("operations.base.json")
local selection = require("operations.cli.selection")

local value = json.decode('{"items":[{"id":1,"a.b":{"c d":true}},{"id":2}],"total":2}')

local function get(text)
  local found, message = selection.get(assert(selection.parse(text)), value)
  return message or json.encode(found)
end

describe("--select", function()
  it("takes paths and JSON Pointers", function()
    assert.equal("2", get("items[1].id"))
    assert.equal("2", get("/items/1/id"))
    assert.equal("2", get(".total"))
    assert.equal("true", get('items[0]["a.b"].c d'))
    assert.equal("true", get("/items/0/a.b/c d"))
    assert.equal(json.encode(value), get(""))
  end)

  it("takes all items, null where one lacks the part", function()
    assert.equal("[1,2]", get("items[].id"))
    assert.equal("[1,2]", get("items[*].id"))
    assert.equal("[true,null]", get('items[]["a.b"]["c d"]'))
  end)

  it("says what is not there, and what is", function()
    assert.equal('--select: the answer has no "totals" (did you mean total?); it has items, total', get("totals"))
    assert.equal("--select: total is an integer, which has no parts", get("total.x"))
    local _, message = selection.get(assert(selection.parse("a")), json.decode("{}"))
    assert.equal('--select: the answer has no "a"', message)
  end)
end)

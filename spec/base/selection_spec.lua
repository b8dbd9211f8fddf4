local json = require("operations.base.json")
local selection = require("operations.base.selection")

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

  it("takes parts of an object, by their paths or under names", function()
    local function text(selected)
      return json.encode(selection.get(assert(selection.parse(selected)), value), { keep_order = true })
    end
    assert.equal('{"total":2,"items[1].id":2}', text("total,items[1].id"))
    assert.equal('{"n":2,"first":1}', text("{n: total, first:items[0].id}"))
    assert.equal('{"n":2}', text("n: total"))
    assert.equal('{"id":1}', text("items[0].{id}"))
    assert.equal('--select: the answer has no "x"; it has items, total', get("total,x"))
  end)

  it("takes parts of each item of a list, null where one lacks a part", function()
    local function text(selected, of)
      return json.encode(selection.get(assert(selection.parse(selected)), of or value), { keep_order = true })
    end
    assert.equal('[{"id":1,"c":true},{"id":2,"c":null}]', text('items[].{id,c:["a.b"]["c d"]}'))
    assert.equal('[{"id":1},{"id":2}]', text("items.{id}"))
    assert.equal('[{"id":1},{"id":2}]', text("{id}", value.items))
    assert.equal('[{"id":2,"x":null}]', text("id,x", json.decode('[{"id":2}]')))
    assert.equal("[1,2]", text("items[].{id}.id"))
  end)

  it("doubts a part that no item of a list has, and names the meant one", function()
    local function doubt(text, of)
      return (select(3, selection.get(assert(selection.parse(text)), of or value)))
    end
    assert.equal('--select: items[] has no "ids" (did you mean id?); it has a.b, id', doubt("items[].ids"))
    assert.equal('--select: items[] has no "ids" (did you mean id?); it has a.b, id', doubt("items[].{id,ids}"))
    assert.equal('--select: items has no "x"; it has a.b, id', doubt("items.{id,n: x}"))
    assert.equal('--select: the answer has no "x"; it has a.b, id', doubt("id,x", value.items))
    assert.is_nil(doubt('items[]["a.b"]'))
    assert.is_nil(doubt("items[].{id,n: total}", { items = { { total = 1 }, { id = 1 } } }))
    assert.is_nil(doubt("items[]", { items = {} }))
    assert.is_nil(doubt("[].tags[].x", json.decode('[{"tags":[{"y":1}]},{"tags":[{"x":1}]},{"tags":[]}]')))
    assert.equal('--select: [].tags[] has no "x"; it has y', doubt("[].tags[].x", json.decode('[{"tags":[{"y":1}]}]')))
  end)

  it("cannot read other texts", function()
    for text, rest in pairs({ ["a..b"] = "..b", ["a[x]"] = "[x]", ["a[1"] = "[1", ["]"] = "]", ["a,,b"] = ",b",
      ["{}"] = "}", ["a}"] = "}", ["{a,"] = "" }) do
      local _, message = selection.parse(text)
      assert.equal(("--select: cannot read %q at %q: expected a path such as items[0].name, parts such as "
        .. "id,name, or a JSON Pointer"):format(text, rest), message)
    end
    assert.same({ nil, '--select: "a." ends with a dot' }, { selection.parse("a.") })
    assert.same({ nil, '--select: "a." ends with a dot' }, { selection.parse("a.,b") })
    assert.same({ nil, '--select: "x.{a" lacks a }' }, { selection.parse("x.{a") })
  end)

  it("says of a list how long it is, or how to look into its items", function()
    assert.equal("--select: items has 2 items", get("items[2]"))
    assert.equal("--select: items is a list: items[].id takes this of every item", get("items.id"))
    assert.equal("--select: total is not a list", get("total[]"))
    assert.equal("--select: items[0].id is not a list", get("items[0].id[]"))
    assert.same({ nil, "--select: the answer is not a list" }, { selection.get({ true }, { ["true"] = 1 }) })
    assert.equal('--select: items[1] has no "name"; it has id', get("items[1].name"))
  end)

  it("names the first twelve parts that are there", function()
    local names, object = {}, {}
    for i = 1, 13 do
      names[i] = ("part%02d"):format(i)
      object[names[i]] = i
    end
    local _, message = selection.get({ "x" }, json.decode(json.encode(object)))
    assert.equal('--select: the answer has no "x"; it has ' .. table.concat(names, ", ", 1, 12), message)
  end)

  it("names the missing field, and the fields that exist", function()
    assert.equal('--select: the answer has no "totals" (did you mean total?); it has items, total', get("totals"))
    assert.equal("--select: total is an integer, which has no parts", get("total.x"))
    local _, message = selection.get(assert(selection.parse("a")), json.decode("{}"))
    assert.equal('--select: the answer has no "a"', message)
  end)
end)

local core = require("operations.core")
local json = require("operations.base.json")
local restore = require("operations.tools.restore")

local TEXT = { kind = "text" }

local function object_of(members)
  return { kind = "object", members = members }
end

local function issues_of(plan, value)
  return select(2, restore.value(plan, value))
end

describe("what a model sent", function()
  it("is passed on where there is no plan", function()
    local value = { a = 1 }
    assert.equal(value, (restore.value(nil, value)))
    assert.same({}, issues_of(nil, value))
  end)

  it("is passed on where it does not look like the plan", function()
    local list = { 1 }
    assert.equal(list, (restore.value(object_of({}), list)))
    assert.equal(7, (restore.value(object_of({}), 7)))
    local table_ = { a = 1 }
    assert.equal(table_, (restore.value({ kind = "array", items = TEXT }, table_)))
    assert.equal(7, (restore.value(TEXT, 7)))
    assert.equal("x", (restore.value({ kind = "union", branches = {} }, "x")))
    assert.equal(table_, (restore.value({ kind = "union", branches = {} }, table_)))
  end)

  it("is the value of a JSON text", function()
    assert.same({ a = { 1 } }, (restore.value(TEXT, '{"a":[1]}')))
    assert.equal(core.null, (restore.value(TEXT, "null")))
    assert.is_false((restore.value(TEXT, "false")))
  end)

  it("has an issue for each text that is not JSON, with its path", function()
    local plan = object_of({ ["p_a"] = { key = "a/b~", plan = { kind = "array", items = TEXT } } })
    local value, issues = restore.value(plan, { p_a = { "1", "x", "{" } })
    assert.same({ ["a/b~"] = { 1, "x", "{" } }, value)
    assert.same({ "/a~1b~0/1", "/a~1b~0/2" }, { issues[1].path, issues[2].path })
    assert.equal("type", issues[1].keyword)
    assert.matches('^JSON text expected, such as "{\\"a\\": 1}": .', issues[1].message)
  end)

  it("has the names of the original schema", function()
    local plan = object_of({ p_a = { key = "a[]" }, b = { key = "b" } })
    assert.same({ ["a[]"] = 1, b = 2, c = 3 }, (restore.value(plan, { p_a = 1, b = 2, c = 3 })))
  end)

  it("leaves out nulls of optional members, and keeps those of others", function()
    local plan = object_of({ a = { key = "a", drop = true }, b = { key = "b", box = true }, c = { key = "c" } })
    assert.same({ c = core.null }, (restore.value(plan, { a = core.null, b = core.null, c = core.null })))
    assert.same({ a = 1, b = 2, c = 3 }, (restore.value(plan, { a = 1, b = { value = 2 }, c = 3 })))
    assert.same({ b = { other = 2 } }, (restore.value(plan, { b = { other = 2 } })))
    assert.same({ b = false }, (restore.value(plan, { b = { value = false } })))
  end)

  it("stays an object where nothing is left of it", function()
    local value = restore.value(object_of({ a = { key = "a", drop = true } }), { a = core.null })
    assert.equal("{}", json.encode(value))
    assert.is_nil(getmetatable((restore.value(object_of({ a = { key = "a", drop = true } }), { a = 1 }))))
  end)

  it("stays an array where it is empty", function()
    assert.equal("[]", json.encode((restore.value({ kind = "array", items = TEXT }, setmetatable({}, core.array_mt)))))
  end)

  it("gets the further members of a text, but for those that are there", function()
    local plan = object_of({ rest = { rest = true }, a = { key = "a" } })
    assert.same({ a = 1, b = 2 }, (restore.value(plan, { a = 1, rest = '{"a":9,"b":2}' })))
    assert.same({ a = 1 }, (restore.value(plan, { a = 1, rest = core.null })))
    assert.same({ a = 1 }, (restore.value(plan, { a = 1, rest = "[1]" })))
    assert.same({ a = 1, b = 2 }, (restore.value(plan, { a = 1, rest = { b = 2 } })))
    local value, issues = restore.value(plan, { a = 1, rest = "{" })
    assert.same({ a = 1 }, value)
    assert.equal("/rest", issues[1].path)
  end)

  it("follows a reference", function()
    local definition = {}
    definition.plan = object_of({ n = { key = "next", plan = { kind = "ref", definition = definition } } })
    assert.same({ next = { next = 1 } }, (restore.value({ kind = "ref", definition = definition }, { n = { n = 1 } })))
    assert.equal(1, (restore.value({ kind = "ref", definition = {} }, 1)))
  end)
end)

describe("the branch of a union", function()
  local function renamed(name, to, more)
    local branch = { type = "object", names = { [name] = true }, constants = {}, plan = object_of({
      [name] = { key = to } }) }
    for key, value in pairs(more or {}) do
      branch[key] = value
    end
    return branch
  end

  local function of(branches, value)
    return (restore.value({ kind = "union", branches = branches }, value))
  end

  it("is the one of the value's type", function()
    local branches = { { type = "array", plan = { kind = "array", items = TEXT } }, renamed("a", "A") }
    assert.same({ 1 }, of(branches, { "1" }))
    assert.same({ A = "1" }, of(branches, { a = "1" }))
  end)

  it("is the one that has exactly the names", function()
    local branches = { renamed("a", "A", { names = { a = true, b = true } }), renamed("a", "B"), renamed("c", "C") }
    assert.same({ B = 1 }, of(branches, { a = 1 }))
    assert.same({ A = 1, b = 2 }, of(branches, { a = 1, b = 2 }))
    assert.same({ C = 1 }, of(branches, { c = 1 }))
  end)

  it("is else the first whose constants fit", function()
    local branches = { renamed("a", "A", { constants = { k = "x" } }), renamed("a", "B", { constants = { k = "y" } }) }
    assert.same({ B = 1, k = "y", more = 1 }, of(branches, { a = 1, k = "y", more = 1 }))
    assert.same({ A = 1, k = "x" }, of(branches, { a = 1, k = "x" }))
    assert.same({ a = 1, k = "z" }, of(branches, { a = 1, k = "z" }))
    assert.same({ A = 1, z = 1 }, of({ renamed("a", "A") }, { a = 1, z = 1 }))
    assert.same({ z = 1 }, of({ renamed("a", "A") }, { z = 1 }))
  end)

  it("is any object where its names are not known", function()
    assert.same({ A = 1 }, of({ { type = "object", plan = object_of({ a = { key = "A" } }) } }, { a = 1 }))
  end)
end)

local members = require("operations.base.members")
local operations = require("operations")

describe("members", function()
  it("are merged, the last one counts", function()
    local first = { a = 1, b = 1 }
    assert.same({ a = 1, b = 2, c = 3 }, members.merged(first, nil, { b = 2 }, { c = 3 }))
    assert.same({ a = 1, b = 1 }, first)
    assert.same({}, members.merged(nil))
  end)

  it("are copied with the mark", function()
    local list = operations.array({ {} })
    local copy = members.copy(list)
    assert.equal(operations.array_mt, getmetatable(copy))
    assert.is_true(copy ~= list and copy[1] == list[1])
    assert.is_nil(getmetatable(members.merged(list)))
  end)

  it("are copied without a mark where LuaJIT moves the copy out of a compiled loop", function()
    local copy
    for n = 1, 400 do
      local made = members.mark({}, {})
      if n > 200 then
        copy = made
      end
    end
    assert.is_nil(getmetatable(copy)) -- setmetatable({}, nil) ends the process there
  end)

  it("of a list are described: its items by key, one of them, or several", function()
    assert.same({ a = true, b = true }, members.set({ "a", "b" }))
    assert.is_true(members.contains({ "a", "b" }, "b"))
    assert.is_false(members.contains({ "a" }, "b"))
    assert.is_false(members.contains(nil, "b"))
    assert.same({ 1, 2, 3 }, members.joined({ 1 }, {}, { 2, 3 }))
    local list = { "a", "b", "a" }
    assert.same({ true, false, true }, { members.remove(list, "a"), members.remove(list, "c"),
      members.remove(list, "a") })
    assert.same({ "b" }, list)
  end)

  it("have names, in order", function()
    assert.same({ "2", "a", "b" }, members.names({ b = 1, a = 2, [2] = 3 }))
  end)
end)

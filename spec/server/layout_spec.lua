local layout = require("operations.server.layout")

describe("a tree of paths", function()
  local tree, root, item, mine

  before_each(function()
    tree = {}
    root, item, mine = layout.grow(tree, { "tasks" }), layout.grow(tree, { "tasks", false }),
      layout.grow(tree, { "tasks", "mine" })
  end)

  it("finds literal paths before parameters, and returns the values of those", function()
    local values = {}
    assert.equal(root, layout.find(tree, { "tasks" }, values))
    assert.equal(mine, layout.find(tree, { "tasks", "mine" }, values))
    assert.same({}, values)
    assert.equal(item, layout.find(tree, { "tasks", "7" }, values))
    assert.same({ [2] = "7" }, values)
  end)

  it("finds nothing elsewhere, nor for an empty segment", function()
    for _, path in ipairs({ {}, { "task" }, { "tasks", "" }, { "tasks", "7", "x" } }) do
      assert.is_nil(layout.find(tree, path, {}))
    end
  end)

  it("has one place for a path", function()
    assert.equal(item, layout.grow(tree, { "tasks", false }))
    local count = 0
    layout.each_place(tree, function() count = count + 1 end)
    assert.equal(3, count)
  end)

  it("writes paths", function()
    assert.equal("/a%20b/{id}", layout.path({ "a b", false }, { [2] = "id" }))
  end)
end)

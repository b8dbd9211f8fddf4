local path_tree = require("operations.server.path_tree")

describe("a tree of paths", function()
  local tree, root, item, mine

  before_each(function()
    tree = {}
    root, item, mine = path_tree.grow(tree, { "tasks" }), path_tree.grow(tree, { "tasks", false }),
      path_tree.grow(tree, { "tasks", "mine" })
  end)

  it("finds what is written out before parameters, and tells their values", function()
    local values = {}
    assert.equal(root, path_tree.find(tree, { "tasks" }, values))
    assert.equal(mine, path_tree.find(tree, { "tasks", "mine" }, values))
    assert.same({}, values)
    assert.equal(item, path_tree.find(tree, { "tasks", "7" }, values))
    assert.same({ [2] = "7" }, values)
  end)

  it("finds nothing elsewhere, nor for an empty segment", function()
    for _, path in ipairs({ {}, { "task" }, { "tasks", "" }, { "tasks", "7", "x" } }) do
      assert.is_nil(path_tree.find(tree, path, {}))
    end
  end)

  it("has one place for a path", function()
    assert.equal(item, path_tree.grow(tree, { "tasks", false }))
    local count = 0
    path_tree.each(tree, function() count = count + 1 end)
    assert.equal(3, count)
  end)

  it("writes paths", function()
    assert.equal("/a%20b/{id}", path_tree.text({ "a b", false }, { [2] = "id" }))
  end)
end)

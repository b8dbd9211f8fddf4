local task_tree = require("operations.task.tree")

describe("the tree of tasks", function()
  -- The last of `n` tasks, each spawned by the one before; all of them.
  local function chain(n)
    local list = {}
    for i = 1, n do
      list[i] = {}
      task_tree.adopt(list[i - 1], list[i])
    end
    return list[n], list
  end

  it("knows which task runs inside which", function()
    local last, list = chain(5)
    local sibling, stranger = {}, {}
    task_tree.adopt(list[4], sibling)
    task_tree.adopt(nil, stranger)
    for i = 1, 5 do
      assert.is_true(task_tree.encloses(list[i], last))
    end
    assert.is_false(task_tree.encloses(last, list[4]))
    assert.is_false(task_tree.encloses(sibling, last))
    assert.is_false(task_tree.encloses(stranger, last))
    assert.is_false(task_tree.encloses(last, stranger))
    assert.is_false(task_tree.encloses(last, nil))
  end)

  it("asks none of all that are above a task whether its child is among them", function()
    local last = chain(100)
    local parent, child = last._parent, {}
    task_tree.adopt(last, child)
    last._parent = nil
    setmetatable(last, {
      __index = function(_, name)
        assert.are_not.equal("_parent", name)
      end,
    })
    assert.is_false(task_tree.encloses(child, last))
    setmetatable(last, nil)
    last._parent = parent
    assert.is_true(task_tree.encloses(last, child))
  end)
end)

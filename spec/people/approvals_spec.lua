local approvals = require("operations.people.approvals")
local identities = require("spec.support.identities")
local limits = require("operations.base.limits")
local operations = require("operations")
local raises = require("spec.support.raises")

local ann, bob = { id = "ann", scopes = {} }, { id = "bob", scopes = {} }

local function call(id, input, identity)
  return { operationId = id, input = input, identity = identity }
end

-- Answers as it was told, and counts.
local function asked(...)
  local answer, count = { ... }, 0
  return function()
    count = count + 1
    return answer[1], answer[2]
  end, function()
    return count
  end
end

describe("the memory of approvals", function()
  it("knows nothing at first", function()
    local memory = approvals.new()
    assert.is_false(memory:allows(call("a.b", {})))
    assert.same({}, memory:list())
    assert.equal("[]", operations.json.encode(memory:list()))
  end)

  it("tells arguments apart, in whatever order they come", function()
    local memory = approvals.new()
    memory:remember(call("a.b", { x = 1, y = { "z" } }), "arguments")
    assert.is_true(memory:allows(call("a.b", { y = { "z" }, x = 1 })))
    assert.is_false(memory:allows(call("a.b", { x = 2, y = { "z" } })))
    assert.is_false(memory:allows(call("a.c", { x = 1, y = { "z" } })))
    assert.is_false(memory:allows(call("a.b")))
  end)

  it("takes no arguments for the empty object", function()
    local memory = approvals.new()
    memory:remember(call("a.b"), "arguments")
    assert.is_true(memory:allows(call("a.b", operations.object({}))))
    assert.is_false(memory:allows(call("a.b", { 1 })))
  end)

  it("allows any arguments of what is approved always", function()
    local memory = approvals.new()
    memory:remember(call("a.b", { x = 1 }), "always")
    assert.is_true(memory:allows(call("a.b", { x = 2 })))
    assert.is_true(memory:allows(call("a.b", { print })))
    assert.is_false(memory:allows(call("a.c", { x = 1 })))
  end)

  it("keeps identities apart", function()
    local memory = approvals.new()
    memory:remember(call("a.b", { x = 1 }, ann), "always")
    memory:remember(call("a.c", { x = 1 }, ann), "arguments")
    assert.is_true(memory:allows(call("a.b", { x = 2 }, ann)))
    assert.is_true(memory:allows(call("a.c", { x = 1 }, ann)))
    for _, other in ipairs({ bob, false }) do
      assert.is_false(memory:allows(call("a.b", { x = 2 }, other or nil)))
      assert.is_false(memory:allows(call("a.c", { x = 1 }, other or nil)))
    end
  end)

  it("is stored as plain data without the arguments", function()
    local stored
    local memory = approvals.new(nil, function(list)
      stored = assert(operations.json.encode(list))
    end)
    memory:remember(call("a.b", { password = "geheim" }, ann), "arguments")
    memory:remember(call("a.c", {}), "always")
    assert.is_nil(stored:find("geheim"))
    local again = approvals.new(assert(operations.json.decode(stored)))
    assert.is_true(again:allows(call("a.b", { password = "geheim" }, ann)))
    assert.is_false(again:allows(call("a.b", { password = "other" }, ann)))
    assert.is_true(again:allows(call("a.c", { 1 })))
    assert.same(memory:list(), again:list())
    assert.equal("a.b", memory:list()[1].operationId)
    assert.matches("^%x+$", memory:list()[1].identity)
    assert.equal(64, #memory:list()[1].arguments)
    assert.same({ operationId = "a.c" }, memory:list()[2])
  end)

  it("belongs to one identity, whatever makes it another one", function()
    for _, identity in ipairs(identities.different) do
      local memory = approvals.new()
      memory:remember(call("a.b", {}, identity), "always")
      for _, other in ipairs(identities.different) do
        assert.equal(identity == other, memory:allows(call("a.b", {}, other)))
      end
      assert.is_false(memory:allows(call("a.b", {})))
    end
    local memory = approvals.new()
    memory:remember(call("a.b", {}, identities.same[1]), "always")
    assert.is_true(memory:allows(call("a.b", {}, identities.same[2])))
  end)

  it("reads stored data with care", function()
    local memory = approvals.new({ 1, "x", {}, { operationId = 1 }, { operationId = "a.b", arguments = "short" },
      { operationId = "a.b", arguments = 1 }, { operationId = "a.b", identity = 1 },
      { operationId = "a.d", more = 1 } })
    assert.same({ { operationId = "a.d" } }, memory:list())
    assert.is_false(memory:allows(call("a.b", {})))
  end)

  it("tells of changes only", function()
    local told = 0
    local memory = approvals.new({ { operationId = "a.b" } }, function()
      told = told + 1
    end)
    memory:remember(call("a.b"), "always")
    memory:forget("a.c")
    assert.equal(0, told)
    memory:remember(call("a.c"), "always")
    assert.equal(1, told)
    memory:forget("a.c")
    assert.equal(2, told)
    assert.same({ { operationId = "a.b" } }, memory:list())
    assert.is_true(memory:allows(call("a.b")))
    memory:forget()
    assert.equal(3, told)
    assert.is_false(memory:allows(call("a.b")))
    memory:forget()
    assert.equal(3, told)
  end)

  it("has no approval of arguments that are no JSON", function()
    local memory = approvals.new()
    memory:remember(call("a.b", { print }), "arguments")
    assert.same({}, memory:list())
    assert.is_false(memory:allows(call("a.b", { print })))
  end)

  it("is bounded: the oldest is forgotten", function()
    local before = limits.approvals
    limits.approvals = 3
    local memory = approvals.new()
    for i = 1, 4 do
      memory:remember(call("a." .. i), "always")
    end
    limits.approvals = before
    assert.equal(3, #memory:list())
    assert.is_false(memory:allows(call("a.1")))
    assert.is_true(memory:allows(call("a.2")))
    assert.is_true(memory:allows(call("a.4")))
  end)

  it("names the argument that it was misused with", function()
    raises({
      ["bad argument #2 to 'remember' (\"arguments\" or \"always\" expected, got once)"] = function()
        approvals.new():remember(call("a.b"), "once")
      end,
      ["bad argument #1 to 'approvals' (table expected, got number)"] = function() approvals.new(7) end,
      ["bad argument #2 to 'approvals' (function expected, got number)"] = function() approvals.new({}, 1) end,
      ["bad argument #1 to 'forget' (string expected, got number)"] = function() approvals.new():forget(1) end,
    }, "approvals_spec")
  end)
end)

describe("asking", function()
  it("lets a call continue once", function()
    for _, scope in ipairs({ "once", false }) do
      local memory = approvals.new()
      local confirm, count = asked(true, scope or nil)
      assert.is_true(approvals.ask(call("a.b"), confirm, memory))
      assert.is_true(approvals.ask(call("a.b"), confirm, memory))
      assert.equal(2, count())
      assert.same({}, memory:list())
    end
  end)

  it("is not done again for what is remembered", function()
    local memory = approvals.new()
    local confirm, count = asked(true, "arguments")
    assert.is_true(approvals.ask(call("a.b", { x = 1 }), confirm, memory))
    assert.is_true(approvals.ask(call("a.b", { x = 1 }), confirm, memory))
    assert.equal(1, count())
    assert.is_true(approvals.ask(call("a.b", { x = 2 }), confirm, memory))
    assert.equal(2, count())
    assert.is_true(approvals.ask(call("a.b", { x = 2 }), (asked(true, "always"))))
  end)

  it("is refused with the reason", function()
    local approved, err = approvals.ask(call("a.b"), (asked(false, "not on Fridays")), approvals.new())
    assert.is_nil(approved)
    assert.equal("ACCESS_DENIED: the call was not approved: not on Fridays", tostring(err))
    assert.is_false(err.mayHaveRun)
    assert.is_false(err.retryable)
    approved, err = approvals.ask(call("a.b"), (asked(false)))
    assert.is_nil(approved)
    assert.equal("ACCESS_DENIED: the call was not approved", tostring(err))
  end)

  it("takes nothing but true for an approval", function()
    for _, answer in ipairs({ 1, "yes", {} }) do
      local approved, err = approvals.ask(call("a.b"), (asked(answer)))
      assert.is_nil(approved)
      assert.equal("ACCESS_DENIED", err.code)
    end
    local memory = approvals.new()
    local approved, err = approvals.ask(call("a.b"), (asked(true, "forever")), memory)
    assert.is_nil(approved)
    assert.matches('"once", "arguments" or "always", not forever', err.message)
    assert.same({}, memory:list())
  end)

  it("survives a store that fails: what was approved runs", function()
    local memory = approvals.new(nil, function()
      error("disk full")
    end)
    assert.is_true(approvals.ask(call("a.b"), (asked(true, "always")), memory))
    assert.is_true(memory:allows(call("a.b")))
  end)

  it("survives a confirm that fails", function()
    local approved, err = approvals.ask(call("a.b"), function()
      error("no window", 0)
    end)
    assert.is_nil(approved)
    assert.equal("ACCESS_DENIED: the call was not approved: `confirm` failed: no window", tostring(err))
    for _, code in ipairs({ "ABORTED", "TIMEOUT" }) do
      approved, err = approvals.ask(call("a.b"), function()
        error(operations.error(code, "gone"), 0)
      end)
      assert.is_nil(approved)
      assert.equal(code .. ": gone", tostring(err))
    end
  end)

  it("is kept in a file, for its owner only", function()
    local path = os.tmpname()
    os.remove(path)
    finally(function()
      os.remove(path)
    end)
    local one = { operationId = "a.b", input = {} }
    assert(operations.approvals(path)):remember(one, "always")
    assert.is_true(assert(operations.approvals(path)):allows(one))
    assert.is_false(assert(operations.approvals(path)):allows({ operationId = "a.c", input = {} }))
    local file = assert(io.open(path, "w"))
    file:write("not a list")
    file:close()
    local memory, err = operations.approvals(path)
    assert.is_nil(memory)
    assert.truthy(tostring(err):find("VALIDATION_ERROR: " .. path .. ": a list of approvals expected", 1, true))
  end)
end)

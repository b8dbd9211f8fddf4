local names = require("operations.offer.names")

local function spec(id, name)
  local namespace, rest = id:match("^([^.]*)%.(.*)$")
  return { namespace = namespace, name = rest, _meta = name and { tool = { name = name } } }
end

describe("the name of a tool", function()
  it("is namespace_name where only one id can be meant", function()
    assert.equal("tasks_list", names.of("tasks.list"))
    assert.equal("tasks_list_all", names.of("tasks.list_all"))
    assert.equal("git-hub_list-all", names.of("git-hub.list-all"))
  end)

  it("has a hash of the id where several ids could claim it", function()
    assert.equal("tasks_list_all_a4e858e9", names.of("tasks_list.all"))
    assert.equal("tasks_list_all_83cdff76", names.of("tasks.list/all"))
    assert.equal("a_b_c_", names.of("a.b.c"):sub(1, 6))
    local seen = {}
    for _, id in ipairs({ "a.b_c", "a_b.c", "a.b.c", "a.b/c", "a.b?c", "a.b\195\188c", "a/b.c" }) do
      local name = names.of(id)
      assert.matches("^a_b_c", name)
      assert.is_nil(seen[name])
      seen[name] = true
    end
  end)

  it("replaces each other character, of however many bytes, by one _", function()
    assert.matches("^a___b_%x%x%x%x%x%x%x%x$", names.of("a.\195\188\240\159\152\128b"))
  end)

  it("is cut at 64 characters: 55, _ and 8 digits", function()
    local id = "a." .. ("x"):rep(62)
    assert.equal("a_" .. ("x"):rep(62), names.of(id))
    assert.equal("a_" .. ("x"):rep(53) .. "_07184dd4", names.of(id .. "x"))
  end)

  it("starts with a letter or _", function()
    assert.matches("^_2fa_on_%x%x%x%x%x%x%x%x$", names.of("2fa.on"))
    assert.matches("^_%-a_b_%x%x%x%x%x%x%x%x$", names.of("-a.b"))
    assert.matches("^_a_b_%x%x%x%x%x%x%x%x$", names.of("_a.b"))
  end)

  it("without a hash never looks like one with a hash", function()
    assert.matches("^a_b_deadbeef_%x%x%x%x%x%x%x%x$", names.of("a.b_deadbeef"))
    assert.equal("a_b_deadbee", names.of("a.b_deadbee"))
  end)

  it("is always valid", function()
    for _, id in ipairs({ "tasks.list", "2.2", "-.-", "\255.\128", ("ü"):rep(100) .. ".x", "a.b" }) do
      assert.is_true(names.is_valid(names.of(id)))
    end
    for _, name in ipairs({ "", "a.b", "2a", "-a", ("a"):rep(65), "a b", "ä" }) do
      assert.is_false(names.is_valid(name))
    end
    assert.is_false(names.is_valid(1))
    assert.is_true(names.is_valid(("a"):rep(64)))
  end)
end)

describe("the names of many", function()
  it("lead both ways, and nothing is lost", function()
    local made, flaws = names.assign({ spec("a.b"), spec("a.b_c"), spec("a_b.c") })
    assert.same({}, flaws)
    assert.is_nil(names.error(flaws))
    for _, id in ipairs({ "a.b", "a.b_c", "a_b.c" }) do
      assert.equal(names.of(id), made.of_id[id])
      assert.equal(id, made.of_name[made.of_id[id]])
    end
  end)

  it("are those that specs ask for", function()
    local made, flaws = names.assign({ spec("a.b", "find_it"), spec("a.c") })
    assert.same({}, flaws)
    assert.same({ ["a.b"] = "find_it", ["a.c"] = "a_c" }, made.of_id)
    assert.same({ find_it = "a.b", a_c = "a.c" }, made.of_name)
  end)

  it("are not shared: an operation that asks for another's name gets the name of its id, in any order", function()
    local one, two, three = spec("a.b", "x"), spec("a.c", "x"), spec("a.d", "x")
    for _, list in ipairs({ { one, two, three }, { three, two, one }, { two, three, one } }) do
      local made, flaws = names.assign(list)
      assert.same({ ["a.b"] = "a_b", ["a.c"] = "a_c", ["a.d"] = "a_d" }, made.of_id)
      assert.equal(3, #flaws)
      assert.same({ path = "/_meta/tool/name", keyword = "unique", operationId = "a.b",
        message = 'a.b: another tool has the name "x"' }, flaws[1])
      local err = names.error(flaws)
      assert.equal("VALIDATION_ERROR", err.code)
      assert.equal('a.b: another tool has the name "x"', err.message)
      assert.equal(flaws, err.details)
    end
  end)

  it("of ids go before those that are asked for", function()
    local made, flaws = names.assign({ spec("z.z", "a_b"), spec("a.b") })
    assert.same({ ["a.b"] = "a_b", ["z.z"] = "z_z" }, made.of_id)
    assert.equal("z.z", flaws[1].operationId)
    assert.equal(1, #flaws)
  end)

  it("may be asked for though they are those of other ids that have others now", function()
    local made, flaws = names.assign({ spec("z.z", "a_b"), spec("a.b", "z_z") })
    assert.same({}, flaws)
    assert.same({ ["a.b"] = "z_z", ["z.z"] = "a_b" }, made.of_id)
  end)

  it("fall back one after the other", function()
    -- a.b loses x, takes a_b back, which z.z asked for.
    local made, flaws = names.assign({ spec("a.b", "x"), spec("a.c", "x"), spec("z.z", "a_b") })
    assert.same({ ["a.b"] = "a_b", ["a.c"] = "a_c", ["z.z"] = "z_z" }, made.of_id)
    assert.equal(3, #flaws)
  end)

  it("that no tool can have are refused", function()
    local odd = { namespace = "a", name = "c", _meta = { tool = 1 } }
    local made, flaws = names.assign({ spec("a.b", "with blank"), odd })
    assert.same({ ["a.b"] = "a_b", ["a.c"] = "a_c" }, made.of_id)
    assert.same({ { path = "/_meta/tool/name", keyword = "format", operationId = "a.b",
      message = 'a.b: 1 to 64 of A-Za-z0-9_- expected, a letter or _ first, got "with blank"' } }, flaws)
  end)

  it("have their flaws in the order of the operations", function()
    local specs = {}
    for i = 40, 11, -1 do
      specs[#specs + 1] = spec("a.n" .. i, i % 2 == 0 and "x" or "no name")
    end
    local _, flaws = names.assign(specs)
    assert.equal(30, #flaws)
    for i, flaw in ipairs(flaws) do
      assert.equal("a.n" .. i + 10, flaw.operationId)
    end
    -- Two flaws of one operation: its own name is taken, and so is that of its id.
    local _, both = names.assign({ spec("a.b", "x"), spec("c.d", "x") }, { a_b = true })
    assert.same({ "a.b", "a.b", "c.d" }, { both[1].operationId, both[2].operationId, both[3].operationId })
    assert.equal('a.b: another tool has the name "a_b": give it another here', both[1].message)
    assert.equal('a.b: another tool has the name "x"', both[2].message)
  end)

  it("that are reserved are given to no operation", function()
    local made, flaws = names.assign({ spec("search.operations"), spec("a.b", "call") },
      { call = true, search_operations = true })
    assert.same({ ["a.b"] = "a_b" }, made.of_id)
    assert.same({ a_b = "a.b" }, made.of_name)
    assert.equal(2, #flaws)
    assert.equal('search.operations: another tool has the name "search_operations": give it another here',
      flaws[2].message)
  end)
end)

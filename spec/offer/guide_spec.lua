local guide = require("operations.offer.guide")
local limits = require("operations.base.limits")
local operations = require("operations")

describe("the guide to many operations", function()
  local registry, book

  local function add(namespace, name, more)
    more = more or {}
    more.namespace, more.name, more.handler = namespace, name, print
    assert(registry:register(more))
  end

  local function sight(identity)
    local function visible(id)
      return registry:visible(id, identity) == "yes" and id or nil
    end
    return { identity = identity, word = "id", name_of = visible, id_of = visible }
  end

  before_each(function()
    registry = operations.registry()
    add("tasks", "add", { description = "Adds a task.\n\nLong words about it." })
    add("tasks", "remove", { description = "Removes a task" })
    add("people", "list", { description = "Lists people who have a task" })
    add("people", "secret", { description = "A task", accessControl = { requiredScopes = { "admin" } } })
    book = guide.new(registry)
  end)

  local function found(input, identity)
    local result = assert(book:search(input, sight(identity)))
    local ids = {}
    for i, hit in ipairs(result.operations) do
      ids[i] = hit.id
    end
    return ids, result
  end

  it("finds operations with a summary and their types, and says how many there are", function()
    local ids, result = found({ query = "add" })
    assert.same({ "tasks.add" }, ids)
    assert.same({ id = "tasks.add", description = "Adds a task.", signature = 'call("tasks.add", input?: any): any' },
      result.operations[1])
    assert.same({ 1, nil }, { result.total, result.hint })
  end)

  it("counts only what the caller may call", function()
    assert.equal(3, select(2, found({ query = "task" })).total)
    assert.equal(4, select(2, found({ query = "task" }, { id = "a", scopes = { "admin" } })).total)
  end)

  it("lists a namespace, page by page", function()
    assert.same({ "tasks.add", "tasks.remove" }, (found({ query = "", namespace = "tasks" })))
    local ids, result = found({ query = "", namespace = "tasks", limit = 1, offset = 1 })
    assert.same({ "tasks.remove" }, ids)
    assert.equal(2, result.total)
  end)

  it("helps after a search without results", function()
    local function hint(input)
      return select(2, found(input)).hint
    end
    assert.equal('there is no namespace "taks" (did you mean tasks?)', hint({ query = "", namespace = "taks" }))
    assert.equal("did you mean tasks.remove?", hint({ query = "taskremvoe" }))
    assert.equal("namespaces: people, tasks", hint({ query = "weather" }))
  end)

  it("gives types as far as there is room for them", function()
    local properties = {}
    for i = 1, 40 do
      properties["a_member_with_a_long_name_" .. i] = { type = "string" }
    end
    for i = 1, 20 do
      add("many", "one" .. i, { inputSchema = { type = "object", properties = properties } })
    end
    local _, result = found({ query = "", namespace = "many", limit = 20 })
    assert.is_string(result.operations[1].signature)
    assert.is_nil(result.operations[20].signature)
    assert.is_true(#operations.json.encode(result) < 2 * limits.search_signatures)
  end)

  it("takes numbers and texts of any kind", function()
    for _, odd in ipairs({ -1, 1e300, 0.5, "x", 0 / 0, {}, true }) do
      assert.is_table(book:search({ query = "task", limit = odd, offset = odd, namespace = odd == "x" and "" or odd },
        sight()))
    end
    for _, query in ipairs({ "", "\255\0", ("x"):rep(1e6), "%[" }) do
      assert.is_table(book:search({ query = query }, sight()))
    end
    assert.is_nil((book:search({}, sight())))
  end)

  it("describes an operation by its types, and one of these", function()
    add("big", "one", { title = "One", outputSchema = { ["$ref"] = "#/$defs/A", ["$defs"] = {
      A = { type = "object", properties = { b = { ["$ref"] = "#/$defs/B" } } },
      B = { type = "object", properties = { c = { type = "string" } } } } } })
    local told = assert(book:describe({ id = "big.one" }, sight()))
    assert.same({ id = "big.one", title = "One",
      signature = 'call("big.one", input?: any): { b?: { c?: string } }',
      types = "input: any\noutput: A\nA: {\n  b?: B,\n}\nB: {\n  c?: string,\n}" }, told)
    assert.same({ id = "big.one", types = "B: {\n  c?: string,\n}" },
      book:describe({ id = "big.one", type = "B" }, sight()))
    assert.equal('big.one has no type "C"', select(2, book:describe({ id = "big.one", type = "C" }, sight())))
  end)

  it("describes a long one by what has room, and names the rest", function()
    local properties, definitions = {}, {}
    for i = 1, 300 do
      properties["p" .. i] = { ["$ref"] = "#/$defs/D" .. i }
      definitions["D" .. i] = { type = "object", properties = { x = { type = "string", description = ("w"):rep(90) } } }
    end
    add("big", "two", { inputSchema = { type = "object", properties = properties, ["$defs"] = definitions } })
    local told = assert(book:describe({ id = "big.two" }, sight()))
    assert.is_true(#told.types < 1.2 * limits.description)
    local more = told.more[#told.more]
    assert.matches("^" .. more .. ": {", book:describe({ id = "big.two", type = more }, sight()).types)
  end)

  it("gives the schema of an input where a sink has one and it is short", function()
    local with = sight()
    with.definition = function()
      return { inputSchema = { type = "object" }, outputSchema = {} }
    end
    assert.same({ id = "tasks.add", inputSchema = { type = "object" },
      signature = 'call("tasks.add", input?: any): any' }, book:describe({ id = "tasks.add" }, with))
    with.definition = function()
      return { inputSchema = { enum = { ("x"):rep(limits.description) } } }
    end
    local told = book:describe({ id = "tasks.add" }, with)
    assert.is_nil(told.inputSchema)
    assert.is_string(told.types)
  end)

  it("suggests what a wrong name may mean, of what the caller may call", function()
    local _, problem = book:describe({ id = "tasks.ad" }, sight())
    assert.equal('unknown operation "tasks.ad" (did you mean tasks.add?): search_operations finds operations', problem)
    _, problem = book:describe({ id = "people.secrt" }, sight())
    assert.equal('unknown operation "people.secrt": search_operations finds operations', problem)
    assert.is_nil((book:describe({}, sight())))
  end)
end)

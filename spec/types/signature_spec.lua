local operations = require("operations")
local signature = require("operations.types.signature")
local tree = require("operations.types.tree")

local T = operations.type

describe("the types of an operation in one line", function()
  local function types_of(definition)
    definition.namespace, definition.name, definition.handler = "tasks", "add", print
    local registry = operations.registry()
    assert(registry:register(definition))
    return tree.of({ registry:get_spec("tasks.add") })
  end

  local function line(definition, most)
    return signature.line(types_of(definition).operations[1], "tasks_add(", most or 1000)
  end

  it("have input, result and the codes of errors", function()
    assert.equal('tasks_add(input: { title: string, at?: "am"|"pm" }): { id: integer }  -- errors: GONE, LATE', line({
      inputSchema = { type = "object", required = { "title" }, properties = operations.json.decode(
        '{"title":{"type":"string"},"at":{"enum":["am","pm"]}}', { keep_order = true }) },
      outputSchema = T.object({ id = T.integer() }),
      errorSchemas = { { code = "GONE", description = "", schema = true },
        { code = "LATE", description = "", schema = true } } }))
  end)

  it("leave out an input without members", function()
    assert.equal("tasks_add(): any", line({ inputSchema = { type = "object" } }))
    assert.equal('call("x"): any', signature.line(types_of({ inputSchema = { type = "object" } }).operations[1],
      'call("x", ', 100))
    assert.equal("tasks_add(input?: table<string, integer>): any",
      line({ inputSchema = { type = "object", additionalProperties = { type = "integer" } } }))
  end)

  it("are a list for the events of a subscription", function()
    assert.equal("tasks_add(input?: any): string[]", line({ type = "subscription", outputSchema = T.string() }))
    assert.equal("tasks_add(input?: any): (string|null)[]",
      line({ type = "subscription", outputSchema = { type = { "string", "null" } } }))
  end)

  it("put unions of lists in parentheses, and names that are no words in brackets", function()
    assert.equal('tasks_add(input?: any): { ["a b"]?: (1|"x")[] }', line({ outputSchema = { type = "object",
      properties = { ["a b"] = { type = "array", items = { enum = { 1, "x" } } } } } }))
  end)

  it("shorten objects from the inside where there is no room, and never a union", function()
    local output = { outputSchema = { type = "object", properties = { kind = { enum = { "one", "two", "three" } },
      who = { type = "object", properties = { name = { type = "object", properties = {
        first = { type = "string" } } } } } } } }
    assert.equal('tasks_add(input?: any): { kind?: "one"|"two"|"three", who?: { name?: { first?: string } } }',
      line(output))
    assert.equal('tasks_add(input?: any): { kind?: "one"|"two"|"three", who?: { name?: table } }', line(output, 75))
    assert.equal('tasks_add(input?: any): { kind?: "one"|"two"|"three", who?: table }', line(output, 60))
    assert.equal('tasks_add(input?: any): { kind?: "one"|"two"|"three", ... }', line(output, 20))
  end)

  it("keep required members first where not all have room", function()
    local properties, required = {}, {}
    for i = 10, 99 do
      properties["p" .. i] = { type = "integer" }
    end
    required[1] = "p77"
    assert.matches("{ p77: integer, p10%?: integer, .*, %.%.%. }$",
      line({ outputSchema = { type = "object", required = required, properties = properties } }, 200))
  end)

  it("end where a schema contains itself", function()
    local nodes = { type = "array", items = { ["$ref"] = "#/$defs/Node" } }
    assert.equal("tasks_add(input?: any): { kids?: table[] }", line({ outputSchema = { type = "object",
      properties = { kids = nodes }, ["$defs"] = { Node = { type = "object", properties = { kids = nodes } } } } }))
  end)

  it("say the members of an object that may be null", function()
    assert.equal("tasks_add(input?: any): { who?: { id?: integer }|null }", line({ outputSchema = { type = "object",
      properties = { who = { type = { "object", "null" }, properties = { id = { type = "integer" } } } } } }))
  end)

  it("are a text with descriptions and limits, which names the types that had no room", function()
    local types = types_of({ inputSchema = { type = "object", required = { "title" }, properties = {
      title = { type = "string", minLength = 1, description = "The **title**.\n\nMore." },
      who = { ["$ref"] = "#/$defs/Person" } }, ["$defs"] = {
        Person = { type = "object", properties = { pet = { ["$ref"] = "#/$defs/Pet" } } },
        Pet = { type = "object", properties = { name = { type = "string" } } },
        Unused = { type = "object", properties = { x = true } } } }, outputSchema = T.array(T.string()) })
    local text, left = signature.page(types, 10000)
    assert.equal([[
output: string[]
input: {
  title: string,  -- The title. (at least 1 character)
  who?: Person,
}
Person: {
  pet?: Pet,
}
Pet: {
  name?: string,
}]], text)
    assert.same({}, left)
    text, left = signature.page(types, 100)
    assert.matches("^output.*who%?: Person,\n}$", text)
    assert.same({ "Person", "Pet" }, left)
    text, left = signature.page(types, 10, "Person")
    assert.equal("Person: {\n  pet?: Pet,\n}", text)
    assert.same({ "Pet" }, left)
    assert.is_nil((signature.page(types, 10, "Nobody")))
  end)
end)

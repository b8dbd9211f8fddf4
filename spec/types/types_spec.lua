local facts = require("spec.types.facts")
local json = require("operations.base.json")
local luacats = require("spec.support.luacats")
local operations = require("operations")
local sources = require("spec.support.sources")

local T = operations.type

local function types_of(definitions, format)
  local registry = operations.registry({ log = function() end })
  assert(registry:register_all(definitions))
  return assert(operations.types(registry, { format = format }))
end

-- An operation with this input.
local function of(input, format, output)
  return types_of({ { namespace = "a", name = "b", title = "Does it", inputSchema = input, outputSchema = output,
    handler = print } }, format)
end

-- The declaration of a name in the text of a format.
local declared = {
  lua = function(text, name)
    return text:match("\n(%-%-%-@class " .. name .. "\n.-)\n\n")
      or text:match("\n(%-%-%-@alias " .. name .. " [^\n]*)")
  end,
  typescript = function(text, name)
    return text:match("\n(export interface " .. name .. " {\n.-\n})")
      or text:match("\n(export type " .. name .. " [^\n]*)")
  end,
}

local function lua(input, name)
  return declared.lua(of(input, "lua"), name or "a%.b%.input")
end

local function typescript(input, name)
  return declared.typescript(of(input, "typescript"), name or "ABInput")
end

describe("types", function()
  local task = T.object({ title = T.string(), count = T.optional(T.integer()) })

  it("have a class for an object, which tells optional members apart, in the schema's order", function()
    local ordered = json.decode([[{ "type": "object", "required": ["title"], "properties": { "title": {
      "type": "string", "description": "What to do.\n\nAt length." }, "count": { "type": "integer" },
      "odd-name": { "type": "number" } } }]], { property_order = true })
    assert.equal('---@class a.b.input\n---@field title string  What to do.\n---@field count? integer\n'
      .. '---@field ["odd-name"] number?', lua(ordered))
    assert.equal('export interface ABInput {\n  count?: number;\n}',
      typescript({ type = "object", properties = { count = { type = "integer" } } }))
  end)

  it("have aliases for enums", function()
    local input = T.object({ state = T.enum({ "open", "closed" }) })
    assert.equal('---@alias a.b.input.state "open"|"closed"', lua(input, "a%.b%.input%.state"))
    assert.equal('export type ABInputState = "open" | "closed";', typescript(input, "ABInputState"))
  end)

  it("tell null, unions, lists and maps", function()
    local input = T.object({ a = { type = { "string", "null" } }, b = { anyOf = { { type = "integer" }, {
      type = "array", items = { type = "string" } } } },
      c = { type = "array", items = { type = { "string", "integer" } } },
      d = { type = "object", additionalProperties = { type = "boolean" } }, e = true, f = { const = 3 } })
    local text = lua(input)
    for name, expected in pairs({ a = "string|operations.Null", b = "integer|string[]", c = "(string|integer)[]",
      d = "table<string, boolean>", e = "any", f = "3" }) do
      assert.matches(("\n---@field %s %s"):format(name, expected), text .. "\n", 1, true)
    end
    text = typescript(input)
    for name, expected in pairs({ a = "string | null", b = "number | string[]", c = "(string | number)[]",
      d = "Record<string, boolean>", e = "unknown", f = "3" }) do
      assert.matches(("\n  %s: %s;\n"):format(name, expected), text, 1, true)
    end
  end)

  it("end a recursion by the name of its definition", function()
    local input = { ["$ref"] = "#/$defs/Node", ["$defs"] = { Node = { type = "object", properties = {
      children = { type = "array", items = { ["$ref"] = "#/$defs/Node" } } } } } }
    assert.equal("---@class a.Node\n---@field children? a.Node[]", lua(input, "a%.Node"))
    assert.equal("export interface ANode {\n  children?: ANode[];\n}", typescript(input, "ANode"))
  end)

  it("share a definition of one name and text, and tell two of one name apart", function()
    local function with(kind)
      return { type = "object", properties = { x = { ["$ref"] = "#/$defs/Thing" } },
        ["$defs"] = { Thing = { type = "object", properties = { id = { type = kind } } } } }
    end
    local text = types_of({ { namespace = "a", name = "b", inputSchema = with("string"), handler = print },
      { namespace = "a", name = "c", inputSchema = with("string"), handler = print },
      { namespace = "a", name = "d", inputSchema = with("integer"), handler = print } }, "lua")
    assert.matches("@class a.c.input\n---@field x? a.Thing\n", text, 1, true)
    assert.matches("@class a.d.input\n---@field x? a.Thing_2\n", text, 1, true)
    assert.equal("---@class a.Thing_2\n---@field id? integer", declared.lua(text, "a%.Thing_2"))
  end)

  it("have the name of a definition that a result is, and share equal results", function()
    local todo = { type = "object", properties = { id = { type = "integer" }, state = T.enum({ "open", "closed" }) } }
    local held = { type = "object", properties = { owner = { type = "string" } } }
    local text = types_of({
      { namespace = "a", name = "get", outputSchema = todo, handler = print },
      { namespace = "a", name = "hold", outputSchema = held, handler = print },
      { namespace = "a", name = "list", handler = print, outputSchema = { type = "array",
        items = { ["$ref"] = "#/$defs/Task" }, ["$defs"] = { Task = todo } } },
      { namespace = "a", name = "release", outputSchema = held, handler = print } }, "lua")
    for name, class in pairs({ get = "a.Task", hold = "a.hold.output", list = "a.Task[]",
      release = "a.hold.output" }) do
      assert.matches(("\n---@field %s fun(input?: any): data: %s?, err: operations.Error?\n"):format(name, class), text,
        1, true)
    end
    assert.is_nil(text:find("a.get.output", 1, true))
    assert.is_nil(text:find("a.release.output", 1, true))
    assert.matches("\n---@alias a.Task.state ", text, 1, true)
  end)

  it("have the errors that operations declare, each once", function()
    local function errors(...)
      local list = {}
      for i, code in ipairs({ ... }) do
        list[i] = { code = code, description = "Went wrong", schema = T.object({ id = T.integer() }) }
      end
      return list
    end
    local definitions = {
      { namespace = "a", name = "get", handler = print, errorSchemas = errors("GONE", "TAKEN") },
      { namespace = "a", name = "set", handler = print, errorSchemas = errors("GONE") },
      { namespace = "a", name = "run", handler = print } }
    local text = types_of(definitions, "lua")
    assert.equal('---@class a.error.GONE: operations.Error\n---@field code "GONE"\n---@field details '
      .. "a.error.GONE.details", declared.lua(text, "a%.error%.GONE: operations.Error"))
    assert.equal("---@alias a.get.error a.error.GONE|a.error.TAKEN", declared.lua(text, "a%.get%.error"))
    for name, result in pairs({ get = "a.get.error|operations.Error?", set = "a.error.GONE|operations.Error?",
      run = "operations.Error?" }) do
      assert.matches(("\n---@field %s fun(input?: any): data: any?, err: %s\n"):format(name, result), text, 1, true)
    end
    text = types_of(definitions, "typescript")
    assert.equal('export interface AErrorGONE {\n  code: "GONE";\n  details: AErrorGONEDetails;\n}',
      declared.typescript(text, "AErrorGONE"))
    assert.matches('"a.set": {\n    type: "mutation";\n    input: unknown | undefined;\n    output: unknown;\n'
      .. "    error: AErrorGONE;\n", text, 1, true)
    assert.same({ ["$ref"] = "#/$defs/a.error.GONE" },
      json.decode(types_of(definitions, "json-schema")).operations["a.set"].error)
  end)

  it("have iterators that can be closed for subscriptions", function()
    local text = types_of({ { namespace = "a", name = "ticks", type = "subscription", handler = print,
      outputSchema = { type = "integer" } } }, "lua")
    assert.matches("\n---@class a.ticks.events: operations.Events\n---@overload fun(): data: integer?\n", text, 1, true)
    assert.matches("\n---@field ticks fun(input?: any): events: a.ticks.events?, err: operations.Error?\n", text, 1,
      true)
    assert.matches("\n---@class a.ticks.subscription: operations.Subscription\n---@overload fun(): envelope: { data: "
      .. "integer,", text, 1, true)
  end)

  it("join the parts of allOf", function()
    local input = { type = "object", ["$defs"] = { Base = { type = "object", required = { "id" }, properties = {
      id = { type = "integer" } } } }, allOf = { { ["$ref"] = "#/$defs/Base" },
      { properties = { name = { type = "string" } } } } }
    assert.equal("export interface ABInput {\n  id: number;\n  name?: string;\n}", typescript(input))
  end)

  it("mark what is deprecated", function()
    local input = { type = "object", properties = { old = { type = "string", deprecated = true } } }
    assert.equal("---@class a.b.input\n---@field old? string  deprecated", lua(input))
    assert.equal("export interface ABInput {\n  /** @deprecated */\n  old?: string;\n}", typescript(input))
  end)

  it("have the functions of a client, overloads by id and, in TypeScript, the operations by id", function()
    local text = of(task, "lua", { type = "array", items = { type = "string" } })
    assert.matches("\n---@field b fun(input: a.b.input): data: string[]?, err: operations.Error?  Does it\n", text, 1,
      true)
    assert.matches('\n---@overload fun(self: operations.Registry, id: "a.b", input: a.b.input, context?: operations.'
      .. "GivenContext): envelope: { data: string[], meta: ", text, 1, true)
    assert.matches('\n---@overload fun(registry: operations.Registry, namespace: "a", context?: operations.Given'
      .. "Context): a.client\nfunction operations.client(registry, namespace, context) end\n", text, 1, true)
    assert.matches('\n  /** Does it */\n  "a.b": {\n    type: "mutation";\n    input: ABInput;\n'
      .. "    output: string[];\n", of(task, "typescript", { type = "array", items = { type = "string" } }), 1, true)
  end)

  it("are Lua that compiles, JSON that decodes and a schema of every input", function()
    local definitions = { { namespace = "a", name = "b", inputSchema = task, handler = print } }
    assert((loadstring or load)(types_of(definitions, "lua"))) -- luacheck: ignore 113
    local document = assert(json.decode(types_of(definitions, "json-schema")))
    document["$ref"] = "#/$defs/a.b.input"
    local compiled = assert(operations.schema.compile(document))
    assert.is_true(compiled:check({ title = "x", count = 1 }))
    assert.is_false(compiled:check({ count = 1 }))
    assert.is_false(compiled:check({ title = 1 }))
  end)

  it("take no annotation and no end of a comment from a description", function()
    local input = { type = "object", description = "Says */\n\n@class string\n\nand more",
      properties = { ["a\n---@class b"] = { type = "string" } } }
    local text = of(input, "lua")
    assert.is_nil(text:find("\n%-+ ?@class string"))
    assert.is_nil(text:find("\n%-+@class b"))
    assert.matches("\n--- \\@class string\n", text, 1, true)
    text = of(input, "typescript")
    assert.matches("Says * /", text, 1, true)
    assert.matches('\n  "a\\n---@class b"?: string;\n', text, 1, true)
  end)

  it("are the same bytes each time", function()
    for _, format in ipairs({ "lua", "typescript", "json-schema" }) do
      assert.equal(of(task, format), of(task, format))
    end
  end)

  it("have no other format", function()
    local text, err = operations.types(operations.registry(), { format = "c" })
    assert.is_nil(text)
    assert.equal('VALIDATION_ERROR: format: expected lua, typescript or json-schema, got "c"', tostring(err))
  end)

  it("are what a program gets", function()
    local registry = operations.registry({ log = function() end })
    assert(registry:register_all(dofile("spec/types/suite/shop.lua")))
    operations.run(dofile("spec/types/suite/program.lua"), registry)
  end)

  it("state the same in Lua and in TypeScript, field by field", function()
    for _, definitions in ipairs({ dofile("spec/types/suite/shop.lua"),
      (assert(operations.from_openapi.file("examples/tasks.openapi.json"))) }) do
      local in_lua = facts.lua(types_of(definitions, "lua"))
      assert.is_true(#in_lua > 30)
      assert.same(facts.typescript(types_of(definitions, "typescript")), in_lua)
    end
  end)

  it("are read whole by the language server, whatever fields are called and said to be", function()
    local properties = { plain = { type = "string", description = "<a|b>, or what?" } }
    for _, name in ipairs({ "private", "public", "a b", "1st", "fun", "nil", "end", "\"quoted\"", "ümlaut", "a-b" }) do
      properties[name] = { anyOf = { { type = "array", items = { type = { "string", "null" } } }, { const = name },
        { enum = { 1, 2.5, false } } } }
    end
    local definitions = {
      { namespace = "a", name = "b", inputSchema = { type = "object", properties = properties }, handler = print,
        outputSchema = { type = "array", items = { type = { "string", "integer" } } },
        errorSchemas = { { code = "A B", description = "x", schema = { type = "object", properties = properties } } } },
      { namespace = "a", name = "c", type = "subscription", handler = print,
        outputSchema = { type = "array", items = { type = { "string", "integer" } } } } }
    local text = types_of(definitions, "lua")
    local read = luacats.read(text)
    assert.equal("", table.concat(read.problems, "\n"))
    assert.same({}, luacats.undefined(read, luacats.read(sources.read("doc/library/operations.lua"))))
    assert.same(facts.typescript(types_of(definitions, "typescript")), facts.lua(text))
  end)
end)

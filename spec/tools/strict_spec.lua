local convey = require("spec.tools.convey")
local core = require("operations.core")
local identical = require("spec.support.identical")
local json = require("operations.base.json")
local parameters = require("operations.tools.parameters")
local random_schema = require("spec.support.random_schema")
local schemas = require("operations.schema")

local formats = { "openai", "openai-responses", "anthropic", "gemini" }

local function read(text)
  return assert(json.decode(text))
end

local function strict(format, text)
  return parameters.of(read(text), format, true)
end

-- A schema with types everywhere, and a value that it accepts.
local typed = {}

local function any(pick, depth)
  local kinds = { "text", "count", "flag", "choice", "nothing", "object", "object", "list", "map", "union", "nullable",
    "open", "mixed", "ref" }
  return typed[kinds[depth > 0 and pick(#kinds) or pick(5)]](pick, depth - 1)
end

function typed.text(pick)
  return { type = "string", minLength = 1 }, ({ "a", "{}", "null", "\195\188" })[pick(4)]
end

function typed.count(pick)
  return { type = "integer", minimum = -5 }, pick(9) - 5
end

function typed.flag(pick)
  return { type = "boolean" }, pick(2) == 1
end

function typed.choice(pick)
  return { enum = { "a", "b", 3 } }, ({ "a", "b", 3 })[pick(3)]
end

function typed.nothing()
  return { type = "null" }, core.null
end

function typed.object(pick, depth)
  local schema, value = { type = "object", properties = {}, required = {} }, setmetatable({}, core.object_mt)
  for _, key in ipairs({ "a", "b", "c d", "value" }) do
    if pick(3) > 1 then
      local item
      schema.properties[key], item = any(pick, depth)
      local required = pick(2) == 1
      schema.required[#schema.required + 1] = required and key or nil
      value[key] = (required or pick(2) == 1) and item or nil
    end
  end
  schema.required = schema.required[1] and schema.required or nil
  if next(schema.properties) == nil then
    schema.properties.a = { type = "string" }
  end
  if pick(4) == 1 then
    schema.additionalProperties = { type = "integer" }
    value.z = pick(2) == 1 and 1 or nil
  end
  return schema, value
end

function typed.list(pick, depth)
  local items, item = any(pick, depth)
  local value = setmetatable({}, core.array_mt)
  for i = 1, pick(3) - 1 do
    value[i] = item
  end
  return { type = "array", items = items }, value
end

function typed.map(pick, depth)
  local schema, item = any(pick, depth)
  return { type = "object", additionalProperties = schema }, { x = item }
end

function typed.union(pick, depth)
  local one, value = any(pick, depth)
  local two, other = any(pick, depth)
  return { anyOf = { one, two } }, pick(2) == 1 and value or other
end

function typed.nullable(pick, depth)
  local schema, value = any(pick, depth)
  return { oneOf = { schema, { type = "null" } } }, pick(2) == 1 and value or core.null
end

function typed.open(pick)
  return true, random_schema.value(pick, 2)
end

function typed.mixed(pick)
  return { type = { "string", "integer", "null", "array" }, items = { type = "object", properties = {
    a = { type = "string" } } } }, ({ "x", 2, core.null, { { a = "b" } } })[pick(4)]
end

function typed.ref(pick)
  local function tree(depth)
    local value = { v = depth }
    if depth > 0 then
      value.left = tree(depth - 1)
    end
    return value
  end
  return { ["$ref"] = "#/$defs/tree" }, tree(pick(3) - 1)
end

local definitions = { tree = { type = "object", required = { "v" }, properties = { v = { type = "integer" },
  left = { ["$ref"] = "#/$defs/tree" }, note = { type = { "null", "string" } } } } }

-- Objects of OpenAPI 3.0, which we do not validate, are checked by the rules of the suite.
local function accepts(format, schema, arguments)
  return format == "gemini" or assert(schemas.compile(schema)):check(arguments)
end

describe("strict mode", function()
  it("is left again exactly as it was entered, 1,000 times", function()
    local pick, count = random_schema.generator(7), 0
    while count < 1000 do
      local schema, value = typed.object(pick, 3)
      schema["$defs"] = definitions
      local compiled = assert(schemas.compile(schema, { formats = true }))
      if compiled:check(value) then
        count = count + 1
        for _, format in ipairs(formats) do
          local made = parameters.of(schema, format, true)
          assert.is_true(made.strict)
          local arguments = convey.arguments(made, value, definitions)
          local context = json.encode({ schema, value, arguments, made.schema })
          assert(accepts(format, made.schema, arguments), context)
          -- As it comes from a model, through its text.
          local input, issues = parameters.input(made, read(assert(json.encode(arguments))))
          assert.same({}, issues)
          assert(identical(read(assert(json.encode(value))), input), context)
        end
      end
    end
  end)

  it("is left exactly by every value that a random schema's strict form accepts", function()
    local pick, count = random_schema.generator(3), 0
    while count < 300 do
      local schema = { type = "object", properties = { a = random_schema.schema(pick, 2),
        b = random_schema.schema(pick, 2) } }
      local compiled = schemas.compile(schema, { formats = true })
      local value = setmetatable({ a = random_schema.value(pick, 2), b = random_schema.value(pick, 2) }, core.object_mt)
      for _, format in ipairs(compiled and compiled:check(value) and { "openai", "anthropic" } or {}) do
        local made = parameters.of(schema, format, true)
        local arguments = convey.arguments(made, value, {})
        if accepts(format, made.schema, arguments) then
          count = count + 1
          assert.same(read(assert(json.encode(value))), (parameters.input(made, read(assert(json.encode(arguments))))))
        end
      end
    end
  end)

  it("of OpenAI requires all: what is optional may be null, and is left out then", function()
    local made = strict("openai", [[{"type": "object", "properties": {"a": {"type": "string"}}}]])
    assert.same({ type = "object", additionalProperties = false, required = { "a" },
      properties = { a = { type = { "null", "string" } } } }, made.schema)
    assert.same({}, (parameters.input(made, { a = core.null })))
    assert.equal("{}", json.encode((parameters.input(made, { a = core.null }))))
    assert.same({ a = "x" }, (parameters.input(made, { a = "x" })))
  end)

  it("of OpenAI puts what may be null and left out into an object, so nothing becomes null by accident", function()
    local made = strict("openai", [[{"type": "object", "properties": {"a": {"type": ["string", "null"]}}}]])
    assert.same({ anyOf = { { type = "object", additionalProperties = false, required = { "value" },
      properties = { value = { type = { "string", "null" } } } }, { type = "null" } }, description = "null: left out" },
      made.schema.properties.a)
    assert.same({}, (parameters.input(made, { a = core.null })))
    assert.same({ a = core.null }, (parameters.input(made, { a = { value = core.null } })))
    assert.same({ a = "x" }, (parameters.input(made, { a = { value = "x" } })))
    assert.same({ a = "x" }, (parameters.input(made, { a = "x" })))
  end)

  it("keeps a required null", function()
    local made = strict("openai", [[{"type": "object", "required": ["a"], "properties": {"a": {"type": "null"}}}]])
    assert.same({ a = core.null }, (parameters.input(made, { a = core.null })))
  end)

  it("says in descriptions what the subset cannot say", function()
    local text = [[{"type": "object", "required": ["a", "b", "c"], "properties": {
      "a": {"type": "string", "description": "A name.", "minLength": 1, "maxLength": 3, "pattern": "^x",
        "format": "uri-template"},
      "b": {"type": "integer", "minimum": 1, "exclusiveMaximum": 9, "default": 5},
      "c": {"type": "array", "items": {"type": "string"}, "minItems": 2, "uniqueItems": true}}}]]
    local openai = strict("openai", text).schema.properties
    assert.same({ type = "string", pattern = "^x",
      description = "A name. (at least 1 character; at most 3 characters; format uri-template)" }, openai.a)
    assert.same({ type = "integer", minimum = 1, exclusiveMaximum = 9, description = "(default 5)" }, openai.b)
    assert.same({ type = "array", items = { type = "string" }, minItems = 2, description = "(no item twice)" },
      openai.c)
    local anthropic = strict("anthropic", text).schema.properties
    assert.same({ type = "string", description = "A name. (at least 1 character; at most 3 characters; "
      .. "format uri-template; matches the pattern ^x)" }, anthropic.a)
    assert.same({ type = "integer", description = "(at least 1; below 9; default 5)" }, anthropic.b)
    assert.same({ type = "array", items = { type = "string" }, description = "(at least 2 items; no item twice)" },
      anthropic.c)
    local gemini = strict("gemini", text).schema.properties
    assert.same({ type = "INTEGER", minimum = 1, description = "(below 9; default 5)" }, gemini.b)
  end)

  it("sends as JSON text what it cannot describe", function()
    local made = strict("openai", [[{"type": "object", "required": ["a"], "properties": {"a": {
      "type": "object", "description": "Labels.", "additionalProperties": {"type": "string"}}}}]])
    assert.same({ type = "string", description = 'Labels. (JSON text of a value of this JSON Schema: '
      .. '{"additionalProperties":{"type":"string"},"type":"object"})' }, made.schema.properties.a)
    assert.same({ a = { x = "y" } }, (parameters.input(made, { a = '{"x":"y"}' })))
    assert.same({ a = { x = "y" } }, (parameters.input(made, { a = { x = "y" } })))
    local value, issues = parameters.input(made, { a = "x: y" })
    assert.same({ a = "x: y" }, value)
    assert.equal("/a", issues[1].path)
    assert.matches('^JSON text expected, such as "{\\"a\\": 1}": ', issues[1].message)
  end)

  it("keeps further members beside those that are declared", function()
    local made = strict("openai", [[{"type": "object", "properties": {"a": {"type": "string"}},
      "additionalProperties": {"type": "integer"}}]])
    assert.same({ "a", "additional_properties" }, made.schema.required)
    assert.same({ a = "x", n = 1 }, (parameters.input(made, { a = "x", additional_properties = '{"n":1,"a":"no"}' })))
    assert.same({}, (parameters.input(made, { a = core.null, additional_properties = core.null })))
  end)

  it("merges allOf, and gives up on parts that cannot be merged", function()
    local made = strict("openai", [[{"allOf": [{"$ref": "#/$defs/base"},
      {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]}],
      "$defs": {"base": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}}}]])
    assert.is_false(made.wrapped)
    assert.same({ a = { type = "string" }, b = { type = "integer" } }, made.schema.properties)
    made = strict("openai", [[{"type": "object", "required": ["x"], "properties": {"x": {"allOf": [
      {"type": "string"}, {"type": "integer"}]}}}]])
    assert.equal("string", made.schema.properties.x.type)
    assert.matches("JSON text", made.schema.properties.x.description)
  end)

  it("keeps recursion where the vendor has it", function()
    local text = [[{"type": "object", "required": ["t"], "properties": {"t": {"$ref": "#/$defs/n/1"}}, "$defs": {"n/1":
      {"type": "object", "required": ["v"], "properties": {
        "v": {"type": "integer"}, "next": {"$ref": "#/$defs/n~11"}}}}}]]
    text = text:gsub('"#/%$defs/n/1"', '"#/$defs/n~11"')
    local made = strict("openai", text)
    assert.same({ ["$ref"] = "#/$defs/n~11" }, made.schema.properties.t)
    assert.same({ anyOf = { { ["$ref"] = "#/$defs/n~11" }, { type = "null" } } },
      made.schema["$defs"]["n/1"].properties.next)
    local list = { t = { v = 1, next = { v = 2, next = core.null } } }
    assert.same({ t = { v = 1, next = { v = 2 } } }, (parameters.input(made, list)))
    for _, format in ipairs({ "anthropic", "gemini" }) do
      made = strict(format, text)
      assert.matches('"next":{"[^}]*JSON text', json.encode(made.schema, { sort_keys = true }))
      assert.same({ t = { v = 1, next = { v = 2 } } },
        (parameters.input(made, { t = { v = 1, next = '{"v":2}' } })))
    end
  end)

  it("wraps values other than objects", function()
    for _, format in ipairs(formats) do
      for _, is_strict in ipairs({ true, false }) do
        local made = parameters.of(read([[{"type": "array", "items": {"type": "string"}}]]), format, is_strict)
        assert.is_true(made.wrapped)
        assert.is_not_nil(made.schema.properties.input)
        assert.same({ "a" }, (parameters.input(made, { input = { "a" } })))
        assert.is_nil((parameters.input(made, {})))
      end
    end
  end)

  it("gives an operation without an input no properties", function()
    for _, input in ipairs({ true, {}, { type = "object" }, { ["$schema"] = "x" } }) do
      assert.same({ type = "object", properties = {}, required = {}, additionalProperties = false },
        parameters.of(input, "openai", true).schema)
      assert.same({ type = "object", properties = {} }, parameters.of(input, "anthropic", false).schema)
    end
  end)

  it("is left out where a schema is larger than it allows", function()
    local function with(count)
      local properties = {}
      for i = 1, count do
        properties["p" .. i] = { type = "string" }
      end
      return parameters.of({ type = "object", properties = properties }, "openai", true)
    end
    assert.is_true(with(5000).strict)
    assert.is_false(with(5001).strict)
    assert.equal("string", with(5001).schema.properties.p1.type)
    local values = {}
    for i = 1, 1001 do
      values[i] = "v" .. i
    end
    local large = { type = "object", properties = { a = { enum = values } } }
    assert.is_false(parameters.of(large, "openai", true).strict)
    assert.is_true(parameters.of(large, "anthropic", true).strict)
  end)

  it("ends at the levels that the vendor has", function()
    local schema = { type = "string" }
    for _ = 1, 70 do
      schema = { type = "object", required = { "a" }, properties = { a = schema } }
    end
    for format, levels in pairs({ openai = 10, anthropic = 64, gemini = 16 }) do
      local made, depth = parameters.of(schema, format, true).schema, 0
      while made.properties do
        made, depth = made.properties.a, depth + 1
      end
      assert.equal(levels, depth)
      assert.matches("JSON text", made.description)
    end
  end)

  it("renames properties that the vendor does not take", function()
    for _, is_strict in ipairs({ true, false }) do
      local made = parameters.of(read([[{"type": "object", "required": ["a[]"], "properties": {
        "a[]": {"type": "string"}, "p_a__": {"type": "string"}}}]]), "gemini", is_strict)
      local names = {}
      for name in pairs(made.schema.properties) do
        assert.matches("^[a-z_0-9]+$", name)
        names[#names + 1] = name
      end
      assert.equal(2, #names)
      assert.equal(1, #made.schema.required)
      assert.same({ ["a[]"] = "x" }, (parameters.input(made, { [made.schema.required[1]] = "x" })))
    end
  end)
end)

describe("without strict mode", function()
  it("schemas stay as they are but for their top", function()
    local text = [[{"type": "object", "properties": {"a": {"oneOf": [{"type": "string", "minLength": 1}, true]}},
      "anyOf": [{"required": ["a"]}], "$schema": "x", "$defs": {"d": {"type": "string"}}}]]
    local made = parameters.of(read(text), "openai", false)
    assert.same({ type = "object", properties = read(text).properties, ["$defs"] = read(text)["$defs"],
      description = '(anyOf: [{"required":["a"]}])' }, made.schema)
    assert.is_nil(made.plan)
  end)

  it("Gemini's references are written out, recursion becomes any value", function()
    local made = parameters.of(read([[{"type": "object", "properties": {
      "a": {"$ref": "#/$defs/n", "description": "own"}},
      "$defs": {"n": {"type": "object", "description": "node", "properties": {"next": {"$ref": "#/$defs/n"}}}}}]]),
      "gemini", false)
    assert.same({ type = "object", properties = { a = { type = "object", description = "own", properties = {
      next = { description = "node" } } } } }, made.schema)
  end)
end)

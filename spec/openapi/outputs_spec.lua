local operations = require("operations")
local support = require("spec.support.openapi")

local object, text, integer = { type = "object" }, { type = "string" }, { type = "integer" }

-- The API of one operation with these responses.
local function api(responses, doc, reply)
  return support.api(support.one({ responses = responses }, { doc = doc }), nil, reply)
end

local function content(types, description)
  return { description = description, content = types }
end

describe("the items of a stream are described by", function()
  -- The schema of an item, and the data of an event or a line whose text is 12.
  local function item(version, media, kind, schemas)
    local chunk = media == "text/event-stream" and "data: 12\n\n" or "12\n"
    local found = api({ ["200"] = content({ [media] = kind }) },
      { openapi = version, components = { schemas = schemas } },
      { status = 200, headers = { ["content-type"] = media }, chunks = { chunk } })
    local data
    found.definitions[1].handler({}, { defer = function() end, emit = function(envelope)
      data = envelope.data
    end })
    return { found.definitions[1].outputSchema, data }
  end

  local lines, events = "application/x-ndjson", "text/event-stream"
  local list = { type = "array", items = integer }
  local whole = { type = "array", items = { properties = {
    data = { type = "string", contentMediaType = "application/json", contentSchema = integer } } } }

  for _, case in ipairs({
    { "the items of an array that stands for the whole stream, since 3.2", "3.2.0", lines, { schema = list }, integer,
      12 },
    { "the schema before 3.2, an array too", "3.1.0", lines, { schema = list }, list, 12 },
    { "the items of an array that is referred to", "3.2.0", lines,
      { schema = { ["$ref"] = "#/components/schemas/list" } }, integer, 12 },
    { "a schema that is no array", "3.2.0", lines, { schema = integer }, integer, 12 },
    { "a schema that is true", "3.2.0", lines, { schema = true }, true, 12 },
    { "an array that is an item", "3.2.0", lines, { itemSchema = list }, list, 12 },
    { "itemSchema rather than schema", "3.2.0", lines, { itemSchema = integer, schema = list }, integer, 12 },
    { "x-itemSchema before 3.2", "3.1.0", lines, { ["x-itemSchema"] = integer, schema = text }, integer, 12 },
    { "nothing, where there is no schema", "3.1.0", lines, {}, true, 12 },
    { "nothing, where an array has no items", "3.2.0", lines, { schema = { type = "array" } }, true, 12 },
    { "the data of the items of an array of events", "3.2.0", events, { schema = whole }, integer, 12 },
    { "the schema of events before 3.2, an array too", "3.1.0", events, { schema = list }, list, 12 },
    { "a schema of events that has no type", "3.1.0", events, { schema = { description = "d" } },
      { description = "d" }, 12 },
    { "a string, where no schema of events is given", "3.1.0", events, {}, text, "12" },
    { "a string, where an event has no data", "3.2.0", events, { itemSchema = { properties = {} } }, text, "12" },
    { "a string, where an event has no properties", "3.2.0", events, { itemSchema = object }, text, "12" },
    { "anything in JSON, where that has no schema", "3.1.0", events,
      { schema = { type = "string", contentMediaType = "application/json" } }, true, 12 },
    { "a string with another media type", "3.1.0", events,
      { schema = { type = "string", contentMediaType = "text/csv", contentSchema = integer } },
      { type = "string", contentMediaType = "text/csv", contentSchema = integer }, "12" },
    { "anything, as text, where the schema is true", "3.1.0", events, { schema = true }, true, "12" },
    { "a line that holds a string with JSON", "3.1.0", lines,
      { schema = { type = "string", contentMediaType = "application/json", contentSchema = object } },
      { type = "string", contentMediaType = "application/json", contentSchema = object }, 12 },
  }) do
    it(case[1], function()
      assert.same({ case[5], case[6] }, item(case[2], case[3], case[4], { list = list }))
    end)
  end
end)

describe("an operation answers with", function()
  local json, events, csv = { ["application/json"] = { schema = integer } },
    { ["text/event-stream"] = { schema = object } }, { ["text/csv"] = {} }
  local both = { ["application/json"] = { schema = integer }, ["text/event-stream"] = { schema = object } }
  local with_csv = { ["text/csv"] = {}, ["text/event-stream"] = { schema = object } }

  -- The types of the definitions, with the field Accept that each sends, and what is reported.
  local function kinds(responses, doc)
    local found, list = api(responses, doc, { status = 204, headers = {} }), {}
    for i, definition in ipairs(found.definitions) do
      definition.handler({}, { defer = function() end })
      list[i] = definition.name .. " " .. definition.type .. " " .. found.requests[i].headers.Accept
    end
    for _, entry in ipairs(found.report) do
      list[#list + 1] = entry.pointer
    end
    return list
  end

  for _, case in ipairs({
    { "a value, where only an error is a stream", { ["200"] = content(json), ["400"] = content(events) },
      { "op query application/json" } },
    { "a stream, where a value is for an error", { ["200"] = content(events), ["400"] = content(json) },
      { "op subscription text/event-stream" } },
    { "a stream, whatever else than JSON the response may be", { ["200"] = content(with_csv) },
      { "op subscription text/event-stream" } },
    { "either, of two successful responses", { ["200"] = content(json), ["201"] = content(events) },
      { "op query application/json", "op_stream subscription text/event-stream" } },
    { "either, of the default response", { default = content(both) },
      { "op query application/json", "op_stream subscription text/event-stream" } },
    { "a stream, of a response that is referred to", { ["200"] = { ["$ref"] = "#/components/responses/Events" } },
      { "op subscription text/event-stream" } },
    { "a stream, of a response that is referred to twice", { ["200"] = { ["$ref"] = "#/components/responses/Again" } },
      { "op subscription text/event-stream" } },
    { "a value, of a response whose reference has no target", { ["200"] = { ["$ref"] = "#/components/responses/no" } },
      { "op query application/json, */*;q=0.8", "#/paths/~1op/get/responses/200" } },
    { "each type of JSON, and none of the others",
      { ["200"] = content({ ["application/json"] = {}, ["application/hal+json"] = {}, ["text/csv"] = {} }) },
      { "op query application/json, application/hal+json" } },
    { "a type once, of several responses", { ["200"] = content(csv), ["201"] = content(csv) },
      { "op query text/csv" } },
    { "a value, where a response is no object", { ["200"] = 7 }, { "op query application/json, */*;q=0.8" } },
  }) do
    it(case[1], function()
      assert.same(case[3], kinds(case[2], { components = { responses = {
        Events = content(events), Again = { ["$ref"] = "#/components/responses/Events" } } } }))
    end)
  end

  it("the schemas of several responses, with the schemas that they refer to", function()
    local ref = { ["$ref"] = "#/components/schemas/Node" }
    local node = { type = "object", properties = { next = ref } }
    local found = api({ ["200"] = content({ ["application/json"] = { schema = ref } }), ["201"] = content(json) },
      { components = { schemas = { Node = node } } })
    assert.same({
      anyOf = { { ["$ref"] = "#/$defs/Node" }, integer },
      ["$defs"] = { Node = { type = "object", properties = { next = { ["$ref"] = "#/$defs/Node" } } } },
    }, found.definitions[1].outputSchema)
  end)
end)

describe("the errors of an operation", function()
  local json = { ["application/json"] = { schema = text } }

  -- "code pattern description", and the type of the body where it is declared.
  local function errors(responses)
    local list = {}
    for i, entry in ipairs(api(responses).definitions[1].errorSchemas or {}) do
      local body = entry.schema.properties.body
      list[i] = ("%s %s %q %s"):format(entry.code, entry.pattern or "-", entry.description, body and body.type or "-")
    end
    return list
  end

  for _, case in ipairs({
    { "are those of client and server, by code and by range", { ["404"] = content(json, "gone"), ["4XX"] = {},
      ["5xx"] = content(json), ["200"] = {}, ["304"] = {}, ["101"] = {} },
      { 'HTTP_404 - "gone" string', 'HTTP_4XX ^HTTP_4[0-9]{2}$ "" -', 'HTTP_5XX ^HTTP_5[0-9]{2}$ "" string' } },
    { "are the default where another response is successful", { ["200"] = {}, default = content(json, "any") },
      { 'HTTP_DEFAULT ^HTTP_[0-9]{3}$ "any" string' } },
    { "are the default beside a success that is not the first response", { ["101"] = {}, ["2XX"] = {}, default = {} },
      { 'HTTP_DEFAULT ^HTTP_[0-9]{3}$ "" -' } },
    { "have no default where that is the success", { default = content(json), ["404"] = {} }, { 'HTTP_404 - "" -' } },
    { "have a body where its first type is JSON",
      { ["400"] = content({ ["text/plain"] = { schema = text }, ["application/json"] = { schema = object } }),
        ["401"] = content({ ["text/plain"] = { schema = text } }), ["403"] = content({ ["application/json"] = {} }) },
      { 'HTTP_400 - "" object', 'HTTP_401 - "" -', 'HTTP_403 - "" -' } },
    { "have no description that is no text", { ["400"] = content(nil, 7) }, { 'HTTP_400 - "" -' } },
    { "are none where no response is one", { ["200"] = {}, ["099"] = {}, ["600"] = {}, ["4000"] = {}, ["x400"] = {} },
      {} },
  }) do
    it(case[1], function()
      assert.same(case[3], errors(case[2]))
    end)
  end

  it("share the schema of their details where they share that of the body", function()
    local shared = content({ ["application/json"] = { schema = { ["$ref"] = "#/components/schemas/E" } } })
    local list = api({ ["400"] = shared, ["404"] = shared }, { components = { schemas = { E = object } } })
      .definitions[1].errorSchemas
    assert.equal(list[1].schema, list[2].schema)
    assert.same({ type = "object", required = { "statusCode" },
      properties = { statusCode = integer, headers = object, body = { ["$ref"] = "#/$defs/E" } },
      ["$defs"] = { E = object } }, list[1].schema)
  end)

  it("are given as JSON without a content type where the document declares nothing else for the status", function()
    local function body(types)
      local found = api({ ["400"] = content(types) }, nil, { status = 400, headers = {}, body = "12" })
      return select(2, found.definitions[1].handler({}, {})).details.body
    end
    assert.equal(12, body({ ["application/json"] = {} }))
    assert.equal(12, body({ ["application/json"] = {}, ["application/problem+json"] = {} }))
    assert.equal("12", body({ ["application/json"] = {}, ["text/plain"] = {} }))
    assert.equal("12", body({ ["application/a+json"] = {}, ["image/png"] = {}, ["text/json"] = {} }))
    assert.is_true(operations.is_error(select(2, api({}, nil, { status = 400, headers = {} })
      .definitions[1].handler({}, {}))))
  end)
end)

local json = require("operations.base.json")
local operations = require("operations")
local property_order = require("operations.base.property_order")
local transform = require("operations.registry.transform")

local function decode(text)
  return assert(json.decode(text, { property_order = true }))
end

describe("operations.transform", function()
  local got

  -- A definition that keeps its input.
  local function definition(fields)
    local made = { namespace = "github", name = "create", type = "mutation", handler = function(input)
      got = input
      return { id = 1, user = { login = "ada", id = 7 },
        labels = operations.array({ { name = "bug", color = "f00" } }) }
    end, inputSchema = decode([==[{ "type": "object", "required": ["owner", "body"], "properties": {
      "owner": { "type": "string" }, "repo": { "type": "string" }, "limit": { "type": "integer", "maximum": 9 },
      "body": { "$ref": "#/$defs/body" } }, "additionalProperties": false, "$defs": { "body": { "type": "object",
      "required": ["title"], "properties": { "title": { "type": "string" }, "text": { "type": "string" } } } } }]==]),
      outputSchema = decode([==[{ "type": "object", "properties": { "id": { "type": "integer" }, "user": {
      "type": "object", "properties": { "login": { "type": "string" }, "id": {} } }, "labels": { "type": "array",
      "items": { "type": "object", "properties": { "name": { "type": "string" }, "color": {} } } } } }]==]) }
    for name, value in pairs(fields or {}) do
      made[name] = value
    end
    return made
  end

  -- Calls the transformed operation.
  local function call(change, input, fields)
    local list = assert(transform.new({ definition(fields) }, { ["github.create"] = change }))
    local registry = operations.registry({ log = function() end })
    local id = assert(registry:register(list[1]))
    local envelope, err = registry:execute(id, input)
    return envelope and envelope.data or err, list[1]
  end

  local function flaw_of(change)
    local list, err = transform.new({ definition() }, { ["github.create"] = change })
    assert.is_nil(list)
    return err.message
  end

  it("gives another name, title, description and tags, and leaves the given definition as it was", function()
    local before = definition()
    local list = assert(transform.new({ before }, { ["github.create"] = { name = "new_issue", namespace = "tracker",
      title = "New issue", description = "Opens one", tags = { "a" }, pinned = true } }))
    local made = list[1]
    assert.same({ "tracker", "new_issue", "New issue", "Opens one", { "a" } },
      { made.namespace, made.name, made.title, made.description, made.tags })
    assert.same({ pinned = true, transforms = "github.create" }, made._meta)
    assert.same({ "create" }, { before.name, before.title, before._meta })
  end)

  it("fixes fields: callers neither see nor send them", function()
    local change = { fix = { owner = "acme", ["body.text"] = "none" } }
    local _, made = call(change, { body = { title = "x" } })
    assert.same({ owner = "acme", body = { title = "x", text = "none" } }, got)
    assert.is_nil(made.inputSchema.properties.owner)
    assert.same({ "body" }, made.inputSchema.required)
    local err = call(change, { body = { title = "x" }, owner = "other" })
    assert.equal("VALIDATION_ERROR", err.code)
    got = nil
    call(change, { body = { title = "x", text = "mine" } })
    assert.equal("none", got.body.text)
  end)

  it("hides optional fields, also where a caller sends them", function()
    local _, made = call({ hide = { "repo", "body.text" } }, { owner = "a", body = { title = "x", text = "secret" } })
    assert.same({ owner = "a", body = { title = "x" } }, got)
    assert.is_nil(made.inputSchema.properties.repo)
    assert.is_nil(made.inputSchema.properties.body.properties.text)
    assert.equal("transform: /github.create/hide/owner: the field is required: fix it, or give it a default",
      flaw_of({ hide = { "owner" } }))
  end)

  it("renames fields at each depth, in their places", function()
    local change = { rename = { body = "issue", ["body.title"] = "headline", owner = "org" } }
    local _, made = call(change, { org = "acme", issue = { headline = "x", text = "t" } })
    assert.same({ owner = "acme", body = { title = "x", text = "t" } }, got)
    assert.same({ "org", "repo", "limit", "issue" }, property_order.names(made.inputSchema.properties))
    assert.same({ "org", "issue" }, made.inputSchema.required)
    assert.equal("VALIDATION_ERROR", call(change, { owner = "acme", issue = { headline = "x" } }).code)
  end)

  it("renames in circles of names that get free", function()
    call({ rename = { repo = "name", limit = "repo" } }, { owner = "o", body = { title = "x" }, name = "r", repo = 3 })
    assert.same({ owner = "o", body = { title = "x" }, repo = "r", limit = 3 }, got)
  end)

  it("sends a default where the caller gives none", function()
    local change = { default = { owner = "acme", limit = 3 } }
    local _, made = call(change, { body = { title = "x" } })
    assert.same({ owner = "acme", limit = 3, body = { title = "x" } }, got)
    assert.equal("acme", made.inputSchema.properties.owner.default)
    call(change, { owner = "me", body = { title = "x" } }, { fill = "none" })
    assert.same({ "me", 3 }, { got.owner, got.limit })
  end)

  it("describes fields", function()
    local _, made = call({ describe = { owner = "Who", ["body.title"] = "What" } }, {})
    assert.equal("Who", made.inputSchema.properties.owner.description)
    assert.equal("What", made.inputSchema.properties.body.properties.title.description)
  end)

  it("selects a part of the result, and of its schema", function()
    local input = { owner = "o", body = { title = "x" } }
    local data, made = call({ select = "id,user.login,labels[].name" }, input)
    local names = {}
    for name in pairs(data) do
      names[#names + 1] = name
    end
    assert.equal(3, #names)
    assert.equal(1, data.id)
    assert.equal("object", made.outputSchema.type)
    data, made = call({ select = "labels[].{name}" }, input)
    assert.equal('[{"name":"bug"}]', json.encode(data))
    assert.same({ type = "array", items = { type = "object", properties = { name = { type = "string" } } } },
      made.outputSchema)
    assert.equal(json.null, (call({ select = "nothing" }, input)))
  end)

  it("selects in answers of APIs and tools, and keeps their other members", function()
    local input = { owner = "o", body = { title = "x" } }
    local function answered(envelope)
      local list = assert(transform.new({ definition({ outputSchema = true, handler = function()
        return envelope
      end }) }, { ["github.create"] = { select = "id" } }))
      local registry = operations.registry()
      return assert(registry:execute(assert(registry:register(list[1])), input))
    end
    local http = answered(operations.http_envelope({ id = 3 }, { statusCode = 201, headers = { etag = "a" } }))
    assert.same({ 3, 201, "a" }, { http.data, http.meta.statusCode, http.meta.headers.etag })
    local blocks = operations.array({ { type = "text", text = "all" } })
    local mcp = answered(operations.mcp_envelope({ id = 3 }, { isError = false, content = blocks,
      structuredContent = { id = 3 } }))
    assert.same({ 3, 3, "3" }, { mcp.data, mcp.meta.structuredContent, mcp.meta.content[1].text })
    local failed = answered(operations.mcp_envelope("no", { isError = true, content = blocks }))
    assert.same({ "no", true, "all" }, { failed.data, failed.meta.isError, failed.meta.content[1].text })
  end)

  it("refuses misspelt operations, fields and changes with a suggestion, all at once", function()
    local _, err = transform.new({ definition() }, { ["github.craete"] = { name = "x" },
      ["github.create"] = { hide = { "repoo" }, describe = { ["body.titel"] = "x" } } })
    local told = {}
    for i, issue in ipairs(err.details) do
      told[i] = issue.path .. ": " .. issue.message
    end
    assert.same({ "/github.create/describe/body.titel: no such field (did you mean title?)",
      "/github.create/hide/repoo: no such field (did you mean repo?)",
      "/github.craete: no such operation (did you mean github.create?)" }, told)
    assert.equal("transform: /github.create/discription: unknown (did you mean description?)",
      flaw_of({ discription = "x" }))
    assert.equal("transform: /github.create/hide: table expected, got string", flaw_of({ hide = "owner" }))
    assert.equal("transform: /github.create/rename/owner: there is already a field repo",
      flaw_of({ rename = { owner = "repo" } }))
    assert.truthy(flaw_of({ select = "a[" }):find("^transform: /github.create/select: "))
    assert.truthy(flaw_of({ fix = { limit = 10 } }):find("^transform: /github.create/fix/limit: "))
  end)

  it("works on schemas that are made on first use", function()
    local schema = definition().inputSchema
    call({ fix = { owner = "acme" } }, { body = { title = "x" } }, { inputSchema = function()
      return schema
    end })
    assert.equal("acme", got.owner)
  end)

  it("never changes what the caller gave", function()
    local input = { issue = { headline = "x" }, org = "o" }
    call({ rename = { body = "issue", ["body.title"] = "headline", owner = "org" },
      fix = { ["body.text"] = "t" } }, input)
    assert.same({ issue = { headline = "x" }, org = "o" }, input)
  end)
end)

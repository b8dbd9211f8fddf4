local core = require("operations.core")
local json = require("operations.base.json")
local operations = require("operations")
local search = require("operations.offer.search")
local tools = require("operations.mcp.server.tools")

local function of(more, modern)
  local spec = { type = "mutation", inputSchema = true, outputSchema = true }
  for key, value in pairs(more) do
    spec[key] = value
  end
  return tools.definition(spec, "t", modern or false)
end

describe("the definition of a tool", function()
  it("has an input schema that is of an object", function()
    for schema, expected in pairs({ ["true"] = '{"properties":{},"type":"object"}',
      ["{}"] = '{"properties":{},"type":"object"}', ['{"type":"object","required":["a"]}'] =
      '{"properties":{},"required":["a"],"type":"object"}', ['{"anyOf":[true]}'] =
      '{"anyOf":[true],"properties":{},"type":"object"}', ['{"type":["object","null"]}'] =
      '{"properties":{},"type":"object"}' }) do
      assert.equal(expected, json.encode(of({ inputSchema = json.decode(schema) }).inputSchema, { sort_keys = true }))
    end
  end)

  it("has an output schema, for legacy clients one of an object", function()
    local object, list = { type = "object" }, { type = "array" }
    assert.equal(object, of({ outputSchema = object }).outputSchema)
    assert.is_nil(of({ outputSchema = list }).outputSchema)
    assert.equal(list, of({ outputSchema = list }, true).outputSchema)
    assert.is_nil(of({ outputSchema = {} }, true).outputSchema)
    assert.is_nil(of({ outputSchema = { type = "string", contentMediaType = "image/png" } }, true).outputSchema)
    local text = { type = "string", contentMediaType = "text/csv" }
    assert.equal(text, of({ outputSchema = text }, true).outputSchema)
    assert.is_nil(of({ outputSchema = true }, true).outputSchema)
  end)

  it("has hints of what it does", function()
    assert.same({ readOnlyHint = true }, of({ type = "query" }).annotations)
    assert.same({ readOnlyHint = true, openWorldHint = false },
      of({ type = "query", _meta = { annotations = { openWorldHint = false } } }).annotations)
    assert.same({ readOnlyHint = false }, of({}).annotations)
    assert.same({ readOnlyHint = false, destructiveHint = false, idempotentHint = true },
      of({ _meta = { destructive = false, idempotent = true } }).annotations)
    assert.same({ readOnlyHint = false, destructiveHint = true, title = "x" },
      of({ _meta = { destructive = true, idempotent = "x", annotations = { title = "x" } } }).annotations)
    assert.same({ readOnlyHint = false }, of({ _meta = 7 }).annotations)
    assert.same({ readOnlyHint = false }, of({ _meta = { annotations = 7 } }).annotations)
  end)

  it("has a title, a description and icons", function()
    local icons = setmetatable({ { src = "a" } }, core.array_mt)
    local made = of({ title = "T", description = "D", _meta = { icons = icons } })
    assert.same({ "t", "T", "D", icons }, { made.name, made.title, made.description, made.icons })
    assert.equal("M", of({ title = "T", _meta = { title = "M" } }).title)
    assert.equal("T", of({ title = "T", _meta = { title = 7 } }).title)
    assert.is_nil(of({ _meta = { icons = setmetatable({}, core.array_mt) } }).icons)
    assert.is_nil(of({ _meta = { icons = { a = 1 } } }).icons)
    assert.is_nil(of({ _meta = { _meta = { m = 1 }, unknown = { u = 1 } } })._meta)
    assert.is_nil(of({ _meta = { _meta = { m = 1 }, unknown = { u = 1 } } }).u)
  end)

  it("of another server has the fields of that server, and no others", function()
    local made = of({ type = "query", title = "T", _meta = { source = "mcp", tool = "t", _meta = { m = 1 },
      unknown = { u = 1, name = "no" } } })
    assert.same({ "t", { m = 1 }, 1 }, { made.name, made._meta, made.u })
    assert.is_nil(made.title)
    assert.is_nil(made.annotations)
    assert.same({ readOnlyHint = true }, of({ _meta = { source = "mcp", tool = "t",
      annotations = { readOnlyHint = true } } }).annotations)
    assert.equal("M", of({ title = "T", _meta = { source = "mcp", tool = "t", title = "M" } }).title)
    assert.same({ readOnlyHint = false }, of({ _meta = { source = "mcp" } }).annotations)
    assert.same({ readOnlyHint = false }, of({ _meta = { source = "openapi", tool = "t" } }).annotations)
  end)
end)

describe("a list of ten thousand tools", function()
  -- A registry whose schemas are made when they are needed, and how many were.
  local function many()
    local registry, made, list = operations.registry(), { count = 0 }, {}
    for i = 1, 10000 do
      list[i] = { namespace = "many", name = "tool" .. i, type = "query", description = "Number " .. i,
        inputSchema = function()
          made.count = made.count + 1
          return { type = "object", properties = { n = { type = "integer" } } }
        end, handler = function() return i end }
    end
    assert(registry:register_all(list))
    return registry, made
  end

  it("is made page by page, and searched without a schema", function()
    local registry, made = many()
    local server = { registry = registry, options = { search = false }, relayed = {} }
    local function page(cursor)
      return assert(tools.methods["tools/list"].run({ server = server, method = "tools/list", modern = true,
        params = { cursor = cursor } }))
    end
    local first = page()
    assert.same({ 1000, "1001", 1000 }, { #first.tools, first.nextCursor, made.count })
    assert.equal("integer", first.tools[1].inputSchema.properties.n.type)
    local last = page("9001")
    assert.same({ 1000, 2000, "many_tool10000" }, { #last.tools, made.count, last.tools[1000].name })
    assert.is_nil(last.nextCursor)
    local found = search.new(registry):find("number 4711")
    assert.same({ "many.tool4711", 2000 }, { found[1].id, made.count })
  end)
end)

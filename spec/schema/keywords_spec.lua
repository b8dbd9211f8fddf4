local core = require("operations.core")
local keywords = require("operations.schema.keywords")
local metaschemas = require("operations.schema.metaschemas")
local sources = require("spec.support.sources")

local function is_modern(row)
  return row.vocabulary and row.vocabulary ~= "openapi"
end

-- A value of each shape, and one of another.
local examples = {
  boolean = { true, "x" }, count = { 1, -1 }, list = { { 1 }, "x" }, map = { { a = true }, { a = 1 } },
  name_map = { { a = { "b" } }, { a = 1 } }, names = { { "a" }, { 1 } }, number = { -1.5, "x" }, pattern = { "a", "(" },
  pattern_map = { { a = true }, { a = 1 } }, positive = { 0.5, 0 }, schema = { { type = "string" }, 1 },
  schemas = { { true }, { 1 } }, string = { "format", 1 }, type = { "string", "text" },
}

describe("the keywords of schemas", function()
  it("have one row each, that the vocabularies of 2020-12 contain", function()
    local seen = {}
    for _, row in ipairs(keywords) do
      assert.is_nil(seen[row.name], row.name)
      seen[row.name] = true
      if is_modern(row) then
        local found = false
        for _, part in ipairs({ row.vocabulary, "format-annotation" }) do
          local vocabulary = metaschemas.find("https://json-schema.org/draft/2020-12/meta/" .. part)
          found = found or vocabulary and vocabulary.properties[row.name] ~= nil
        end
        assert.is_true(found, row.name)
      end
    end
    for _, part in ipairs({ "applicator", "unevaluated", "validation", "meta-data", "content" }) do
      for name in pairs(metaschemas.find("https://json-schema.org/draft/2020-12/meta/" .. part).properties) do
        assert.is_true(seen[name], name)
      end
    end
  end)

  it("take values of their shape, and no others, in the core", function()
    for _, row in ipairs(keywords) do
      local example = examples[row.shape]
      if keywords.is_checked(row) and example then
        assert.is_truthy(core.schema_compile({ [row.name] = example[1] }), row.name)
        assert.is_nil((core.schema_compile({ [row.name] = example[2] })), row.name)
      end
    end
  end)

  it("that documents of OpenAPI 3.0 and Swagger 2.0 may have are known in these dialects by the core", function()
    local text, since = sources.read("src/schema/program/keyword.h"), {}
    for name, drafts in text:gsub("[\\\n]", " "):gmatch('ROW%([%w_]+,%s+"([^"]+)",%s+([^,]+),') do
      since[name] = drafts
    end
    for _, row in ipairs(keywords) do
      if row.version30 and keywords.is_checked(row) then
        local drafts = assert(since[row.name], row.name)
        assert.is_true(drafts:find("ALL", 1, true) ~= nil or drafts:find("DRAFT_OPENAPI", 1, true) ~= nil, row.name)
        assert.is_true(not row.parameter20 or drafts:find("ALL", 1, true) ~= nil, row.name)
      end
    end
  end)

  it("have upper bounds that exist and count the same", function()
    for _, row in ipairs(keywords) do
      local upper = row.upper and keywords.where(function(other)
        return other.name == row.upper and other
      end)[row.upper]
      assert.equal(row.upper and row.unit, upper and upper.unit)
      assert.equal(row.upper ~= nil, upper ~= nil)
    end
  end)
end)

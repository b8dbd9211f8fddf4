local json = require("operations.base.json")
local schema = require("operations.schema")
local sources = require("spec.support.sources")

local function array(list)
  return setmetatable(list, json.array_mt)
end

-- Draft 4 is left out: booleans are schemas in it here, as in the later ones.
local drafts = {
  ["2020-12"] = "https://json-schema.org/draft/2020-12/schema",
  ["2019-09"] = "https://json-schema.org/draft/2019-09/schema",
  ["7"] = "http://json-schema.org/draft-07/schema#",
  ["6"] = "http://json-schema.org/draft-06/schema#",
}

-- Texts of these are looked up, or have a form of their own.
local names = { ["$ref"] = true, ["$dynamicRef"] = true, ["$recursiveRef"] = true, ["$schema"] = true, ["$id"] = true,
  id = true, ["$anchor"] = true, ["$dynamicAnchor"] = true, ["$vocabulary"] = true }

-- No empty arrays and none with equal items: where a metaschema forbids them, a schema with them still has a meaning.
local values = {
  json.null, true, false, 0, 1, 2, -1, 0.5, -0.5, 1e300, "string", "integer", "x", array({ 1 }), array({ "a" }),
  array({ "a", "b" }), array({ true }), array({ false, true }), array({ { minLength = 1 } }),
  array({ { minLength = "1" } }),
  array({ array({ 1 }) }), array({ "string", "null" }), array({ "string", "text" }), array({ "string", 1 }),
  array({ json.null }), { a = 1 }, { a = true }, { a = "b" }, { a = array({ "b" }) }, { a = array({ 1 }) },
  { a = array({ "b", 1 }) }, { a = { minimum = 1 } }, { a = { minimum = "1" } }, { a = json.null }, { minimum = true },
  { type = "x" }, { a = { b = { type = "x" } } }, { a = true, b = 1 },
}

describe("the value of a keyword", function()
  local keywords = {}
  for name in sources.read("src/schema/program/keyword.h"):gmatch('ROW%(KEYWORD_[%u%d_]+, "([%$%a]+)"') do
    keywords[#keywords + 1] = name
  end

  for draft, uri in pairs(drafts) do
    it("is refused when the metaschema of draft " .. draft .. " does, and only then", function()
      local meta = assert(schema.compile({ ["$ref"] = uri }, { draft = draft }))
      assert.is_true(#keywords > 50)
      for _, keyword in ipairs(keywords) do
        for _, value in ipairs(values) do
          if not (names[keyword] and type(value) == "string") then
            local definition = { [keyword] = value }
            local compiled, err = schema.compile(definition, { draft = draft })
            local told = draft .. " " .. json.encode(definition)
            assert.equal((meta:check(definition)), compiled ~= nil, told)
            if err then
              assert.equal("/" .. keyword, err.details[1].path:sub(1, #keyword + 1), told)
            end
          end
        end
      end
    end)
  end

  it("of required may be an empty list, but not in draft 4", function()
    for uri, takes in pairs({ ["http://json-schema.org/draft-04/schema#"] = false, [drafts["6"]] = true }) do
      local meta = assert(schema.compile({ ["$ref"] = uri }))
      assert.equal(takes, (meta:check({ required = array({}) })), uri)
      assert.is_true((meta:check({ required = array({ "a" }) })))
      assert.is_false((meta:check({ required = array({ 1 }) })))
    end
  end)
end)

local flawed_schema = require("operations.mcp.client.flawed_schema")
local json = require("operations.base.json")
local schema = require("operations.schema")

-- The schema that is checked, and what is told of the rest.
local function usable(text)
  return flawed_schema.usable(json.decode(text))
end

describe("a schema with flawed keywords", function()
  it("is itself without any", function()
    local given = json.decode('{"type":"object"}')
    assert.equal(given, (flawed_schema.usable(given)))
  end)

  for name, case in pairs({
    ["a boolean required"] = { '{"type":"string","required":true}', "/required", '"x"', "1" },
    ["a type of its own"] = { '{"type":"any","minimum":3}', "/type", '"x"', "1" },
    ["a pattern with flags"] = { '{"type":"string","pattern":"(?i)x"}', "/pattern", '"y"', "1" },
    ["a tuple of draft 7"] = { '{"type":"array","items":[{"type":"string"}],"additionalItems":false}', "/items",
      "[1,2]", "1" },
    ["a reference to nothing"] = { '{"type":"object","$ref":"#/definitions/none"}', "/$ref", "{}", "1" },
    ["a boolean limit"] = { '{"minimum":3,"exclusiveMinimum":true}', "/exclusiveMinimum", "3", "2" },
    ["a flaw below a negation"] = { '{"type":"string","not":{"type":"any"}}', "/not/type", '"x"', "1" },
    ["a flaw in one of several"] = { '{"type":"integer","oneOf":[{"type":"any"},{"type":"integer"}]}', "/oneOf/0/type",
      "1", '"x"' },
    ["a pattern of names"] = { '{"type":"object","patternProperties":{"(?i)x":{}},"additionalProperties":false}',
      "/patternProperties", '{"X":1}', "1" },
    ["a property that is no schema"] = {
      '{"properties":{"not":7,"b":{"type":"string"}},"additionalProperties":false}', "/properties/not", '{"not":1}',
      '{"b":1}' },
  }) do
    it("is checked but for " .. name, function()
      local whole, flaws = usable(case[1])
      assert.matches(case[2], flaws, 1, true)
      local compiled = assert(schema.compile(whole))
      assert.is_true((compiled:check(json.decode(case[3]))))
      assert.is_false((compiled:check(json.decode(case[4])) == true))
    end)
  end

  it("has each flaw named", function()
    local _, flaws = usable('{"properties":{"a":{"type":"any"},"b":{"required":true}}}')
    assert.matches("/properties/a/type: ", flaws, 1, true)
    assert.matches("/properties/b/required: ", flaws, 1, true)
  end)
end)

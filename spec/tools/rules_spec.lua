local json = require("operations.base.json")
local rules = require("spec.tools.rules")

local object = '{"type":"object","properties":{%s},"required":[%s],"additionalProperties":false}'

local function of(property)
  return object:format('"a":' .. property, '"a"')
end

local function deep(levels)
  local text = '{"type":"string"}'
  for _ = 1, levels do
    text = of(text)
  end
  return text
end

local function many(count, format, separator)
  local list = {}
  for i = 1, count do
    list[i] = format:format(i)
  end
  return table.concat(list, separator)
end

-- What the rules refuse, and the words in which.
local bad = {
  openai = {
    { '{"type":"string"}', "no object" }, { '{"type":"object"}', "no object" },
    { '{"type":"object","properties":{}}', "additionalProperties" },
    { '{"type":"object","properties":{},"additionalProperties":true}', "additionalProperties" },
    { object:format('"a":{"type":"string"}', ""), "not required: a" },
    { object:format("", '"b"'), "requires what it does not have: b" },
    { '{"type":"object","properties":{},"additionalProperties":false,"anyOf":[{"type":"object"}]}', "at the top" },
    { of('{}'), "no type" }, { of("true"), "no object" }, { of('{"type":"date"}'), "unknown type" },
    { of('{"type":["string","void"]}'), "unknown type" }, { of('{"type":"array"}'), "array without items" },
    { of('{"type":"array","items":{}}'), "no type" }, { of('{"type":"string","format":"uri"}'), "format uri" },
    { of('{"type":"string","default":"x"}'), "keyword default" },
    { of('{"type":"string","minLength":1}'), "keyword minLength" },
    { of('{"type":"array","items":{"type":"string"},"uniqueItems":true}'), "keyword uniqueItems" },
    { of('{"allOf":[{"type":"string"}]}'), "keyword allOf" }, { of('{"oneOf":[{"type":"string"}]}'), "keyword oneOf" },
    { of('{"type":"string","not":{"const":"x"}}'), "keyword not" },
    { of('{"type":"object","patternProperties":{},"additionalProperties":false}'), "keyword patternProperties" },
    { of('{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}'), "additionalProperties" },
    { of('{"anyOf":[{"type":"object","properties":{}}]}'), "additionalProperties" },
    { of('{"$ref":"#/$defs/x"}'), "leads nowhere" }, { of('{"$ref":"#/properties/a"}'), "leads nowhere" },
    { '{"type":"object","properties":{"a":{"$ref":"#/$defs/x","description":"d"}},"required":["a"],'
      .. '"additionalProperties":false,"$defs":{"x":{"type":"string"}}}', "siblings" },
    { of('{"type":"string","enum":[{}]}'), "enum of objects" }, { deep(11), "more than 10 levels" },
    { object:format(many(5001, '"p%d":{"type":"string"}', ","), many(5001, '"p%d"', ",")), "too large" },
    { of('{"type":"string","enum":[' .. many(1001, '"v%d"', ",") .. "]}"), "too large" },
    { of('{"type":"string","enum":["' .. ("x"):rep(120000) .. '"]}'), "too large" },
  },
  anthropic = {
    { '{"type":"array","items":{"type":"string"}}', "no object" },
    { '{"type":"object","properties":{}}', "additionalProperties" }, { of('{}'), "no type" },
    { of('{"type":["string","null"]}'), "a list of types" },
    { of('{"type":"string","pattern":"x"}'), "keyword pattern" },
    { of('{"type":"integer","minimum":1}'), "keyword minimum" },
    { of('{"type":"array","items":{"type":"string"},"minItems":2}'), "minItems" },
    { of('{"type":"string","format":"uri-template"}'), "format uri" },
    { of('{"oneOf":[{"type":"string"}]}'), "keyword oneOf" }, { of('{"type":"object","properties":{}}'), "additional" },
    { object:format('"a b":{"type":"string"}', ""), "name of a property" },
    { of('{"$ref":"#/$defs/x"}'), "leads nowhere" },
    { '{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"additionalProperties":false,"$defs":{"x":'
      .. '{"type":"array","items":{"$ref":"#/$defs/x"}}}}', "recursion" },
  },
  gemini = {
    { '{"type":"OBJECT","properties":{}}', "without properties" },
    { '{"type":"OBJECT","properties":{"a":{"type":"string"}}}', "unknown type" },
    { '{"type":"OBJECT","properties":{"a":{"type":["STRING"]}}}', "unknown type" },
    { '{"type":"OBJECT","properties":{"a":{}}}', "no type" },
    { '{"type":"OBJECT","properties":{"a":{"type":"STRING"}},"additionalProperties":false}', "additionalProperties" },
    { '{"type":"OBJECT","properties":{"a":{"type":"STRING","const":"x"}}}', "keyword const" },
    { '{"type":"OBJECT","properties":{"a":{"$ref":"#/$defs/x"}}}', "keyword $ref" },
    { '{"type":"OBJECT","properties":{"a":{"type":"INTEGER","enum":[1]}}}', "enum" },
    { '{"type":"OBJECT","properties":{"a":{"type":"STRING","enum":[1]}}}', "enum" },
    { '{"type":"OBJECT","properties":{"a":{"type":"INTEGER","exclusiveMinimum":1}}}', "exclusiveMinimum" },
    { '{"type":"OBJECT","properties":{"a":{"type":"ARRAY"}}}', "array without items" },
    { '{"type":"OBJECT","properties":{"a":{"anyOf":[{"type":"STRING"}],"description":"d"}}}', "anyOf has siblings" },
    { '{"type":"OBJECT","properties":{"a[]":{"type":"STRING"}}}', "name of a property" },
    { '{"type":"OBJECT","properties":{"a":{"type":"STRING"}},"required":["b"]}', "requires" },
  },
}

local good = {
  openai = of('{"type":["string","null"],"pattern":"^x","description":"d"}'),
  anthropic = object:format('"a":{"enum":["x"]},"b":{"type":"array","items":{"type":"string"},"minItems":1}', '"a"'),
  gemini = '{"type":"OBJECT","properties":{"a":{"type":"STRING","enum":["x"],"nullable":true}},"required":["a"]}',
}

local function definition(format, schema, name)
  if format == "openai" then
    return { type = "function", ["function"] = { name = name or "x", parameters = schema, strict = true } }
  elseif format == "anthropic" then
    return { name = name or "x", input_schema = schema, strict = true }
  end
  return { name = name or "x", parameters = schema }
end

describe("the rules for tools", function()
  local count = 0
  for _, format in ipairs({ "openai", "anthropic", "gemini" }) do
    it("of " .. format .. " refuse what is known to be refused", function()
      for _, case in ipairs(bad[format]) do
        local flaws = rules.check(format, definition(format, assert(json.decode(case[1]))))
        local text = table.concat(flaws, "\n")
        assert(text:find(case[2], 1, true), case[1]:sub(1, 200) .. "\n" .. text)
      end
    end)
    count = count + #bad[format]

    it("of " .. format .. " take what is known to be taken", function()
      assert.same({}, rules.check(format, definition(format, assert(json.decode(good[format])))))
    end)

    for _, name in ipairs({ "", "a.b", "a b", "2a", ("a"):rep(65) }) do
      count = count + 1
      it(("of %s refuse the name %q"):format(format, name), function()
        assert.same({ ": name" }, rules.check(format, definition(format, assert(json.decode(good[format])), name)))
      end)
    end
  end

  it("are tried on at least 60", function()
    assert.is_true(count >= 60)
  end)
end)

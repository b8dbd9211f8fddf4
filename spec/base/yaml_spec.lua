local json = require("operations.base.json")
local limits = require("operations.base.limits")
local schema = require("operations.schema")
local yaml = require("operations.base.yaml")
local with_yaml = require("spec.support.with_yaml")(it, pending)

local function as_json(text)
  local value, message = yaml.decode(text)
  assert.is_nil(message)
  return assert(json.encode(value, { sort_keys = true }))
end

-- What a plain scalar is: YAML 1.2.2, 10.3.2, and what YAML 1.1 would have made of it.
local scalars = {
  ["on"] = '"on"', ["off"] = '"off"', ["yes"] = '"yes"', ["No"] = '"No"', ["y"] = '"y"',
  ["true"] = "true", ["False"] = "false", ["TRUE"] = "true", ["tRue"] = '"tRue"',
  ["null"] = "null", ["~"] = "null", [""] = "null", ["NULL"] = "null", ["nil"] = '"nil"',
  ["2020-01-01"] = '"2020-01-01"', ["2001-12-14T21:59:43.10-05:00"] = '"2001-12-14T21:59:43.10-05:00"',
  ["12:30"] = '"12:30"', ["190:20:30"] = '"190:20:30"', ["1_000"] = '"1_000"', ["0b11"] = '"0b11"',
  ["12"] = "12", ["-12"] = "-12", ["+12"] = "12", ["010"] = "10", ["-007"] = "-7", ["0"] = "0",
  ["0o17"] = "15", ["0x1F"] = "31", ["0xFFFFFFFFFFFFF"] = "4503599627370495", ["0x0"] = "0",
  ["0xFFFFFFFFFFFFFFFF"] = '"0xFFFFFFFFFFFFFFFF"', ["18446744073709551615"] = "18446744073709551615",
  ["-9007199254740993"] = "-9007199254740993", ["0o0"] = "0", ["0x"] = '"0x"', ["-0x1F"] = '"-0x1F"', ["0o8"] = '"0o8"',
  ["1.5"] = "1.5", [".5"] = "0.5", ["-.5"] = "-0.5", ["1e3"] = "1000", ["1.e+3"] = "1000", ["1.5E-2"] = "0.015",
  ["."] = '"."', ["-"] = nil, ["+"] = '"+"', ["-."] = '"-."', ["1e"] = '"1e"', ["e3"] = '"e3"', ["1.2.3"] = '"1.2.3"',
  ["3.0.3"] = '"3.0.3"', [".inf"] = '".inf"', ["-.INF"] = '"-.INF"', [".nan"] = '".nan"', ["1 2"] = '"1 2"',
  ["9007199254740991"] = "9007199254740991", ["123abc"] = '"123abc"', ["=x"] = '"=x"',
  ["'12'"] = '"12"', ['"true"'] = '"true"', ["!!str 12"] = '"12"', ["!!int '12'"] = "12", ["!!float 1"] = "1",
  ["!!int 12"] = "12", ["!!float '1.5'"] = "1.5", ["!!bool 'true'"] = "true", ["!!bool true"] = "true",
  ["!!null ''"] = "null", ["!!null 'null'"] = "null", ["!!str true"] = '"true"', ["!!binary 12"] = '"12"',
  ["!custom 12"] = '"12"', ["'it''s'"] = '"it\'s"', ['"\\u00e9\\n"'] = '"é\\n"',
}

describe("YAML", function()
  for text, expected in pairs(scalars) do
    with_yaml(("has the scalar %s for %s"):format(text, expected), function()
      assert.equal(expected, as_json("- " .. text):match("^%[(.*)%]$"))
    end)
  end

  with_yaml("gives integers beyond doubles as JSON does", function()
    for _, digits in ipairs({ "9007199254740993", "-9223372036854775808", "18446744073709551616" }) do
      assert.same(json.decode("[" .. digits .. "]"), yaml.decode("- " .. digits))
    end
  end)

  with_yaml("has keys that are strings as they are written", function()
    assert.equal('{"0x10":1,"1.0":2,"200":3,"on":4,"true":5,"~":6}',
      as_json("200: 3\n1.0: 2\n0x10: 1\non: 4\ntrue: 5\n~: 6\n"))
  end)

  with_yaml("has block, flow, literal and folded forms", function()
    assert.equal('{"a":[{"b":1},{"c":[2,{"d":3}]}],"f":"x y\\n","l":"x\\ny\\n"}',
      as_json("a:\n- b: 1\n- c: [2, {d: 3}]\nl: |\n  x\n  y\nf: >\n  x\n  y\n"))
  end)

  with_yaml("tells empty arrays from empty objects", function()
    assert.equal('{"a":[],"o":{}}', as_json("a: []\no: {}\n"))
  end)

  with_yaml("takes versions without quotes as texts, where a document has them", function()
    assert.equal('{"info":{"version":"1.0"},"openapi":"3.1","swagger":"2.0","version":1.5}',
      as_json("openapi: 3.1\nswagger: 2.0\ninfo:\n  version: 1.0\nversion: 1.5\n"))
  end)

  with_yaml("repeats the value of an anchor", function()
    assert.equal('{"a":{"x":1},"b":{"x":1},"c":["k","k"]}', as_json("a: &a {x: 1}\nb: *a\nc: [&k k, *k]\n"))
    assert.equal('{"a":"k","k":1}', as_json("a: &k k\n*k : 1\n"))
  end)

  with_yaml("merges mappings, own members first", function()
    assert.equal('{"a":{"x":1,"y":2},"b":{"x":3,"y":2,"z":4}}',
      as_json("a: &a {x: 1, y: 2}\nb:\n  <<: *a\n  x: 3\n  z: 4\n"))
    assert.equal('{"x":1,"y":4}', as_json("<<: [{x: 1}, {x: 3, y: 4}]\n"))
  end)

  for text, expected in pairs({
    ["a: 1\nb: 2\na: 3\n"] = 'line 3: the key "a" is a duplicate',
    ["a: *b\n"] = "line 1: no anchor &b precedes *b",
    ["a: &a\n  b: *a\n"] = "line 2: *a is inside the value that it names",
    ["? [a]\n: b\n"] = "line 1: a key must be a scalar",
    ["a: &a [1]\n*a : 1\n"] = "line 2: a key must be a scalar",
    ["<<: 1\n"] = "line 1: << expects a mapping",
    ["a: 1\n---\nb: 2\n"] = "line 2: expected one document, found another",
    ["a: [1\n"] = "line: 2",
    ["a: \1\n"] = "control characters are not allowed",
    ["a: \255\n"] = "UTF-8",
    [("["):rep(600) .. ("]"):rep(600)] = "line 1: nested deeper than 512",
  }) do
    with_yaml("that is wrong says where: " .. expected, function()
      local value, message = yaml.decode(text)
      assert.is_nil(value)
      assert.matches(expected, message, 1, true)
    end)
  end

  with_yaml("of a billion laughs is refused before they cost anything", function()
    local lines, last = { "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]" }, "*a0"
    for i = 1, 9 do
      lines[#lines + 1] = ("a%d: &a%d [%s]"):format(i, i, (last .. ", "):rep(10))
      last = "*a" .. i
    end
    local before = collectgarbage("count")
    local value, message = yaml.decode(table.concat(lines, "\n"))
    assert.is_nil(value)
    assert.equal(("line 7: the document has more than %d values, aliases counted as what they stand for"):format(
      limits.yaml_nodes), message)
    assert.is_true(collectgarbage("count") - before < 4096)
  end)

  with_yaml("is nothing when the text is empty", function()
    assert.equal("null", as_json(""))
    assert.equal("null", as_json("# only a comment\n"))
  end)

  it("names the missing library", function()
    local loaded = package.loaded.yaml
    package.loaded.yaml = nil
    package.preload.yaml = function()
      error("module 'yaml' not found")
    end
    local value, message = yaml.decode("a: 1")
    package.loaded.yaml, package.preload.yaml = loaded, nil
    assert.is_nil(value)
    assert.equal("YAML needs the library lyaml (luarocks install lyaml, or Debian's lua-yaml)", message)
  end)

  with_yaml("keeps the order of properties", function()
    local text = "a: &a {properties: {z: {}, y: {properties: {c: {}, b: {}}}, x: {}}}\nproperties: *a"
    local value = assert(yaml.decode(text))
    assert.same({ "z", "y", "x" }, schema.properties(value.a))
    assert.same({ "c", "b" }, schema.properties(value.a.properties.y))
  end)
end)

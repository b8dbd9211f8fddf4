local document = require("operations.openapi.document")
local json = require("operations.base.json")
local yaml = require("operations.base.yaml_writer")
local with_yaml = require("spec.support.with_yaml")(it, pending)

local function encoded(text)
  return yaml.encode((json.decode(text)))
end

describe("YAML", function()
  it("is written in blocks, with sorted names", function()
    assert.equal("a:\n  - 1\n  - b: x\n    c: []\n  - - 2\nd: {}\ne: null\n",
      encoded('{"e":null,"d":{},"a":[1,{"b":"x","c":[]},[2]]}'))
    assert.equal("1\n", encoded("1"))
    assert.equal("[]\n", encoded("[]"))
    assert.equal("{}\n", encoded("{}"))
  end)

  it("quotes what readers take for something else", function()
    assert.equal('- "yes"\n- "1"\n- ""\n- "a: b"\n- "- a"\n- "#"\n- a b\n- "a "\n- "null"\n- "2020-01-01"\n',
      encoded('["yes","1","","a: b","- a","#","a b","a ","null","2020-01-01"]'))
    assert.equal('"\\x7f\\x85"\n', encoded('"\127\194\133"'))
  end)

  it("writes texts of several lines as blocks", function()
    assert.equal("a: |\n  one\n\n  two\n", encoded('{"a":"one\\n\\ntwo\\n"}'))
    assert.equal("a: |-\n  one\n  two\n", encoded('{"a":"one\\ntwo"}'))
    assert.equal("a: |+\n  one\n\n", encoded('{"a":"one\\n\\n"}'))
  end)

  with_yaml("is read back as the same value", function()
    local pieces = { "a", "\n", " ", ":", "#", "'", '"', "-", "\t", "é", "1", "true", "\\", "{", "|", "\127", "%", "~" }
    local seed = 7
    local function pick(n)
      seed = (seed * 16807) % 2147483647
      return seed % n + 1
    end
    for _ = 1, 2000 do
      local text = {}
      for i = 1, pick(6) do
        text[i] = pieces[pick(#pieces)]
      end
      text = table.concat(text)
      local value = { openapi = text, list = { { [text] = text } } }
      local read = assert(document.parse(yaml.encode(value), "x.yaml"), text)
      assert.same(value, json.decode(json.encode(read)), text)
    end
  end)
end)

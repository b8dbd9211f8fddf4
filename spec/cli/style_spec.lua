local styles = require("operations.cli.style")

describe("JSON at a terminal", function()
  local function coloured(text)
    return (assert(styles.of({ color = "always" })):json(text):gsub("\27%[(%d+)m", "<%1>"):gsub("<0>", "<>"))
  end

  it("has names, texts and other scalars in colours", function()
    assert.equal('{<1>"a"<>: [<35>-1.5e3<>, <35>null<>, <32>"x: 1"<>], <1>"b"<>:{}}\n',
      coloured('{"a": [-1.5e3, null, "x: 1"], "b":{}}\n'))
    assert.equal('<32>"a \\" \\\\"<>', coloured('"a \\" \\\\"'))
    assert.equal("<35>true<>\n", coloured("true\n"))
    assert.equal("[]", coloured("[]"))
    assert.equal("", coloured(""))
  end)

  it("has none where none are wanted", function()
    assert.equal('{"a":1}', assert(styles.of({ color = "never" })):json('{"a":1}'))
    assert.equal('{"a":1}', assert(styles.of({})):json('{"a":1}')) -- specs run without a terminal
    assert.same({ nil, '--color: expected auto, always or never, got "no"' }, { styles.of({ color = "no" }) })
  end)
end)

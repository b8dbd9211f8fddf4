local operations = require("operations")
local json = require("operations.base.json")
local printable = require("operations.base.printable")

-- One of each kind: name, bytes, code point.
local unsafe = {
  { "ESC", "\27", 0x1B }, { "NUL", "\0", 0 }, { "CR", "\r", 0x0D }, { "backspace", "\8", 8 }, { "DEL", "\127", 0x7F },
  { "CSI in C1", "\194\155", 0x9B }, { "Arabic letter mark", "\216\156", 0x61C },
  { "left-to-right mark", "\226\128\142", 0x200E }, { "right-to-left mark", "\226\128\143", 0x200F },
  { "line separator", "\226\128\168", 0x2028 }, { "paragraph separator", "\226\128\169", 0x2029 },
  { "embedding", "\226\128\170", 0x202A }, { "override", "\226\128\174", 0x202E },
  { "isolate", "\226\129\166", 0x2066 }, { "end of an isolate", "\226\129\169", 0x2069 },
  { "byte order mark", "\239\187\191", 0xFEFF }, { "annotation", "\239\191\185", 0xFFF9 },
  { "tag", "\243\160\129\129", 0xE0041 },
}

describe("foreign text", function()
  for _, one in ipairs(unsafe) do
    it("has no " .. one[1] .. " where it is shown", function()
      local text = "a" .. one[2] .. "b"
      assert.equal("a?b", printable.text(text))
      assert.equal(("a\\u{%x}b"):format(one[3]), printable.escaped(text))
      assert.equal(("a\\u{%x}b"):format(one[3]), printable.line(text))
      local shown = printable.json(json.encode({ text }))
      assert.same({ text }, json.decode(shown))
      assert.is_nil(shown:find("[%z\1-\31\127-\255]"))
    end)
  end

  it("loses the colours and other sequences of a terminal", function()
    assert.equal("hidden red", printable.text("\27[8mhidden\27[0m \27[31;1mred\27[2K"))
    assert.equal("?]0;title?", printable.text("\27]0;title\7"))
    assert.equal("\\u{1b}[8mhidden", printable.escaped("\27[8mhidden"))
  end)

  it("has no bytes that are not UTF-8", function()
    for _, bytes in ipairs({ "\128", "\192\128", "\224\128\128", "\237\160\128", "\240\128\128\128", "\244\144\128\128",
      "\248\136\128\128", "\255" }) do
      assert.equal("a" .. ("?"):rep(#bytes) .. "b", printable.text("a" .. bytes .. "b"))
    end
    assert.equal("\\xc3", printable.escaped("\195"))
    assert.equal("\\xe2\\x82(", printable.escaped("\226\130("))
    assert.equal("é\\x80", printable.escaped("é\128"))
  end)

  it("keeps letters, signs, newlines and tabs", function()
    local text = "Zürich, 東京\t\240\159\145\169\226\128\141\240\159\148\167 €\n"
    assert.equal(text, printable.text(text))
    assert.equal(text, printable.escaped(text))
    assert.equal(text, printable.json(text))
  end)

  it("begins no line of its own among messages", function()
    assert.equal('a\n  | {"level":"info"}\n  | \t{"b":1}', printable.message('a\n{"level":"info"}\n\t{"b":1}\n'))
    assert.equal("a\nstack traceback:\n\t[C]: in ?", printable.message("a\nstack traceback:\n\t[C]: in ?"))
  end)

  it("is one line in a log", function()
    assert.equal('a\\n{"level":"info"} b', printable.line('a\n{"level":"info"}\tb'))
  end)

  it("is a name that every registry takes", function()
    local registry = operations.registry()
    for _, blank in ipairs({ " ", "\t\n", "\194\160", "\225\154\128", "\226\128\131", "\226\128\168", "\226\128\175",
      "\226\129\159", "\227\128\128", "\239\187\191", "\194\155", "\226\128\174", "\127", "\255" }) do
      local name = printable.name("東京" .. blank .. blank .. "é")
      assert.equal("東京_é", name)
      registry:register({ namespace = name, name = name, type = "query", handler = print })
      assert.is_truthy(registry:get_spec("東京_é.東京_é"))
      registry = operations.registry()
    end
    assert.equal("a__b-c.d", printable.name("a__b-c.d"))
  end)
end)

local lines = require("operations.lines")

-- The lines of `pieces`, and what is left behind the last one.
local function split(pieces, max, separator)
  local splitter, found = lines.splitter(max or 100, separator), {}
  for _, piece in ipairs(pieces) do
    splitter:feed(piece)
    for line in splitter.next, splitter do
      found[#found + 1] = line
    end
  end
  return found, splitter:rest(), splitter
end

describe("a line splitter", function()
  local text = "one\n\n\ntwo three\nfour"
  local expected = { "one", "", "", "two three" }

  it("gives whole lines, and keeps what is behind the last one", function()
    local found, rest = split({ text })
    assert.same(expected, found)
    assert.equal("four", rest)
  end)

  it("gives the same wherever the bytes are cut", function()
    for at = 0, #text do
      local found, rest = split({ text:sub(1, at), text:sub(at + 1) })
      assert.same(expected, found)
      assert.equal("four", rest)
    end
  end)

  it("gives the same byte by byte", function()
    local bytes = {}
    for i = 1, #text do
      bytes[i] = text:sub(i, i)
    end
    local found, rest = split(bytes)
    assert.same(expected, found)
    assert.equal("four", rest)
  end)

  it("splits at any other byte", function()
    assert.same({ "", "a\n" }, (split({ "\30a\n\30b" }, nil, "\30")))
  end)

  it("keeps NUL and every other byte", function()
    assert.same({ "a\0\r\255" }, (split({ "a\0\r\255\n" })))
  end)

  it("refuses a line above its ceiling, in one piece or many, with or without an end", function()
    assert.same({ "12345678" }, (split({ "12345678\n" }, 8)))
    for _, pieces in ipairs({ { "123456789" }, { "123456789\n" }, { "12345", "6789" }, { "1234", "56789\n" } }) do
      local found, _, splitter = split(pieces, 8)
      assert.same({}, found)
      local line, err = splitter:next()
      assert.is_nil(line)
      assert.equal("size", err.details.kind)
      assert.equal(8, err.details.limit)
    end
  end)

  it("forgets what is behind the last line when told to", function()
    local _, _, splitter = split({ "a\nb" })
    splitter:drop()
    assert.equal("", splitter:rest())
  end)
end)

local framing = require("operations.mcp.framing")

-- Feeds pieces; gives the lines and the dropped ones.
local function read(pieces, max)
  local lines, dropped = {}, {}
  local reader = framing.new(max or 100, function(line)
    lines[#lines + 1] = line
  end, function(first, last, size)
    dropped[#dropped + 1] = { first = first, last = last, size = size }
  end)
  for _, piece in ipairs(pieces) do
    reader:feed(piece)
  end
  reader:finish()
  return lines, dropped, reader
end

describe("the lines of a stream", function()
  local text = "one\r\n\n  \ntwo\nthree and more\nend"
  local expected = { "one", "two", "three and more", "end" }

  it("are the same wherever the bytes are cut", function()
    for first = 0, #text do
      for second = first, #text, 5 do
        local pieces = { text:sub(1, first), text:sub(first + 1, second), text:sub(second + 1) }
        assert.same(expected, (read(pieces)))
      end
    end
    local bytes = {}
    for i = 1, #text do
      bytes[i] = text:sub(i, i)
    end
    assert.same(expected, (read(bytes)))
  end)

  it("that are too long are dropped, their ends told, and cost nothing", function()
    local line = '{"id":1,' .. ("x"):rep(1000) .. ',"end":2}'
    for _, size in ipairs({ 1, 7, 50, 5000 }) do
      local pieces, all = {}, "a\n" .. line .. "\r\nb\n"
      for at = 1, #all, size do
        pieces[#pieces + 1] = all:sub(at, at + size - 1)
      end
      local lines, dropped, reader = read(pieces)
      assert.same({ "a", "b" }, lines)
      assert.equal(1, #dropped)
      assert.equal(1, reader.dropped)
      assert.equal('{"id":1,', dropped[1].first:sub(1, 8))
      assert.equal(',"end":2}', dropped[1].last:sub(-9))
      assert.is_true(#dropped[1].first <= 256 and #dropped[1].last <= 256)
    end
  end)

  it("may be as long as is allowed", function()
    assert.same({ ("x"):rep(100) }, (read({ ("x"):rep(100) .. "\n" })))
    assert.same({}, (read({ ("x"):rep(101) .. "\n" })))
  end)
end)

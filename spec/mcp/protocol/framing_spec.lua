local framing = require("operations.mcp.protocol.framing")
local json = require("operations.base.json")

-- Feeds pieces; gives what the lines say, those that are no JSON as they are, and the dropped ones.
local function read(pieces, max)
  local lines, dropped, subject = {}, {}, {}
  local feed = framing.reader(max or 100, function(given, value, err, line)
    assert.equal(subject, given)
    assert.equal(err and "string" or "nil", type(err and line))
    lines[#lines + 1] = err and line or value
  end, function(given, first, last, size)
    assert.equal(subject, given)
    dropped[#dropped + 1] = { first = first, last = last, size = size }
  end, subject)
  for _, piece in ipairs(pieces) do
    feed(piece)
  end
  feed(nil)
  return lines, dropped
end

local function cut(text, size)
  local pieces = {}
  for at = 1, #text, size do
    pieces[#pieces + 1] = text:sub(at, at + size - 1)
  end
  return pieces
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
    assert.same(expected, (read(cut(text, 1))))
  end)

  it("are messages where they are JSON, or nearly", function()
    local texts = {
      '{"id":1,"result":{"a":[1]}}\n{"id":2,"result":{"a":[2]}}\r\n', "[1,2]\nnull\nfalse\n", '{"id":3,"result":{"a":',
      '[3]}}\n"\255"\n{"id":4\n', '{"id":5}',
    }
    local messages = {
      { id = 1, result = { a = { 1 } } }, { id = 2, result = { a = { 2 } } }, { 1, 2 }, json.null, false,
      { id = 3, result = { a = { 3 } } }, "\239\191\189", '{"id":4', { id = 5 },
    }
    assert.same(messages, (read(texts)))
    local whole = table.concat(texts)
    for size = 1, #whole do
      assert.same(messages, (read(cut(whole, size))))
    end
  end)

  it("that are too long are dropped, their ends told, and cost nothing", function()
    local line = '{"id":1,' .. ("x"):rep(1000) .. ',"end":2}'
    for _, size in ipairs({ 1, 7, 50, 5000 }) do
      local lines, dropped = read(cut("a\n" .. line .. "\r\nb\n", size))
      assert.same({ "a", "b" }, lines)
      assert.equal(1, #dropped)
      assert.equal(#line + 1, dropped[1].size)
      assert.equal(line:sub(1, 256), dropped[1].first)
      assert.equal(line:sub(-255), dropped[1].last)
    end
  end)

  it("may be as long as is allowed", function()
    assert.same({ ("x"):rep(100) }, (read({ ("x"):rep(100) .. "\n" })))
    assert.same({}, (read({ ("x"):rep(101) .. "\n" })))
  end)

  it("may end with the stream, the long ones too", function()
    local long = ("x"):rep(700)
    for _, size in ipairs({ 1, 99, 300, 1000 }) do
      local lines, dropped = read(cut("a\n" .. long, size))
      assert.same({ "a" }, lines)
      assert.same({ 700, ("x"):rep(256) }, { dropped[1].size, dropped[1].last })
    end
  end)
end)

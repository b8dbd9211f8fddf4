local json = require("operations.base.json")
local message = require("operations.mcp.protocol.message")
local reader = require("operations.mcp.protocol.reader")

-- Feeds pieces; gives what the lines say, those that are no JSON as they are, and the dropped ones.
local function read(pieces, max)
  local lines, dropped, subject = {}, {}, {}
  local feed = reader.lines(max or 100, function(given, value, err, line)
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

describe("a text that is almost JSON", function()
  it("is read with invalid UTF-8 and halves of characters replaced", function()
    local value = assert(message.decode('{"a":"x\255y","b":"\\ud800-\\udc00","c":"\\ud83d\\ude00","d":"\\\\ud800"}'))
    assert.equal("x\239\191\189y", value.a)
    assert.equal("\239\191\189-\239\191\189", value.b)
    assert.equal("\240\159\152\128", value.c)
    assert.equal("\\ud800", value.d)
    for _, text in ipairs({ '"\255"', '"\\ud800"' }) do
      assert.same({ "\239\191\189" }, { message.decode(text) }) -- without a warning
    end
  end)

  it("keeps the escapes around half a character", function()
    for text, meant in pairs({
      ["\\n\\ud800"] = "\n\239\191\189", ["\\\\\\ud800"] = "\\\239\191\189", ["\\ud800\\n"] = "\239\191\189\n",
      ["\\ud800\\ud83d\\ude00"] = "\239\191\189\240\159\152\128", ["\\udc00\\udc00"] = ("\239\191\189"):rep(2),
      ["\\ud83d\\ude00\\ud800x"] = "\240\159\152\128\239\191\189x",
    }) do
      assert.equal(meant, assert(message.decode('["' .. text .. '"]'))[1])
    end
  end)

  it("is refused as before when that does not help", function()
    local value, err = message.decode('{"a":"\255"')
    assert.is_nil(value)
    assert.equal("VALIDATION_ERROR", err.code)
  end)

  for text, id in pairs({
    ['{"jsonrpc":"2.0","id":12,"result":{{{'] = 12, ['{"jsonrpc":"2.0","id":"a","result":[[['] = "a",
    ['{"result":{"id":3,"x":[},"jsonrpc":"2.0","id":7}'] = 7, ['{"result":{"id":3},"jsonrpc":"2.0"'] = false,
    ['{"method":"x","params":{"id":3}'] = false, ["hello"] = false, ['{"jsonrpc":"2.0","a":{"id":5}}'] = false,
    ['{"id":7,"result":[['] = false,
  }) do
    it("shows which request it answers: " .. text, function()
      assert.equal(id or nil, reader.id(text))
    end)
  end

  it("is not searched to its end for the request that it answers", function()
    assert.is_nil(reader.id('"jsonrpc"' .. (',"id":1'):rep(100000)))
    for filler, id in pairs({ [487] = 78, [488] = false, [489] = false, [490] = false }) do -- of 512 bytes
      local text = '{"jsonrpc":"2.0",' .. (" "):rep(filler) .. '"id":78,"result":['
      assert.equal(id or nil, reader.id(text .. (" "):rep(1025 - #text)))
    end
    local whole = '{"jsonrpc":"2.0",' .. (" "):rep(980) .. '"id":78,"result":['
    assert.equal(78, reader.id(whole .. (" "):rep(1024 - #whole)))
    assert.is_nil(reader.id(whole .. (" "):rep(1025 - #whole)))
    assert.equal(7, reader.id('{"result":[' .. ("x"):rep(5000) .. '],"jsonrpc":"2.0","id":7}'))
  end)
end)

local redis = require("operations.redis")

local text = "+OK\r\n:42\r\n:-9007199254740993\r\n$5\r\na\0b\r\n\r\n$0\r\n\r\n$-1\r\n*-1\r\n*0\r\n"
  .. "*3\r\n$7\r\nmessage\r\n*2\r\n:1\r\n+x\r\n$-1\r\n-ERR no\r\n"

local function feed(size)
  local reader, all = redis.reader(), {}
  for i = 1, #text, size do
    for _, reply in ipairs(assert(reader:feed(text:sub(i, i + size - 1)))) do
      all[#all + 1] = reply
    end
  end
  return all
end

describe("the protocol of Redis", function()
  it("is read whole, byte by byte and at every split", function()
    local whole = feed(#text)
    assert.same({ "OK", 42 }, { whole[1], whole[2] })
    assert.equal("a\0b\r\n", whole[4])
    assert.same({ "", false, false, {} }, { whole[5], whole[6], whole[7], whole[8] })
    assert.same({ "message", { 1, "x" }, false }, whole[9])
    assert.same({ err = "ERR no" }, whole[10])
    assert.equal(10, #whole)
    for size = 1, #text do
      assert.same(whole, feed(size))
    end
  end)

  it("names an invalid answer of Redis", function()
    for bytes, expected in pairs({
      ["HTTP/1.1 400\r\n"] = 'Protocol error, got "H" as reply type byte', ["$x\r\n"] = "Bad bulk string length",
      ["*99999999999\r\n"] = "Multi-bulk length out of range", [":1x\r\n"] = "Bad integer value",
    }) do
      local replies, message = redis.reader():feed(bytes)
      assert.is_nil(replies)
      assert.equal(expected, message)
    end
  end)

  it("refuses an array too long before it takes memory for it", function()
    for _, bytes in ipairs({ "*1048577\r\n", "*2\r\n:1\r\n*2147483647\r\n" }) do
      local reader = redis.reader()
      local replies, message = reader:feed(bytes)
      assert.is_nil(replies)
      assert.equal("an array of more than 1048576 elements", message)
      assert.equal(message, select(2, reader:feed("*0\r\n")))
    end
    assert.same({}, redis.reader():feed("*1048576\r\n"))
  end)

  it("writes commands whose arguments may be any bytes", function()
    assert.equal("*3\r\n$3\r\nSET\r\n$3\r\na\r\n\r\n$2\r\n12\r\n", redis.command("SET", "a\r\n", 12))
    assert.has_error(function()
      redis.command("SET", {})
    end)
    assert.has_error(function()
      redis.command()
    end)
  end)
end)

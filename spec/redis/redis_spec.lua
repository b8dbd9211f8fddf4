-- luacheck: ignore 113 143 (unpack of either runtime)
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

  it("is read with arrays of any length, and some levels of them", function()
    for _, length in ipairs({ 1, 1023, 1024, 1025, 5000 }) do
      local parts, expected = { ("*%d\r\n"):format(length) }, {}
      for i = 1, length do
        parts[#parts + 1] = i % 3 == 0 and "$-1\r\n" or (":%d\r\n"):format(i)
        expected[i] = i % 3 ~= 0 and i
      end
      assert.same({ expected, "OK" }, redis.reader():feed(table.concat(parts) .. "+OK\r\n"))
    end
    local deep = redis.reader():feed(("*1\r\n"):rep(7) .. ":5\r\n")
    for _ = 1, 8 do
      deep = deep[1]
    end
    assert.equal(5, deep)
    local replies, message = redis.reader():feed(("*1\r\n"):rep(100) .. ":5\r\n")
    assert.is_nil(replies)
    assert.is_string(message)
  end)

  it("has errors beside other replies, wherever they are", function()
    assert.same({ { err = "A" }, { 1, { err = "B c" }, { { err = "" } } }, "" },
      redis.reader():feed("-A\r\n*3\r\n:1\r\n-B c\r\n*1\r\n-\r\n+\r\n"))
  end)

  it("knows a script by the SHA-1 of its text", function()
    assert.equal("a9993e364706816aba3e25717850c26c9cd0d89d", redis.script_id("abc"))
    assert.equal("da39a3ee5e6b4b0d3255bfef95601890afd80709", redis.script_id(""))
    assert.error_matches(function() redis.script_id({}) end, "bad argument #1 to 'script_id'")
  end)

  it("is read by a reader that is there", function()
    local reader = redis.reader()
    assert.same({}, reader:feed("$3\r\na", {}))
    assert.same({ "abc" }, reader:feed("bc\r\n", {}, "more"))
    assert.same({}, reader:feed("$3\r\na"))
    getmetatable(reader).__gc(reader)
    assert.error_matches(function() reader:feed("bc\r\n") end, "self %(the reader is closed")
    getmetatable(reader).__gc(reader)
    assert.error_matches(function() redis.reader():feed({}) end, "string expected")
  end)

  it("writes commands of any length", function()
    for _, length in ipairs({ 0, 9, 10, 99, 100, 999, 1000, 100000 }) do
      local argument = ("x"):rep(length)
      local bytes = redis.command("SET", argument, "")
      assert.equal(("*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$0\r\n\r\n"):format(length, argument), bytes)
    end
    assert.equal("*1\r\n$4\r\nPING\r\n", redis.command("PING"))
    local many = {}
    for i = 1, 200 do
      many[i] = i
    end
    assert.matches("^%*200\r\n%$1\r\n1\r\n.*%$3\r\n200\r\n$", redis.command((table.unpack or unpack)(many)))
    for i = 1, 3 do
      local arguments = { "A", "b", "c" }
      arguments[i] = true
      assert.error_matches(function() redis.command((table.unpack or unpack)(arguments)) end,
        "bad argument #" .. i .. " to 'command'")
    end
  end)
end)

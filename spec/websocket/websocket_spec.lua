local command = require("spec.support.command")
local websocket = require("operations.websocket")

local function hex(bytes)
  return (bytes:gsub(".", function(char)
    return ("%02x"):format(char:byte())
  end))
end

-- All messages that a codec finds in the bytes, fed in pieces of `size`.
local function feed(codec, bytes, size)
  local found, open = {}, true
  for i = 1, #bytes, size do
    local still, messages = codec:feed(bytes:sub(i, i + size - 1))
    open = open and still
    for _, part in ipairs(messages) do
      found[#found + 1] = part
    end
  end
  return found, open
end

describe("WebSocket framing", function()
  it("reads what it wrote, whole, byte by byte and at every split", function()
    for _, server in ipairs({ true, false }) do
      local writer = websocket.codec(not server, 200000)
      local sent, bytes = {}, ""
      for _, length in ipairs({ 0, 1, 125, 126, 127, 1000 }) do
        local text = ("\195\164"):rep(math.floor(length / 2)) .. ("x"):rep(length % 2)
        bytes = bytes .. writer:text(text)
        sent[#sent + 1], sent[#sent + 2] = "text", text
      end
      bytes = bytes .. writer:ping("here?") .. writer:close(1001, "enough")
      for _, part in ipairs({ "ping", "here?", "close", "1001 enough" }) do
        sent[#sent + 1] = part
      end
      for _, size in ipairs({ 1, 2, 3, 7, 125, 126, 127, #bytes }) do
        local found, open = feed(websocket.codec(server, 200000), bytes, size)
        assert.same(sent, found)
        assert.is_false(open)
      end
      local short = bytes:sub(1, 300)
      local whole = feed(websocket.codec(server, 200000), short, #short)
      for at = 1, #short - 1 do
        local codec = websocket.codec(server, 200000)
        local found = feed(codec, short:sub(1, at), at)
        for _, part in ipairs(feed(codec, short:sub(at + 1), #short)) do
          found[#found + 1] = part
        end
        assert.same(whole, found)
      end
    end
  end)

  it("carries 65,535 and 65,536 bytes, whose lengths are written differently", function()
    for _, length in ipairs({ 65535, 65536 }) do
      local text = ("x"):rep(length)
      local found = feed(websocket.codec(true, 70000), websocket.codec(false, 70000):text(text), 4096)
      assert.is_true(found[2] == text)
    end
  end)

  it("masks what a client sends, never twice alike", function()
    local client, server = websocket.codec(false, 1000), websocket.codec(true, 1000)
    assert.equal("\129\5hello", server:text("hello"))
    local one, other = client:text("hello"), client:text("hello")
    assert.equal("\129\133", one:sub(1, 2))
    assert.are_not.equal(one:sub(3, 6), other:sub(3, 6))
  end)

  it("answers pings and closes by itself", function()
    local client, server = websocket.codec(false, 1000), websocket.codec(true, 1000)
    assert.is_nil(server:output())
    feed(server, client:ping("abc"), 100)
    assert.equal("\138\3abc", server:output())
    feed(server, client:close(1000, "bye"), 100)
    assert.equal("\136\5\3\232bye", server:output())
    assert.is_nil(server:text("too late"))
  end)

  it("puts fragments together, with a ping in between", function()
    local server = websocket.codec(true, 1000)
    local mask = "\0\0\0\0"
    local found = feed(server, "\1\130" .. mask .. "he\137\128" .. mask .. "\128\131" .. mask .. "llo", 1)
    assert.same({ "ping", "", "text", "hello" }, found)
  end)

  it("takes messages of as many bytes as it may, in one frame or more, and no longer ones", function()
    for _, max in ipairs({ 1, 125, 126, 1000, 65536 }) do
      local writer = websocket.codec(false, 1e6)
      local whole = writer:text(("x"):rep(max))
      for _, size in ipairs({ 1, 1000, #whole }) do
        assert.same({ "text", ("x"):rep(max) }, (feed(websocket.codec(true, max), whole, size)))
      end
      local server = websocket.codec(true, max)
      local found, open = feed(server, writer:text(("x"):rep(max + 1)), 1000)
      assert.same({ {}, false }, { found, open })
      assert.equal("\136\2\3\241", server:output()) -- 1009
      local parts = "\1\129\0\0\0\0a\128\129\0\0\0\0b"
      found, open = feed(websocket.codec(true, max), parts, #parts)
      assert.same(max > 1 and { { "text", "ab" }, true } or { {}, false }, { found, open })
    end
  end)

  it("carries many messages through one codec, with masks that all differ", function()
    local client, server = websocket.codec(false, 1000), websocket.codec(true, 1000)
    local seen = {}
    for i = 1, 300 do
      local bytes = client:text("message " .. i)
      local mask = bytes:sub(3, 6)
      assert.is_nil(seen[mask])
      seen[mask] = true
      assert.same({ "text", "message " .. i }, (feed(server, bytes, 100)))
      assert.same({ "text", "answer " .. i }, (feed(client, server:text("answer " .. i), 100)))
    end
  end)

  it("tells nothing twice, and gives large messages back their memory", function()
    local client, server = websocket.codec(false, 1e6), websocket.codec(true, 1e6)
    local large = ("y"):rep(300000)
    for _ = 1, 3 do
      assert.same({ "text", large, "text", "z" }, (feed(server, client:text(large) .. client:text("z"), 1e6)))
      assert.same({ true, {}, 0 }, { server:feed("") })
      assert.is_nil(server:output())
    end
    local result = command.run([[export MALLOC_MMAP_THRESHOLD_=65536; lua -e '
      local usage = require("spec.support.usage")
      local websocket = require("operations.websocket")
      local client, server = websocket.codec(false, 2 ^ 27), websocket.codec(true, 2 ^ 27)
      io.write(usage.growth(function()
        assert(#select(2, server:feed(client:text(("y"):rep(2 ^ 26)))) == 2)
        server:feed("")
      end) < 2 ^ 14 and "none" or "much")
      assert(client and server)
    ']])
    assert.same({ "none", "" }, { result.out, result.err })
  end)

  it("closes with a code from 1000 to 4999 and a reason, and then no more", function()
    for _, code in ipairs({ 1000, 1001, 3000, 4999 }) do
      local client = websocket.codec(false, 10)
      assert.same({ { "close", code .. " why" }, false },
        { feed(client, websocket.codec(true, 10):close(code, "why"), 100) })
    end
    local server = websocket.codec(true, 10)
    assert.equal("\136\2\3\232", server:close(1000))
    assert.is_nil(server:close(1000))
    assert.is_nil(server:ping())
    for _, code in ipairs({ 0, 999, 5000, -1, 70000 }) do
      assert.error_matches(function() websocket.codec(true, 10):close(code) end, "close code expected")
    end
  end)

  it("answers nothing that comes after its own close, but reads it", function()
    for _, server in ipairs({ true, false }) do
      local mask = server and "\0\0\0\0" or ""
      local bit = server and 128 or 0
      local text = "\129" .. string.char(bit + 1) .. mask .. "a"
      local violation = "\131" .. string.char(bit) .. mask
      for _, case in ipairs({ { text, true, { "text", "a" } }, { violation, false, {} } }) do
        local codec = websocket.codec(server, 10)
        assert.is_string(codec:close(1000))
        local open, messages = codec:feed(case[1])
        assert.same({ case[2], case[3] }, { open, messages })
        assert.is_nil(codec:output())
      end
    end
  end)

  it("sends pings of up to 125 bytes", function()
    for _, server in ipairs({ true, false }) do
      local sender, taker = websocket.codec(server, 200), websocket.codec(not server, 200)
      for _, payload in ipairs({ "", "p", ("p"):rep(125) }) do
        assert.same({ "ping", payload }, (feed(taker, sender:ping(payload), 9)))
      end
      assert.same({ "ping", "" }, (feed(taker, sender:ping(), 9)))
      assert.is_nil(sender:ping(("p"):rep(126)))
    end
  end)

  it("is unusable once it was collected", function()
    local codec = websocket.codec(true, 10)
    getmetatable(codec).__gc(codec)
    getmetatable(codec).__gc(codec)
    for _, name in ipairs({ "feed", "output", "text", "ping" }) do
      assert.error_matches(function() codec[name](codec, "x") end, "the codec is closed")
    end
  end)

  it("says what is wrong with its arguments", function()
    for _, max in ipairs({ 0, 0.5, -1, 1e15, math.huge, 0 / 0 }) do
      assert.error_matches(function() websocket.codec(true, max) end, "bytes expected")
    end
    assert.is_userdata(websocket.codec(true, 1))
    assert.is_userdata(websocket.codec(true, 1e15 - 1))
    assert.error_matches(function() websocket.codec(true, 10):text() end, "bad argument #1 to 'text'")
    assert.error_matches(function() websocket.codec(true, 10):feed({}) end, "bad argument #1 to 'feed'")
    assert.has_error(function()
      websocket.codec(true, 0)
    end)
    assert.has_error(function()
      websocket.codec(true, 10):close(99)
    end)
  end)
end)

describe("SHA-1", function()
  -- FIPS 180-4's examples and the boundaries of the padding, by sha1sum.
  it("is that of FIPS 180-4", function()
    for text, digest in pairs({
      [""] = "da39a3ee5e6b4b0d3255bfef95601890afd80709",
      abc = "a9993e364706816aba3e25717850c26c9cd0d89d",
      abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq = "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
      [("a"):rep(55)] = "c1c8bbdc22796e28c0e15163d20899b65621d65a",
      [("a"):rep(56)] = "c2db330f6083854c99d4b5bfb6e8f29f201be699",
      [("a"):rep(64)] = "0098ba824b5c16427bd7a1122a5a442a25ec644d",
      [("a"):rep(57)] = "f08f24908d682555111be7ff6f004e78283d989a",
      [("a"):rep(63)] = "03f09f5b158a7a8cdad920bddc29b81c18a551f5",
      [("a"):rep(119)] = "ee971065aaa017e0632a8ca6c77bb3bf8b1dfc56",
      [("a"):rep(120)] = "f34c1488385346a55709ba056ddd08280dd4c6d6",
      [("a"):rep(128)] = "ad5b3fdbcb526778c2839d2f151ea753995e26a0",
      [("a"):rep(1000000)] = "34aa973cd4c4daa4f61eeb2bdbad27316534016f",
    }) do
      assert.equal(digest, hex(websocket.sha1(text)))
    end
  end)
end)

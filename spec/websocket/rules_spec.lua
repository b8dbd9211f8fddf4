-- The rules of RFC 6455 one by one, after the cases 1 to 7 of Autobahn's test suite: each side, fed whole and byte by
-- byte.
local usage = require("spec.support.usage")
local websocket = require("operations.websocket")

local MAX = 70000
local TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10

local function xor(a, b)
  local result, bit = 0, 1
  while a > 0 or b > 0 do
    if a % 2 ~= b % 2 then
      result = result + bit
    end
    a, b, bit = math.floor(a / 2), math.floor(b / 2), bit * 2
  end
  return result
end

local function masked(payload, mask)
  local i = 0
  return (payload:gsub(".", function(char)
    i = i + 1
    return string.char(xor(char:byte(), mask:byte((i - 1) % 4 + 1)))
  end))
end

local function length_of(n)
  if n < 126 then
    return n, ""
  elseif n < 65536 then
    return 126, string.char(math.floor(n / 256), n % 256)
  end
  return 127, ("\0"):rep(5) .. string.char(math.floor(n / 65536), math.floor(n / 256) % 256, n % 256)
end

-- A frame to a server (masked) or to a client; `fields`: more (of the message is to come), rsv, mask, length (as it is
-- written).
local function frame(server, opcode, payload, fields)
  fields = fields or {}
  local short, long = length_of(#payload)
  if fields.length then
    short, long = fields.length:byte(), fields.length:sub(2)
  end
  local mask = fields.mask or server and "\18\52\86\120" or ""
  return string.char((fields.more and 0 or 128) + (fields.rsv or 0) * 16 + opcode, short + (mask ~= "" and 128 or 0))
    .. long .. mask .. (mask ~= "" and masked(payload, mask) or payload)
end

-- What a codec makes of bytes: messages, what it answers, and whether it goes on.
local function take(server, bytes, size)
  local codec = websocket.codec(server, MAX)
  local found, answer, open = {}, "", true
  for i = 1, #bytes, size do
    local still, messages = codec:feed(bytes:sub(i, i + size - 1))
    open = open and still
    for _, part in ipairs(messages) do
      found[#found + 1] = part
    end
    answer = answer .. (codec:output() or "")
  end
  return found, answer, open, codec
end

-- Frames of an answer, without their masks: opcode, payload, opcode, payload, ...
local function frames_of(server, bytes)
  local list, at = {}, 1
  while at <= #bytes do
    local opcode, length = bytes:byte(at) - 128, bytes:byte(at + 1) % 128
    local mask = server and "" or bytes:sub(at + 2, at + 5)
    local payload = bytes:sub(at + 2 + #mask, at + 1 + #mask + length)
    list[#list + 1], list[#list + 2] = opcode, mask ~= "" and masked(payload, mask) or payload
    at = at + 2 + #mask + length
  end
  return list
end

local function code_of(payload)
  return payload ~= "" and payload:byte(1) * 256 + payload:byte(2) or nil
end

local function code(n)
  return string.char(math.floor(n / 256), n % 256)
end

-- Calls `fn(server, size)` for both sides, whole and byte by byte.
local function each(fn)
  for _, server in ipairs({ true, false }) do
    for _, size in ipairs({ math.huge, 1 }) do
      fn(server, size == math.huge and 1000000 or size)
    end
  end
end

-- The frames that `make(server)` gives are read as `expected`, and nothing but pongs is answered.
local function accepts(expected, make, pongs)
  each(function(server, size)
    local found, answer, open = take(server, make(server), size)
    assert.same(expected, found)
    assert.same(pongs or {}, frames_of(server, answer))
    assert.is_true(open)
  end)
end

-- They end the connection with a code, and nothing is read or sent after that.
local function refuses(expected, make, what)
  each(function(server, size)
    local found, answer, open, codec = take(server, make(server) .. frame(server, TEXT, "later"), size)
    local sent = frames_of(server, answer)
    assert.equal(CLOSE, sent[#sent - 1], what)
    assert.equal(expected, code_of(sent[#sent]), what)
    assert.is_false(open, what)
    assert.are_not.equal("later", found[#found], what)
    assert.is_nil(codec:text("more"), what)
  end)
end

describe("the rules of WebSocket", function()
  it("frames of every kind of length carry text and binary data", function()
    for _, length in ipairs({ 0, 1, 125, 126, 127, 128, 65535, 65536 }) do
      for _, opcode in ipairs({ TEXT, BINARY }) do
        local payload = ("*"):rep(length)
        for _, server in ipairs({ true, false }) do
          local found, _, open = take(server, frame(server, opcode, payload, { mask = server and "\0\0\0\0" }), 1000)
          assert.same({ opcode == TEXT and "text" or "binary", payload }, found)
          assert.is_true(open)
        end
      end
    end
  end)

  it("a length is written in the fewest bytes", function()
    for _, length in ipairs({ "\126\0\5", "\126\0\125", "\127\0\0\0\0\0\0\0\5", "\127\0\0\0\0\0\0\255\255" }) do
      refuses(1002, function(server)
        return frame(server, TEXT, "hello", { length = length })
      end, ("%q"):format(length))
    end
  end)

  it("a message may be as long as is allowed, in one frame or several", function()
    local half = ("x"):rep(MAX / 2)
    local function parts(server, last)
      local mask = server and "\0\0\0\0"
      return frame(server, TEXT, half, { more = true, mask = mask }) .. frame(server, 0, last, { mask = mask })
    end
    for _, server in ipairs({ true, false }) do
      assert.same({ "text", half .. half }, (take(server, parts(server, half), 4096)))
      local found, answer, open = take(server, parts(server, half .. "x"), 4096)
      local sent = frames_of(server, answer)
      assert.same({}, found)
      assert.same({ CLOSE, 1009, false }, { sent[1], code_of(sent[2]), open })
    end
  end)

  it("a message in as many fragments as it has bytes takes no more memory than they", function()
    local codec = websocket.codec(true, 1000000)
    local piece = frame(true, 0, "x", { more = true }):rep(1000)
    codec:feed(frame(true, TEXT, "x", { more = true }))
    local before = usage.resident()
    for _ = 1, 500 do
      assert.is_true((codec:feed(piece)))
    end
    assert.is_true(usage.resident() - before < 16384) -- wslay alone would take 47,000
    local _, messages = codec:feed(frame(true, 0, ""))
    assert.equal(500001, #messages[2])
  end)

  it("a client masks, with any mask, and a server does not", function()
    for _, mask in ipairs({ "\0\0\0\0", "\255\255\255\255", "\1\2\3\4", "\0\0\0\255" }) do
      local payload = "a message of more than one turn of its mask \195\164"
      local bytes = frame(true, TEXT, payload, { mask = mask })
      for size = 1, #bytes do
        assert.same({ "text", payload }, (take(true, bytes, size)))
      end
    end
    refuses(1002, function(server)
      return frame(server, TEXT, "hello", { mask = server and "" or "\1\2\3\4" })
    end)
  end)

  it("no bit and no opcode that is reserved is used", function()
    for rsv = 1, 7 do
      for _, opcode in ipairs({ TEXT, BINARY, PING, CLOSE }) do
        refuses(1002, function(server)
          return frame(server, opcode, opcode == CLOSE and code(1000) or "", { rsv = rsv })
        end, ("rsv %d, opcode %d"):format(rsv, opcode))
      end
    end
    for _, opcode in ipairs({ 3, 4, 5, 6, 7, 11, 12, 13, 14, 15 }) do
      refuses(1002, function(server)
        return frame(server, opcode, "")
      end, "opcode " .. opcode)
    end
  end)

  it("a ping is answered with its payload, a pong is not, in order", function()
    local bytes = ("\0\255\254x"):rep(31) .. "y" -- 125, any bytes
    accepts({ "ping", "", "pong", "unasked", "ping", bytes, "ping", "3" }, function(server)
      return frame(server, PING, "") .. frame(server, PONG, "unasked") .. frame(server, PING, bytes)
        .. frame(server, PING, "3")
    end, { PONG, "", PONG, bytes, PONG, "3" })
  end)

  it("control frames are whole and short", function()
    for _, opcode in ipairs({ PING, PONG, CLOSE }) do
      refuses(1002, function(server)
        return frame(server, opcode, ("x"):rep(126))
      end, "126 bytes, opcode " .. opcode)
      refuses(1002, function(server)
        return frame(server, opcode, "", { more = true })
      end, "a fragment, opcode " .. opcode)
    end
  end)

  it("a message comes in any fragments, with control frames between them", function()
    local text = "h\195\164ll\195\182 \240\159\152\128"
    for first = 0, #text do
      for second = first, #text do
        accepts({ "ping", "a", "pong", "b", "text", text }, function(server)
          return frame(server, TEXT, text:sub(1, first), { more = true }) .. frame(server, PING, "a")
            .. frame(server, 0, text:sub(first + 1, second), { more = true }) .. frame(server, PONG, "b")
            .. frame(server, 0, text:sub(second + 1))
        end, { PONG, "a" })
      end
    end
    accepts({ "binary", "", "text", "x" }, function(server)
      return frame(server, BINARY, "", { more = true }) .. frame(server, 0, "", { more = true })
        .. frame(server, 0, "") .. frame(server, TEXT, "x")
    end)
  end)

  it("fragments continue the message that was begun, and none other", function()
    for name, make in pairs({
      ["a continuation of nothing"] = function(server)
        return frame(server, 0, "x")
      end,
      ["one that is not the last"] = function(server)
        return frame(server, 0, "x", { more = true })
      end,
      ["one after the last"] = function(server)
        return frame(server, TEXT, "a", { more = true }) .. frame(server, 0, "b") .. frame(server, 0, "c")
      end,
      ["text within text"] = function(server)
        return frame(server, TEXT, "a", { more = true }) .. frame(server, TEXT, "b")
      end,
      ["binary within text"] = function(server)
        return frame(server, TEXT, "a", { more = true }) .. frame(server, BINARY, "b", { more = true })
      end,
    }) do
      refuses(1002, make, name)
    end
  end)

  local valid = {
    "\0", "\127", "\194\128", "\223\191", "\224\160\128", "\237\159\191", "\238\128\128", "\239\191\189",
    "\239\191\190", "\239\191\191", "\240\144\128\128", "\244\143\191\191",
    "\206\186\225\189\185\207\131\206\188\206\181",
  }
  local invalid = {
    "\128", "\191", "\192\128", "\193\191", "\194\65", "\224\128\128", "\224\159\191", "\237\160\128", "\237\191\191",
    "\240\128\128\128", "\240\143\191\191", "\244\144\128\128", "\245\128\128\128", "\248\136\128\128\128",
    "\252\132\128\128\128\128", "\254", "\255", "a\195b", "\237\175\191\237\191\191",
  }
  local cut = { "\194", "\224\160", "\239\191", "\240\144\128", "ok \195" }

  it("text is UTF-8, wherever a frame ends", function()
    for _, text in ipairs(valid) do
      for at = 0, #text do
        accepts({ "text", text }, function(server)
          return frame(server, TEXT, text:sub(1, at), { more = true }) .. frame(server, 0, text:sub(at + 1))
        end)
      end
    end
    for _, list in ipairs({ invalid, cut }) do
      for _, text in ipairs(list) do
        for at = 0, #text do
          refuses(1007, function(server)
            return frame(server, TEXT, "ok" .. text:sub(1, at), { more = true }) .. frame(server, 0, text:sub(at + 1))
          end, ("%q at %d"):format(text, at))
        end
        refuses(1007, function(server)
          return frame(server, TEXT, text)
        end, ("%q"):format(text))
      end
    end
  end)

  it("binary data is any bytes", function()
    for _, bytes in ipairs(invalid) do
      accepts({ "binary", bytes }, function(server)
        return frame(server, BINARY, bytes)
      end)
    end
  end)

  -- What is read, and that it is answered and ends the reading.
  local function closes(payload, read)
    each(function(server, size)
      local found, answer, open, codec = take(server,
        frame(server, CLOSE, payload) .. frame(server, TEXT, "later"), size)
      assert.same({ "close", read }, found)
      assert.same({ CLOSE, payload }, frames_of(server, answer))
      assert.is_false(open)
      assert.is_nil(codec:text("more"))
    end)
  end

  it("a close is answered with its code and ends both ways", function()
    closes("", "1005 ")
    for _, n in ipairs({ 1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999 }) do
      closes(code(n), n .. " ")
    end
    local reason = ("\195\164"):rep(61) .. "x" -- 123 bytes
    closes(code(1000) .. reason, "1000 " .. reason)
  end)

  it("a close has a code that may be sent, and a reason in UTF-8", function()
    for _, n in ipairs({ 0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535 }) do
      refuses(1002, function(server)
        return frame(server, CLOSE, code(n))
      end, "code " .. n)
    end
    refuses(1002, function(server)
      return frame(server, CLOSE, "\3")
    end, "one byte")
    for _, list in ipairs({ invalid, cut }) do
      for _, text in ipairs(list) do
        refuses(1007, function(server)
          return frame(server, CLOSE, code(1000) .. text)
        end, ("%q"):format(text))
      end
    end
  end)
end)

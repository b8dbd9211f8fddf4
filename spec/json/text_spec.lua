local json = require("operations.base.json")

local function utf8_of(c)
  if c < 0x80 then
    return string.char(c)
  elseif c < 0x800 then
    return string.char(0xC0 + math.floor(c / 64), 0x80 + c % 64)
  elseif c < 0x10000 then
    return string.char(0xE0 + math.floor(c / 4096), 0x80 + math.floor(c / 64) % 64, 0x80 + c % 64)
  end
  return string.char(0xF0 + math.floor(c / 262144), 0x80 + math.floor(c / 4096) % 64, 0x80 + math.floor(c / 64) % 64,
    0x80 + c % 64)
end

describe("a text of JSON", function()
  it("has any character by its number", function()
    for c = 0, 0xFFFF, 5 do
      if c < 0xD800 or c > 0xDFFF then
        local escape = ("\\u%04" .. (c % 2 == 0 and "x" or "X")):format(c)
        assert.equal(utf8_of(c), json.decode('"' .. escape .. '"'))
      end
    end
    for c = 0x10000, 0x10FFFF, 1021 do
      local high, low = 0xD800 + math.floor((c - 0x10000) / 1024), 0xDC00 + (c - 0x10000) % 1024
      assert.equal(utf8_of(c), json.decode(('"\\u%04x\\u%04X"'):format(high, low)))
      assert.equal('"' .. utf8_of(c) .. '"', json.encode(utf8_of(c)))
    end
  end)

  it("has no half of a pair", function()
    for _, half in ipairs({ 0xD800, 0xDBFF, 0xDC00, 0xDFFF }) do
      for _, tail in ipairs({ "", "x", "\\", "\\n", "\\u", "\\u0041", "\\ud800", "\\udbff", "\\ue000", "\\x", "u" }) do
        assert.is_nil(json.decode(('"\\u%04x%s"'):format(half, tail)))
      end
    end
  end)

  it("has hexadecimal digits alone behind \\u, and nine escapes", function()
    for byte = 0, 255 do
      local char = string.char(byte)
      for at = 1, 4 do
        local digits = ("0"):rep(at - 1) .. char .. ("0"):rep(4 - at)
        local value, err = json.decode('"\\u' .. digits .. '"')
        if char:find("^%x$") then
          assert.equal(utf8_of(tonumber(digits, 16)), value)
        else
          assert.is_nil(value)
          assert.equal(3 + at, err.details.offset)
        end
      end
      local value = json.decode('"\\' .. char .. '"')
      assert.equal(({ ['"'] = '"', ["\\"] = nil, ["/"] = "/", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" })[char],
        char ~= "\\" and value or nil)
    end
    assert.equal("\\", json.decode('"\\\\"'))
  end)

  -- Bytes are passed over several at a time.
  it("is read and written alike wherever an odd byte is", function()
    local odd = {
      ["\\n"] = "\n", ['\\"'] = '"', ["\\\\"] = "\\", ["\\u0001"] = "\1", ["é"] = "é", ["€"] = "€", ["😀"] = "😀",
      ["\127"] = "\127", ["/"] = "/", ["\\u001f"] = "\31", [" "] = " ", ["\194\128"] = "\194\128",
    }
    for length = 0, 34 do
      for at = 0, length do
        local head, tail = ("x"):rep(at), ("y"):rep(length - at)
        for escape, value in pairs(odd) do
          assert.equal(head .. value .. tail, json.decode('"' .. head .. escape .. tail .. '"'))
          assert.equal('"' .. head .. escape .. tail .. '"', json.encode(head .. value .. tail))
        end
      end
    end
  end)

  it("is refused at the byte that is wrong, wherever that is", function()
    local wrong = { "\0", "\1", "\31", "\n", "\128", "\191", "\192\128", "\193\191", "\224\159\191", "\237\160\128",
      "\240\143\191\191",
      "\244\144\128\128", "\245\128\128\128", "\255", "\195", "\226\130", "\240\159\152", "\195\195" }
    for length = 0, 34 do
      for at = 0, length do
        local head, tail = ("x"):rep(at), ("y"):rep(length - at)
        for _, bytes in ipairs(wrong) do
          local value, err = json.decode('"' .. head .. bytes .. tail .. '"')
          assert.is_nil(value)
          assert.equal(at + 2, err.details.offset)
          local text, refusal = json.encode(head .. bytes .. tail)
          if bytes:byte() < 0x20 then
            assert.is_string(text)
          else
            assert.equal("a string is not UTF-8 at byte " .. at + 1, refusal.message)
          end
        end
      end
    end
  end)

  it("has the characters at both ends of each length and no others", function()
    for _, c in ipairs({ 0x80, 0x7FF, 0x800, 0xFFF, 0x1000, 0xCFFF, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x3FFFF, 0x40000,
      0xFFFFF, 0x100000, 0x10FFFF }) do
      local char = utf8_of(c)
      assert.equal(char, json.decode('"' .. char .. '"'))
      for i = 1, #char do
        for _, byte in ipairs({ 0x7F, 0xC0, 0xFF }) do
          local broken = char:sub(1, i - 1) .. string.char(byte) .. char:sub(i + 1)
          if i > 1 or byte >= 0x80 then
            assert.is_nil(json.decode('"' .. broken .. '"'))
          end
        end
        assert.is_nil(json.decode('"' .. char:sub(1, i - 1) .. (i > 1 and '"' or "\128") .. (i > 1 and "" or '"')))
      end
    end
  end)
end)

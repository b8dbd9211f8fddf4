local schema = require("operations.schema")

local function checker(name)
  local compiled = assert(schema.compile({ type = "string", format = name }, { formats = true }))
  return function(text)
    return (compiled:check(text))
  end
end

local ALPHA, DIGIT = "a-zA-Z", "0-9"
local ALNUM = ALPHA .. DIGIT
local HEX = "0-9a-fA-F"
local UNRESERVED = ALNUM .. "%-%._~"
local SUB_DELIMS = "!%$&'%(%)%*%+,;="
local PATH = UNRESERVED .. SUB_DELIMS .. ":@/"
local ATEXT = ALNUM .. "!#%$%%&'%*%+%-/=%?%^_`{|}~"
local VARIABLE = ALNUM .. "_"

-- format, what is before the byte and after it, and the bytes of ASCII that fit between as a set of a Lua pattern.
local places = {
  { "uri", "a:x", "y", PATH .. "%?#" }, { "uri", "a:?x", "y", PATH .. "%?#" }, { "uri", "a:#x", "y", PATH .. "%?" },
  { "uri", "a", "b:c", ALNUM .. "%+%-%.:" }, { "uri", "", "b:c", ALPHA },
  { "uri", "a://x", "y", UNRESERVED .. SUB_DELIMS .. "@/%?#" }, -- a colon begins a port
  { "uri", "a://x", "y@h", UNRESERVED .. SUB_DELIMS .. ":/%?#" },
  { "uri", "a://h:8", "", DIGIT .. "@/%?#" }, { "uri", "a://[v1.x", "y]", UNRESERVED .. SUB_DELIMS .. ":" },
  { "uri", "a://[v1", ".x]", HEX .. "%." }, { "uri", "a:%", "0", HEX }, { "uri", "a:%0", "", HEX },
  { "uri", "a://[::1]", "", "/%?#:" }, { "uri", "a://[::", "]", HEX },
  { "uri-reference", "x", "y", UNRESERVED .. SUB_DELIMS .. ":@/%?#" }, { "uri-reference", "1", "y",
    UNRESERVED .. SUB_DELIMS .. "@/%?#" },
  { "uri-template", "x", "y", "!#%$&%(%)%*%+,%-%./0-9:;=%?@A-Z%[%]_a-z~'" },
  { "uri-template", "{", "a}", VARIABLE .. "%+#%./;%?&=,!@|" }, { "uri-template", "{a", "b}", VARIABLE .. "%.," },
  { "uri-template", "{a:", "}", "1-9" }, { "uri-template", "{a:1", "}", DIGIT },
  { "uri-template", "{a", "}", VARIABLE .. "%*" },
  { "uri-template", "{%4", "}", HEX }, { "uri-template", "%", "4", HEX },
  { "email", "a", "b@c", ATEXT .. "%." }, { "email", "", "b@c", ATEXT }, { "email", "a", "@c", ATEXT },
  { "email", '"a', 'b"@c', " !#-~" }, { "email", '"\\', '"@c', " -~" },
  { "email", "a@b", "c", ALNUM .. "%-%." }, { "email", "a@", "c", ALNUM }, { "email", "a@b", "", ALNUM },
  { "email", "a@[t:", "]", "!-Z%^_-~" }, { "email", "a@[t", ":x]", ALNUM .. ":" },
  { "email", "a@[t", "u:x]", ALNUM .. "%-:" },
  { "idn-email", "a@b", "c", ALNUM .. "%-%." }, { "idn-email", "a@", "ä", ALNUM },
  { "hostname", "a", "b", ALNUM .. "%-%." }, { "hostname", "", "b", ALNUM }, { "hostname", "a", "", ALNUM },
  { "idn-hostname", "a", "b", ALNUM .. "%-%." },
  { "idn-hostname", "", "b", ALNUM }, { "idn-hostname", "a", "", ALNUM },
  { "idn-hostname", "ä", "b", "a-z0-9%-%." }, -- capital letters are DISALLOWED beside others
  { "ipv4", "1.2.3.", "", DIGIT }, { "ipv4", "1.2.3", "4", "%." },
  { "ipv6", "::", "", HEX },
  { "ipv6", "1:2:3:4:5:6:7", "8", ":" },
  { "byte", "YQ", "=", ALNUM .. "%+/=" }, { "byte", "", "Q==", ALNUM .. "%+/" }, { "byte", "YQY", "", ALNUM .. "%+/=" },
  { "uuid", "2eb8aa08-aa98-11ea-b4aa-73b441d1638", "", HEX },
  { "uuid", "", "eb8aa08-aa98-11ea-b4aa-73b441d16380", HEX },
  { "json-pointer", "", "a", "/" },
  { "json-pointer", "/~", "", "01" }, { "json-pointer", "/a", "", "%z\1-}\127" },
  { "relative-json-pointer", "", "#", DIGIT }, { "relative-json-pointer", "1", "", DIGIT .. "#/" },
  { "relative-json-pointer", "", "0", "1-9" }, { "date", "2024-0", "-11", "1-9" }, { "date", "2024-1", "-11", "0-2" },
  { "date", "2024-11-", "0", "1-3" }, { "date", "2024-02-2", "", DIGIT }, { "date", "202", "-11-11", DIGIT },
  { "date-time", "2024-02-29", "08:30:06Z", "Tt" }, { "time", "08:30:06", "", "Zz" },
  { "time", "08:30:06.", "Z", DIGIT },
  { "time", "08:30:06.5", "Z", DIGIT }, { "time", "08:30:06", "01:00", "%+%-" }, { "time", "08:30:06+01", "00", ":" },
  { "duration", "P1", "", "YMDW" }, { "duration", "PT1", "", "HMS" }, { "duration", "P", "D", DIGIT },
  { "duration", "P1", "D", DIGIT }, { "duration", "P1", "1D", DIGIT .. "M" }, { "duration", "", "1D", "P" },
  { "duration", "P1D", "1H", "T" }, { "duration", "P1D", "", "" },
}

describe("the bytes of format", function()
  for _, place in ipairs(places) do
    local name, before, after, set = place[1], place[2], place[3], place[4]
    it(("%s between %q and %q are those of its grammar"):format(name, before, after), function()
      local fits, wrong = checker(name), {}
      for byte = 0, 127 do
        local char = string.char(byte)
        local expected = set ~= "" and char:find("^[" .. set .. "]$") ~= nil
        if fits(before .. char .. after) ~= expected then
          wrong[#wrong + 1] = char
        end
      end
      assert.equal("", table.concat(wrong))
      for _, broken in ipairs({ "\128", "\195", "\255", "\237\160\128", "\192\128", "\244\144\128\128" }) do
        if name ~= "json-pointer" then
          assert.is_false(fits(before .. broken .. after), broken)
        end
      end
    end)
  end
end)

-- The second after hh:mm:59, `minutes` into the day of a place that is `offset` minutes ahead of UTC.
local function leap_second(minutes, offset)
  local ahead = math.abs(offset)
  return ("%02d:%02d:60%s%02d:%02d"):format(math.floor(minutes / 60), minutes % 60, offset < 0 and "-" or "+",
    math.floor(ahead / 60), ahead % 60)
end

describe("the numbers of format", function()
  it("date are those of the calendar", function()
    local fits = checker("date")
    local days = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 }
    for year, leap in pairs({ [1900] = 0, [1999] = 0, [2000] = 1, [2023] = 0, [2024] = 1, [2100] = 0, [2400] = 1 }) do
      for month = 0, 13 do
        for day = 0, 32 do
          local last = days[month] and days[month] + (month == 2 and leap or 0) or 0
          local text = ("%04d-%02d-%02d"):format(year, month, day)
          assert.equal(day >= 1 and day <= last, fits(text), text)
        end
      end
    end
  end)

  it("time are those of a clock", function()
    local fits = checker("time")
    for n = 0, 99 do
      assert.equal(n < 24, fits(("%02d:00:00Z"):format(n)))
      assert.equal(n < 60, fits(("00:%02d:00Z"):format(n)))
      assert.equal(n < 60, fits(("00:00:%02dZ"):format(n)))
      for _, sign in ipairs({ "+", "-" }) do
        assert.equal(n < 24, fits(("00:00:00%s%02d:00"):format(sign, n)))
        assert.equal(n < 60, fits(("00:00:00%s00:%02d"):format(sign, n)))
      end
    end
  end)

  it("time have a second more at the end of a day in UTC only, in any time zone", function()
    local fits = checker("time")
    for minutes = 0, 1439, 7 do
      for _, offset in ipairs({ -1439, -1438, -720, -330, -60, -1, 0, 1, 59, 60, 345, 840, 1438, 1439 }) do
        local text = leap_second(minutes, offset)
        assert.equal((minutes - offset) % 1440 == 1439, fits(text), text)
      end
    end
    for offset = -1439, 1439 do
      assert.is_true(fits(leap_second((1439 + offset) % 1440, offset)))
    end
  end)

  it("ipv4 are octets without leading zeros", function()
    local fits = checker("ipv4")
    for place = 1, 4 do
      for n = 0, 1001 do
        local octets = { "1", "20", "255", "0" }
        octets[place] = tostring(n)
        assert.equal(n <= 255, fits(table.concat(octets, ".")))
      end
      for _, text in ipairs({ "00", "01", "", "1a", " 1", "-1", "+1", "0255" }) do
        local octets = { "1", "20", "255", "0" }
        octets[place] = text
        assert.is_false(fits(table.concat(octets, ".")))
      end
    end
  end)

  it("ipv6 are eight groups, or fewer about a gap", function()
    local fits = checker("ipv6")
    local function groups(n)
      return ("a1:"):rep(n):sub(1, -2)
    end
    for before = 0, 9 do
      assert.equal(before == 8, fits(groups(before)))
      assert.equal(before == 6, fits(groups(before) .. (before > 0 and ":" or "") .. "1.2.3.4"))
      for after = 0, 9 do
        assert.equal(before + after <= 7, fits(groups(before) .. "::" .. groups(after)))
        local text = groups(before) .. "::" .. groups(after) .. (after > 0 and ":" or "") .. "1.2.3.4"
        assert.equal(before + after <= 5, fits(text), text)
      end
    end
    for digits = 1, 6 do
      assert.equal(digits <= 4, fits("::" .. ("f"):rep(digits)))
      assert.equal(digits <= 4, fits(("f"):rep(digits) .. "::"))
      assert.equal(digits <= 4, fits("::" .. ("f"):rep(digits) .. ":1"))
    end
    assert.is_true(fits("1111:2222:3333:4444:5555:6666:255.255.255.255"))
  end)

  it("uuid are 8, 4, 4, 4 and 12 digits", function()
    local fits = checker("uuid")
    local text = "01234567-89ab-cdef-ABCD-EF0123456789"
    assert.is_true(fits(text))
    for i = 1, #text do
      assert.is_false(fits(text:sub(1, i - 1) .. text:sub(i + 1)))
      assert.is_false(fits(text:sub(1, i) .. "0" .. text:sub(i + 1)))
      assert.is_false(fits(text:sub(1, i - 1) .. (text:sub(i, i) == "-" and "0" or "-") .. text:sub(i + 1)))
    end
  end)
end)

describe("the lengths of format", function()
  it("email are 64 bytes before the at sign and 255 behind it", function()
    for name, most in pairs({ email = 255, ["idn-email"] = 255 }) do
      local fits = checker(name)
      for length = 1, 66 do
        assert.equal(length <= 64, fits(("a"):rep(length) .. "@b"))
        assert.equal(length <= 62, fits('"' .. ("a"):rep(length) .. '"@b'))
      end
      local domain = ("a."):rep(200)
      for length = most - 4, most + 4, 2 do
        assert.equal(length <= most, fits("x@" .. domain:sub(1, length)))
      end
    end
  end)

  it("hostname are 63 bytes of a label and 253 of a name", function()
    for _, name in ipairs({ "hostname", "idn-hostname", "email" }) do
      local fits = checker(name)
      local head = name == "email" and "x@" or ""
      for length = 1, 65 do
        assert.equal(length <= 63, fits(head .. ("a"):rep(length)))
        assert.equal(length <= 63, fits(head .. "b." .. ("a"):rep(length) .. ".c"))
      end
      local most = name == "email" and 255 or 253
      for length = most - 4, most + 4, 2 do
        assert.equal(length <= most, fits(head .. ("a."):rep(200):sub(1, length)))
      end
    end
  end)

  it("byte are multiples of four", function()
    local fits = checker("byte")
    for length = 0, 12 do
      assert.equal(length % 4 == 0, fits(("A"):rep(length)))
      assert.equal(length % 4 == 3, fits(("A"):rep(length) .. "="))
      assert.equal(length % 4 == 2, fits(("A"):rep(length) .. "=="))
      assert.is_false(fits(("A"):rep(length) .. "==="))
    end
  end)

  it("uri-template are up to four digits of a prefix", function()
    local fits = checker("uri-template")
    for digits = 0, 6 do
      assert.equal(digits >= 1 and digits <= 4, fits("{a:" .. ("9"):rep(digits) .. "}"))
    end
  end)
end)

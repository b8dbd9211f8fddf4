local core = require("operations.core")
local header_field = require("operations.net.http.header_field")
local http = require("operations.net.http")

local function date(seconds)
  return os.date("!%a, %d %b %Y %H:%M:%S GMT", math.floor(seconds))
end

describe("a header field", function()
  it("has names that are tokens", function()
    for _, name in ipairs({ "Accept", "X-1", "!#$%&'*+-.^_`|~" }) do
      assert.is_true(header_field.is_token(name))
    end
    for _, name in ipairs({ "", "a b", "a:", "a\n", "a\0", "\195\164", 1 }) do
      assert.is_false(header_field.is_token(name))
    end
  end)

  it("has values without control characters but tab", function()
    for byte = 0, 255 do
      local is_control = byte ~= 9 and (byte < 32 or byte == 127)
      assert.equal(is_control, ("a" .. string.char(byte) .. "b"):find(header_field.control) ~= nil)
    end
    assert.equal("a b", header_field.trim(" \ta b\t "))
  end)

  it("has quoted strings, whose end must be there", function()
    for text, expected in pairs({ ['"a"'] = "a", ['"a\\"b\\\\"'] = 'a"b\\', ['""'] = "" }) do
      local value, after = header_field.quoted("x" .. text .. ";", 2)
      assert.same({ expected, #text + 2 }, { value, after })
    end
    for _, text in ipairs({ '"', '"a', '"a\\', '"a\\"' }) do
      assert.is_nil((header_field.quoted(text, 1)))
    end
  end)
end)

describe("a Link header field", function()
  for text, target in pairs({
    ['<https://x/y?p=2>; rel="next"'] = "https://x/y?p=2",
    ["<a>;rel=next"] = "a",
    ['<a>; rel="prev", <b>; rel="next"'] = "b",
    ['<a>; rel="prev"  ,  ,<b,c;d>  ;  rel = "first NEXT"'] = "b,c;d",
    ['<a>; title="x; rel=\\"next\\", <z>; "; rel=prev, <b>; rel=next'] = "b",
    ["<a>; flag; REL=Next"] = "a",
    ['<a>; rel="prev"; rel="next", <b>; rel="next"'] = "b",
    ['<a>; rel="next"; anchor="/other", <b>; rel="next"'] = "b",
    ["<>; rel=next"] = "",
    ["<a>;; rel=next;"] = "a",
  }) do
    it("has this one for the next page: " .. text, function()
      assert.equal(target, header_field.link_target(text, "next"))
    end)
  end

  for _, text in ipairs({ "", "a; rel=next", "<a", '<a>; rel="next', "<a>; title=next", '<a>; rel="nextish"',
    "<a>; rel=prev <b>; rel=next", '<a>; rel="prev\\' }) do
    it("has none: " .. text, function()
      assert.is_nil((header_field.link_target(text, "next")))
    end)
  end

  it("is read in one go, however long it is", function()
    local text = ('<a>; rel="x"; title="' .. ("\\\\"):rep(1000) .. '",'):rep(500) .. "<b>; rel=next"
    assert.equal("b", header_field.link_target(text, "next"))
    assert.equal(501, #header_field.links(text))
  end)
end)

describe("an HTTP date", function()
  it("is read in all three forms", function()
    for _, text in ipairs({
      "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    }) do
      assert.equal(784111777000, header_field.date(text))
    end
  end)

  it("knows leap years, and the centuries without a leap day", function()
    assert.equal(0, header_field.date("Thu, 01 Jan 1970 00:00:00 GMT"))
    assert.equal(951782400000, header_field.date("Tue, 29 Feb 2000 00:00:00 GMT"))
    assert.equal(4107542400000, header_field.date("Mon, 01 Mar 2100 00:00:00 GMT"))
  end)

  it("is nil when it is invalid", function()
    for _, text in ipairs({ "", "yesterday", "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 06 Foo 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 CET" }) do
      assert.is_nil(header_field.date(text))
    end
  end)
end)

describe("Retry-After", function()
  it("is seconds or a date", function()
    assert.equal(120000, http.retry_after({ ["retry-after"] = "120" }))
    assert.equal(2 ^ 53, http.retry_after({ ["retry-after"] = ("9"):rep(40) }))
    local ms = http.retry_after({ ["retry-after"] = date(core.now() / 1000 + 100) })
    assert.is_true(ms > 98000 and ms <= 100000)
    assert.equal(0, http.retry_after({ ["retry-after"] = date(0) }))
  end)

  it("of another form counts as none", function()
    for _, text in ipairs({ "", "soon", "-5", "1.5", "99 bottles" }) do
      assert.is_nil(http.retry_after({ ["retry-after"] = text }))
    end
    assert.is_nil(http.retry_after({}))
  end)
end)

describe("a date", function()
  local read = header_field.date

  it("is of each month, in leap years too", function()
    local names = { "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" }
    local lengths = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 }
    -- Days from 1970-01-01 to the first of January.
    for year, first in pairs({ [1900] = -25567, [1970] = 0, [2000] = 10957, [2023] = 19358, [2024] = 19723,
      [2100] = 47482 }) do
      local past = first
      for month, name in ipairs(names) do
        local length = lengths[month] + (month == 2 and (year == 2000 or year == 2024) and 1 or 0)
        for _, day in ipairs({ 1, length }) do
          assert.equal((past + day - 1) * 86400000, read(("Mon, %02d %s %d 00:00:00 GMT"):format(day, name, year)))
        end
        past = past + length
      end
    end
  end)

  it("of two digits is of the century that is nearer", function()
    assert.equal(0, read("Thursday, 01-Jan-70 00:00:00 GMT"))
    assert.equal(read("Tue, 01 Jan 2069 00:00:00 GMT"), read("Tuesday, 01-Jan-69 00:00:00 GMT"))
    assert.equal(read("Fri, 01 Jan 1999 00:00:00 GMT"), read("Friday, 01-Jan-99 00:00:00 GMT"))
    assert.equal(read("Sat, 01 Jan 2000 00:00:00 GMT"), read("Saturday, 01-Jan-00 00:00:00 GMT"))
  end)

  it("has days, hours, minutes and seconds that there are", function()
    local function at(day, time)
      return read(("Thu, %s Jan 1970 %s GMT"):format(day, time))
    end
    assert.same({ 0, 30 * 86400000, 86399000, 86400000 }, { at("01", "00:00:00"), at("31", "00:00:00"),
      at("1", "23:59:59"), at("01", "23:59:60") })
    for _, case in ipairs({ { "00", "00:00:00" }, { "32", "00:00:00" }, { "01", "24:00:00" }, { "01", "00:60:00" },
      { "01", "00:00:61" } }) do
      assert.is_nil(at(case[1], case[2]))
    end
    assert.is_nil(read("Thu, 01 Foo 1970 00:00:00 GMT"))
    assert.is_nil(read("Thu, 01 Jan 1970 00:00:00"))
    assert.equal(5 * 86400000, read("Tue Jan  6 00:00:00 1970"))
  end)
end)

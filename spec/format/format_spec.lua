local schema = require("operations.schema")

-- Beside the official suite (suite_spec.lua): what a reader would look up first, and the edges of each grammar.
local cases = {
  date = { { "2024-02-29", "0001-01-01" }, { "2023-02-29", "2024-13-01", "2024-1-01", "2024-01-01Z", "" } },
  time = {
    { "08:30:06Z", "08:30:06.5+00:20", "23:59:60Z", "01:29:60+01:30" },
    { "24:00:00Z", "08:30:06", "08:30:06.Z", "22:59:60Z", "08:30:06+24:00", "08:30:06-0800" },
  },
  ["date-time"] = { { "2024-02-29t08:30:06z" }, { "2024-02-29 08:30:06Z", "2024-02-29", "2024-02-30T08:30:06Z" } },
  duration = {
    { "P1Y2M3DT4H5M6S", "P2W", "PT36H", "P1M", "P1DT12H" },
    { "", "P", "PT", "P1", "P1Y1D", "P1W1D", "PT1H1S", "P1S", "P1YT", "PT0.5S", "1D", "P2D1Y" },
  },
  email = {
    { "a@b", "te.s~t@example.com", '"joe \\"@ b"@example.com', "a@[127.0.0.1]", "a@[IPv6:::1]", "a@[tag:x]" },
    { "", "@b", "a@", "a b@c", ".a@b", "a.@b", "a..b@c", "a@b_c", '"a@b', '"a\nb"@c', "a@[1.2]", "a@[IPv6:1]", "ä@b",
      "a@b@c", "a@-b", "a@[x]", "a@[tag:]", ("a"):rep(65) .. "@b" },
  },
  ["idn-email"] = { { "실례@실례.테스트", '"ä"@b' }, { "a", "a@b c", "a@-ä", "\255@b", "a@" .. ("ä"):rep(128) } },
  hostname = {
    { "a", "www.example.com", "1a", "a--b", "xn--ll-0ea", ("a"):rep(63) },
    { "", ".", "a.", "-a", "a-", "a_b", ("a"):rep(64), ("a."):rep(127) .. "a", "ä", "xn--X", "xn--", "xn--a-",
      "xn--99999999", "xn--chb89f" },
  },
  ["idn-hostname"] = {
    { "실례.테스트", "a。b", "l·l", "α͵β", "א׳ב", "・ぁ", "بي‌بي", "क्‍ष", "xn--ll-0ea", "faß",
      "ā", "ž", "ø", "ĸ", "XN--LL-0EA", "xn--LL-0ea" },
    { "", "a..b", "-ä", "ä-", "a·l", "α͵", "・", "क‍ष", "ab--ä", "Ä", "̀a", "aא", "0a.א", "٠ب۰", "a b", "\255",
      ("ä"):rep(64), ("ü"):rep(60), ("a"):rep(64), "Ā", "Ž", "Ø", "ŀ", "xn--bb-0ea", "xn--", "xn--a", "xn--l-fda" },
  },
  ipv4 = {
    { "0.0.0.0", "255.255.255.255" },
    { "", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "1.2.3.a", "1..2.3" },
  },
  ipv6 = {
    { "::", "::1", "1::", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4", "1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:7::" },
    { "", ":", "1", ":::", "1::2::3", "12345::", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "::1.2.3", "1.2.3.4::",
      "fe80::1%a", "1:2:3:4:5:6:7:8::", "[::1]" },
  },
  uri = {
    { "http://u:p@h:80/p?q#f", "urn:a:b", "mailto:a@b", "http://[::1]:8/", "http://[v1.a:b]/", "a:", "file:/a",
      "a://" },
    { "", "abc", "//h", "1a:b", "http://[::1", "http://[v1.]", "http://[::1]a", "http://h:p/", "http://a@b@c", "a:%4",
      "a:ä", "a:b c", "a:#b#c", "a:[", "http://h/[" },
  },
  ["uri-reference"] = { { "", "abc", "//h/p", "?q", "#f", "./a:b", "/a//b" }, { "1:b", "\\a", "/ä", "#\\" } },
  iri = { { "http://ƒøø.ßår/?∂é#π", "a:?\243\176\128\128" }, { "âππ", "a:\243\176\128\128", "a:\255" } },
  ["iri-reference"] = { { "", "/âππ", "//ä@ö:1/" }, { "\\ä", "#\\" } },
  ["uri-template"] = {
    { "", "a/{b}/{+c,d*}{?e:30}", "{%41.b_1}", "ä'" },
    { "{", "}", "{}", "{a,}", "{a:0}", "{a:10000}", "{a:x}", "{a b}", "{.}", "a b", "%4", "\255", "{a.}", "<" },
  },
  uuid = {
    { "2EB8AA08-aa98-11ea-b4aa-73b441d16380" },
    { "2eb8aa08aa9811eab4aa73b441d16380", "2eb8aa08-aa98-11ea-b4aa-73b441d1638g", "" },
  },
  ["json-pointer"] = { { "", "/", "/a~0~1/ä" }, { "a", "#/a", "/~", "/~2" } },
  ["relative-json-pointer"] = { { "0", "12/a", "1#" }, { "", "/a", "01", "1##", "-1", "1a", "0/~2" } },
  regex = { { "a+" }, { "a++" } },
  byte = { { "", "YQ==", "YWI=", "YWJj", "+/+/" }, { "YQ", "YQ=", "====", "Y=Q=", "Y Q=", "-_-_" } },
  binary = { { "\1ä" }, {} },
  password = { { "x" }, {} },
}

describe("format", function()
  for name, case in pairs(cases) do
    local compiled = assert(schema.compile({ format = name }, { formats = true }))
    for _, text in ipairs(case[1]) do
      it(("%s takes %q"):format(name, text), function()
        assert.is_true((compiled:check(text)))
      end)
    end
    for _, text in ipairs(case[2]) do
      it(("%s refuses %q"):format(name, text), function()
        assert.is_false((compiled:check(text)))
      end)
    end
  end

  it("says nothing of what is no string", function()
    for name in pairs(cases) do
      assert.is_true((assert(schema.compile({ format = name }, { formats = true })):check(12)))
    end
  end)

  it("only annotates when its name is unknown", function()
    for _, name in ipairs({ "unknown", "", "Date", "date\0" }) do
      assert.is_true((assert(schema.compile({ format = name }, { formats = true })):check("x")))
    end
  end)

  it("only annotates when formats are not asked for", function()
    assert.is_true((assert(schema.compile({ format = "date" })):check("x")))
  end)
end)

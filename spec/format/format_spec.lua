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
    { "a@b", "te.s~t@example.com", '"joe \\"@ b"@example.com', "a@[127.0.0.1]", "a@[IPv6:::1]",
      "a@[IPv6:1:2:3:4:5:6:7:8]", "a@[tag:x]" },
    { "", "@b", "a@", "a b@c", ".a@b", "a.@b", "a..b@c", "a@b_c", '"a@b', '"a\nb"@c', "a@[1.2]", "a@[IPv6:1]", "ä@b",
      "a@[IPv6:::g]", "a@[iPV6:1]", "a@[Ipv6:1]", "a@b@c", "a@-b", "a@[x]", "a@[tag:]", ("a"):rep(65) .. "@b" },
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

-- The edges of ranges of characters, lengths and numbers.
local edges = {
  date = {
    { "2000-02-29", "2024-12-31", "2024-04-30", "2023-02-28" },
    { "1900-02-29", "2024-00-10", "2024-01-00", "2024-04-31", "2024-01-32", "2024/01-01", "2024-01/01", "202a-01-01" },
  },
  time = {
    { "23:59:59z", "23:59:60-00:00", "00:29:60+00:30", "00:00:00-23:59" },
    { "08:60:00Z", "08:30:61Z", "08:30:06+00:60", "08:30:60Z", "23:58:60Z", "08-30:06Z", "08:30-06Z", "08:30:06Zz" },
  },
  duration = {
    { "P1Y1M1D", "P1YT1S", "PT1M1S", "P10D" },
    { "PT1H1M1S2", "P1W2", "P1Y1M1D1", "P1YT", "PT1", "P1H", "PT1D", "P1Y1Y", "p1Y", "P1WT1H", "P1D1M" },
  },
  email = {
    { "a@[iPV6:::1]", "a@[IPv4:x]", "a@[1Pv6:x]", "a@[IPx6:x]", "a@[IPv6x:x]", '"\\~"@b', "a!#$%&'*+-/=?^_`{|}~@b",
      "a@[t:!Z^~]",
      ("a"):rep(64) .. "@b" },
    { "a\0@b", '"a\127"@b', '"a\\', '"a\\\n"@b', '""', '"a"b', '"a"@', "a@[a-:x]", "a@[a:]", "a@[a:[]", "a@[a: ]",
      "a@[a:\127]", "a@[]", "a@[", '"@b', "a@b-", "a\127@b", "a(@b" },
  },
  ["idn-email"] = { { "a@ä-ö.1" }, { "a@ä-", "a@", "a@ä..b", "a@ä_b", "a@.ä", '"@b' } },
  ["idn-hostname"] = {
    -- joiners, one script's digits, and names that are right to left
    { "نامه‌ای", "بِ‌ِب", "l·l·l", "アー・", "ב٠", "ב۱", "ב0", "בּ", "a1.ב", "a-1.ב",
      "कि.ב", "a．b", "a｡ä", "xn--p1ai", "xn--99z", "xn--ll-0ea.xn--ll-0ea",
      "xn--90a0af9c", "xn--Bcher-KVA", "xn--0-zhc", ("ä"):rep(57),
      ("a"):rep(61) .. "." .. ("ü."):rep(22) .. ("a"):rep(15) },
    { "ב‍ב", "ב‍", "ا‌ب", "א・א", "α͵́",
      "‌ب", "ب‌", "ب‌ِ", "a‌ب", "ب‌a", "·l", "l·", "a·l", "l·a", "ab・", "・", "ב٠۱", "ב۱٠", "ב٠0", "בa", "٠",
      "1.ב", "aב",
      "a٠", "a、b", "a-.ב",
      "l·l.l·", "l·l.·l",
      "ä.-a", "ä.a-", "ä.a_", "ä.", "xn--1q32g", "xn--4ca904870604b", "xn--q0902716a", "xn--a_b", "xn--ll-0e!",
      "xn--ll-0e_", "xn--ll-0e", "xn--ll-0eaa", "xn------zfa",
      "xn----zfa", "xn----0fa", "xn--ab---ooa", "xn--0-0hc", "xn--a-zhc", "xn--8hb", "xn--90a0af9", "xn--90a0af9c0",
      "xn--BCHER-ßva", ("ä"):rep(58), ("a"):rep(61) .. "." .. ("ü."):rep(22) .. ("a"):rep(16) },
  },
  ipv6 = { { "ABCD:ef01::", "::1.2.3.4" }, { "::g", "1.2.3.4", "::1.2.3.4:1", "1:2:3:4:5:6:7::8:9", ("1"):rep(46) } },
  uri = {
    { "http://[v1.a]/", "http://[V1F.a]/", "a+b-c.d:", "http://%41@h", "a:~_'", "http://h:/", "A0:", "a:%aF",
      "http://[::1]", "http://[v1.a]:", "a:?#", "a:#?", "a:?b#c", "a:b?#c?d" },
    { "http://]", "http://[", "http://a]", "http://]/", "http://[::1]]", "http://x::1]", "http://[::1]8",
      "a_b:", "http://[v12.]/", "http://[v", "http://[v1]", "http://[v1.]", "http://[v]", "a:?#?#", "a:?[#b",
      "a:#[", "http://[v.a]/", "http://[v.ab]/", "http://[v1]/",
      "http://[v1.a%41]/", "http://[x1.a]/",
      "http://[v1g]/", "http://h:8a/", "http://[]/", "a:?b#c#", "a:?b c#", "a:#b c",
      "http://ü@h/", "http://a[@h/", "a:%4g", "a:%g4", "a:%41 ", "a:%41%", "a:\0", "a", "+:", "a:?[", "a://h/[" },
  },
  iri = {
    { "a:\194\160", "a:\237\159\191", "a:\239\164\128", "a:\239\183\143", "a:\239\183\176", "a:\239\191\175",
      "a:\240\144\128\128", "a:\243\161\128\128", "a:?\238\128\128", "a:?\239\163\191", "a:?\244\128\128\128" },
    { "a:\194\159", "a:\238\128\128", "a:\239\163\191", "a:\239\183\144", "a:\239\191\176", "a:\239\191\190",
      "a:\240\159\191\190", "a:\243\160\128\128", "a:#\238\128\128", "a:?\243\191\191\190", "a:\195" },
  },
  ["uri-template"] = {
    { "{a:1}", "{a:9999}", "{%4A}", "{|a}", "{a.b.c}", "\238\128\128", "{_}", "~!" },
    { "{a:12345}", "{a:}", "{a:1x}", "{a*b}", "{a..b}", "{%4}", "{%4g}", "\194\159", "a\127", "{a,,b}", "{ä}",
      "\"", "|",
      "a}", "{a", "{+}", "{..a}", "{+.a}", "{a,.b}", "{*}", "{:}", "{:1}", "%41 ", "%41<", "{%41.}" },
  },
  hostname = {
    { "Xn--ll-0ea", "xN--ll-0ea", "xn-a", "xna--b", "z9.A0", "xn--0-zhc" },
    { "a..b", ".a", "a:b", "a/b", "a@b", "a`", "{", "xn--0-0hc", "xn--a-zhc", "xn--8hb" },
  },
}

describe("the edges of format", function()
  for name, case in pairs(edges) do
    local compiled = assert(schema.compile({ format = name }, { formats = true }))
    for i, texts in ipairs(case) do
      for _, text in ipairs(texts) do
        it(("%s: %q %s"):format(name, text, i == 1 and "fits" or "does not"), function()
          assert.equal(i == 1, (compiled:check(text)))
        end)
      end
    end
  end

  it("need every character, and each as it is", function()
    for name, text in pairs({
      date = "2024-02-29", time = "08:30:06.5+00:20", ["date-time"] = "2024-02-29T23:59:59Z",
      uuid = "2EB8AA08-aa98-11ea-b4aa-73b441d16380",
    }) do
      local compiled = assert(schema.compile({ format = name }, { formats = true }))
      assert.is_true((compiled:check(text)))
      for i = 1, #text do
        assert.is_false((compiled:check(text:sub(1, i - 1))), text:sub(1, i - 1))
        for _, other in ipairs({ "x", "/", ":", " ", "@", "`", "\195" }) do
          local changed = text:sub(1, i - 1) .. other .. text:sub(i + 1)
          assert.equal(changed == text, (compiled:check(changed)), changed)
        end
      end
    end
  end)
end)

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

  it("idn-hostname has the sample labels of RFC 3492 and others, in both forms", function()
    local compiled = assert(schema.compile({ format = "idn-hostname" }, { formats = true }))
    local hostname = assert(schema.compile({ format = "hostname" }, { formats = true }))
    for ascii, label in pairs({
      ["mgbcah9ar9a4efegftvvn"] = "ليهمابتكلموشعربي",
      ["ihqwcrb4cv8a8dqg056pqjye"] = "他们为什么不说中文",
      ["ihqwctvzc91f659drss3x8bo0yb"] = "他們爲什麽不說中文",
      ["proprostnemluvesky-uyb24dma41a"] = "pročprostěnemluvíčesky",
      ["4dbcagdahymbxekheh6e0a7fei0b"] = "למההםפשוטלאמדבריםעברית",
      ["i1baa7eci9glrd9b2ae1bj0hfcgg6iyaf8o0a1dig0cd"] = "यहलोगहिन्दीक्योंनहींबोलसकतेहैं",
      ["n8jok5ay5dzabd5bym9f0cm5685rrjetr6pdxa"] = "なぜみんな日本語を話してくれないのか",
      ["b1abfaaepdrnnbgefbadotcwatmq2g4l"] = "почемужеонинеговорятпорусски",
      ["porqunopuedensimplementehablarenespaol-fmd56a"] = "porquénopuedensimplementehablarenespañol",
      ["tisaohkhngthchnitingvit-kjcr8268qyxafd2f1b9g"] = "tạisaohọkhôngthểchỉnóitiếngviệt",
      ["3b-ww4c5e180e575a65lsy2b"] = "3年b組金八先生",
      ["-with-super-monkeys-pc58ag80a8qai00g7n9n"] = "安室奈美恵-with-super-monkeys",
      ["hello-another-way--fc4qua05auwb3674vfr0b"] = "hello-another-way-それぞれの場所",
      ["2-u9tlzr9756bt3uc0v"] = "ひとつ屋根の下2",
      ["majikoi5-783gue6qz075azm5e"] = "majiでkoiする5秒前",
      ["de-jg4avhby1noc0d"] = "パフィーdeルンバ",
      ["d9juau41awczczp"] = "そのスピードで",
      -- In these blocks every other code point is a capital letter, which is DISALLOWED: a wrong number gives one.
      ["1eat8fvcsd0bz71bosak44pqialj5k46a"] = "ҝṷıŝųṙōỳӭħūẩẏ",
      ["9ea45nmb9e3b8n3fs97ryean0ajq"] = "įҋḋẏҕѳḝһѣӓṟ",
      ["3ea0hxa9dy8tncy51vogana9f14b3q6n2d"] = "ҫṁҝỡẑĩšḣḿṉứếřű",
      ["lea9il845asy5bpearkjc4pszuf9e"] = "ốŕőḟẵḅṭṅėễṍү",
    }) do
      assert.is_true((compiled:check(label)), label)
      assert.is_true((compiled:check("xn--" .. ascii)), label)
      assert.is_true((hostname:check("xn--" .. ascii)), label)
    end
  end)

  it("ignores values other than strings", function()
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

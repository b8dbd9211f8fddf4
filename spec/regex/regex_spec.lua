local schema = require("operations.schema")

-- Does `pattern` match somewhere in `subject`?
local function matches(pattern, subject)
  return (assert(schema.compile({ pattern = pattern })):check(subject))
end

local function problem(pattern)
  local compiled, err = schema.compile({ pattern = pattern })
  assert.is_nil(compiled)
  return err.details[1].message
end

local function is_regex(text)
  return (assert(schema.compile({ format = "regex" }, { formats = true })):check(text))
end

-- Every subject of `yes` matches, none of `no`.
local function judge(pattern, yes, no)
  for _, subject in ipairs(yes) do
    assert.is_true(matches(pattern, subject), ("%q should match %q"):format(pattern, subject))
  end
  for _, subject in ipairs(no) do
    assert.is_false(matches(pattern, subject), ("%q should not match %q"):format(pattern, subject))
  end
end

describe("a pattern", function()
  it("is searched for, not anchored", function()
    judge("b", { "abc", "b" }, { "ac", "" })
    judge("", { "", "a" }, {})
  end)

  it("ends at the very end, not before a final line feed", function()
    judge("^abc$", { "abc" }, { "abc\n" })
  end)

  it("knows digits, words and boundaries in ASCII only", function()
    judge("^\\d+$", { "042" }, { "٤" })
    judge("^\\w$", { "_", "Z" }, { "é" })
    judge("^\\W\\D$", { "éé" }, { "a1" })
    judge("a\\b", { "aé" }, { "ab" })
    judge("a\\B", { "ab" }, { "aé" })
  end)

  it("knows all white space of Unicode, inside classes too", function()
    local spaces = { " ", "\t", "\n", "\v", "\f", "\r", "\194\160", "\226\128\131", "\226\128\168", "\239\187\191" }
    judge("^\\s$", spaces, { "a", "\1", "\226\128\139" })
    judge("^[x\\s]$", spaces, { "a" })
    judge("^\\S$", { "a", "é", "\1" }, spaces)
    judge("^[\\S]$", { "a", "é", "\226\128\139", "🐲" }, spaces)
    judge("^[^\\S]$", spaces, { "a", "é" })
  end)

  it("counts code points", function()
    judge("^.$", { "🐲", "é" }, { "🐲🐲", "\n", "\226\128\168" })
    judge("^🐲{2}$", { "🐲🐲" }, { "🐲" })
    judge("^[🐱-🐳]$", { "🐲" }, { "🐴" })
  end)

  it("reads every escape for a character", function()
    judge("^\\t\\n\\v\\f\\r\\0$", { "\t\n\v\f\r\0" }, { "" })
    judge("^\\cJ\\x41\\u0042\\u{1F432}\\uD83D\\uDC32\\/\\.$", { "\nAB🐲🐲/." }, {})
    judge("^[\\b\\-\\]\\cA]+$", { "\b-]\1" }, { "b" })
    judge("^\\-\\@\\_$", { "-@_" }, {})
  end)

  it("never matches half of a surrogate pair", function()
    judge("^\\uD83D?$", { "" }, { "🐲" })
    judge("^[a\\uD800-\\uDFFF]$", { "a" }, { "b", "🐲" })
    judge("^[\\u0061-\\uD900]$", { "b", "\237\159\191" }, { "A" })
    judge("^[\\uD900-\\u{1F432}]$", { "🐲", "\238\128\128" }, { "a" })
    judge("^[^\\uD800]$", { "a" }, {})
  end)

  it("knows the empty classes", function()
    judge("[]", {}, { "", "a" })
    judge("^[]*$", { "" }, { "a" })
    judge("^[^]$", { "a", "\n" }, { "" })
  end)

  it("knows properties by their long and short names", function()
    judge("^\\p{Letter}\\p{Lu}\\P{L}$", { "éÉ1" }, { "1É1" })
    judge("^\\p{digit}[\\p{gc=punct}\\p{General_Category=Sm}]$", { "1+", "٤!" }, { "a+" })
    judge("^\\p{Script=Greek}\\p{sc=Grek}\\p{scx=Latin}$", { "αβa" }, { "abα" })
    judge("^[^\\p{Script_Extensions=Cyrillic}]\\p{ASCII}$", { "aa" }, { "яa", "aя" })
    judge("^\\p{Assigned}\\P{Assigned}$", { "a\205\184" }, { "aa" })
    judge("^\\p{Emoji}\\p{ID_Start}\\p{Any}\\p{LC}$", { "🐲aaa" }, { "aaaa" })
  end)

  it("repeats as often as it says, beyond what PCRE2 counts to", function()
    judge("^a{2}b{1,}c{0,2}d*?e+f?$", { "aabe", "aabbccdeef" }, { "abe", "aabccce" })
    judge("^a{70000}$", { ("a"):rep(70000) }, { ("a"):rep(69999), ("a"):rep(70001) })
    judge("^.{1,100000}$", { "a", ("a"):rep(100000) }, { "", ("a"):rep(100001) })
    judge("^[ab]{65536,}?$", { ("b"):rep(65536) }, { ("b"):rep(65535) })
    judge("^a{0,3000000000}$", { ("a"):rep(70000) }, {})
  end)

  it("refers to groups, forward and unset ones being empty", function()
    judge("^(a)(?:b|(c))\\1\\2$", { "aba", "acac" }, { "abac" })
    judge("^\\k<n>(?<n>a)\\k<n>$", { "aa" }, { "a" })
    judge("^(?:(?<y>a)-|(?<y>b)\\+)\\k<y>$", { "a-a", "b+b" }, { "a-b" })
    judge("^(?<$é_1>a)\\k<$\\u00e9_1>$", { "aa" }, { "a" })
  end)

  it("looks ahead and behind", function()
    judge("^(?=ab)(?!abc).+(?<=b)(?<!bb)$", { "ab", "abab" }, { "abc", "abb" })
    judge("^(?=a)*b$", { "b" }, {})
  end)

  it("switches modifiers for a group", function()
    judge("^(?i:a)b$", { "Ab", "ab" }, { "aB" })
    judge("^(?i:a(?-i:b))$", { "Ab" }, { "aB" })
    judge("^(?s:.)$", { "\n" }, {})
    judge("(?m:^b$)", { "a\nb\r" }, { "ab" })
    judge("(?s-m:^.$).|^(?m:a).", { "ab" }, { "a\n" })
  end)

  it("takes a lone brace or bracket for itself", function()
    judge("^{a}]$", { "{a}]" }, {})
    judge("^a{,2}$", { "a{,2}" }, { "aa" })
    judge("^[\\d-x]$", { "5", "-", "x" }, { "a" })
    judge("^[x-\\d]$", { "5", "-", "x" }, { "a" })
  end)

  it("has no Perl in it", function()
    judge("^[[:alpha:]]$", { ":]", "[]" }, { "a" })
    judge("^#x y$", { "#x y" }, {})
  end)

  it("does not match what is not UTF-8", function()
    judge("a", { "a" }, { "a\255" })
  end)
end)

describe("a wrong pattern", function()
  local wrong = {
    ["a**"] = "nothing to repeat at offset 2",
    ["*a"] = "nothing to repeat at offset 0",
    ["a{2}{3}"] = "nothing to repeat at offset 4",
    ["^*"] = "nothing to repeat at offset 1",
    ["(?<=a)?"] = "nothing to repeat at offset 6",
    ["(ab"] = "( without ) at offset 0",
    ["ab)"] = ") without ( at offset 2",
    ["x[ab"] = "[ without ] at offset 1",
    ["[b-a]"] = "range out of order at offset 1",
    ["a{3,2}"] = "repeat counts out of order at offset 1",
    ["(a){70000}"] = "repeat count too large at offset 3",
    ["\\a"] = "unknown escape at offset 0",
    ["a\\"] = "backslash at the end at offset 1",
    ["\\c1"] = "\\c needs a letter at offset 0",
    ["\\01"] = "octal escape at offset 0",
    ["\\x1"] = "\\x needs two hex digits at offset 0",
    ["\\u{110000}"] = "\\u needs four hex digits or {...} at offset 0",
    ["\\p{Nope}"] = "unknown property at offset 0",
    ["\\p{Script=greek}"] = "unknown property at offset 0",
    ["\\pL"] = "\\p needs {...} at offset 0",
    ["\\p{L"] = "\\p{ without } at offset 0",
    ["(a)\\2"] = "no group of this number at offset 3",
    ["\\k<n>"] = "no group of this name at offset 0",
    ["\\kn"] = "\\k needs <name> at offset 0",
    ["(?<n>a)(?<n>b)"] = "duplicate group name at offset 10",
    ["(?<1>a)"] = "malformed group name at offset 3",
    ["(?<>a)"] = "empty group name at offset 3",
    ["(?<n"] = "group name without > at offset 3",
    ["(?i)a"] = "unknown kind of group at offset 0",
    ["(?#x)"] = "unknown kind of group at offset 0",
    ["(?ii:a)"] = "unknown kind of group at offset 0",
    ["(?-:a)"] = "unknown kind of group at offset 0",
    ["(?P<n>a)"] = "unknown kind of group at offset 0",
    ["[a\255]"] = "malformed UTF-8 at offset 2",
    ["ab(?<=c+)"] = "lookbehind assertion is not fixed length at offset 2",
  }
  for pattern, expected in pairs(wrong) do
    it(("is told with its offset: %q"):format(pattern), function()
      assert.truthy(problem(pattern):find(expected, 1, true), problem(pattern))
    end)
  end

  it("is refused when groups are nested too deeply", function()
    assert.truthy(problem(("("):rep(300) .. (")"):rep(300)):find("nested too deeply", 1, true))
  end)

  it("is refused when it has too many groups", function()
    assert.truthy(problem(("()"):rep(10001)):find("too many groups", 1, true))
  end)
end)

-- An empty lookahead changes nothing, but no automaton takes it: PCRE2 matches.
describe("a regular pattern", function()
  local function agree(pattern, subjects)
    local own = assert(schema.compile({ pattern = pattern }))
    local pcre2 = assert(schema.compile({ pattern = "(?:" .. pattern .. ")(?=)" }))
    for _, subject in ipairs(subjects) do
      assert.equal(pcre2:check(subject), own:check(subject), ("%q on %q"):format(pattern, subject))
    end
  end

  it("matches as PCRE2 does", function()
    local subjects = {
      "", "a", "b", "ab", "aab", "a-b", "a1-b2-c3", "-", "0", "01", "10.20.3", "2024-06-31", "é", "aé", "🐲", "a\nb",
      "\n", "\226\128\168", "\223\191", "\224\160\128", "\237\159\191", "\238\128\128", "\239\191\191",
      "\240\144\128\128", "\244\143\191\191", "\255", "a\128", "\0", "aaaaaaaa", "xaaay",
    }
    local patterns = {
      "", "a", "^a", "a$", "^a$", "^$", "$^", "(^a|b$)", "^(?:a|ab)(?:b|)$", "a*?b+?", "(?:a?){3}$",
      "^[a-z0-9]+(?:-[a-z0-9]+)*$", "^(0|[1-9]\\d*)\\.(0|[1-9]\\d*)\\.(0|[1-9]\\d*)$", "^.$", "^[^]$", "^[^a]*$",
      "[]|a", "^\\W+$", "^[\\u0080-\\u07ff]$", "^[\\u0800-\\uffff]$", "^[\\u{10000}-\\u{10ffff}]$",
      "^[\\ud000-\\ue100]$", "[^\\x00-é]", "^a{2,3}$", "a{0}b", "(?:a{2}){2,}", "((a|b)*c|-)+", "^(?:$|a)+$",
      "x(?:a*)*y", "^\\S\\s?$",
    }
    for _, pattern in ipairs(patterns) do
      agree(pattern, subjects)
    end
  end)

  it("is left to PCRE2 where it would be too large", function()
    agree("^(?:.{1,90}|a{400})$", { ("a"):rep(90), ("a"):rep(91), ("a"):rep(400), ("é"):rep(90), "" })
    for n = 100, 520 do -- around the largest that is taken
      agree("^a{" .. n .. "}x?$", { ("a"):rep(n), ("a"):rep(n - 1), ("a"):rep(n + 1) })
    end
    agree("(?:a|b)*a(?:a|b){12}$", { "a" .. ("b"):rep(12), "b" .. ("b"):rep(12), ("ab"):rep(20) })
  end)
end)

describe("a pattern that takes too long", function()
  it("is stopped, and the value is not valid", function()
    local compiled = assert(schema.compile({ pattern = "^(?=a)(a+)+$" }))
    local valid, issues = compiled:check(("a"):rep(32) .. "b")
    assert.is_false(valid)
    assert.is_true(#issues > 0)
  end)

  it("is stopped when it needs too much memory", function()
    local compiled = assert(schema.compile({ pattern = "^(?=a)(?:(a)|(b)|c)*$" }))
    assert.is_false(compiled:check(("abc"):rep(2000000) .. "d"))
  end)

  it("is answered all the same where it is regular", function()
    local compiled = assert(schema.compile({ ["not"] = { pattern = "^(a+)+$" } }))
    assert.is_true(compiled:check(("a"):rep(10000) .. "b"))
    assert.is_false(compiled:check(("a"):rep(10000)))
  end)
end)

describe("format regex", function()
  it("takes what the grammar of ECMA-262 has", function()
    local texts = { "", "([abc])+\\s+$", "(?<=a+)b", "[]", "[^]", "\\cA", "(?<n>a)\\k<n>", "\\-", "(?i:a)", "a|b|" }
    for _, text in ipairs(texts) do
      assert.is_true(is_regex(text), text)
    end
  end)

  it("refuses what only other dialects or Annex B have", function()
    for _, text in ipairs({ "^(abc]", "\\a", "(?P<n>x)", "(?P=n)", "(?#c)", "(?i)a", "a{,2}", "]", "}", "(?=a)*", "\\_",
      "[\\d-x]", "\\8", "a++", "\\Z" }) do
      assert.is_false(is_regex(text), text)
    end
  end)
end)

local operations = require("operations")
local schema = require("operations.schema")
local usage = require("spec.support.usage")

-- Does `pattern` match somewhere in `subject`?
local function matches(pattern, subject)
  return (assert(schema.compile({ pattern = pattern })):check(subject))
end

local function problem(pattern)
  local compiled, err = schema.compile({ pattern = pattern })
  assert.is_nil(compiled)
  return err.details[1].message
end

local regex_format = assert(schema.compile({ format = "regex" }, { formats = true }))

local function is_regex(text)
  return (regex_format:check(text))
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
    judge("^\\\0[\\\0-a]$", { "\0\0", "\0A", "\0a" }, { "\0b", "0A" })
    judge("^[\0-\0]$", { "\0" }, { "-" })
  end)

  it("never matches half of a surrogate pair", function()
    judge("^\\uD83D?$", { "" }, { "🐲" })
    judge("^[a\\uD800-\\uDFFF]$", { "a" }, { "b", "🐲" })
    judge("^[\\u0061-\\uD900]$", { "b", "\237\159\191" }, { "A" })
    judge("^[\\uD900-\\u{1F432}]$", { "🐲", "\238\128\128" }, { "a" })
    judge("^[\\uD800-\\uE000]$", { "\238\128\128" }, { "\237\159\191", "\238\128\129" })
    judge("^[\\uD7FF-\\uDFFF]$", { "\237\159\191" }, { "\237\159\190", "\238\128\128" })
    judge("^[\\uD7FF-\\uE000]$", { "\237\159\191", "\238\128\128" }, { "\237\159\190", "\238\128\129" })
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
    judge("^\\p{Script=SignWriting}\\p{sc=Old_Italic}$", { "\240\157\160\128\240\144\140\128" }, { "aa" })
  end)

  it("repeats as often as it says, beyond what PCRE2 counts to", function()
    judge("^a{2}b{1,}c{0,2}d*?e+f?$", { "aabe", "aabbccdeef" }, { "abe", "aabccce" })
    judge("^a{70000}$", { ("a"):rep(70000) }, { ("a"):rep(69999), ("a"):rep(70001) })
    judge("^.{1,100000}$", { "a", ("a"):rep(100000) }, { "", ("a"):rep(100001) })
    judge("^[ab]{65536,}?$", { ("b"):rep(65536) }, { ("b"):rep(65535) })
    judge("^a{0,3000000000}$", { ("a"):rep(70000) }, {})
    judge("^a{4194240}$", {}, { "a" })
  end)

  it("refers to groups, forward and unset ones being empty", function()
    judge("^(a)(?:b|(c))\\1\\2$", { "aba", "acac" }, { "abac" })
    judge("(a(b)?)+\\2+c", { "aac", "abbc" }, { "ab" }) -- a group that did not match, its reference repeated
    judge("^\\k<n>(?<n>a)\\k<n>$", { "aa" }, { "a" })
    judge("^(?:(?<y>a)-|(?<y>b)\\+)\\k<y>$", { "a-a", "b+b" }, { "a-b" })
    judge("^(?<$é_1>a)\\k<$\\u00e9_1>$", { "aa" }, { "a" })
    judge("^(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)(k)(l)\\12\\10\\1$", { "abcdefghijkllja" }, { "abcdefghijkla2a0a" })
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
    judge("(?m:^a$)|(?s:b.)|(?-i:c)", { "x\na", "b\n", "c" }, { "A", "B\n", "C" })
    judge("(?i:a(?m:b$))", { "AB\n" }, {})
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

  it("does not match bytes other than UTF-8", function()
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
    ["a{4194241}"] = "repeat count too large at offset 1",
    ["\\a"] = "unknown escape at offset 0",
    ["a\\"] = "backslash at the end at offset 1",
    ["\\c1"] = "\\c needs a letter at offset 0",
    ["\\01"] = "octal escape at offset 0",
    ["\\x1"] = "\\x needs two hex digits at offset 0",
    ["b\\xg1"] = "\\x needs two hex digits at offset 1",
    ["\\u{110000}"] = "\\u needs four hex digits or {...} at offset 0",
    ["b\\u{}"] = "\\u needs four hex digits or {...} at offset 1",
    ["b\\u{61"] = "\\u needs four hex digits or {...} at offset 1",
    ["b\\u006"] = "\\u needs four hex digits or {...} at offset 1",
    ["[b\\u006]"] = "\\u needs four hex digits or {...} at offset 2",
    ["b\255"] = "malformed UTF-8 at offset 1",
    ["b\\\255"] = "malformed UTF-8 at offset 2",
    ["b\\8"] = "no group has this number at offset 1",
    ["b[\\1]"] = "unknown escape at offset 2",
    ["b[\\B]"] = "unknown escape at offset 2",
    ["b[\\k]"] = "unknown escape at offset 2",
    ["b[a-\\"] = "backslash at the end at offset 4",
    ["\\p{Nope}"] = "unknown property at offset 0",
    ["[\\p{Nope}]"] = "unknown property at offset 1",
    ["[a-\\p{Nope}]"] = "unknown property at offset 3",
    ["[\\d-\\p{Nope}]"] = "unknown property at offset 4",
    ["\\p{Script=greek}"] = "unknown property at offset 0",
    ["\\p{Script=GREEK}"] = "unknown property at offset 0",
    ["\\p{Script=Old_italic}"] = "unknown property at offset 0",
    ["\\p{Script=Old-Italic}"] = "unknown property at offset 0",
    ["\\p{Script=G}"] = "unknown property at offset 0",
    ["\\p{Script=}"] = "unknown property at offset 0",
    ["\\p{Letter=Greek}"] = "unknown property at offset 0",
    ["\\p{}"] = "unknown property at offset 0",
    ["\\p{Alphabeti}"] = "unknown property at offset 0",
    ["\\p{lphabetic}"] = "unknown property at offset 0",
    ["\\p{Alphabetic Alpha}"] = "unknown property at offset 0",
    ["\\p{" .. ("A"):rep(64) .. "}"] = "unknown property at offset 0",
    ["\\p{Script=" .. "A" .. ("a"):rep(40) .. "}"] = "unknown property at offset 0",
    ["\\pL"] = "\\p needs {...} at offset 0",
    ["\\p{L"] = "\\p{ without } at offset 0",
    ["(a)\\2"] = "no group has this number at offset 3",
    ["(a)\\18446744073709551617"] = "no group has this number at offset 3",
    ["\\k<n>"] = "no group has this name at offset 0",
    ["\\kn"] = "\\k needs <name> at offset 0",
    ["(?<n>a)(?<n>b)"] = "duplicate group name at offset 10",
    ["(?<1>a)"] = "malformed group name at offset 3",
    ["(?<a-b>a)"] = "malformed group name at offset 3",
    ["(?<\\u12>a)"] = "malformed group name at offset 3",
    ["(?<\\uD800>a)"] = "malformed group name at offset 3",
    ["(?<\\u{61>a)"] = "malformed group name at offset 3",
    ["(?<a\\u002d>a)"] = "malformed group name at offset 3",
    ["(?<\\x61>a)"] = "malformed group name at offset 3",
    ["(?<a\255>a)"] = "malformed UTF-8 at offset 4",
    ["(?<>a)"] = "empty group name at offset 3",
    ["(?<n"] = "group name without > at offset 3",
    ["b\\k<n"] = "group name without > at offset 4",
    ["b\\k<>"] = "empty group name at offset 4",
    ["b\\k<1>"] = "malformed group name at offset 4",
    ["(?i)a"] = "unknown kind of group at offset 0",
    ["(?#x)"] = "unknown kind of group at offset 0",
    ["(?ii:a)"] = "unknown kind of group at offset 0",
    ["(?-:a)"] = "unknown kind of group at offset 0",
    ["(?P<n>a)"] = "unknown kind of group at offset 0",
    ["[a\255]"] = "malformed UTF-8 at offset 2",
    ["ab(?<=c+)"] = "lookbehind assertion is not fixed length at offset 2",
    ["x(?:(?<=c*))"] = "lookbehind assertion is not fixed length at offset 4",
    ["(?<=a|b+)cd"] = "lookbehind assertion is not fixed length at offset 0",
    ["(((a{1000}){1000}){1000})"] = "regular expression is too large at offset 25",
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

-- The issues of a value that a pattern gives no answer for: it is left as it is.
local function issues_of(definition, value)
  local compiled = assert(schema.compile(definition))
  local valid, issues = compiled:check(value)
  assert.is_false(valid)
  assert.equal(value, (compiled:cast(value)))
  assert.equal(value, (compiled:fill(value)))
  return issues
end

describe("a match that costs too much", function()
  local costly = "^(a+)+$"
  local subject = ("a"):rep(40) .. "b"

  local function stops(pattern, text)
    local valid, issues = assert(schema.compile({ pattern = pattern })):check(text)
    assert.is_false(valid)
    assert.equal(1, #issues)
    assert.equal("too costly to match", issues[1].message)
    assert.equal("pattern", issues[1].keyword)
    assert.equal("/pattern", issues[1].schemaPath)
    -- Nor does it count as no match.
    assert.is_false((assert(schema.compile({ ["not"] = { pattern = pattern } })):check(text)))
  end

  it("is stopped, whatever the subject's length", function()
    for _, n in ipairs({ 40, 300, 5000 }) do
      local text = ("a"):rep(n)
      stops("^(a+)+$", text .. "b")
      stops("^(?=a)(a+)+\\1$", text .. "b")
      stops("(a+a+)+[yz]", text)
      stops("^(([a-z])+.)+[A-Z]([a-z])+$", text)
      stops("^(a|a)*$", text .. "b")
      stops("^(?:a?){30}a{30}$", ("a"):rep(30) .. "b")
    end
    stops("^(a{0,1000}){0,1000}$", ("a"):rep(50000) .. "b")
  end)

  it("is stopped where repeats are long rather than many", function()
    local text = ("a"):rep(1000000)
    for _, pattern in ipairs({
      "^(?:(?=a*)a)*[bc]", "(?=a*)b|[cd]", "^.*.*.*[bc]$", "(a|b)*[cd]", "a{60000}[bc]", "(?:a{200}){200}[bc]",
      "(?:" .. ("a"):rep(5000) .. ")[bc]", "^(a+).*\\1[bc]", "(?:a|(?<=a{60000}[bc])){9}[bc]",
    }) do
      stops(pattern, text)
    end
    stops("^(?:[^" .. ("\\u0100"):rep(6000) .. "])*$", text)
  end)

  it("is stopped where its parts are many", function()
    local text, wide = ("a"):rep(5000), "[b" .. ("\\u0100"):rep(600) .. "]" -- which makes each step cost more
    stops("^(?:" .. ("yx|"):rep(500) .. "a|" .. wide .. ")*$", text)
    stops("^" .. ("(?=a*)"):rep(300) .. wide, text)
    stops("a{0,1000}" .. wide, text)
  end)

  it("does not arise where a long subject is passed once", function() -- the first one needs PCRE2's JIT
    local text = ("ab"):rep(500000)
    judge("^(a|b)*$", { text }, { text .. "c" })
    judge("^[^c]*$", { text }, { text .. "c" })
    judge("^(?:\\w+ ?)*$", { ("word "):rep(20000) }, {})
    judge("^(?:" .. ("y|"):rep(128) .. "z)*$", { ("z"):rep(30000) }, {})
    judge("^(a{0,1000}){0,1000}$", { ("a"):rep(50000) }, {})
  end)

  it("counts from where each attempt starts", function() -- twice 1000 characters for each; needs PCRE2's JIT
    judge("a{1000}a?[bc]", { ("a"):rep(14500) .. "b" }, {})
  end)

  it("counts what references match, where their groups did", function()
    local long, short = ("a"):rep(1000) .. "b", ("a"):rep(50000)
    stops("^(a{1000})b.*?(?:\\1c|\\1d)", long .. short)
    stops("^" .. ("()"):rep(230) .. "(a{1000})b.*?(?:\\231c|\\231d)", long .. short)
    for _, pattern in ipairs({ "^(a)b.*?(?:\\1c|\\1d)", "^a(x)?b.*?(?:\\1c|\\1d)", "^(x)?a(a?)(b).*?(?:\\2c|\\2d)" }) do
      assert.is_true((assert(schema.compile({ ["not"] = { pattern = pattern } })):check("ab" .. short)), pattern)
    end
  end)

  it("is reported at the value, beside other errors", function()
    local definition = { type = "object", properties = { s = { pattern = costly, enum = { "x" } } } }
    local issues = issues_of({ allOf = { definition } }, { s = subject })
    assert.same({ "/s", "pattern", "/allOf/0/properties/s/pattern", "too costly to match" },
      { issues[1].path, issues[1].keyword, issues[1].schemaPath, issues[1].message })
    assert.equal("enum", issues[2].keyword)
    assert.equal(2, #issues)
  end)

  it("is told at the property whose name it was", function()
    local value = { [subject] = 1, aa = 1 }
    local definition = {
      patternProperties = { [costly] = { type = "integer" } }, additionalProperties = false,
      properties = { deeper = { default = 1, properties = { more = { default = 2 } } } },
    }
    for _, whole in ipairs({ definition, { allOf = { definition }, unevaluatedProperties = false } }) do
      local compiled = assert(schema.compile(whole))
      local valid, issues = compiled:check(value)
      assert.is_false(valid)
      assert.equal(1, #issues)
      assert.same({ "/" .. subject, "patternProperties", "its name is too costly to match" },
        { issues[1].path, issues[1].keyword, issues[1].message })
      assert.equal(value, (compiled:cast(value)))
      local filled, err = compiled:fill(value)
      assert.is_nil(filled)
      assert.same({ "/" .. subject, "its name is too costly to match" },
        { err.details[1].path, err.details[1].message })
    end
  end)

  it("is reported for propertyNames", function()
    local valid, issues = assert(schema.compile({ propertyNames = { pattern = costly } })):check({ [subject] = 1 })
    assert.is_false(valid)
    assert.equal("/" .. subject, issues[1].path)
    assert.equal("this name does not fit: too costly to match", issues[1].message)
  end)

  it("is reported for the branch that it leaves undecided", function()
    for _, keyword in ipairs({ "anyOf", "oneOf" }) do
      local branches = { { type = "integer" }, { pattern = costly }, { type = "string" } }
      local issues = issues_of({ [keyword] = branches }, subject)
      assert.equal("/" .. keyword .. "/1/pattern", issues[1].schemaPath)
    end
    local issues = issues_of({ ["if"] = { pattern = costly }, ["else"] = { minLength = 99 } }, subject)
    assert.equal("/if/pattern", issues[1].schemaPath)
    issues = issues_of({ contains = { pattern = costly } }, operations.array({ subject, "a" }))
    assert.equal("contains", issues[1].keyword)
  end)

  it("takes from the steps that a value may take in all", function()
    local list, names, patterns = operations.array({}), {}, {}
    for i = 1, 100 do
      list[i] = subject
      names[("a"):rep(3000) .. i] = 1
      patterns["^a*a*" .. i .. "[xy]$"] = true
    end
    for _, issues in ipairs({
      issues_of({ items = { pattern = costly } }, list),
      issues_of({ patternProperties = patterns }, names),
    }) do
      assert.is_true(#issues < 20)
      assert.equal("takes too many steps to check", issues[#issues].message)
    end
    -- Each of these is matched with an answer.
    for i = 1, 100 do
      list[i] = ("a"):rep(3000)
    end
    local issues = issues_of({ items = { pattern = "^(?!a*a*[xy])" } }, list)
    assert.equal("takes too many steps to check", issues[#issues].message)
  end)

  it("does not keep a schema from being compiled, or cast by", function()
    local properties, patterns = {}, {}
    for i = 1, 50 do
      properties[("a"):rep(3000) .. i] = { type = "integer" }
      patterns["^a*a*" .. i .. "[xy]$"] = true
    end
    local compiled = assert(schema.compile({
      properties = properties, patternProperties = patterns, additionalProperties = true,
    }))
    assert.same({ a = 1 }, (compiled:cast({ a = 1 })))
  end)
end)

describe("the memory of a pattern that is checked", function()
  it("is freed, whether it is right or wrong", function()
    local texts = { "\\p{Script=Greek}", "\\p{Script=Aaaa}", "(?<é>a)", "(?<\\u2028>a)", "(?<n>a)[a", "(?<n" }
    assert.is_true(usage.leak(5000, function()
      for _, text in ipairs(texts) do
        is_regex(text)
      end
    end) < 400)
  end)
end)

describe("a pattern that costs too much to compile", function()
  it("is refused", function()
    local large = {
      [("a"):rep(65537)] = "pattern too long at offset 65536",
      ["(((a{1000}){1000}){1000})"] = "regular expression is too large",
      [("(?:"):rep(200) .. "a" .. ("){2}"):rep(200)] = "regular expression is too large",
      [("a?"):rep(20000)] = "regular expression is too large",
      ["(?i:" .. ("[\\u0000-\\u{10FFFF}]"):rep(1000) .. ")"] = "pattern too large",
      ["(?i:" .. ("[]"):rep(1000) .. ")"] = "pattern too large",
      ["(?i:[" .. ("\\S"):rep(1000) .. "])"] = "pattern too large",
      ["(?i:" .. ("\\uD800"):rep(1000) .. ")"] = "pattern too large",
    }
    for pattern, expected in pairs(large) do
      assert.truthy(problem(pattern):find(expected, 1, true), expected)
    end
    assert.is_false(is_regex(("a"):rep(65537)))
    assert.is_true(is_regex(("a"):rep(65536)))
  end)

  it("is compiled where only a part ignores case", function()
    judge("^(?i:[a-z\\u00e0-\\u00ff]+)(?:[]|\\S){3}$", { "AÉé-é" }, { "1aa" })
    judge("^(?:(?i:x)|" .. ("[^]?"):rep(500) .. ")$", { "X", "ab" }, {})
  end)
end)

-- The meters in a translation count what a match costs, and change nothing else.
describe("a pattern of many parts", function()
  it("matches as its parts say", function()
    judge("^(?:a|ab)(?:b|)$", { "a", "ab", "abb" }, { "b", "abbb" })
    judge("^(?:" .. ("ab"):rep(40) .. "|c){2}$", { "cc", ("ab"):rep(80) }, { "c", ("ab"):rep(79) })
    judge("^(?:a{2}){2,}b{40}c{33,70}?$", { "aaaa" .. ("b"):rep(40) .. ("c"):rep(33) }, { "aaaa" .. ("b"):rep(39) })
    judge("^é{40}$", { ("é"):rep(40) }, { ("é"):rep(39), ("é"):rep(41) })
    judge("^(?:$|a)+$", { "", "aa" }, { "b" })
    judge("^(?=.*\\d)(?=.*[a-z])(?!.* ).{8,}$", { "abcdefg1" }, { "abcdefgh", "12345678", "abc defg1", "ab1" })
    judge("(?<=(?:ab|cd)-)x", { "ab-x", "cd-x" }, { "ac-x" })
    judge("^(?:(a)|b)*\\1$", { "aba", "bb", "ba" .. "a" }, { "c" })
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

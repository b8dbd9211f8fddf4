-- Comments, errors, pages and the titles of specs are plain English: phrases that make a reader guess what is meant are
-- refused. Each has a plainer form: the noun of the thing ("the caller", "invalid JSON", "the rest of the body").
local sources = require("spec.support.sources")

local before_who = { "for", "of", "to", "by", "from", "with", "at", "on", "than" }

-- Words that stand alone, in lower case, and what to write instead.
local phrases = {
  { "what is no", "name the thing: \"invalid JSON\", \"values other than strings\"" },
  { "there again", "say what happens: \"after a reconnect\"" },
  { "what is left of", "\"the rest of\"" },
  { "nobody's", "say to what it belongs, or that it is ignored" },
  { "that which", "\"the one that\"" },
  { "has not what", "\"lacks\"" },
}
for _, word in ipairs(before_who) do
  phrases[#phrases + 1] = { word .. " who", "name the person or part: \"the caller\", \"a client\"" }
end

-- The same, in comments and texts of the library and in the prose of pages: there the reader has only the sentence.
local comment_phrases = {
  { "nobody", "say which part does not: \"no task\", \"no process\", \"the handle was dropped\"" },
  { "somebody", "name the part: \"a client\", \"another process\"" },
  { "whoever", "name the part: \"the caller\", \"the owner\"" },
  { "whom", "name the person or part" },
  { "under way", "\"running\", \"pending\"" },
  { "told of", "\"called with\", \"notified of\"" },
  { "are told", "\"are notified\", \"are shown\"" },
  { "it is none", "say what it is not: \"it is not a number\"" },
  { "that is none", "say what it is not: \"an invalid number\"" },
  { "as it came", "\"unchanged\", \"as received\"" },
  { "of no use", "\"useless\", \"unusable\"" },
  { "will do", "\"is enough\", \"is allowed\"" },
  { "be had", "\"be fetched\", \"be obtained\"" },
  { "anew", "\"again\", \"restarts\"" },
  { "what else", "\"other ...\", \"further ...\"" },
}
for _, form in ipairs({ "call off", "calls off", "called off" }) do
  comment_phrases[#comment_phrases + 1] = { form, "\"cancels\", \"cancelled\"" }
end
for _, form in ipairs({ "go on", "goes on" }) do
  comment_phrases[#comment_phrases + 1] = { form, "\"continues\", \"runs\"" }
end
for _, form in ipairs({ "look after", "looks after", "looked after" }) do
  comment_phrases[#comment_phrases + 1] = { form, "\"manages\", \"checks\"" }
end

-- The same, in titles of specs: their reader has no code beside them.
local title_phrases = {
  { "who", "name the person or part: \"the caller\", \"a client that\"" },
  { "everybody", "\"every caller\", \"all clients\"" },
  { "anybody", "\"any caller\"" },
  { "is none", "say what it is not: \"is invalid\", \"is absent\", \"is nil\"" },
  { "are none", "\"are invalid\", \"are absent\"" },
  { "is what", "name the thing: \"is the caller's choice\"" },
  { "has what", "name the things: \"has the required fields\"" },
  { "what it has", "name the things: \"its certificates\"" },
  { "what it was", "\"unchanged\", or name the things" },
  { "what it is", "\"unchanged\", or name the things" },
  { "what is not", "name the things: \"values other than strings\"" },
  { "what is there", "name the things: \"existing tools\"" },
  { "what was there", "name the things: \"the former operations\"" },
}

-- What to write instead of the first of the phrases that a text has. Plain searches: they are many, over every line.
local function phrase_in(text, list)
  text = text:lower()
  for _, phrase in ipairs(list) do
    local start, finish = text:find(phrase[1], 1, true)
    while start do
      if not text:sub(start - 1, start - 1):find("%a") and not text:find("^%a", finish + 1) then
        return phrase[2]
      end
      start, finish = text:find(phrase[1], start + 1, true)
    end
  end
end

local function is_read(path)
  return path:find("^lua/") ~= nil or path:find("^src/") ~= nil or path:find("^examples/") ~= nil
end

-- The text of the comment on a line of Lua or C; C's longer comments go on with "**".
local function comment_of(line)
  return line:match("^%s*%-%-(.*)") or line:match("%s%-%- (.*)") or line:match("/%*(.*)") or line:match("^%s*%*%*(.*)")
end

-- The texts on a line of the library: errors, warnings, help.
local function texts_of(line, path)
  local found = {}
  for text in (path:find("^examples/") and "" or line):gmatch('"([^"]*)"') do
    found[#found + 1] = text
  end
  return table.concat(found, " ")
end

-- A sentence that begins with "Who" and is no question has a person or a part for its subject, which has a name.
local function begins_with_who(line)
  local rest = line:match("^%s*%-%-+%s*Who (.*)") or line:match("^[%s/*]*[*/][*/]%s*Who (.*)")
    or line:match("[.;:] +Who (.*)")
  return rest and not rest:find("?", 1, true)
end

-- The first sentence of a file says what the file is.
local function is_vague_head(line)
  return line:find("^%-%-%- *Wh[oa]t? ") or line:find("^%-%-%- *Where ") or line:find("^%-%-%- *Whether ")
    or line:find("^%*%* [%w_]+%.[ch] %- wh[oa]t? ") or line:find("^%*%* [%w_]+%.[ch] %- where ")
end

-- The title of a spec that begins on a line, but for parts that the spec adds.
local function title_of(line)
  return line:match("%f[%w_]it%(\"(.-)\"") or line:match("%f[%w_]describe%(\"(.-)\"")
end

local function wrong_in(line, number, path, is_sample)
  local title = path:find("^spec/") and title_of(line)
  local is_prose = path:find("%.md$") and not is_sample
  local comment = is_prose and line:gsub("`[^`]*`", "") or is_read(path) and comment_of(line)
  local said = comment or is_read(path) and texts_of(line, path)
  local why = phrase_in(line, phrases) or said and phrase_in(said, comment_phrases)
    or title and (phrase_in(title, comment_phrases) or phrase_in(title, title_phrases))
  if why then
    return why
  end
  if begins_with_who(line) then
    return "begin with the noun: \"The caller\", \"A client that\""
  end
  local is_source = path:find("^lua/") or path:find("^src/") or path:find("^examples/")
  if number <= 2 and is_source and is_vague_head(line) then
    return "say what the file is: \"The cache of ...\", \"Reads ...\""
  end
end

local function files()
  local list = { ".github/CONTRIBUTING.md", ".github/SECURITY.md", "CHANGELOG.md", "Makefile", "README.md" }
  for _, place in ipairs({ { "lua", ".lua" }, { "src", ".c" }, { "src", ".h" }, { "spec", ".lua" }, { "spec", ".mk" },
    { "examples", ".lua" }, { "doc", ".md" }, { "doc", ".txt" } }) do
    for _, path in ipairs(sources.list(place[1], place[2])) do
      list[#list + 1] = path
    end
  end
  return list
end

describe("the wording", function()
  it("is refused where a reader has to guess", function()
    for _, line in ipairs({ "-- Refuses what is no number.", "-- Who asks gets it.", "/* told to who calls */",
      "The connection is there again.", "of which nothing; Who waits holds it", "-- Nobody reads it.",
      "local n = 1 -- calls under way", "** goes on with the text", "fail(\"nobody answers\")" }) do
      assert.is_string(wrong_in(line, 9, "lua/x.lua"), line)
    end
    assert.is_string(wrong_in("Nobody reads it.", 9, "doc/x.md"))
    for _, title in ipairs({ "is kept for nobody", "goes on", "refuses numbers that are none", "is what it takes" }) do
      assert.is_string(wrong_in(("  it(\"%s\", function()"):format(title), 9, "spec/x_spec.lua"), title)
      assert.is_nil(wrong_in(("  local text = \"%s\""):format(title), 9, "spec/x_spec.lua"), title)
    end
    assert.is_nil(wrong_in("It prints `nobody`.", 9, "doc/x.md"))
    assert.is_string(wrong_in("--- What the parser reads.", 1, "lua/x.lua"))
    for _, line in ipairs({ "-- Who is there?", "-- Refuses values other than numbers.", "--- The caller.",
      "print(\"no name\")" }) do
      assert.is_nil(wrong_in(line, 1, "lua/x.lua"), line)
    end
  end)

  it("is plain in every file", function()
    local wrong = {}
    for _, path in ipairs(files()) do
      local number, is_sample = 0, false
      for line in io.lines(path) do
        number = number + 1
        if path:find("%.md$") and line:find("^```") then
          is_sample = not is_sample
        end
        local why = path ~= "spec/wording_spec.lua" and wrong_in(line, number, path, is_sample)
        if why then
          wrong[#wrong + 1] = ("%s:%d: %s (%s)"):format(path, number, line, why)
        end
      end
    end
    assert.equal("", table.concat(wrong, "\n"))
  end)
end)

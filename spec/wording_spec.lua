-- Comments, errors, pages and the names of specs are plain English: phrases that make a reader guess what is meant are
-- refused. Each has a plainer form: the noun of the thing ("the caller", "invalid JSON", "the rest of the body").
local sources = require("spec.support.sources")

local before_who = { "for", "of", "to", "by", "from", "with", "at", "on", "than" }

-- Lua patterns, matched in lower case with a blank before and after the line.
local phrases = {
  { "[^%a]what is no ", "name the thing: \"invalid JSON\", \"values other than strings\"" },
  { "[^%a]there again[^%a]", "say what happens: \"after a reconnect\"" },
  { "[^%a]what is left of", "\"the rest of\"" },
  { "[^%a]nobody's[^%a]", "say to what it belongs, or that it is ignored" },
  { "[^%a]that which[^%a]", "\"the one that\"" },
  { "[^%a]has not what[^%a]", "\"lacks\"" },
}
for _, word in ipairs(before_who) do
  phrases[#phrases + 1] = { "[^%a]" .. word .. " who [%a]+", "name the person or part: \"the caller\", \"a client\"" }
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

local function wrong_in(line, number, path)
  local text = " " .. line:lower() .. " "
  for _, phrase in ipairs(phrases) do
    if text:find(phrase[1]) then
      return phrase[2]
    end
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
  local list = { "CHANGELOG.md", "Makefile", "README.md" }
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
      "The connection is there again.", "of which nothing; Who waits holds it" }) do
      assert.is_string(wrong_in(line, 9, "lua/x.lua"), line)
    end
    assert.is_string(wrong_in("--- What the parser reads.", 1, "lua/x.lua"))
    for _, line in ipairs({ "-- Who is there?", "-- Refuses values other than numbers.", "--- The caller." }) do
      assert.is_nil(wrong_in(line, 1, "lua/x.lua"), line)
    end
  end)

  it("is plain in every file", function()
    local wrong = {}
    for _, path in ipairs(files()) do
      local number = 0
      for line in io.lines(path) do
        number = number + 1
        local why = path ~= "spec/wording_spec.lua" and wrong_in(line, number, path)
        if why then
          wrong[#wrong + 1] = ("%s:%d: %s (%s)"):format(path, number, line, why)
        end
      end
    end
    assert.equal("", table.concat(wrong, "\n"))
  end)
end)

local command = require("spec.support.command")
local shell = require("operations.base.shell")

local hostile = { "", "a b", "it's", '"', "$HOME", "${HOME}", "$(touch y)", "`touch y`", "a;b", "a&b|c", "*", "~",
  "=ls", "!x", "\\", "\\n", "a\nb", "\ttab", "\27[8mhidden", "\r", "\226\128\174reversed", "\255\254", "-rf", "#c",
  "(x)", "[1-3]", "{a,b}", "%s%d", "<x>", "é", "'\27'", "$'\\e'",
  "\\'; echo run; '", "\\\\'$(echo run)", "\\'\27" }

-- What a shell hands to a command as its words.
local function words_of(name, texts)
  local words = {}
  for i, text in ipairs(texts) do
    words[i] = shell.word(text)
  end
  local result = command.run(("cat >words; %s ./words; rm words"):format(name),
    "printf '%s\\000' " .. table.concat(words, " "))
  assert.equal("", result.err)
  local found = {}
  for text in result.out:gmatch("([^%z]*)%z") do
    found[#found + 1] = text
  end
  return found
end

describe("a word of a shell", function()
  for _, name in ipairs({ "sh", "bash", "zsh -f", "fish -N" }) do
    it("is the text itself in " .. name:match("%a+"), function()
      if command.run("command -v " .. name:match("%a+")).code == 0 then
        assert.same(hostile, words_of(name, hostile))
      end
    end)
  end

  it("shows nothing that steers a terminal", function()
    for _, text in ipairs(hostile) do
      assert.is_nil(shell.word(text):find("[%z\1-\8\11-\31\127]"))
    end
    assert.is_nil(shell.word("\226\128\174"):find("\226\128\174", 1, true))
  end)

  it("stays as it is where that is safe", function()
    assert.equal("https://a.test/x,y:1%20", shell.word("https://a.test/x,y:1%20"))
    assert.equal("'a?b'", shell.word("a?b"))
  end)

  it("joins texts and variables, of which only the variables are expanded", function()
    assert.equal('"Bearer $TOKEN"', shell.join({ "Bearer ", { variable = "TOKEN" } }))
    assert.equal('"$TOKEN""abc"', shell.join({ { variable = "TOKEN" }, "abc" }))
    assert.equal("'$TOKEN'", shell.join({ "$TOKEN" }))
    local text = '$HOME`x`"\\!\27'
    for _, name in ipairs({ "sh", "bash", "zsh -f", "fish -N" }) do
      if command.run("command -v " .. name:match("%a+")).code == 0 then
        local result = command.run(("cat >words; A=value %s ./words; rm words"):format(name),
          "printf %s " .. shell.join({ text, { variable = "A" }, "[1]" .. text }))
        assert.same({ text .. "value[1]" .. text, "" }, { result.out, result.err })
      end
    end
  end)

  it("prints any bytes", function()
    local bytes = {}
    for i = 0, 255 do
      bytes[i + 1] = string.char(i)
    end
    local all = "-" .. table.concat(bytes) .. "%s\\n"
    assert.equal(all, command.run(shell.printf(all)).out)
  end)
end)

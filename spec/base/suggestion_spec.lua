local suggestion = require("operations.base.suggestion")

local specs = {}
for id in ("pets.getPetById pets.addPet pets.updatePet repos.repos_get demo.greet other.greet"):gmatch("%S+") do
  local namespace, name = id:match("^(.-)%.(.+)$")
  specs[#specs + 1] = { namespace = namespace, name = name }
end

local function meant(id)
  return table.concat(suggestion.of(id, specs), " ")
end

describe("the name that was probably meant", function()
  it("is the same name elsewhere, or written otherwise", function()
    assert.equal("pets.addPet", meant("petstore.addPet"))
    assert.equal("pets.getPetById", meant("getPetById"))
    assert.equal("pets.getPetById", meant("pets.get_pet_by_id"))
    assert.equal("repos.repos_get", meant("repos/get"))
  end)

  it("differs from the given one by a letter or two, the nearest first", function()
    assert.equal("demo.greet other.greet", meant("demo.greeet"))
    assert.equal("demo.greet other.greet", meant("demo.grete"))
    assert.equal("pets.addPet", meant("pest.addPet"))
  end)

  it("is nothing where nothing is near", function()
    assert.equal("", meant("demo.farewell"))
    assert.equal("", meant(""))
    assert.equal("", table.concat(suggestion.of("n.a", { { namespace = "m", name = "b" } })))
  end)

  it("is three ids at most", function()
    local many = {}
    for i = 1, 9 do
      many[i] = { namespace = "n" .. i, name = "same" }
    end
    assert.same({ "n1.same", "n2.same", "n3.same" }, suggestion.of("same", many))
  end)
end)

describe("the word that was probably meant", function()
  local words = { "--lua", "--port", "--pretty", "--openapi", "--raw" }

  it("has two letters the other way round", function()
    assert.equal(" (did you mean --lua?)", suggestion.behind("--lau", words))
    assert.equal(" (did you mean --port?)", suggestion.behind("--prot", words))
    assert.equal(" (did you mean --pretty?)", suggestion.behind("--pritty", words))
  end)

  it("begins with what was written, unless another one is nearer", function()
    assert.equal(" (did you mean --openapi?)", suggestion.behind("--open", words))
    assert.equal("", suggestion.behind("--op", words))
    assert.equal(" (did you mean --prefer?)", suggestion.behind("--prefe", { "--preferences", "--prefer" }))
  end)

  it("is abbreviated to some of its letters, with the first and the last", function()
    assert.equal(" (did you mean command?)", suggestion.behind("cmd", { "cwd", "command" }))
    assert.equal(" (did you mean password?)", suggestion.behind("pwd", { "cwd", "password" }))
    assert.equal(" (did you mean cmd?)", suggestion.behind("CMD", { "command", "cmd" }))
    for _, word in ipairs({ "commands", "codxxm", "commxxnxxd", "xcmxxd" }) do
      assert.equal("", suggestion.behind("cmd", { word }))
    end
  end)

  it("is missing where all words are far", function()
    assert.equal("", suggestion.behind("--text", words))
    assert.equal("", suggestion.behind("--war", { "--raw", "--max" }))
  end)
end)

describe("a word and another one", function()
  -- Are they similar, by so many letters of the first that a change is allowed for each three?
  local function near(text, word)
    return suggestion.behind(text, { word }) ~= ""
  end

  it("differ by one letter for three of the first, and by two for six", function()
    for _, case in ipairs({
      { "ab", "ac", false }, { "abc", "abd", true }, { "abc", "axd", false }, { "abcde", "abcxx", false },
      { "abcdef", "abcdxx", true }, { "abcdef", "abcxxx", false }, { "abcdefghi", "abcdefxxx", false },
    }) do
      assert.equal(case[3], near(case[1], case[2]), case[1] .. " " .. case[2])
    end
  end)

  it("differ by letters that are inserted, dropped, replaced or swapped, anywhere", function()
    for word, is_near in pairs({
      xabcdef = true, abcxdef = true, abcdefx = true, bcdef = true, abdef = true, abcde = true, xbcdef = true,
      abcxef = true, abcdex = true, bacdef = true, abdcef = true, abcdfe = true, badcef = true, xabcdefx = true,
      bcde = true, cabdef = true, cbadef = true, xabcxdefx = false, def = false, badcfe = false,
    }) do
      assert.equal(is_near, near("abcdef", word), word)
    end
  end)

  it("are compared without case and separators", function()
    assert.equal(" (did you mean Get-Task_2?)", suggestion.behind("gettask2", { "other", "Get-Task_2" }))
  end)

  it("are nearest first, in the order of the list where they are equally near", function()
    assert.equal(" (did you mean abcdeg?)", suggestion.behind("abcdef", { "abcdxx", "abcdeg", "abcdeh" }))
    assert.equal(" (did you mean abcdef?)", suggestion.behind("abcdef", { "abcdeg", "abcdef" }))
    local function of(...)
      local list = {}
      for i, name in ipairs({ ... }) do
        list[i] = { namespace = "n", name = name }
      end
      return table.concat(suggestion.of("m.abcdef", list), " ")
    end
    assert.equal("n.abcdef n.abcdeg n.abcdeh", of("abcdeg", "abcdeh", "abcdef"))
    assert.equal("n.abcdef n.abcdef n.abcdef", of("abcdef", "abcdeg", "abcdef", "abcdef"))
    assert.equal("", of("abcdxx"))
  end)

  it("are read by a key of the list's items", function()
    assert.equal(" (did you mean task?)", suggestion.behind("tsak", { { id = "other" }, { id = "task" } }, "id"))
  end)
end)

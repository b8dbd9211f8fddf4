local suggestion = require("operations.base.suggestion")

local specs = {}
for id in ("pets.getPetById pets.addPet pets.updatePet repos.repos_get demo.greet other.greet"):gmatch("%S+") do
  local namespace, name = id:match("^(.-)%.(.+)$")
  specs[#specs + 1] = { namespace = namespace, name = name }
end

local function meant(id)
  return table.concat(suggestion.of(id, specs), " ")
end

describe("what somebody may have meant", function()
  it("is the same name elsewhere, or written otherwise", function()
    assert.equal("pets.addPet", meant("petstore.addPet"))
    assert.equal("pets.getPetById", meant("getPetById"))
    assert.equal("pets.getPetById", meant("pets.get_pet_by_id"))
    assert.equal("repos.repos_get", meant("repos/get"))
  end)

  it("is what a letter or two make of it, the nearest first", function()
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

describe("the word that somebody may have meant", function()
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

  it("is none of those that are far", function()
    assert.equal("", suggestion.behind("--text", words))
    assert.equal("", suggestion.behind("--war", { "--raw", "--max" }))
  end)
end)

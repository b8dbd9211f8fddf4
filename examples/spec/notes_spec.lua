--- Run it with `busted examples/spec`.
local operations = require("operations")

local writer = { identity = { id = "ada", scopes = { "notes:write" } } }

describe("the operations of notes", function()
  local registry

  before_each(function()
    -- A result that does not fit its schema fails, so no spec has to check types.
    registry = operations.registry({ on_mismatch = "fail" })
    local definitions, problems = operations.scanner.load("examples/spec/notes.lua")
    assert.same({}, problems)
    assert(registry:register_all(definitions))
    -- What they call of others is registered here, as these specs need it.
    assert(registry:register({ namespace = "text", name = "count_words", type = "query", handler = function(input)
      return select(2, input.text:gsub("%S+", ""))
    end }))
  end)

  it("add notes and get them", function()
    local added = assert(registry:execute("notes.add", { text = "water the plants" }, writer)).data
    assert.same({ id = 1, text = "water the plants", words = 3 }, added)
    assert.same(added, assert(registry:execute("notes.get", { id = 1 })).data)
  end)

  it("tell what is wrong with the input, by its path", function()
    local envelope, err = registry:execute("notes.add", { text = "" }, writer)
    assert.is_nil(envelope)
    assert.equal("VALIDATION_ERROR: /text: expected at least 1 character, got 0", tostring(err))
  end)

  it("add nothing for somebody who may not", function()
    local _, err = registry:execute("notes.add", { text = "mine" }, { identity = { id = "eve", scopes = {} } })
    assert.equal("ACCESS_DENIED", err.code)
    assert.equal("NOT_FOUND", select(2, registry:execute("notes.get", { id = 1 })).code)
  end)

  it("fail as what they call fails", function()
    assert(registry:register_handler("text.count_words", function()
      return nil, operations.error("BUSY", "no time to count")
    end))
    assert.equal("BUSY: no time to count", tostring(select(2, registry:execute("notes.add", { text = "a" }, writer))))
  end)

  it("stream what there is", function()
    for _, text in ipairs({ "one", "two words" }) do
      assert(registry:execute("notes.add", { text = text }, writer))
    end
    local words = {}
    for event in assert(registry:subscribe("notes.all")) do
      words[#words + 1] = event.data.words
    end
    assert.same({ 1, 2 }, words)
  end)
end)

local approvals = require("operations.people.approvals")
local asking = require("operations.people.asking")
local operations = require("operations")

local array = operations.array

describe("asking a person", function()
  local prompts, answers

  before_each(function()
    prompts, answers = {}, {}
  end)

  local function next_answer(prompt)
    prompts[#prompts + 1] = prompt
    return table.remove(answers, 1)
  end

  local face = {
    select = function(items, prompt, label)
      local wanted = next_answer(prompt)
      for _, item in ipairs(items) do
        if label(item) == wanted then
          return item
        end
      end
    end,
    input = next_answer,
  }

  local schema = { type = "object", required = array({ "name", "loud" }), properties = {
    name = { type = "string", minLength = 2 }, loud = { type = "boolean" }, size = { type = "integer" } } }

  it("gives the word of a choice, or nothing", function()
    local question = { title = "t", text = "Go?", choices = { { word = "no", label = "No" }, { word = "yes" } } }
    answers = { "No", "yes" }
    assert.equal("no", asking.ask(face, question))
    assert.equal("yes", asking.ask(face, question))
    assert.same({ nil, "cancel" }, { asking.ask(face, question) })
    assert.equal("t: Go?", prompts[1])
  end)

  it("fills in a form, and asks again for what does not fit", function()
    answers = { "true", "x", "xy" }
    assert.same({ loud = true, name = "xy" }, asking.ask(face, { title = "t", text = "", schema = schema }))
    assert.same({ "loud: ", "name: " }, { prompts[1], prompts[2] })
    answers = { "false", "xy", "7" }
    assert.same({ loud = false, name = "xy", size = 7 },
      asking.ask(face, { title = "t", text = "", schema = schema, all = true }))
    answers = { "false" }
    assert.same({ nil, "cancel" }, { asking.ask(face, { title = "t", text = "", schema = schema }) })
  end)

  it("answers servers that ask for a form or a visit", function()
    local params = { message = "Who?", requestedSchema = schema }
    answers = { "answer", "true", "xy", "" }
    assert.same({ action = "accept", content = { loud = true, name = "xy" } }, asking.elicit(face, "s", params))
    answers = { "decline" }
    assert.same({ action = "decline" }, asking.elicit(face, "s", params))
    assert.same({ action = "cancel" }, asking.elicit(face, "s", params))
    answers = { "answer" }
    assert.same({ action = "cancel" }, asking.elicit(face, "s", params))
    local visit, opened = { message = "In:", url = "https://a" }, nil
    local visited = { select = face.select, open = function(...)
      opened = { ... }
    end }
    answers = { "open" }
    assert.same({ action = "accept" }, asking.visit(visited, "s", visit))
    assert.same({ "https://a", "s: open in a browser" }, opened)
    opened = nil
    assert.same({ action = "cancel" }, asking.visit(visited, "s", visit))
    assert.is_nil(opened)
  end)

  it("approves calls: once, with these arguments, always, or not", function()
    local memory, call = approvals.new(), { operationId = "a.b", input = { x = 1 } }
    local function approved()
      return (approvals.ask(call, function(about)
        return asking.approve(face, about)
      end, memory))
    end
    answers = { "Yes, once", "No", "Yes, always with these arguments" }
    assert.same({ true, nil, true, true }, { approved(), approved(), approved(), approved() })
    assert.equal('a.b: {"x":1}', prompts[1])
    assert.equal(3, #prompts)
    assert.is_false((asking.approve(face, { operationId = "a.b", input = { print } })))
    assert.equal(3, #prompts)
  end)

  it("reaches the user of the client that called by its context", function()
    local asked, given
    local client = asking.through({ elicit = function(message, wanted)
      asked = { message, wanted.properties }
      return given and "accept" or "decline", given
    end })
    given = { answer = "No" }
    assert.equal("no", asking.ask(client, { title = "t", text = "Go?", choices = asking.approvals }))
    assert.equal("t: Go?", asked[1])
    assert.same({ "No", "Yes, once", "Yes, always with these arguments", "Yes, always" }, asked[2].answer.enum)
    given = { loud = true, name = "xy" }
    assert.same(given, asking.ask(client, { title = "t", text = "Who?", schema = schema }))
    given = nil
    assert.same({ nil, "decline" }, { asking.ask(client, { title = "t", text = "Who?", schema = schema }) })
    assert.is_nil((asking.ask(client, { title = "t", text = "Go?", choices = asking.approvals })))
  end)
end)

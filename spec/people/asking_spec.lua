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
    answers = { "yes", "x", "xy" }
    assert.same({ loud = true, name = "xy" }, asking.ask(face, { title = "t", text = "", schema = schema }))
    assert.same({ "t: loud: ", "t: name, at least 2 characters: ", "name: expected at least 2 characters, got 1: " },
      prompts)
    answers = { "no", "xy", "7" }
    assert.same({ loud = false, name = "xy", size = 7 },
      asking.ask(face, { title = "t", text = "", schema = schema, all = true }))
    answers = { "no" }
    assert.same({ nil, "cancel" }, { asking.ask(face, { title = "t", text = "", schema = schema }) })
  end)

  -- What is put into a form of one property.
  local function value_of(property, ...)
    prompts, answers = {}, { ... }
    local found, reason = asking.ask(face, { title = "", text = "", schema = { type = "object", properties = {
      v = property } }, all = true })
    return found and found.v, reason
  end

  it("offers the values that a schema names, by their words for people", function()
    local red, blue = { const = "#f00", title = "Red" }, { const = "#00f" }
    assert.equal("#f00", value_of({ type = "string", oneOf = array({ red, blue }) }, "Red"))
    assert.equal("#00f", value_of({ anyOf = array({ red, blue }) }, "#00f"))
    assert.equal("b", value_of({ type = "string", enum = array({ "a", "b" }), enumNames = array({ "A", "B" }) }, "B"))
    assert.equal("b", value_of({ enum = array({ "a", "b" }), enumNames = array({ "Same", "Same" }) }, "Same (b)"))
    assert.equal("b", value_of({ enum = array({ "a", "b" }), enumNames = array({ "A" }) }, "b"))
    assert.equal(2, value_of({ type = "integer", enum = array({ 1, 2 }) }, "2"))
    assert.equal(false, value_of({ type = "boolean" }, "no"))
    assert.equal(operations.null, value_of({ enum = array({ operations.null, 1 }) }, "null"))
    assert.equal("x", value_of({ const = "x" }, "x"))
    assert.is_nil(value_of({ type = "boolean" }, "leave it out"))
    assert.same({ nil, "cancel" }, { value_of({ type = "boolean" }) })
  end)

  it("chooses several values one after the other, until they fit", function()
    local tags = { type = "array", minItems = 1, maxItems = 2, items = { type = "string",
      enum = array({ "a", "b", "c" }) } }
    assert.same({ "a", "c" }, value_of(tags, "[ ] c", "[ ] b", "[ ] a", "done", "[x] b", "done"))
    assert.same({ "v, 1 to 2 items, optional: ", "v: expected at most 2 items, got 3: " }, { prompts[1], prompts[5] })
    assert.is_nil(value_of(tags, "done"))
    assert.same({ nil, "cancel" }, { value_of(tags, "[ ] c") })
    tags.default = array({ "b" })
    assert.same({ "b" }, value_of(tags, "done"))
    tags.minItems = nil
    assert.same(array(), value_of(tags, "[x] b", "done"))
  end)

  it("says what a text has to be, and asks again until it fits", function()
    assert.equal(5, value_of({ type = "integer", minimum = 1, maximum = 5 }, "9", "x", "1.5", "5"))
    assert.same({ "v, integer, 1 to 5, optional: ", "v: expected a number of at most 5, got 9: " },
      { prompts[1], prompts[2] })
    assert.equal(2.5, value_of({ type = "number" }, "2.5"))
    for format, given in pairs({ email = { "a", "a@b.test" }, uri = { "a b", "https://a.test/" },
      date = { "2026-02-30", "2026-02-28" }, ["date-time"] = { "noon", "2026-02-28T12:00:00Z" } }) do
      assert.equal(given[2], value_of({ type = "string", format = format }, given[1], given[2]))
      assert.equal(("v, %s, optional: "):format(format), prompts[1])
      assert.equal(2, #prompts)
    end
    assert.equal("12", value_of({ type = array({ "string", "null" }) }, "12"))
    assert.equal("[a]", value_of({ type = "string" }, "[a]"))
    assert.same({ 1, 2 }, value_of({ type = "array", items = { type = "integer" } }, "[1, 2]"))
  end)

  it("survives schemas that refer to themselves, and keywords of the wrong type", function()
    for _, wrong in ipairs({ { ["$ref"] = "#/properties/v" }, { allOf = array({ { ["$ref"] = "#/properties/v" } }) },
      { enum = "x" }, { oneOf = array({ 1 }) }, { type = "array", items = true }, { title = 7, description = {} },
      { type = "string", enumNames = "x", minLength = "x" }, { anyOf = "x", allOf = "x" }, { required = "x" },
      true }) do
      assert.has_no.errors(function() value_of(wrong, "x") end)
    end
    assert.equal("b", value_of({ allOf = array({ { allOf = array({ { enum = array({ "a", "b" }) } }) } }) }, "b"))
    local whole = { allOf = array({ { ["$ref"] = "#" } }), required = "v", properties = "v" }
    assert.same({}, asking.ask(face, { title = "", text = "", schema = whole, all = true }))
  end)

  it("asks only for what a value lacks, in the objects within it too", function()
    local whole = { type = "object", required = array({ "id", "body" }), properties = { id = { type = "integer" },
      body = { ["$ref"] = "#/$defs/Body" }, note = { type = "string" } }, ["$defs"] = {
      Body = { allOf = array({ { type = "object", required = array({ "title" }), properties = {
        title = { ["$ref"] = "#/$defs/Title" } } }, { required = array({ "size" }), properties = {
        size = { type = "integer" } } } }) }, Title = { type = "string", maxLength = 3 } } }
    local given = { body = { size = 7 } }
    answers = { "long", "abc", "12" }
    assert.same({ id = 12, body = { size = 7, title = "abc" } },
      asking.ask(face, { title = "", text = "", schema = whole, value = given }))
    assert.same({ "title, at most 3 characters: ", "title: expected at most 3 characters, got 4: ", "id, integer: " },
      prompts)
    assert.same({ body = { size = 7 } }, given)
    prompts = {}
    assert.same({ id = 1, body = { size = 7, title = "x" } }, asking.ask(face, { title = "", text = "", schema = whole,
      value = { id = 1, body = { size = 7, title = "x" } } }))
    assert.same({}, prompts)
  end)

  it("answers servers that ask for a form or a visit", function()
    local params = { message = "Who?", requestedSchema = schema }
    answers = { "answer", "yes", "xy", "" }
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
    end, can_be_asked = function()
      return "elicit"
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

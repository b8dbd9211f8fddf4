local lexer = require("operations.graphql.lexer")
local parser = require("operations.graphql.parser")
local printer = require("operations.graphql.printer")

-- A text of selections, printed again.
local function again(text)
  local selections, problem = parser.selections(text)
  return selections and printer.selections(selections) or problem.message
end

local function value(text)
  local found, problem = parser.value(text)
  return found and printer.value(found) or problem.message
end

describe("a text of selections", function()
  for text, printed in pairs({
    ["id"] = "id",
    ["{ id, name }"] = "id name",
    ["a: id  b:name"] = "a: id b: name",
    ["issues(first: 1, by: {field: CREATED, dir: [ASC]}) { id }"] =
      "issues(first: 1, by: {field: CREATED, dir: [ASC]}) { id }",
    ["... on User { id } ... @include(if: true) { x } ...F @skip(if: $v)"] =
      "... on User { id } ... @include(if: true) { x } ...F @skip(if: $v)",
    ["# a comment with } in it\nid#another\r\nname"] = "id name",
    ["\239\187\191id"] = "id",
    ["query fragment on true"] = "query fragment on true",
    ["{ a(o: {}, l: []) }"] = "a(o: {}, l: [])",
  }) do
    it(("is read and printed: %s"):format(text:gsub("[%c\128-\255]", " ")), function()
      assert.equal(printed, again(text))
      assert.equal(printed, again(printed))
    end)
  end

  for text, message in pairs({
    [""] = 'expected a field, found the end',
    ["{}"] = 'expected a field, found "}"',
    ["id }"] = 'expected the end, found "}"',
    ["id { "] = 'expected a field, found the end',
    ["a() "] = 'expected an item, found ")"',
    ["a(b) "] = 'expected ":", found ")"',
    ["a(b: ) "] = 'expected a value, found ")"',
    ["a(b: 01)"] = "invalid number",
    ["a(b: 1x)"] = "invalid number",
    ["a(b: 1.)"] = "invalid number",
    ["a(b: -)"] = "invalid number",
    ['a(b: "x'] = "a string lacks its closing quotation mark",
    ['a(b: "x\n")'] = "a string lacks its closing quotation mark",
    ['a(b: """x")'] = 'a block string lacks its closing """',
    ['a(b: "\\x")'] = "invalid escape in a string",
    ['a(b: "\\uD800")'] = "invalid escape in a string",
    ['a(b: "\\u{110000}")'] = "invalid escape in a string",
    ["a.b"] = "unexpected character",
    ["a\0"] = "unexpected character",
    ["a;b"] = "unexpected character",
    ["...on"] = 'expected a type, found the end',
    ["a @"] = 'expected the name of a directive, found the end',
    ["\255"] = "unexpected character",
  }) do
    it(("is refused: %s"):format(text:gsub("[%c\128-\255]", " ")), function()
      assert.equal(message, again(text))
    end)
  end

  it("is not nested without end", function()
    assert.equal("nested more than 100 levels deep", again(("a {"):rep(100000)))
    assert.equal("nested more than 100 levels deep", again("a(b: " .. ("["):rep(100000)))
    assert.truthy(again(("a { "):rep(90) .. "b" .. (" }"):rep(90)):find("^a { a"))
  end)
end)

describe("a value", function()
  for text, printed in pairs({
    ["-0"] = "-0", ["12e3"] = "12e3", ["1.50"] = "1.50", ["true"] = "true", ["null"] = "null", ["RED"] = "RED",
    ['"\\u00e9\\u{1F600}\\uD83D\\uDE00 \\"\\\\\\/\\b\\n"'] = '"é😀😀 \\"\\\\/\\u0008\\n"',
    ['"""\n    a\n      b\n\n    \\""" c\n  """'] = '"a\\n  b\\n\\n\\"\\"\\" c"',
    ['""""""'] = '""', ['""'] = '""', ['"""a"""'] = '"a"',
    ['"\127\1"'] = '"\\u007F\\u0001"',
    ["[1 2,[3]]"] = "[1, 2, [3]]", ['{a:{b:$c}}'] = "{a: {b: $c}}",
  }) do
    it(("is read and printed: %s"):format(text:gsub("%c", " ")), function()
      assert.equal(printed, value(text))
    end)
  end
end)

describe("a document", function()
  it("has operations and fragments, with descriptions", function()
    local document = assert(parser.document([[
      "Gets one." query One($id: ID! = "x" @d, "how many" $n: [Int!]) @a(b: 1) { x(id: $id, n: $n) { ...F } }
      """ Parts """ fragment F on T @c { id }
      { y }
      subscription { z }
    ]]))
    assert.equal("Gets one.", document.operations[1].description)
    assert.equal("how many", document.operations[1].variables[2].description)
    assert.equal('query One($id: ID! = "x" @d, $n: [Int!]) @a(b: 1) { x(id: $id, n: $n) { ...F } }',
      printer.operation(document.operations[1]))
    assert.equal("fragment F on T @c { id }", printer.fragment(document.fragments[1]))
    assert.equal("query { y }", printer.operation(document.operations[2]))
    assert.equal("subscription", document.operations[3].kind)
  end)

  it("names the place of what is wrong", function()
    local text = "query A {\n  x\n}\nfragment on on T { id }"
    local document, problem = parser.document(text)
    assert.is_nil(document)
    assert.equal('line 4, column 10: expected the name of a fragment, found "on"',
      lexer.place(text, problem.at) .. ": " .. problem.message)
  end)

  it("has no definitions of types", function()
    local _, of_type = parser.document("type A { b: C }")
    assert.equal('expected an operation or a fragment, found "type"', of_type.message)
    local _, of_nothing = parser.document("")
    assert.equal("expected an operation or a fragment, found the end", of_nothing.message)
  end)
end)

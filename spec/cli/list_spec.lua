local command = require("spec.support.command")
local terminal = require("spec.support.terminal")

local path

setup(function()
  path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write([[
    local T = require("operations").type
    local input = T.object({ owner = T.string(), repository = T.string(), body = T.object({ title = T.string() }) })
    local function no() end
    return {
      { namespace = "a", name = "get", type = "query", title = "Gets <b>it</b>", tags = { "first", "second" },
        inputSchema = T.object({ id = T.string() }), handler = no },
      { namespace = "a", name = "watch", type = "subscription", tags = { "first" }, handler = no },
      { namespace = "b", name = "create", description = "Creates one.\n\nWith more.", inputSchema = input,
        handler = no },
      { namespace = "a", name = "list", type = "query", _meta = { deprecated = true }, handler = no },
      { namespace = "a", name = "follow", type = "subscription", inputSchema = input, handler = no },
    }
  ]])
  file:close()
end)

teardown(function()
  os.remove(path)
end)

local function run(arguments)
  return command.run(("operations list %s --lua %s"):format(arguments or "", path))
end

describe("the list of operations for programs", function()
  it("has columns of id, type and title", function()
    assert.equal("a.get     query         Gets it\na.watch   subscription\nb.create  mutation      Creates one.\n"
      .. "a.list    query\na.follow  subscription\n", run().out)
  end)

  it("finds every word, in any case, in ids, titles, summaries and tags", function()
    assert.equal("a.get  query  Gets it\n", run("GETS a").out)
    assert.equal("a.get    query         Gets it\na.watch  subscription\n", run("first").out)
    assert.equal("b.create  mutation  Creates one.\n", run("creates").out)
    local none = run("creates gets")
    assert.same({ "", "operations: no operation has creates, gets\n", 0 }, { none.out, none.err, none.code })
    assert.equal("", run("--type query --tag other").out)
    assert.equal("a.get  query  Gets it\n", run("--type query --tag second").out)
  end)
end)

describe("the list of operations as JSON", function()
  local json = require("operations.base.json")

  it("has the specs of those that were asked for, each with its id", function()
    local list = json.decode(run("--json --tag first --type query").out)
    assert.equal(1, #list)
    assert.same({ "a.get", "a", "get", "query", { "id" } }, { list[1].id, list[1].namespace, list[1].name, list[1].type,
      list[1].inputSchema.required })
    assert.equal("[]\n", run("--json nothing").out)
  end)
end)

describe("foreign text", function()
  local bad = os.tmpname() .. ".lua"

  setup(function()
    local file = assert(io.open(bad, "w"))
    file:write([[
local text = "hid\27[8mden\27[0m \226\128\174desrever \194\155x \27]0;title\7 \239\187\191end"
return { namespace = "bad", name = "one", title = text, description = text, tags = { text }, type = "query",
  errorSchemas = { { code = "BAD", description = text, schema = true } }, handler = function()
    return { [text] = text }
  end, inputSchema = { type = "object", properties = { [text] = { enum = { text }, description = text } } } }
]])
    file:close()
  end)

  teardown(function()
    os.remove(bad)
  end)

  local function check(text)
    for _, sequence in ipairs({ "\27[8m", "\27]", "\7", "\226\128\174", "\194\155", "\239\187\191" }) do
      assert.is_nil(text:find(sequence, 1, true), text)
    end
    assert.matches("hid", text)
  end

  it("steers no terminal or reader from a list or a description, with our colours and without", function()
    for _, line in ipairs({ "list", "list --color always", "describe bad.one", "describe bad.one --color always" }) do
      local result = command.run(("operations %s --lua %s"):format(line, bad))
      assert.equal("", result.err)
      check(result.out)
    end
    assert.matches("\27[1mbad.one\27[0m", command.run(("operations describe bad.one --color always --lua %s"):format(
      bad)).out, 1, true)
  end)

  it("is JSON with the same meaning at a terminal, and as it is in a file", function()
    local shown = terminal.run(("operations call bad.one --lua %s >f; cat -v f; rm f; operations call bad.one --lua %s "
      .. "--compact"):format(bad, bad), 500)
    assert.matches('{"hid\\u001b[8mden', shown, 1, true)
    assert.matches("M-^@M-.desrever", shown, 1, true)
    assert.matches("\\u202edesrever \\u009bx \\u001b]0;title\\u0007 \\ufeffend", shown, 1, true)
  end)
end)

describe("the list of operations for people", function()
  local function shown(width, arguments)
    return terminal.run(("operations list %s --color never --lua %s"):format(arguments or "", path), width)
  end

  it("has groups of namespace and tag, with what each requires", function()
    assert.equal([[
a: first
  a.get id     Gets it
  a.watch ...

b
  b.create body{title} owner repository  Creates one.

a
  a.list
  a.follow body{title} owner repository ...
]], shown(80))
  end)

  it("is cut to the width of the terminal, the title first", function()
    assert.equal([[
a: first
  a.get id     Gets it
  a.watch ...

b
  b.create body{title} ow…  Creates one.

a
  a.list
  a.follow body{title} ow…
]], shown(44))
    assert.equal("a: first\n  a.get id     Gets it\n  a.watch ...\n", shown(24, "first"))
    assert.equal("b\n  b.create\n", shown(24, "creates"))
  end)

  it("says what is wrong with its options", function()
    local result = run("--color sometimes")
    assert.equal('operations: --color: expected auto, always or never, got "sometimes"\n', result.err)
    assert.equal(2, result.code)
  end)
end)

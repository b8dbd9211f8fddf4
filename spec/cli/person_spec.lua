local command = require("spec.support.command")

-- What a program that asks the person writes, to standard output and standard error each, where these lines are typed.
local function answered(code, typed)
  local program, lines = os.tmpname(), os.tmpname()
  code = 'local person = require("operations.cli.person")\n' .. code
  for path, text in pairs({ [program] = code, [lines] = typed }) do
    local file = assert(io.open(path, "w"))
    file:write(text)
    file:close()
  end
  local result = command.run(("lua %s <%s"):format(program, lines))
  os.remove(program)
  os.remove(lines)
  return result
end

describe("the person at the terminal", function()
  it("is asked for a choice, by its first letters, and for a text", function()
    local program = [[
local function shown(value)
  io.stdout:write(tostring(value), "\n")
end
local function label(item) return item.label end
local items = { { label = "answer" }, { label = "decline" } }
for _ = 1, 3 do
  local item = person.select(items, "s: Who?", label)
  shown(item and item.label)
end
shown(person.input("name: "))
shown(person.input("size: ", "7"))
shown(person.confirm("Go?"))
shown(person.confirm("Go?"))
person.open("https://a\27[2J", "s: open in a browser")
shown(person.input("end: "))
]]
    local result = answered(program, "D\n\nans\nAda\n\nYes\n\n")
    assert.equal("decline\nnil\nanswer\nAda\n7\ntrue\nfalse\nnil\n", result.out)
    assert.matches("operations: Go? [y/N] ", result.err, 1, true)
    assert.matches("\ns: open in a browser:\n\n  https://a[^\27]*\n\n", "\n" .. result.err:match("%]%s(s: .*)"))
    assert.equal("operations: s: Who? [answer/decline]: ", result.err:match("^operations: [^%]]*%]: "))
    assert.matches("operations: size [7]: ", result.err, 1, true)
  end)

  it("is asked again where a choice is unclear, sees long ones as a list, gives several with commas", function()
    local program = [[
local function label(item) return item.label end
local function choose(way, labels, third)
  local items = {}
  for i, text in ipairs(labels) do items[i] = { label = text } end
  local chosen = person[way](items, "v, optional: ", way == "several" and { [items[2] ] = true } or label,
    items[2])
  local words = {}
  for _, item in ipairs(items) do
    words[#words + 1] = (chosen == item or way == "several" and chosen and chosen[item]) and item.label or nil
  end
  io.stdout:write(table.concat(words, "+"), "\n")
end
choose("select", { "option", "option2", "Other" })
choose("select", { "option", "option2", "Other" })
choose("select", { "option", "option2", "Other" })
local long = {}
for i = 1, 9 do long[i] = ("choice%d"):format(i * 10) end
choose("select", long)
choose("several", { "a", "b", "c" })
choose("several", { "a", "b", "c" })
choose("several", { "a", "b", "c" })
]]
    local result = answered(program, "o\nOPTION2\noption\n\n3\nc, x\n c,a\n\n")
    assert.equal("option2\noption\noption2\nchoice30\na+c\nb\n\n", result.out)
    assert.matches('operations: v, optional [option/option2/Other] (option2): '
      .. 'operations: "o" names none of them, or several', result.err, 1, true)
    assert.matches("\n  9  choice90\noperations: v, optional [1 to 9] (choice20): ", result.err, 1, true)
    assert.matches("operations: v, optional [a/b/c], several with commas (b): ", result.err, 1, true)
  end)
end)

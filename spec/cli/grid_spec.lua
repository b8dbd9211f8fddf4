local cells = require("operations.people.cells")
local grid = require("operations.cli.grid")
local json = require("operations.base.json")

local function text(value, ...)
  return (grid.text(json.decode(value), ...))
end

describe("a table", function()
  it("has the known columns first, and numbers to the right", function()
    assert.equal("name  id  a\nx      1\ny     22  [1]\n",
      text('[{"id":1,"name":"x"},{"name":"y","id":22,"a":[1]}]', { "name", "unknown", "id" }))
  end)

  it("writes an object in lines, and other lists an item a line", function()
    assert.equal("a     1\nname  x y\n", text('{"name":"x\\n y","a":1}'))
    assert.equal("1\nx\n[2]\n", text('[1,"x",[2]]'))
    assert.equal("x\n", text('"x"'))
    assert.equal("", text("[]"))
  end)

  it("is never wider than it may be, whatever the columns", function()
    local rows = {}
    for i = 1, 3 do
      local members = {}
      for k = 1, 12 do
        members[k] = ('"k%d":"%s"'):format(k, ("東x"):rep(k * i))
      end
      rows[i] = "{" .. table.concat(members, ",") .. "}"
    end
    for width = 8, 200, 7 do
      for line in text("[" .. table.concat(rows, ",") .. "]", {}, width):gmatch("[^\n]+") do
        assert.is_true(cells.width(line) <= width, line)
      end
    end
  end)

  it("names the columns that have no place", function()
    local rows = json.decode('[{"a":"xxxxxxxx","b":"xxxxxxxx","c":"xxxxxxxx"}]')
    for width, expected in pairs({ [22] = {}, [21] = { "c" }, [14] = { "c" }, [13] = { "b", "c" },
      [1] = { "b", "c" } }) do
      local _, left_out = grid.text(rows, {}, width)
      assert.same(expected, left_out)
    end
    assert.equal("a       b       c\nxxxxx…  xxxxx…  xxxxxx…\n", (grid.text(rows, {}, 23)))
  end)
end)

describe("comma-separated values", function()
  local function csv(value, known)
    return grid.csv(json.decode(value), known)
  end

  it("have a line of names and a line for each object, the known names first", function()
    assert.equal("name,a,id\nx,,1\ny,[1],22\n", csv('[{"id":1,"name":"x"},{"name":"y","id":22,"a":[1]}]', { "name" }))
    assert.equal("a\n1\n", csv('{"a":1}'))
  end)

  it("quote what would end a value; null is empty", function()
    assert.equal('a,"b,c"\n"say ""x""\nand",\n', csv('[{"a":"say \\"x\\"\\nand","b,c":null}]'))
  end)

  it("have a line for each item of other lists", function()
    assert.equal("1\nx\n[2]\n", csv('[1,"x",[2]]'))
    assert.equal("", csv("[]"))
    assert.equal("x\n", csv('"x"'))
  end)
end)

local cleanup = require("operations.cli.cleanup")
local destination = require("operations.cli.destination")
local system = require("operations.system")

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

describe("a file that an answer goes to", function()
  local path

  before_each(function()
    path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write("before")
    file:close()
  end)

  after_each(function()
    os.remove(path)
  end)

  local function drafts()
    local count, name = 0, path:match("([^/]+)$")
    for _, other in ipairs(assert(system.list(path:match("^(.*)/")))) do
      count = count + (other:find(name .. ".", 1, true) and 1 or 0)
    end
    return count
  end

  it("stays what it was until the answer is whole", function()
    local place = assert(destination.file(path))
    place:write("af")
    assert.equal("before", read(path))
    place:write("ter")
    assert.is_nil(place:finish())
    assert.equal("after", read(path))
    assert.equal(5, place.count)
    assert.equal(0, drafts())
  end)

  it("stays what it was when the program ends before", function()
    local place = assert(destination.file(path))
    place:write("after")
    assert.equal(1, drafts())
    cleanup.run()
    assert.equal("before", read(path))
    assert.equal(0, drafts())
  end)

  it("is named by the server before anything is written, and replaces no other", function()
    local place = assert(destination.named(function() return path end))
    assert.is_false((pcall(place.write, place, "x")))
    assert.equal(path .. " exists already: -o FILE writes over a file", place.problem)
    place:close()
    place = assert(destination.named(function() return nil, "no name" end))
    assert.is_false((pcall(place.write, place, "x")))
    assert.equal("no name", place.problem)
    place:close()
  end)
end)

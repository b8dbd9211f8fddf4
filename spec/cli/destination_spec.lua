local cleanup = require("operations.cli.cleanup")
local destination = require("operations.cli.destination")
local output = require("operations.cli.output")
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

describe("a terminal that an answer goes to", function()
  local is_terminal, text, written = output.is_terminal, output.text, nil

  before_each(function()
    written = {}
    output.is_terminal = function()
      return true
    end
    output.text = function(piece)
      written[#written + 1] = piece ~= "" and piece or nil
    end
  end)

  after_each(function()
    output.is_terminal, output.text = is_terminal, text
  end)

  for character, name in pairs({ ["\195\164"] = "two", ["\226\130\172"] = "three", ["\240\159\152\128"] = "four" }) do
    it("shows a character of " .. name .. " bytes once it is whole, and holds back no more", function()
      local place = destination.stdout()
      for byte in ("a" .. character):gmatch(".") do
        place:write(byte)
      end
      assert.same({ "a", character }, written)
      place:write(character .. "b")
      assert.equal(character .. "b", written[3])
      assert.is_nil(place:finish())
      assert.equal("\n", written[4])
      assert.equal(2 * #character + 2, place.count)
    end)
  end

  it("adds a line's end where there is none, and nothing to nothing", function()
    destination.stdout():finish()
    assert.same({}, written)
    local place = destination.stdout()
    place:write("a\n")
    place:write("")
    place:finish()
    assert.same({ "a\n" }, written)
  end)

  for name, bytes in pairs({ ["bytes that are no text"] = "\255\254ab", ["a NUL"] = "a\0b" }) do
    it("is not given " .. name .. ", unless that is wanted", function()
      local place = destination.stdout()
      assert.is_false((pcall(place.write, place, bytes)))
      assert.matches("the answer is not text", place.problem, 1, true)
      assert.same({}, written)
      local sent
      local raw = output.bytes
      output.bytes = function(piece)
        sent = piece
      end
      finally(function()
        output.bytes = raw
      end)
      destination.stdout(true):write(bytes)
      assert.equal(bytes, sent)
    end)
  end

  it("is told at the end of a character that was cut off", function()
    local place = destination.stdout()
    place:write("a\195")
    assert.is_false((pcall(place.finish, place)))
    assert.matches("the answer is not text", place.problem, 1, true)
  end)
end)

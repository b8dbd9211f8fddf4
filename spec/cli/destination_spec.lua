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

  it("stays unchanged until the answer is whole", function()
    local place = assert(destination.file(path))
    place:write("af")
    assert.equal("before", read(path))
    place:write("ter")
    assert.is_nil(place:finish())
    assert.equal("after", read(path))
    assert.equal(5, place.count)
    assert.equal(0, drafts())
  end)

  it("stays unchanged when the program ends before", function()
    local place = assert(destination.file(path))
    place:write("after")
    assert.equal(1, drafts())
    output.close()
    assert.equal("before", read(path))
    assert.equal(0, drafts())
  end)

  it("is named by the server before anything is written, and replaces no other", function()
    local place = assert(destination.named(function() return path end))
    assert.same({ false, path .. " exists already: -o FILE writes over a file" }, { pcall(place.write, place, "x") })
    assert.equal(path .. " exists already: -o FILE writes over a file", place.problem)
    place:close()
    place = assert(destination.named(function() return nil, "no name" end))
    assert.is_false((pcall(place.write, place, "x")))
    assert.equal("no name", place.problem)
    place:close()
  end)

  it("replaces no file that has appeared since, and no link", function()
    for _, appear in ipairs({ "echo mine >%s", "ln -s %s.elsewhere %s" }) do
      os.remove(path)
      local place = assert(destination.named(function() return path end))
      place:write("theirs")
      os.execute(appear:gsub("%%s", path))
      assert.matches(path, place:finish(), 1, true)
      assert.is_nil(io.open(path .. ".elsewhere"))
    end
    os.remove(path)
    os.execute("echo mine >" .. path)
    local place = assert(destination.named(function() return path .. ".new" end))
    place:write("x")
    os.execute(("cp %s %s.new"):format(path, path))
    assert.equal(path .. ".new exists already: -o FILE writes over a file", place:finish())
    assert.equal("mine\n", assert(io.open(path .. ".new")):read("*a"))
    os.remove(path .. ".new")
    os.remove(path)
  end)

  it("is named by the server also where the answer is empty", function()
    os.remove(path)
    local place = assert(destination.named(function() return path end))
    local notice, told = output.notice, nil
    finally(function()
      output.notice = notice
      place:close()
    end)
    output.notice = function(...) told = { ... } end
    assert.is_nil(place:finish())
    assert.equal("", read(path))
    assert.same({ "saved %s, %s", path, "0 bytes" }, told)
  end)
end)

describe("a place that cannot be written", function()
  local directory

  before_each(function()
    directory = os.tmpname()
    os.remove(directory)
    os.execute("mkdir " .. directory)
  end)

  after_each(function()
    os.execute("rm -r " .. directory)
  end)

  it("is refused before anything is asked for", function()
    assert.same({ nil, ("cannot write %s: it is a directory"):format(directory) }, { destination.file(directory) })
    assert.same({ nil, ("cannot write %s/no/file: No such file or directory"):format(directory) },
      { destination.file(directory .. "/no/file") })
  end)

  it("is told when the answer is whole, and no draft stays", function()
    local path = directory .. "/file"
    local place = assert(destination.file(path))
    place:write("x")
    os.execute("mkdir " .. path)
    assert.equal(("cannot write %s: Is a directory"):format(path), place:finish())
    assert.same({ "file" }, system.list(directory))
  end)

  it("is told when the disk is full, at once or at the end", function()
    local place = assert(destination.file("/dev/full"))
    place:write("x")
    assert.equal("cannot write /dev/full: No space left on device", place:finish())
    place = assert(destination.file("/dev/full"))
    local message = "cannot write /dev/full: No space left on device"
    assert.same({ false, message }, { pcall(place.write, place, ("x"):rep(1000000)) })
    assert.equal(message, place.problem)
    place:close()
  end)

  it("is no device and no pipe: these are written as they are", function()
    os.execute("mkfifo " .. directory .. "/pipe")
    local reader = assert(io.popen("cat " .. directory .. "/pipe"))
    for _, path in ipairs({ directory .. "/pipe", "/dev/null" }) do
      local place = assert(destination.file(path))
      place:write("x")
      assert.is_nil(place.draft)
      place:close()
    end
    assert.equal("x", reader:read("*a"))
    reader:close()
    assert.same({ "pipe" }, system.list(directory))
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

  for character, name in pairs({ ["\195\164"] = "two", ["\224\160\128"] = "three", ["\226\130\172"] = "three",
    ["\240\144\128\128"] = "four", ["\240\159\152\128"] = "four" }) do
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

  it("adds a missing end of line, and nothing to an empty answer", function()
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
      place = destination.stdout(true)
      place:write(bytes)
      assert.is_nil(place:finish())
      assert.same({ bytes, #bytes }, { sent, place.count })
    end)
  end

  it("is told at the end of a character that was cut off", function()
    local place = destination.stdout()
    place:write("a\195")
    assert.is_false((pcall(place.finish, place)))
    assert.matches("the answer is not text", place.problem, 1, true)
  end)
end)

local secret = require("operations.sources.secret")

describe("a secret of the command line", function()
  local path

  before_each(function()
    path = os.tmpname()
  end)

  after_each(function()
    os.remove(path)
  end)

  local function write(text)
    local file = assert(io.open(path, "w"))
    file:write(text)
    file:close()
  end

  it("is the word itself, or read from the place that it names", function()
    assert.equal("abc", secret.read("abc"))
    assert.equal("a:b", secret.read("a:b"))
    assert.equal(os.getenv("PATH"), secret.read("env:PATH"))
    assert.equal("made", secret.read("cmd:echo made; echo more"))
    assert.equal("it's", secret.read([[cmd:printf "it's"]]))
    assert.equal("a\\b", secret.read("cmd:printf '%s\\r\\n' 'a\\b'"))
    assert.equal("kept", secret.read("cmd:(sleep 1; echo late) & echo kept")) -- does not wait for the other
    write("kept\r\nmore")
    assert.equal("kept", secret.read("file:" .. path))
  end)

  it("is a reference where the word begins with its kind", function()
    for word, expected in pairs({ ["env:X"] = true, ["file:x"] = true, ["cmd:x"] = true, ["env:"] = false,
      ["other:x"] = false, x = false }) do
      assert.equal(expected, secret.is_reference(word))
    end
  end)

  it("is not there, or no token, with a reason", function()
    local function reason_of(word)
      local value, message = secret.read(word)
      assert.is_nil(value)
      return message
    end
    assert.equal("the environment has no OPERATIONS_NO_SUCH_NAME", reason_of("env:OPERATIONS_NO_SUCH_NAME"))
    assert.matches("No such file", reason_of("file:" .. path .. ".nothing"), 1, true)
    assert.equal("`true` printed nothing", reason_of("cmd:true"))
    assert.equal("`echo s3cret; exit 3` failed with exit code 3", reason_of("cmd:echo s3cret; exit 3"))
    assert.equal("`printf '' | false` failed with exit code 1", reason_of("cmd:printf '' | false"))
    assert.equal("`yes` was ended, or printed too much", reason_of("cmd:yes"))
    assert.equal(path .. " is empty", reason_of("file:" .. path))
    local popen = io.popen
    io.popen = function() return nil, "no process" end -- luacheck: ignore 122
    local value, message = secret.read("cmd:true")
    io.popen = popen -- luacheck: ignore 122
    assert.same({ nil, "no process" }, { value, message })
    write("two words\n")
    assert.matches("without blanks", reason_of("file:" .. path), 1, true)
    assert.matches("without blanks", reason_of(""), 1, true)
  end)
end)

local core = require("operations.core")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local system = require("operations.system")
local trust = require("operations.people.trust")

describe("trust in what a directory brought", function()
  local getenv = os.getenv
  local home

  before_each(function()
    home = os.tmpname()
    os.remove(home)
    os.execute("mkdir -p " .. home .. "/project/sub")
    home = system.real_path(home)
    os.getenv = function(name) -- luacheck: ignore 122
      return name == "HOME" and home or name ~= "XDG_STATE_HOME" and getenv(name) or nil
    end
  end)

  after_each(function()
    os.getenv = getenv -- luacheck: ignore 122
    os.execute("rm -rf " .. home)
  end)

  local function write(name, text)
    local file = assert(io.open(home .. "/" .. name, "w"))
    file:write(text)
    file:close()
  end

  -- A file that names a command with these words, and a document.
  local function subject(words, refs)
    local made = trust.subject(home .. "/project/mcp.json")
    made:words(words or "", { home .. "/project" })
    if refs then
      made:file(home .. "/project/api.json", refs)
    end
    return made
  end

  local function changed(...)
    local is_trusted, list = subject(...):is_trusted()
    for i, path in ipairs(list) do
      list[i] = path:sub(#home + 10)
    end
    return is_trusted, table.concat(list, " ")
  end

  it("is asked of the person of a face, once for each state of the files", function()
    write("project/mcp.json", "{}")
    local asked, answer = {}, false
    local face = { trust = function(about, list)
      asked[#asked + 1] = { about.path, #list }
      return answer
    end }
    assert.is_false((subject():ask(nil)))
    assert.is_false((subject():ask({})))
    assert.is_false((subject():ask(face)))
    answer = true
    assert.is_true((subject():ask(face)))
    assert.is_true((subject():ask(face)))
    write("project/mcp.json", "{ }")
    assert.is_true((subject():ask(face)))
    local path = home .. "/project/mcp.json"
    assert.same({ { path, 0 }, { path, 0 }, { path, 1 } }, asked)
    os.getenv = function() end -- luacheck: ignore 122
    local ok, _, message = trust.subject(path):ask(face)
    assert.is_false(ok)
    assert.matches("neither XDG_STATE_HOME nor HOME", message)
  end)

  it("is given to files with their present content, for each user", function()
    write("project/mcp.json", "{}")
    assert.same({ false, "" }, { changed() })
    assert(subject():trust())
    assert.same({ true, "" }, { changed() })
    write("project/mcp.json", "{ }")
    assert.same({ false, "mcp.json" }, { changed() })
    assert(subject():trust())
    assert(trust.revoke(home .. "/project/mcp.json"))
    assert.same({ false, "" }, { changed() })
    local pipe = io.popen(("stat -c %%a %s/.local/state/operations/trust.json"):format(home))
    assert.equal("600\n", pipe:read("*a"))
    pipe:close()
  end)

  it("ends when a file that a command line names changes or appears", function()
    for _, name in ipairs({ "mcp.json", "run.sh", "a.js", "sub/b.js", "c", "d.env" }) do
      write("project/" .. name, "1")
    end
    write("outside", "1")
    local words = "./run.sh --require=a.js -x 'cat sub/b.js|sh' $(c);d.env ../outside " .. home .. "/outside ./later"
    assert(subject(words):trust())
    assert.same({ true, "" }, { changed(words) })
    for _, name in ipairs({ "run.sh", "a.js", "sub/b.js", "c", "d.env", "later" }) do
      write("project/" .. name, "2")
      assert.same({ false, name }, { changed(words) })
      assert(subject(words):trust())
    end
    write("outside", "2")
    assert.is_false((changed(words)))
  end)

  it("follows links to the file that they lead to", function()
    write("project/mcp.json", "1")
    write("project/a", "same")
    write("project/b", "same")
    os.execute(("ln -s a %s/project/link"):format(home))
    assert(subject("./link"):trust())
    os.execute(("ln -sf b %s/project/link"):format(home))
    assert.same({ false, "b" }, { changed("./link") })
    os.execute(("ln -s project %s/other"):format(home))
    assert.is_true((trust.subject(home .. "/other/mcp.json"):is_trusted()))
  end)

  it("covers what a document refers to, read again only when the document changes", function()
    write("project/mcp.json", "1")
    write("project/api.json", "1")
    write("project/sub/p.json", "1")
    local count = 0
    local function refs()
      count = count + 1
      return { home .. "/project/sub/p.json", home .. "/project/missing.json" }
    end
    assert(subject("", refs):trust())
    assert.same({ true, "" }, { changed("", refs) })
    assert.equal(1, count)
    write("project/missing.json", "1")
    assert.same({ false, "missing.json" }, { changed("", refs) })
    os.remove(home .. "/project/missing.json")
    write("project/sub/p.json", "2")
    assert.same({ false, "sub/p.json" }, { changed("", refs) })
    write("project/api.json", "2")
    changed("", refs)
    assert.equal(2, count)
  end)

  it("is never given to a FIFO or a directory, and waits for none", function()
    write("project/mcp.json", "1")
    os.execute(("mkfifo %s/project/api.json"):format(home))
    local made = subject("", function() return {} end)
    local ok, message = made:trust()
    assert.is_nil(ok)
    assert.equal(home .. "/project/api.json: not a regular file", message)
    assert.is_false((made:is_trusted()))
  end)

  it("goes by size and time of files that are too large to be read each time", function()
    write("project/mcp.json", "1")
    write("project/large", "")
    os.execute(("truncate -s %d %s/project/large"):format(limits.trust_file + 1, home))
    assert(subject("./large"):trust())
    assert.is_true((changed("./large")))
    os.execute(("touch -d @1000 %s/project/large"):format(home))
    assert.same({ false, "large" }, { changed("./large") })
  end)

  it("does not count when the store holds something else, such as the text of an earlier version", function()
    write("project/mcp.json", "1")
    assert(subject():trust())
    for _, text in ipairs({ "{", "[]", "7", json.encode({ [home .. "/project/mcp.json"] = core.sha256("1") }) or "{}",
      json.encode({ [home .. "/project/mcp.json"] = { files = 7 } }) }) do
      write(".local/state/operations/trust.json", text)
      assert.is_false((changed()), text)
    end
  end)

  it("is shown with every character that a terminal would hide", function()
    write("project/mcp.json", "1")
    local made = subject()
    made:line("%s runs: %s", "x\27[8m\226\128\174", trust.command_line({ "sh", "-c", "it's\n$x", "a b", "--n=1", "" }))
    assert.same({ home .. "/project/mcp.json:",
      "  x\\u{1b}[8m\\u{202e} runs: sh -c 'it'\\''s\\n$x' 'a b' --n=1 ''",
      "files that are trusted with their present content:", "  " .. home .. "/project/mcp.json" }, made:text())
  end)
end)

local core = require("operations.core")
local operations = require("operations")
local scanner = require("operations.registry.scanner")

local root

local function write(path, text)
  local directory = path:match("^(.*)/")
  if directory then
    assert(os.execute(("mkdir -p '%s/%s'"):format(root, directory)))
  end
  local file = assert(io.open(root .. "/" .. path, "w"))
  file:write(text)
  file:close()
end

local function definition(name)
  return ("return { namespace = 'test', name = %q, handler = function() end }"):format(name)
end

local function names(definitions)
  local result = {}
  for i, found in ipairs(definitions) do
    result[i] = found.name
  end
  return table.concat(result, " ")
end

--- The problem of the file `path`, which must be the only one.
local function problem(path)
  local _, problems = assert(scanner.scan(root))
  assert.equal(1, #problems)
  assert.equal(root .. "/" .. path, problems[1].path)
  return problems[1].message
end

before_each(function()
  root = os.tmpname()
  os.remove(root)
  assert(os.execute(("mkdir '%s'"):format(root)))
end)

after_each(function()
  os.execute(("chmod -R u+rwx '%s'; rm -rf '%s'"):format(root, root))
end)

describe("the scanner", function()
  it("finds definitions and lists of them, recursively, in the order of their paths", function()
    write("b.lua", definition("b"))
    write("a/second.lua", definition("a2"))
    write("a/first.lua", "return { (function() " .. definition("a0") .. " end)(), (function() " .. definition("a1")
      .. " end)() }")
    write("c/d/e.lua", definition("e"))
    local definitions, problems = scanner.scan(root)
    assert.equal("a0 a1 a2 b e", names(definitions))
    assert.same({}, problems)
  end)

  it("lists the files that it would load", function()
    write("b.lua", "error('is not run')")
    write("a/first.lua", "")
    write("a/notes.txt", "")
    assert(os.execute(("ln -s b.lua '%s/c.lua' && ln -s nowhere '%s/d.lua'"):format(root, root)))
    local paths, problems = assert(scanner.files(root))
    assert.same({ root .. "/a/first.lua", root .. "/b.lua" }, paths)
    assert.same({ root .. "/d.lua" }, { problems[1].path, problems[2] })
    local nothing, err = scanner.files(root .. "/nowhere")
    assert.is_nil(nothing)
    assert.equal(root .. "/nowhere", err.details.path)
  end)

  it("calls the hooks of files: start in order and once, stop in the reverse order", function()
    local noted = {}
    _G.note = function(text)
      noted[#noted + 1] = text
    end
    local hooked = [[return { start = function() %s note("start %s") end, stop = function() note("stop %s") %s end,
      { namespace = "t", name = "%s" }, { namespace = "t", name = "%s2" } }]]
    write("a.lua", hooked:format("", "a", "a", "error('broken', 0)", "a", "a"))
    write("b.lua", hooked:format("", "b", "b", "", "b", "b"))
    write("c.lua", definition("c"))
    local stop = assert(scanner.start(assert(scanner.scan(root))))
    local ok, err = stop()
    assert.same({ "start a", "start b", "stop b", "stop a" }, noted)
    assert.same({ nil, ("EXECUTION_ERROR: %s/a.lua: stop: broken"):format(root) }, { ok, tostring(err) })
    assert.is_true((stop()))
    noted = {}
    write("c.lua", hooked:format("error('no database', 0)", "c", "c", "", "c", "c"))
    stop, err = scanner.start(assert(scanner.scan(root)))
    assert.is_nil(stop)
    assert.equal(("EXECUTION_ERROR: %s/c.lua: start: no database"):format(root), tostring(err))
    assert.same({ "start a", "start b", "stop b", "stop a" }, noted)
    _G.note = nil
  end)

  it("reports hooks that are no functions, or have no definitions", function()
    write("a.lua", "return { start = 1, { namespace = 't', name = 'a' } }")
    assert.equal("start: expected a function, got number", problem("a.lua"))
    write("a.lua", "return { stop = print }")
    assert.equal("stop: expected definitions beside it", problem("a.lua"))
  end)

  it("knows the file of each definition", function()
    write("a.lua", definition("a"))
    write("b/c.lua", ("return { %s }"):format(definition("c"):gsub("^return ", "")))
    local list = scanner.scan(root)
    assert.equal(root .. "/a.lua", scanner.origin(list[1]))
    assert.equal(root .. "/b/c.lua", scanner.origin(list[2]))
    assert.is_nil(scanner.origin({}))
  end)

  it("visits no more files and directories than the caller wants", function()
    write("a/b.lua", definition("b"))
    write("a/notes.txt", "")
    assert.same({ root .. "/a/b.lua" }, (scanner.files(root, { most = 3 })))
    local nothing, err = scanner.files(root, { most = 2 })
    assert.same({ root .. ": more than 2 files and directories" }, { err.message, nothing })
  end)

  it("looks at .lua files only", function()
    write("notes.txt", "no Lua")
    write("a.lua.orig", "no Lua either")
    assert.same({ {}, {} }, { scanner.scan(root) })
  end)

  it("copes with names that mean something elsewhere", function()
    write("a #1? 100%.lua", definition("odd"))
    assert.equal("odd", names((scanner.scan(root))))
  end)

  it("gives the file its own path", function()
    write("a.lua", "local path = ... return { namespace = 'n', name = path, handler = print }")
    assert.equal(root .. "/a.lua", scanner.scan(root)[1].name)
  end)

  it("loads a directory and a file once, however many links lead there", function()
    write("a/x.lua", definition("x"))
    assert(os.execute(("cd '%s' && ln -s .. a/up && ln -s a b && ln -s a/x.lua y.lua"):format(root)))
    local definitions, problems = scanner.scan(root)
    assert.equal("x", names(definitions))
    assert.same({}, problems)
  end)

  it("says why a file cannot be read, its name once", function()
    local path = root .. "/missing.lua"
    assert.same({ {}, { { path = path, message = "No such file or directory" } } }, { scanner.load(path) })
  end)

  it("returns nil and an error object for a directory that it cannot read", function()
    local definitions, err = scanner.scan(root .. "/missing")
    assert.is_nil(definitions)
    assert.is_true(core.is_error(err))
    assert.matches("missing: No such file or directory", tostring(err))
    assert.equal(root .. "/missing", err.details.path)
    write("file", "")
    assert.matches("Not a directory", tostring(select(2, scanner.scan(root .. "/file"))))
  end)

  it("refuses a path that is no string", function()
    assert.error_matches(function() scanner.scan(nil) end, "bad argument #1 to 'scan' %(string expected, got nil%)")
  end)

  it("takes a file that gives a spec, whose handler comes later", function()
    write("a.lua", "return { namespace = 'test', name = 'spec', inputSchema = { type = 'object' } }")
    local definitions, problems = scanner.scan(root)
    assert.same({}, problems)
    local registry = operations.registry()
    assert(registry:register_all(definitions))
    assert.equal("operation 'test.spec' has no handler", select(2, registry:execute("test.spec")).message)
    assert(registry:register_handler("test.spec", function() return 1 end))
    assert.equal(1, registry:execute("test.spec").data)
  end)

  it("lists and reads by functions of the program", function()
    local files = { ["in/b.lua"] = definition("b"), ["in/a.lua"] = "return { namespace = 'n', name = ... }",
      ["in/c.lua"] = "error('no')", ["in/notes"] = "no Lua" }
    local options = {
      list = function(directory)
        return directory == "in" and { "in/notes", "in/missing.lua", "in/b.lua", "in/c.lua", "in/a.lua" }
          or nil, "there is no " .. directory
      end,
      reader = function(path)
        return files[path], path .. ": not there"
      end,
    }
    local definitions, problems = scanner.scan("in", options)
    assert.equal("in/a.lua b", names(definitions))
    assert.same({ { path = "in/c.lua", message = "in/c.lua:1: no" },
      { path = "in/missing.lua", message = "in/missing.lua: not there" } }, problems)
    assert.equal("EXECUTION_ERROR: there is no out", tostring(select(2, scanner.scan("out", options))))
    assert.equal("b", names((scanner.load("in/b.lua", options))))
    assert.error_matches(function() scanner.scan("in", { read = print }) end,
      "bad option 'read' to 'scan' %(unknown; did you mean reader%?%)")
  end)

  it("loads one file", function()
    write("x", definition("x"))
    assert.equal("x", names((scanner.load(root .. "/x"))))
    local definitions, problems = scanner.load(root .. "/y")
    assert.same({}, definitions)
    assert.matches("No such file", problems[1].message)
  end)
end)

describe("a link to the directory itself", function()
  it("leads nowhere: files keep the path that they have there", function()
    write("b.lua", definition("b"))
    assert(os.execute(("ln -s . '%s/a'"):format(root)))
    assert.same({ root .. "/b.lua" }, (scanner.files(root)))
  end)
end)

describe("the functions of the scanner", function()
  local raises = require("spec.support.raises")

  it("name what they cannot use, and the line that gives it", function()
    local cases = {}
    for _, name in ipairs({ "scan", "files", "load" }) do
      local function call(path, options)
        return function()
          local result = scanner[name](path, options)
          return result
        end
      end
      cases[("bad argument #1 to '%s' (string expected, got nil)"):format(name)] = call()
      cases[("bad argument #2 to '%s' (table expected, got string)"):format(name)] = call("x", "y")
      cases[("bad option 'x' to '%s' (unknown)"):format(name)] = call("x", { x = 1 })
      cases[("bad argument #1 to '%s' (path with a zero byte)"):format(name)] = call("x\0y")
    end
    raises(cases, "registry/scanner_spec.lua:")
  end)
end)

describe("a file that gives no definition", function()
  it("is reported when it does not compile", function()
    write("a.lua", "return {")
    assert.matches("a%.lua:1: unexpected symbol", problem("a.lua"))
  end)

  it("is reported when it fails", function()
    write("a.lua", "error('out of order')")
    assert.matches("a%.lua:1: out of order", problem("a.lua"))
    write("a.lua", "error('out of order', 0)")
    assert.equal("out of order", problem("a.lua"))
    write("a.lua", "error(require('operations').error('GONE', 'not here'))")
    assert.equal("GONE: not here", problem("a.lua"))
    write("a.lua", "error({})")
    assert.matches("raised a table", problem("a.lua"))
  end)

  it("is reported when it returns something else", function()
    write("a.lua", "")
    assert.equal("returned nothing; expected return { namespace =, name =, handler = }", problem("a.lua"))
    write("a.lua", "return 7")
    assert.equal("expected a definition, got number", problem("a.lua"))
    write("a.lua", "return {}")
    assert.matches("got an empty table", problem("a.lua"))
    write("a.lua", "return { helper = print }")
    assert.matches('a table with the key "helper"', problem("a.lua"))
    for key, text in pairs({ ["0"] = "0", ["-1"] = "-1", ["1.5"] = "1.5", ["3"] = "3" }) do
      write("a.lua", ("return { { namespace = 'n', name = 'x', handler = print }, [%s] = 1 }"):format(key))
      assert.matches(('a table with the key "%s"'):format(text:gsub("%p", "%%%0")), problem("a.lua"))
    end
  end)

  it("is reported with the field that is wrong", function()
    write("a.lua", "return { name = 'x', handler = print }")
    assert.equal("namespace: expected a string, got nil", problem("a.lua"))
    write("a.lua", "return { namespace = 'x', name = 7, handler = print }")
    assert.equal("name: expected a string, got number", problem("a.lua"))
    write("a.lua", "return { { namespace = 'x', name = 'y', handler = 'print' } }")
    assert.equal("item 1: handler: expected a function, got string", problem("a.lua"))
  end)

  it("does not take the others with it", function()
    write("a.lua", "return { 1, { namespace = 'n', name = 'good', handler = print } }")
    write("b.lua", definition("also"))
    local definitions, problems = scanner.scan(root)
    assert.equal("good also", names(definitions))
    assert.equal("item 1: expected a definition, got number", problems[1].message)
  end)

  it("is reported when it is bytecode, a dead link or no regular file", function()
    write("a.lua", string.dump(function() end))
    assert.matches("^attempt to load", problem("a.lua"))
    assert(os.execute(("rm '%s/a.lua' && ln -s nowhere '%s/a.lua'"):format(root, root)))
    assert.matches("No such file", problem("a.lua"))
    assert(os.execute(("rm '%s/a.lua' && mkfifo '%s/a.lua'"):format(root, root)))
    assert.equal("is not a regular file", problem("a.lua"))
  end)
end)

describe("the options of a scan", function()
  for name, scan in pairs({ scan = scanner.scan, files = scanner.files, load = scanner.load }) do
    it("are refused at the caller's line: " .. name, function()
      for said, given in pairs({
        ["bad option 'nope' to '%s' (unknown)"] = { "x", { nope = 1 } },
        ["bad argument #1 to '%s' (string expected, got number)"] = { 1 },
      }) do
        local ok, message = pcall(function()
          local value = scan(given[1], given[2])
          return value
        end)
        assert.is_false(ok)
        local file, text = message:match("^(.-):%d+: (.*)$")
        assert.matches("scanner_spec.lua", file, 1, true)
        assert.equal(said:format(name), text)
      end
    end)
  end
end)

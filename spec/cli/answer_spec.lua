local command = require("spec.support.command")

local path

setup(function()
  path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write([[
    local operations = require("operations")
    local T = operations.type
    local function mcp(content)
      return function() return operations.mcp_envelope(content, { isError = false, content = content }) end
    end
    local item = T.object({ { "n", T.integer() }, { "word", T.string() } })
    return {
      { namespace = "t", name = "list", type = "query", outputSchema = T.array(item),
        handler = function() return { { n = 1, word = "one" }, { n = 2, word = "two" } } end },
      { namespace = "t", name = "object", type = "query", outputSchema = T.object({ items = T.array(item) }),
        handler = function() return { items = { { n = 1, word = "one" } } } end },
      { namespace = "t", name = "groups", type = "query", outputSchema = T.object({ groups = { type = "array",
        prefixItems = { T.object({ row = T.object({ { "z", T.integer() }, { "a", T.integer() } }) }) } } }),
        handler = function() return { groups = { { row = { z = 1, a = 2 } } } } end },
      { namespace = "t", name = "misfits", type = "subscription", outputSchema = T.integer(),
        handler = function() coroutine.yield("a") coroutine.yield("b") end },
      { namespace = "t", name = "text", type = "query", handler = function() return "a \"text\"" end },
      { namespace = "t", name = "no", type = "query", handler = function() return false end },
      { namespace = "t", name = "file", type = "query", handler = mcp({ { type = "text", text = "see" },
        { type = "resource", resource = { uri = "x://a/b.png", blob = "QUJD" } } }) },
      { namespace = "t", name = "files", type = "query", handler = mcp({ { type = "image", data = "QUJD" },
        { type = "audio", data = "QUJD" } }) },
      { namespace = "t", name = "words", type = "query", handler = mcp({ { type = "text", text = "one" },
        { type = "text", text = "two" } }) },
    }
  ]])
  file:close()
end)

teardown(function()
  os.remove(path)
end)

-- Runs in an empty directory; what is printed, and the files that are there then.
local function run(arguments)
  local result = command.run(([[here=$(pwd); d=$(mktemp -d); call() { operations call "$@" --lua %s; }
    lua() { (cd "$here"; command lua "$@"); }
    %s; code=$?; cd "$d" 2>/dev/null; ls | sed "s/^/file /"; rm -rf "$d"; exit $code]]):format(path, arguments))
  return result.out, result.err, result.code
end

describe("an answer", function()
  it("is JSON in a line, or indented", function()
    assert.equal('[{"n":1,"word":"one"},{"n":2,"word":"two"}]\n', (run("call t.list")))
    assert.equal('[{"n":1,"word":"one"},{"n":2,"word":"two"}]\n', (run("call t.list --compact")))
    assert.equal('{\n  "items": [\n    {\n      "n": 1,\n      "word": "one"\n    }\n  ]\n}\n',
      (run("call t.object --pretty")))
    local _, message, code = run("call t.object --pretty --compact")
    assert.same({ "operations: --pretty and --compact exclude each other\n", 2 }, { message, code })
  end)

  it("is a line for each item, YAML or a table where that is asked for", function()
    assert.equal('{"n":1,"word":"one"}\n{"n":2,"word":"two"}\n', (run("call t.list -f ndjson")))
    assert.equal('{"items":[{"n":1,"word":"one"}]}\n', (run("call t.object -f ndjson")))
    assert.equal('- "n": 1\n  word: one\n- "n": 2\n  word: two\n', (run("call t.list -f yaml")))
    assert.equal("n  word\n1  one\n2  two\n", (run("call t.list -f table")))
    assert.equal("n  word\n1  one\n", (run("call t.object --select items -f table")))
    assert.equal("z  a\n1  2\n", (run("call t.groups --select 'groups[].row' -f table")))
  end)

  it("is a part where that is asked for", function()
    assert.equal('"one"\n', (run("call t.list --select '[0].word'")))
    assert.equal("one\n", (run("call t.list --select '[0].word' --raw")))
    assert.equal("one\ntwo\n", (run("call t.list --select '[].word' --raw -f ndjson")))
    assert.equal('["one","two"]\n', (run("call t.list --select '[].word' --raw")))
    local _, message, code = run("call t.list --select '['")
    assert.equal(2, code)
    assert.matches("^operations: ", message)
  end)

  it("is a string without quotes where that is asked for, in JSON only", function()
    assert.equal('"a \\"text\\""\n', (run("call t.text")))
    assert.equal('a "text"\n', (run("call t.text --raw")))
    assert.equal("false\n", (run("call t.no --raw")))
  end)

  it("goes to a file", function()
    local out, message, code = run("call t.list -o $d/x; cat $d/x")
    assert.same({ '[{"n":1,"word":"one"},{"n":2,"word":"two"}]\nfile x\n', "", 0 }, { out, message, code })
    assert.equal("n  word\n1  one\n2  two\nfile x\n", (run("call t.list -f table -o $d/x; cat $d/x")))
    assert.equal('a "text"\nfile x\n', (run("call t.text --raw -o $d/x; cat $d/x")))
    assert.equal('{"n":1,"word":"one"}\n{"n":2,"word":"two"}\nfile x\n',
      (run("call t.list -f ndjson -o $d/x; cat $d/x")))
    assert.equal('"a \\"text\\""\n', (run("call t.text -o -")))
  end)
end)

describe("the answer of a tool of an MCP server", function()
  it("is its blocks as JSON, or as people read them", function()
    assert.equal('[{"text":"one","type":"text"},{"text":"two","type":"text"}]\n', (run("call t.words")))
    assert.equal("one\ntwo\n", (run("call t.words --raw")))
    assert.equal("see\n[file application/octet-stream, 3 bytes: -o FILE saves it]\n", (run("call t.file --raw")))
  end)

  it("is the one file that it has, where a file is asked for", function()
    assert.equal("ABCfile x\n", (run("call t.file -o $d/x; cat $d/x")))
    assert.equal('[{"text":"one","type":"text"},{"text":"two","type":"text"}]\nfile x\n',
      (run("call t.words -o $d/x; cat $d/x")))
    local out, message, code = run("call t.files -o $d/x")
    assert.same({ "", "operations: the answer has 2 files: --select '[N]' picks one of its 2 blocks\n", 2 },
      { out, message, code })
    assert.equal("ABCfile x\n", (run("call t.files --select '[1]' -o $d/x; cat $d/x")))
  end)
end)

describe("the selected parts of an answer", function()
  it("are the columns of a table, in their order", function()
    assert.equal("word  n\none   1\ntwo   2\n", (run("call t.list --select word,n -f table")))
    assert.equal("no  word\n 1  one\n", (run("call t.object --select 'items[].{no: n,word}' -f table")))
  end)

  it("are written as comma-separated values", function()
    assert.equal("n,word\n1,one\n2,two\n", (run("call t.list -f csv")))
    assert.equal("word\none\ntwo\n", (run("call t.list --select '{word}' --format csv")))
    assert.equal('"a ""text"""\n', (run("call t.text -f csv")))
  end)
end)

describe("JSON in colours", function()
  it("is printed to a pipe where that is asked for, and never to a file", function()
    assert.equal('{\27[1m"n"\27[0m:\27[35m1\27[0m}\n', (run("call t.list --select '[0].{n}' --color always")))
    assert.equal('{"n":1}\n', (run("call t.list --select '[0].{n}' --color always -o x -q; cat x; rm x")))
  end)
end)

describe("a quiet call", function()
  it("prints no notices, only errors", function()
    assert.same({ "1\n", "", 0 }, { run("call t.list --select '[0].n' -o x --quiet; cat x; rm x") })
    assert.same({ "", "operations: OPERATION_NOT_FOUND: no operation 't.lists'; did you mean t.list?\n", 3 },
      { run("call t.lists -q") })
    assert.same({ '"a"\n"b"\n', "", 0 }, { run("cd \"$here\"; operations watch t.misfits -q --lua " .. path) })
  end)
end)

describe("an answer of which each part differs from its schema", function()
  it("causes one warning", function()
    assert.equal("operations: warning: the answer of t.misfits differs from its schema in one place (--verbose shows "
      .. "where, --cast converts it)\n", (select(2, run("cd \"$here\"; operations watch t.misfits --lua " .. path))))
  end)
end)

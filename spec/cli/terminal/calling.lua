local command = require("spec.support.command")
local operations = require("operations")
local shell_api = require("spec.support.shell_api")
local terminal = require("spec.support.terminal")

local GIB = 1024 * 1024 * 1024

local api, definitions

setup(function()
  api = shell_api.start()
  definitions = os.tmpname()
  local file = assert(io.open(definitions, "w"))
  file:write([[
    local operations = require("operations")
    local people = {
      { id = 1, name = "Ada Lovelace", email = "ada@example.com", city = "London", born = 1815,
        note = "Wrote the first program, for a machine that was never built", tags = { "mathematics", "poetry" } },
      { id = 22, name = "山田 太郎", email = "yamada@example.com", note = "two\nlines", city = "東京", born = 1970 },
      { id = 3, name = "Grace Hopper", email = "grace@example.com", city = "New York", born = 1906, retired = true },
    }
    return {
      { namespace = "t", name = "people", handler = function() return people end },
      { namespace = "t", name = "picture", handler = function()
          local content = { { type = "text", text = "A picture:" },
            { type = "image", mimeType = "image/png", data = operations.base64.encode("\137PNG....") } }
          return operations.mcp_envelope(content, { isError = false, content = content })
        end },
    }
  ]])
  file:close()
end)

teardown(function()
  api:stop()
  os.remove(definitions)
end)

--- What a terminal shows of `operations call ...`.
local function shown(arguments, width)
  return terminal.run("operations call " .. arguments, width)
end

describe("a table", function()
  local function people(width)
    return shown("t.people -f table --lua " .. definitions, width)
  end

  it("fits a terminal of 60 columns", function()
    assert.equal([[
born  city    email   id  name     note     retired  tags
1815  London  ada@e…   1  Ada Lo…  Wrote…            ["math…
1970  東京    yamad…  22  山田…    two li…
1906  New Y…  grace…   3  Grace…            true
]], people(60))
  end)

  it("tells which columns have no place", function()
    assert.equal([[
born  city    email   id  name    note
1815  London  ada@e…   1  Ada L…  Wrote…
1970  東京    yamad…  22  山田…   two l…
1906  New Y…  grace…   3  Grace…
operations: no place for the columns ret
ired, tags: --select or another --format
 shows them
]], people(40))
  end)

  it("is cut to 80 columns", function()
    local screen = people(80)
    for line in screen:gmatch("[^\n]+") do
      assert.is_true(require("operations.people.cells").width(line) <= 80, line)
    end
    assert.matches("^born  city ", screen)
  end)

  it("shows all where there is place", function()
    assert.matches('1815  London    ada@example.com      1  Ada Lovelace  Wrote the first program, for a machine that '
      .. 'was never built           ["mathematics","poetry"]', people(200), 1, true)
  end)
end)

describe("a terminal", function()
  it("shows text as text, and asks for a file where there are bytes", function()
    assert.equal('one "two"\nthrée\n', shown("shell.text --openapi " .. api.document))
    assert.equal("é\n", shown("shell.latin --openapi " .. api.document))
    assert.equal("operations: the answer is not text: -o FILE saves it, -o - prints it as it is\n",
      shown("shell.bytes --openapi " .. api.document))
  end)

  it("shows text of a tool as text, and names its images, which can be saved", function()
    local call = "t.picture --lua " .. definitions
    assert.equal("A picture:\n[image image/png, 8 bytes: -o FILE saves it]\n", shown(call))
    local path = os.tmpname()
    assert.equal("\137PNG....", terminal.run(("operations call %s -o %s"):format(call, path))
      and assert(io.open(path, "rb")):read("*a"))
    os.remove(path)
    assert.equal('[{"text":"A picture:","type":"text"},{"data":"iVBORy4uLi4=","mimeType":"image/png",'
      .. '"type":"image"}]\n', command.run("operations call " .. call).out)
  end)
end)

-- Until a program that runs in the background ($pid) catches Ctrl-C: before, it ignores it, as the shell has set.
local CATCHES = "until grep -q 'SigCgt.*[2367abef]$' /proc/$pid/status; do sleep 0.05; done; "

describe("Ctrl-C", function()
  --- Interrupts a call once it shows that it is under way; its exit code, and the files that are left.
  local function interrupted(arguments, ready)
    local directory = os.tmpname()
    os.remove(directory)
    local result = command.run(([[
      tree=$PWD; mkdir %s; cd %s
      %s $tree/lua/operations/cli/main.lua %s & pid=$!
      %suntil %s; do sleep 0.05; done
      sleep 0.3; kill -INT $pid; wait $pid; echo $?; ls -A; cd ..; rm -rf %s]]):format(directory, directory,
      command.interpreter(), arguments, CATCHES, ready, directory))
    return result.out
  end

  it("ends a call in each phase with 130, and leaves no file", function()
    local document = " --openapi " .. api.document
    assert.equal("130\n", interrupted("list --openapi " .. api.url .. "/shell/mute", "true"))
    assert.equal("130\n", interrupted("call shell.mute -o x" .. document, "ls -A | grep -q part"))
    assert.equal("130\n", interrupted("call shell.slow -o x" .. document, "test -s x.*.part"))
    assert.equal("130\n", interrupted("call shell.slow -O" .. document, "test -s .operations.*.part"))
  end)
end)

describe("a body of 1 GiB", function()
  local child, document

  setup(function()
    child = assert(operations.process.spawn({ "perl", "spec/support/bulk_server.pl" }))
    local port = assert(child:read_line())
    document = os.tmpname()
    local file = assert(io.open(document, "w"))
    file:write(([[{"openapi":"3.1.0","info":{"title":"bulk","version":"1"},"servers":[{"url":"http://127.0.0.1:%s"}],
      "paths":{"/%d":{"get":{"operationId":"get"}},"/put":{"put":{"operationId":"put","requestBody":{"content":{
      "application/octet-stream":{"schema":{"type":"string","format":"binary"}}}}}}}}]]):format(port, GIB))
    file:close()
  end)

  teardown(function()
    child:close_stdin()
    child:wait()
    os.remove(document)
  end)

  -- So much memory that it cannot be there as a whole.
  local limit = "ulimit -v 500000; "

  it("comes down, to a pipe and to a file, in little memory", function()
    assert.equal(GIB .. "\n", command.run(limit .. "operations call bulk.get --openapi " .. document .. " | wc -c").out)
    local path = os.tmpname()
    local result = command.run(("%soperations call bulk.get -o %s --openapi %s; stat -c %%s %s"):format(limit, path,
      document, path))
    os.remove(path)
    assert.same({ out = GIB .. "\n", err = "", code = 0 }, result)
  end)

  it("goes up, from a file and from standard input, in little memory", function()
    local path = os.tmpname()
    assert(os.execute("truncate -s 1G " .. path))
    local call = limit .. "operations call bulk.put --openapi " .. document
    local named = command.run(call .. " body=@" .. path)
    local piped = command.run(call .. " <" .. path)
    assert(os.execute("truncate -s 100G " .. path)) -- does not end by itself
    local interrupted = command.run(("%s lua/operations/cli/main.lua call bulk.put --openapi %s body=@%s & pid=$!\n"
      .. CATCHES .. "sleep 0.5; kill -INT $pid; wait $pid"):format(command.interpreter(), document, path))
    os.remove(path)
    assert.same({ out = "", err = "", code = 130 }, interrupted)
    assert.same({ out = GIB .. "\n", err = "", code = 0 }, named)
    assert.same({ out = GIB .. "\n", err = "", code = 0 }, piped)
  end)
end)


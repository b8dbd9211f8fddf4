local command = require("spec.support.command")
local invocation = require("operations.cli.invocation")
local json = require("operations.base.json")
local output = require("operations.cli.output")
local shell_api = require("spec.support.shell_api")
local terminal_input = require("operations.cli.stdin")

local api = shell_api.during(setup, teardown)

--- Runs a call that succeeds; what it prints.
local function printed(arguments, stdin)
  local result = api:run("call " .. arguments, stdin)
  assert.equal("", result.err)
  assert.equal(0, result.code)
  return result.out
end

--- The request that the server saw.
local function seen(arguments, stdin)
  return (assert(json.decode(printed(arguments, stdin))))
end

--- Compares everything about a call that goes wrong; nothing is printed and no file stays.
local function fails(arguments, code, message, stdin)
  local result = api:run("call " .. arguments, stdin)
  assert.same({ out = "", err = message:gsub("URL", (api.url:gsub("%%", "%%%%"))), code = code, files = "" }, result)
end

describe("what the server sent", function()
  it("is printed as it is, and with --cast as its schema wants it", function()
    local result = api:run("call thing")
    assert.equal('{"id":40,"more":"kept","owner":{"name":"Ada","tags":["a","b"]}}\n', result.out)
    assert.equal("operations: warning: the answer of shell.thing differs from its schema in one place (--verbose shows "
      .. "where, --cast converts it)\n", result.err)
    assert.equal('{"id":"40","state":"open"}\n', printed("thing --cast"))
  end)

  it("goes to a pipe or a file byte by byte where it is no JSON", function()
    assert.equal("\0\1\255bytes", printed("bytes"))
    assert.equal('one "two"\nthr\195\169e', printed("text"))
    assert.equal("\233", printed("latin"))
    assert.equal("", printed("bytes -o x"))
    assert.equal("\0\1\255bytes", api:file("x"))
    assert.equal("", printed("empty"))
  end)

  it("may be JSON of more than 16 MiB", function()
    assert.equal("20971523\n", printed("large | wc -c"))
  end)

  it("goes to a file that the server names, which is no path and replaces nothing", function()
    local result = api:run("call bytes name=../../a.sh -O")
    assert.equal("operations: saved a.sh, 8 bytes\n", result.err)
    assert.equal("a.sh\n", result.files)
    assert.equal("\0\1\255bytes", api:file("a.sh"))
    result = api:run("call bytes -O", "")
    assert.equal("bytes\n", result.files)
    result = api:run("touch a; call bytes name=a -O")
    assert.equal("operations: a exists already: -o FILE writes over a file\n", result.err)
    assert.equal(2, result.code)
    assert.equal("", api:file("a"))
  end)

  it("leaves nothing of a file behind when it fails", function()
    fails("short -o x", 8, "operations: EXECUTION_ERROR: GET URL/shell/short: transfer closed with 50000 bytes "
      .. 'remaining to read\n  {"kind":"truncated","method":"GET","url":"URL/shell/short"}\n')
    fails("error -o x", 10, 'operations: HTTP_422: 422 Unprocessable Content: no\n  {"message":"no","secret":""}\n')
  end)

  it("is kept by -o unchanged where it cannot be read, which is no failure of the server", function()
    for _, options in ipairs({ "", "--select a" }) do
      local result = api:run("call broken -o x " .. options)
      assert.same({ 8, "x\n", "" }, { result.code, result.files, result.out })
      assert.matches("not valid JSON: JSON, line 1, column 7", result.err, 1, true)
      assert.equal('{"a":"\233"}', api:file("x"))
    end
    assert.equal('{"a":"\233"}', api:run("call broken -o -").out)
    assert.same({ 8, "" }, { api:run("call broken").code, api:run("call broken").out })
    local read = api:run("call broken --lenient")
    assert.same({ 0, '{"a":"\239\191\189"}' }, { read.code, (read.out:gsub("%s", "")) })
    local result = api:run("call unmodified -o x")
    assert.same({ 8, "" }, { result.code, result.files })
    assert.matches("HTTP_304", result.err)
  end)

  it("is the whole answer with --envelope, that of an HTTP error too", function()
    local result = api:run("call error --envelope --bearer abcdef")
    local envelope = assert(json.decode(result.out))
    assert.same({ 10, 422, "because", "***", "http" }, { result.code, envelope.meta.statusCode,
      envelope.meta.headers["x-reason"], envelope.data.secret, envelope.meta.source })
    assert.equal("operations: HTTP_422: 422 Unprocessable Content: no\n", result.err)
    result = api:run("call error --envelope --select data.message -o x")
    assert.same({ '"no"\n', "" }, { result.out, result.files })
  end)
end)

describe("input", function()
  it("fills the body where no parameter has that name", function()
    local request = seen("create owner=ada note=n title=x count=3 owner.name=A labels=a labels=b 'lines[].n=4' "
      .. "'lines[1].n=5'")
    assert.equal("/echo/ada?note=n", request.uri)
    assert.same({ title = "x", count = 3, owner = { name = "A" }, labels = { "a", "b" },
      lines = { { n = 4 }, { n = 5 } } }, json.decode(request.body))
    local mixed = seen([[create owner=ada '{"title":"x"}' labels=a title=y]])
    assert.same({ labels = { "a" }, title = "y" }, json.decode(mixed.body))
  end)

  it("takes redirected standard input for the body when no body is given", function()
    assert.equal('{"title":"x"}', seen("create owner=ada", '{"title": "x"}').body)
    assert.equal('{"title":"y"}', seen("create owner=ada title=y", "not read").body)
    assert.equal("one", seen("upload", "one").body)
    assert.equal("one", api:run("printf one | call upload --select body --raw").out:sub(1, -2))
    fails("create owner=ada", 2, "operations: standard input, taken for the body: JSON, line 1, column 1 (byte 1): "
      .. "expected a value, got a bare word\n", "no")
  end)

  it("takes the content of files, and files themselves where bytes are wanted", function()
    assert.equal("one", seen("upload body=@- ", "one").body)
    local request = assert(json.decode(api:run("printf png >a.png; call attach title=@a.png file=@a.png").out))
    local delimiter = "--" .. request.headers["content-type"]:match("boundary=(.*)$")
    local disposition = 'Content-Disposition: form-data; name='
    assert.equal(table.concat({ delimiter, disposition .. '"file"; filename="a.png"', "Content-Type: image/png", "",
      "png", delimiter, disposition .. '"title"', "", "png", delimiter .. "--", "" }, "\r\n"), request.body)
    assert.equal('{"data":"b25l"}', seen("encoded data=@-", "one").body)
    assert.equal('{"title":"@x"}', seen("create owner=ada title=@@x").body)
  end)
end)

describe("the exchange", function()
  it("is shown on standard error, without credentials", function()
    local result = api:run("call create owner=ada title=x -v --bearer abcdef --header 'X-A: b' "
      .. "--header 'X-Token: t'")
    local request, head = result.err:match("^(.-)(< .*)$")
    assert.equal(("> POST %s/echo/ada\n> Accept: application/json\n> Authorization: ***\n"
      .. "> Content-Type: application/json\n> X-A: b\n> X-Token: ***\n>\n"
      .. '{"title":"x"}\n'):format(api.url), request)
    assert.matches("^< 200\n", head)
    assert.is_nil(result.err:find("abcdef", 1, true))
    assert.matches("\n< set%-cookie: %*%*%*\n", api:run("call thing -v").err)
  end)
end)

describe("shapes", function()
  it("are a part of the answer", function()
    assert.equal('"n2"\n', printed("items --select '[1].name'"))
    assert.equal("n2\n", printed("items --select /1/name --raw"))
    assert.equal("n1\nn2\n", printed("items --select '[].name' --raw -f ndjson"))
  end)

  it("are YAML and tables", function()
    assert.equal("- extra: true\n  id: 1\n  name: n1\n- extra: true\n  id: 2\n  name: n2\n", printed("items -f yaml"))
    assert.matches("^extra  id  name\ntrue    1  n1\ntrue    2  n2\n$", printed("items -f table"))
  end)
end)

describe("a selection that misses", function()
  it("does not lose the answer of a mutation", function()
    local result = api:run("call create owner=a title=x --select nothing; echo $?")
    local answer, code = result.out:match("^({.-})\n(%d+)\n$")
    assert.same({ '{"title":"x"}', "14" }, { json.decode(answer).body, code })
    assert.matches("^operations: %-%-select: .*; the call was made, so its whole answer is printed\n$", result.err)
    result = api:run("call create owner=a title=x --select nothing -o kept; echo $?")
    assert.same({ "14\n", "kept\n" }, { result.out, result.files })
    assert.equal('{"title":"x"}', json.decode(api:file("kept")).body)
  end)

  it("is wrong usage of a query, which can be called again", function()
    local result = api:run("call thing --select nothing; echo $?")
    assert.equal("2\n", result.out)
  end)
end)

describe("headers", function()
  it("go to the API alone, or to the document alone", function()
    local result = command.run("operations call doc.get --openapi " .. api.url .. "/shell/document --bearer abcdefgh "
      .. "--header 'X-Api: 1' --document-header 'X-Document: 2'")
    assert.equal("", result.err)
    local request = assert(json.decode(result.out))
    assert.same({ "1", "Bearer abcdefgh" }, { request.headers["x-api"], request.headers.authorization })
    assert.is_nil(request.headers["x-document"])
    assert.equal("/echo?seen=nil.2.nil", request.uri) -- what the document's host was sent
  end)
end)

describe("the progress of a call", function()
  it("that is not one of HTTP is shown as its handler reports it", function()
    local definitions, answer, progress, told = os.tmpname(), os.tmpname(), output.progress, {}
    local current = terminal_input.current
    terminal_input.current = current or {}
    local file = assert(io.open(definitions, "w"))
    file:write([[return { namespace = "t", name = "slow", handler = function(_, context)
      context.progress(1, 2, "half")
      context.progress(2)
      return true
    end }]])
    file:close()
    output.progress = function(text)
      told[#told + 1] = text
    end
    local ok, code = pcall(invocation.call.run, { options = { output = answer }, rest = { "t.slow" },
      order = { { name = "lua", value = definitions } } })
    output.progress, terminal_input.current = progress, current
    os.remove(definitions)
    os.remove(answer)
    assert.same({ true, 0 }, { ok, code })
    assert.same({ "calling t.slow", "t.slow: 1/2 half", "t.slow: 2 " },
      { told[1], told[2], told[3] })
  end)
end)

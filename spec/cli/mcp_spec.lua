local command = require("spec.support.command")
local json = require("operations.base.json")
local operations = require("operations")
local test_server = require("spec.support.server")

local marker = 0

-- The shell's words that start our server; it has a name of its own among the processes.
local function server(more)
  marker = marker + 1
  local words = { "env" }
  for name, value in pairs(command.environment()) do
    words[#words + 1] = ('%s="%s"'):format(name, value)
  end
  return ("%s %s spec/support/mcp/server.lua legacy marker=%s%d %s"):format(table.concat(words, " "),
    command.interpreter(), tostring({}):match("0x(%x+)"), marker, more or "")
end

-- How many processes still have the words of a server in their command line.
local function left(words)
  local name = words:match("marker=%x+")
  return tonumber(command.run("ps -eo args | grep -c '[m]arker" .. name:sub(7) .. "'").out)
end

describe("--mcp", function()
  it("calls a tool of a server that is started for it, and ends with it", function()
    local words = server()
    local result = command.run(("operations call --mcp '%s' mcp.echo message=hi --compact"):format(words))
    assert.equal("", result.err)
    assert.equal('[{"text":"hi","type":"text"}]\n', result.out)
    assert.equal(0, result.code)
    assert.equal(0, left(words))
  end)

  it("tells the shell that a tool failed, and prints what it answered", function()
    local words = server()
    local result = command.run(("operations call --mcp '%s' mcp.fail why='not today' --compact"):format(words))
    assert.equal('[{"text":"not today","type":"text"}]\n', result.out)
    assert.equal("operations: EXECUTION_ERROR: the tool failed: not today\n", result.err)
    assert.equal(8, result.code)
    result = command.run(("operations call --mcp '%s' mcp.fail --envelope --compact"):format(words))
    assert.is_true(json.decode(result.out).meta.isError)
    assert.equal(8, result.code)
  end)

  it("lists and describes tools under the name that is asked for", function()
    local words = server()
    local result = command.run(("operations list --mcp '%s' --namespace mine"):format(words))
    assert.matches("mine%.echo +query +Echo", result.out)
    result = command.run(("operations describe mine.add --namespace mine --mcp '%s'"):format(words))
    assert.matches("sum", result.out)
  end)

  it("tells a server that does not start, with what it said", function()
    local result = command.run("operations list --mcp \"sh -c 'echo no luck >&2; exit 3'\"")
    assert.equal(12, result.code)
    assert.matches("exit code 3: no luck", result.err)
    result = command.run("operations list --mcp \"'\"")
    assert.equal(12, result.code)
    assert.matches("expected a command or a URL", result.err)
  end)

  it("gives a server that says nothing no more time than there is", function()
    local result = command.run("operations call mcp.echo --timeout 0.1 --mcp \"sh -c 'cat >/dev/null'\"")
    assert.matches("operations: TIMEOUT: ", result.err, 1, true)
    assert.equal(12, result.code)
  end)

  it("lets no server steer the terminal", function()
    local words, escape = server(), [[\u001b[31;1mred\u001b[0m \u001b]0;title\u0007 \u009bx\u007f]]
    local error_of = [[{"jsonrpc":"2.0","id":$id,"error":{"code":-1,"message":"]] .. escape .. [["}}]]
    local result = command.run(("operations call --mcp '%s' mcp.say_raw 'text=%s'"):format(words, error_of))
    assert.matches("tools/call: red ?]0;title? ?x?\n", result.err, 1, true)
    assert.is_nil(result.err:find("[%z\1-\9\11-\31\127]"))
  end)

  it("leaves no process behind when it is interrupted", function()
    local words = server()
    local result = command.run(("timeout --foreground --preserve-status -s INT %d env LD_PRELOAD=$SANITIZER %s "
      .. "lua/operations/cli/main.lua call mcp.never --mcp '%s'"):format(os.getenv("LD_PRELOAD") and 3 or 1,
      command.interpreter(), words))
    assert.equal(130, result.code)
    assert.equal(0, left(words))
  end)
end)

describe("Ctrl-C", function()
  it("is enough for a server that does not want to end, when it comes again", function()
    local words = ("sh -c 'trap \"\" TERM; echo begun >&2; %s; while :; do sleep 1; done'"):format(
      server():gsub('"', '\\"'))
    local result = command.run(([[
      directory=$(mktemp -d)
      { sh -c 'echo $$ >'$directory'/pid; LD_PRELOAD=$SANITIZER exec "$@"' sh %s lua/operations/cli/main.lua \
          call mcp.never --verbose --namespace mcp --mcp "%s" 2>$directory/err; echo $? >$directory/code; } &
      until grep -q begun $directory/err; do sleep 0.02; done
      until [ -s $directory/code ]; do kill -INT $(cat $directory/pid) 2>/dev/null; sleep 0.2; done
      cat $directory/code; rm -r $directory]]):format(command.interpreter(), words:gsub('["\\]', "\\%0")))
    assert.equal("130\n", result.out)
    assert.equal(0, left(words))
  end)
end)

describe("--mcp-config", function()
  it("takes the servers of a file, and tells those that fail", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write(json.encode({ mcpServers = {
      good = { command = "sh", args = { "-c", "exec " .. server() } }, bad = { command = "no-such-program" },
    } }))
    file:close()
    local result = command.run(("operations list --mcp-config %s"):format(path))
    os.remove(path)
    assert.matches("good.add", result.out, 1, true)
    assert.matches("bad: no%-such%-program", result.err)
    result = command.run("operations list --mcp-config /no/such/file")
    assert.equal(12, result.code)
  end)

  it("starts only the server whose name begins the operation", function()
    local path, mark = os.tmpname(), os.tmpname()
    os.remove(mark)
    local file = assert(io.open(path, "w"))
    file:write(json.encode({ mcpServers = {
      good = { command = "sh", args = { "-c", "exec " .. server() } },
      other = { command = "sh", args = { "-c", "touch " .. mark }, comand = "typo" },
    } }))
    file:close()
    local function run(arguments)
      return command.run(("operations %s --compact --mcp-config %s; ls %s"):format(arguments, path, mark))
    end
    local result = run("call good.add a=1 b=2")
    assert.equal('{"sum":3}\n', result.out)
    assert.equal(("ls: cannot access '%s': No such file or directory\n"):format(mark), result.err)
    result = run("call good/add a=1 b=2")
    assert.equal('{"sum":3}\n', result.out)
    assert.not_matches("typo", result.err)
    result = run("call add a=1 b=2") -- without the server's name it may be a tool of any of them
    assert.equal('{"sum":3}\n' .. mark .. "\n", result.out)
    os.remove(path)
    os.remove(mark)
  end)

  it("may have comments, unknown keys, which are reported, and servers that are disabled", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write('{ // as editors write it\n"servers": { "a": { "command": "x", "disabled": true, "comand": "y", }, } }')
    file:close()
    local result = command.run("operations list --mcp-config " .. path)
    os.remove(path)
    assert.equal(0, result.code)
    assert.equal("operations: a: /servers/a/comand: unknown key\n", result.err)
  end)

  it("is a source that could not be loaded where no server of it could", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write('{"mcpServers":{"a":{"command":"no-such-program"},"b":{"commnad":"c"}}}')
    file:close()
    local result = command.run("operations list --mcp-config " .. path)
    os.remove(path)
    assert.equal(12, result.code)
    assert.matches("operations: a: no-such-program: cannot start (command): No such file", result.err, 1, true)
    assert.matches("operations: b: mcpServers.b: either command or url expected\n", result.err, 1, true)
  end)
end)

describe("--mcp with a URL", function()
  local running

  setup(function()
    running = test_server.start()
  end)

  teardown(function()
    running:stop()
  end)

  it("sends the credentials that are given", function()
    local count = 0
    for options, expected in pairs({ ["--bearer t0ken"] = "Bearer t0ken", ["--basic ann:p:w"] = "Basic YW5uOnA6dw==",
      ["--basic ann:pw --header 'Authorization: Own x'"] = "Own x" }) do
      count = count + 1
      local result = command.run(("operations list --mcp %s/mcp/c%d %s"):format(running.url, count, options))
      assert.equal(0, result.code, result.err)
      local heard = operations.http.request({ url = ("%s/mcp/heard/c%d"):format(running.url, count) }).body
      for _, request in ipairs(json.decode(heard)) do
        assert.equal(expected, request.headers.authorization)
      end
      assert.matches('"authorization"', heard, 1, true)
    end
  end)
end)

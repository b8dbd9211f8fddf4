local command = require("spec.support.command")
local json = require("operations.base.json")
local shell_api = require("spec.support.shell_api")

local path = os.tmpname()

setup(function()
  local file = assert(io.open(path, "w"))
  file:write([[
    local operations = require("operations")
    local T = operations.type
    local running, most, begun = 0, 0, {}
    return {
      { namespace = "t", name = "square", type = "mutation",
        inputSchema = T.object({ n = T.integer(), pause = T.optional(T.number()),
          waits_for = T.optional(T.integer()) }),
        handler = function(input)
          running = running + 1
          most = math.max(most, running)
          begun[input.n] = true
          operations.sleep(input.pause or 0)
          while input.waits_for and not begun[input.waits_for] do
            operations.sleep(0.01)
          end
          running = running - 1
          if input.n == 4 then
            error(operations.error("BAD", "four", { n = 4 }))
          end
          return { n = input.n, square = input.n * input.n, most = most }
        end },
    }
  ]])
  file:close()
end)

teardown(function()
  os.remove(path)
end)

-- A call for each line.
local function each(arguments, lines)
  return command.run(("operations call t.square --each --lua %s %s"):format(path, arguments), lines)
end

describe("a call for each line", function()
  it("prints a line for each, in the order of the lines", function()
    assert.same({ out = '{"most":1,"n":1,"square":1}\n{"most":1,"n":2,"square":4}\n', err = "", code = 0 },
      each("", '{"n":1}\n\n{"n":2}'))
    assert.same({ out = "1\n4\n9\n", err = "", code = 0 },
      each("-j 3 --select square", '{"n":1,"waits_for":2}\n{"n":2,"waits_for":3}\n{"n":3}\n'))
    assert.same({ out = "", err = "", code = 0 }, each("", ""))
  end)

  it("makes as many calls at once as it may", function()
    local lines = ('{"n":1,"pause":0.05}\n'):rep(9)
    assert.equal(("1\n"):rep(9), each("--select most", lines).out)
    assert.matches("^%d\n%d\n%d\n%d\n%d\n%d\n%d\n%d\n3\n$", each("-j3 --select most", lines).out)
  end)

  it("adds the input of the command line, where a line does not have it", function()
    assert.equal("1\n81\n", each("n=9 --select square", '{"n":1}\n{}\n').out)
  end)

  it("is a line also where it fails; the exit code is that of the last failure", function()
    local result = each("", '{"n":1}\n{"n":4}\n{"n":"x"}\n{bad\n[1]\n{"n":2}\n')
    local lines = {}
    for line in result.out:gmatch("[^\n]+") do
      lines[#lines + 1] = assert(json.decode(line))
    end
    assert.equal(6, #lines)
    assert.same({ error = { code = "BAD", message = "four", details = { n = 4 } }, line = 2 }, lines[2])
    assert.same({ 3, 'VALIDATION_ERROR', '/n: expected integer, got "x"' }, { lines[3].line, lines[3].error.code,
      lines[3].error.message })
    assert.same({ 4, "VALIDATION_ERROR" }, { lines[4].line, lines[4].error.code })
    assert.same({ 5, "VALIDATION_ERROR" }, { lines[5].line, lines[5].error.code })
    assert.equal(4, lines[6].square)
    assert.same({ "operations: 4 of 6 calls failed\n", 5 }, { result.err, result.code })
  end)

  it("keeps an answer that lacks the selected part", function()
    local result = each("--select x", '{"n":3}\n')
    local failure = json.decode(result.out).error
    assert.same({ "SELECTION", 9 }, { failure.code, failure.details.square })
    assert.equal(14, result.code)
  end)

  it("stops at a failure with --fail-fast, after the calls that run, and continues with --skip", function()
    local lines = '{"n":1}\n{"n":4}\n{"n":2}\n{"n":3}\n'
    local result = each("--fail-fast --select square", lines)
    assert.same({ '1\n{"error":{"code":"BAD","details":{"n":4},"message":"four"},"line":2}\n', 9 },
      { result.out, result.code })
    assert.equal("operations: stopped after line 1: --skip 1 continues there\noperations: 1 of 2 calls failed\n",
      result.err)
    assert.equal("4\n9\n", each("--skip 2 --select square", lines).out)
    result = each("--fail-fast -j2 --select square", '{"n":1,"pause":0.5}\n{"n":4}\n{"n":2}\n')
    assert.matches("^1\n{[^\n]*}\n$", result.out)
  end)

  it("writes its lines to a file, of failures too", function()
    local result = command.run(("d=$(mktemp -d); operations call t.square --each -q -o $d/x --lua %s; echo $?; "
      .. "cat $d/x; rm -r $d"):format(path), '{"n":1}\n{"n":4}\n')
    assert.matches('^9\n{"most":1,"n":1,"square":1}\n{"error":[^\n]*"line":2}\n$', result.out)
  end)

  it("reads a line while calls run", function()
    local result = command.run("(echo '{\"n\":1,\"waits_for\":2}'; sleep 0.1; echo '{\"n\":2}') | "
      .. "operations call t.square --each -j2 --select square --lua " .. path)
    assert.equal("1\n4\n", result.out)
  end)

  it("sends the fields of a body, and its parameters", function()
    local api = shell_api.start()
    finally(function() api:stop() end)
    local result = api:run("call create --each owner=ada --select uri,body", '{"title":"x","note":"n"}\n'
      .. '{"owner":"bob","body":{"title":"y"}}\n')
    assert.equal('{"uri":"/echo/ada?note=n","body":"{\\"title\\":\\"x\\"}"}\n'
      .. '{"uri":"/echo/bob","body":"{\\"title\\":\\"y\\"}"}\n', result.out)
  end)

  it("refuses options that it has no use for", function()
    for arguments, message in pairs({ ["--dry-run"] = "--each and --dry-run exclude each other",
      ["-f table"] = '--format: --each prints lines: expected json or ndjson, got "table"',
      ["-j 0"] = '--jobs: expected a whole number from 1 to 1000, got "0"',
      ["--skip x"] = '--skip: expected a whole number, got "x"' }) do
      assert.same({ out = "", err = "operations: " .. message .. "\n", code = 2 }, each(arguments, ""))
    end
  end)
end)

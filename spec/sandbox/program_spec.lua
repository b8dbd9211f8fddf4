local operations = require("operations")

-- Programs that took over their process: shell scripts in place of the interpreter.

local path

local function run_forger(script, functions, options)
  local file = assert(io.open(path, "w"))
  file:write("#!/bin/sh\n", script, "\n")
  file:close()
  assert(os.execute("chmod 700 " .. path))
  local given = { interpreter = path,
    max_output = 1000, max_result = 1000, max_calls = 3, at_once = 2, max_value = 1000 }
  for name, value in pairs(options or {}) do
    given[name] = value
  end
  return operations.sandbox.run("return 1", functions or {}, given)
end

local BEGIN = [[cat >/dev/null & echo '{"begun":true}'; ]]

local function says(lines)
  return BEGIN .. "cat <<'END'\n" .. lines .. "\nEND\nsleep 30 <&- >&- 2>&-"
end

local function call(id, name, arguments)
  return ('{"call":%s,"name":"%s","n":1,"arguments":{"1":%s}}'):format(id, name or "call", arguments or '"x"')
end

-- Lines that no program sends, of which each ends the process.
local forgeries = {
  { "is no JSON", "hello" },
  { "is no object", "[1]" },
  { "is a number", "7" },
  { "is empty", "" },
  { "is an object of no kind", "{}" },
  { "begins a second time", '{"begun":true}' },
  { "is nested deeper than JSON may be", ("["):rep(600) .. ("]"):rep(600) },
  { "prints a number", '{"print":1}' },
  { "prints nothing", '{"print":""}' },
  { "prints more than allowed", ('{"print":"%s"}'):format(("x"):rep(1001)) },
  { "prints more than allowed in two lines", (('{"print":"%s"}\n'):format(("x"):rep(501))):rep(2) },
  { "cuts its output twice", '{"cut":true}\n{"cut":true}' },
  { "calls a function that it was not given", call(1, "other") },
  { "calls a method of functions", call(1, "__index") },
  { "calls a table", '{"call":1,"name":{"x":1},"n":0,"arguments":{}}' },
  { "calls without arguments", '{"call":1,"name":"call","n":1}' },
  { "calls with a negative number of arguments", '{"call":1,"name":"call","n":-1,"arguments":{}}' },
  { "calls with 2^53 arguments", '{"call":1,"name":"call","n":9007199254740992,"arguments":{}}' },
  { "calls with half an argument", '{"call":1,"name":"call","n":0.5,"arguments":{}}' },
  { "begins with another id than 1", call(2) },
  { "uses an id again", call(1) .. "\n" .. call(1) },
  { "uses an id that is a text", call('"1"') },
  { "makes more calls at once than it may", call(1) .. "\n" .. call(2) .. "\n" .. call(3) },
  { "ends with a larger result than allowed", ('{"end":{"ok":true,"value":"%s"}}'):format(("x"):rep(1200)) },
  { "ends with a text", '{"end":"x"}' },
}

describe("a program that took over its process", function()
  setup(function()
    path = os.tmpname()
  end)

  teardown(function()
    os.remove(path)
  end)

  for _, forgery in ipairs(forgeries) do
    it("and sends a line that " .. forgery[1] .. " is ended", function()
      local result = assert(run_forger(says(forgery[2]), {
        call = function()
          operations.sleep(20)
        end,
      }))
      assert.equal("EXECUTION_ERROR protocol", result.error.code .. " " .. result.error.details.kind)
    end)
  end

  it("and sends a line without an end is ended at the size of a value", function()
    local result = assert(run_forger(BEGIN .. "exec tr '\\0' x </dev/zero"))
    assert.equal("protocol", result.error.details.kind)
    assert.matches("longer than allowed", result.error.message)
  end)

  it("and prints for ever is ended", function()
    local result = assert(run_forger(BEGIN .. [[exec yes '{"print":"x"}']]))
    assert.equal("protocol", result.error.details.kind)
    assert.equal(1000, #result.output)
  end)

  it("and makes calls for ever makes as many as it may", function()
    local made = 0
    local result = assert(run_forger(BEGIN .. [[
      i=0; while :; do i=$((i+1)); echo '{"call":'$i',"name":"call","n":0,"arguments":{}}'; sleep 0.01; done]], {
      call = function()
        made = made + 1
      end,
    }))
    assert.equal("protocol", result.error.details.kind)
    assert.equal(3, made)
    assert.equal(3, #result.calls)
  end)

  it("and never reads the answers of its calls is ended when its time is over", function()
    local result = assert(run_forger([[echo '{"begun":true}'; cat <<'END'
]] .. call(1) .. "\n" .. call(2) .. "\nEND\nsleep 30", {
      call = function()
        return ("x"):rep(900)
      end,
    }, { timeout = 300 }))
    assert.equal("TIMEOUT wall", result.error.code .. " " .. result.error.details.kind)
  end)

  it("and sends calls after its last line makes none of them", function()
    local made = 0
    local result = assert(run_forger(says('{"end":{"ok":true,"value":5}}\n' .. call(1)), {
      call = function()
        made = made + 1
      end,
    }))
    assert.equal(5, result.value)
    assert.equal(0, made)
  end)

  it("and tells of errors with fields of other types gets an error all the same", function()
    for _, line in ipairs({ '{"end":{}}', '{"end":{"ok":"yes","kind":7,"message":{},"line":"x","code":[]}}',
      '{"end":{"line":1.5}}', '{"end":{"line":-1}}', '{"end":{"line":1e300}}',
      '{"end":{"kind":"wall","details":{"a":1}}}', '{"end":{"kind":"protocol"}}', '{"end":{"kind":"__index"}}',
      '{"end":{"kind":"killed","signal":{}}}' }) do
      local result = assert(run_forger(says(line)))
      assert.is_false(result.ok)
      assert.is_nil(result.error.line)
      assert.is_true(operations.is_error(result.error))
      assert.equal("raised", result.error.details.kind)
      assert.is_nil(result.error.line)
    end
  end)

  it("and ends at once is no program", function()
    local result, err = run_forger("echo 'no such library' >&2; exit 3")
    assert.is_nil(result)
    assert.equal("UNAVAILABLE: there is no sandbox: no such library", tostring(err))
  end)

  it("and ends without a last line counts as killed", function()
    local result = assert(run_forger(BEGIN .. "exit 3"))
    assert.equal("killed", result.error.details.kind)
  end)

  it("and is killed says by which signal", function()
    local result = assert(run_forger(BEGIN .. "kill -9 $$"))
    assert.matches("out of memory", result.error.message)
  end)

  it("and reads nothing does not keep its host", function()
    assert.equal("protocol", assert(run_forger([[echo '{"begun":true}'; echo x; exec sleep 30]])).error.details.kind)
  end)

  it("is ended with its group", function()
    local mark = os.tmpname()
    assert(run_forger(BEGIN .. "(sleep 30; echo) & echo $! >" .. mark .. "; echo x; wait"))
    local file = assert(io.open(mark))
    local pid = file:read("*n")
    file:close()
    os.remove(mark)
    require("spec.support.eventually")(function()
      local stat = io.open("/proc/" .. pid .. "/stat")
      local text = stat and stat:read("*l") or ") Z"
      if stat then
        stat:close()
      end
      return text:find(") Z", 1, true) ~= nil
    end)
  end)

  it("cannot be run by the interpreter of another Lua", function()
    local other = operations.sandbox.language == "LuaJIT 2.1" and "lua5.4" or "luajit"
    local result, err = operations.sandbox.run("return 1", {}, { interpreter = other })
    assert.is_nil(result)
    assert.matches("^UNAVAILABLE: there is no sandbox: .*sandbox_child", tostring(err))
  end)

  it("cannot be an interpreter that does not exist", function()
    local result, err = operations.sandbox.run("return 1", {}, { interpreter = "no-such-lua" })
    assert.is_nil(result)
    assert.equal("UNAVAILABLE", err.code)
    assert.matches("no%-such%-lua", err.message)
    assert.same({ nil, err }, { operations.sandbox.available({ interpreter = "no-such-lua" }) })
  end)
end)

local eventually = require("spec.support.eventually")
local operations = require("operations")
local sandboxed = require("spec.support.sandboxed")

local run, value = sandboxed.run, sandboxed.value

local function echo(...)
  return ...
end

describe("a program in the sandbox", function()
  it("returns a value", function()
    local result = run("return { sum = 1 + 1, list = {}, nothing = null }")
    assert.is_true(result.ok)
    assert.same({ sum = 2, list = {}, nothing = operations.null }, result.value)
    assert.same({}, result.calls)
  end)

  it("calls a function of the host", function()
    local result = run([[local user, err = call("users.get", { id = 7 }) return { user.name, err == nil }]], {
      call = function(id, input)
        return { name = id .. input.id }
      end,
    })
    assert.same({ "users.get7", true }, result.value)
    assert.equal("users.get ok", result.calls[1].id .. " " .. result.calls[1].outcome)
  end)

  it("gets the failure of a call as nil and an error", function()
    local result = run([[local value, err = call("a")
      return { value == nil, err.code, err.details.x, tostring(err) }]], {
      call = function()
        return nil, operations.error("NOT_FOUND", "no such task", { x = 1 })
      end,
    })
    assert.same({ true, "NOT_FOUND", 1, "NOT_FOUND: no such task" }, result.value)
    assert.equal("NOT_FOUND", result.calls[1].outcome)
  end)

  it("gets an error that the function raises in the same way", function()
    assert.equal("EXECUTION_ERROR: broken", value("return tostring(select(2, call()))", {
      call = function()
        error("broken", 0)
      end,
    }))
  end)

  it("gets an error that is no JSON without its details", function()
    assert.equal("X: message", value("return tostring(select(2, call()))", {
      call = function()
        return nil, operations.error("X", "message", { print })
      end,
    }))
  end)

  it("passes nil arguments as nil, and JSON's null as null", function()
    assert.same({ 4, true, true, false }, value("return call(nil, null, 1, nil)", {
      call = function(...)
        local a, b, _, d = ...
        return { select("#", ...), a == nil, b == operations.null, d ~= nil }
      end,
    }))
  end)

  it("keeps arrays, objects, integers and floats as they are", function()
    local code = [[return json.encode(call({ array({}), object({}), {}, 1, 1.5, -0.0, null, "\u{e4}", true }))]]
    if sandboxed.is_jit then
      code = code:gsub("\\u{e4}", "\\195\\164")
    end
    assert.equal('[[],{},{},1,1.5,-0,null,"\195\164",true]', value(code, { call = echo }))
  end)

  it("keeps integers of 64 bits", function()
    local given = operations.json.decode("[9007199254740993,18446744073709551615,-9223372036854775808]")
    assert.equal("[9007199254740993,18446744073709551615,-9223372036854775808]",
      operations.json.encode(value("return call()", {
        call = function()
          return given
        end,
      })))
  end)

  it("gets and gives large values, several at once", function()
    local result = run([[
      local large = ("x"):rep(3e6)
      local sizes = map({ 1, 2, 3, 4 }, function() return #call(large) end)
      return sizes]], { call = echo }, { max_memory = 1e8, max_processor = 5000 })
    assert.same({ 3000000, 3000000, 3000000, 3000000 }, result.value)
  end)

  it("is told nothing by a function that returns nothing", function()
    assert.is_true(value("local a, b = call() return a == nil and b == nil", {
      call = function() end,
    }))
  end)

  it("prints what print would", function()
    assert.equal("1\tnil\tx\ttrue\n\n", run("print(1, nil, 'x', true) print()").output)
  end)

  it("prints tables as JSON, and errors as their text", function()
    local result = run([[print({ b = 1, a = { null } }, null, array({}), (select(2, call())))
      print((tostring({}):gsub(":.*", "")), (print and tostring(print):gsub(":.*", "")))]], {
      call = function()
        return nil, operations.error("NOT_FOUND", "no such task")
      end,
    })
    assert.equal('{"a":[null],"b":1}\tnull\t[]\tNOT_FOUND: no such task\ntable\tfunction\n', result.output)
  end)

  it("prints a table that is no JSON as tostring would", function()
    assert.matches("^table: ", run("local t = {} t.t = t print(t)").output)
  end)

  it("prints bytes that are no text as far as there is room, and continues", function()
    local result = run([[for _ = 1, 400 do print("\255a") end return 1]], {}, { max_output = 1000 })
    assert.equal(1, result.value)
    assert.equal(("\239\191\189a\n"):rep(200), result.output:sub(1, 1000))
    assert.matches("^%(the output is cut here", result.output:sub(1001))
    result = run([[print(("\255a"):rep(400)) return 1]], {}, { max_output = 1000 })
    assert.equal(1, result.value)
    assert.matches("a\n%(the output is cut here", result.output)
  end)

  it("reads no path of its library", function()
    for _, text in ipairs({ "array(5)", "object(true)",
      "print(setmetatable({}, { __tostring = function() return {} end }))", "map({}, nil)" }) do
      assert.not_matches("/", run("return (select(2, pcall(function() " .. text .. " end)))").value)
    end
  end)

  it("is refused a call with more arguments than there may be, and continues", function()
    assert.same({ "arguments", 16 }, value([[
      local _, err = echo(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17)
      return { err.details.kind, (echo(16, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)) }]], { echo = echo }))
  end)

  it("gives values as large as its option allows", function()
    assert.equal(20 * 2 ^ 20, run('return #echo(("x"):rep(20971520))', { echo = echo }, {
      max_value = 2 ^ 25, max_memory = 2 ^ 28, max_processor = 5000 }).value)
  end)

  it("calls and prints in finalizers, at any time", function()
    for i = 1, 20 do
      local result = run([[local n, wrong = 0, 0
        local function again()
          setmetatable({}, { __gc = function()
            n = n + 1
            if n < 30 then call("finalizer") print(("y"):rep(40)) again() end
          end })
        end
        for _ = 1, 5 do again() end
        for i = 1, 60 do
          local text = ("x"):rep(]] .. 37 * i .. [[ + i)
          if call("main" .. i, { text, { text .. "a" } }) ~= "main" .. i then wrong = wrong + 1 end
          print(text)
        end
        return wrong]], { call = echo }, { max_calls = 200, max_output = 2000 })
      assert.equal(0, result.value, tostring(result.error))
    end
  end)

  it("has the ids of its calls in the report cut between characters", function()
    local calls = run('call("a" .. ("\195\169"):rep(150))', { call = echo }).calls
    assert.equal("a" .. ("\195\169"):rep(99), calls[1].id)
  end)

  it("has no memory where its option leaves none for its state", function()
    for _, most in ipairs({ 1, 1000, 10000, 20000, 100000 }) do
      local result = assert(operations.sandbox.run("return #('x'):rep(5e6)", {}, { max_memory = most }))
      assert.equal("EXECUTION_ERROR memory", result.error.code .. " " .. result.error.details.kind)
    end
  end)

  it("returns nothing", function()
    local result = run("local x = 1")
    assert.is_true(result.ok)
    assert.is_nil(result.value)
  end)

  it("returns false and null", function()
    assert.is_false(value("return false"))
    assert.equal(operations.null, value("return null"))
  end)

  it("fails when it returns nil and an error", function()
    local result = run("return call()", {
      call = function()
        return nil, operations.error("NOT_FOUND", "no such task", { id = 7 })
      end,
    })
    assert.is_false(result.ok)
    assert.equal("NOT_FOUND: no such task", tostring(result.error))
    assert.same({ id = 7 }, result.error.details)
  end)

  it("fails with the line of its error, and with what it did before", function()
    local result = run("print('one')\nlocal user = call('users.get')\nprint('two')\nreturn user.name", {
      call = function()
        return nil, operations.error("NOT_FOUND", "no such user")
      end,
    })
    assert.equal(4, result.error.line)
    assert.equal("EXECUTION_ERROR", result.error.code)
    assert.matches("attempt to index", result.error.message)
    assert.equal("call 1 (users.get) had failed with NOT_FOUND: no such user; a failed call gives nil, err",
      result.error.hint)
    assert.equal("one\ntwo\n", result.output)
    assert.equal("NOT_FOUND", result.calls[1].outcome)
  end)

  it("fails with the line where an error object was raised", function()
    local result = run("local x = 1\nlocal function f()\n  error({ code = 'A', message = 'b' })\nend\nf()")
    assert.equal("A: b", tostring(result.error))
    assert.equal(3, result.error.line)
  end)

  it("fails with the line of a mistake in its syntax", function()
    local result = run("local x = 1\nlocal = 2")
    assert.equal("VALIDATION_ERROR", result.error.code)
    assert.equal(2, result.error.line)
    assert.matches("programs are " .. operations.sandbox.language, result.error.hint, 1, true)
  end)

  it("is told which names there are when it uses another one", function()
    assert.matches("there is no fetch here; there are call, search, array, json", run("return fetch('x')",
      { call = echo, search = echo }).error.hint)
    assert.matches("did you mean search", run("return serach('x')", { search = echo }).error.hint)
    assert.matches("there is no io here", run("return io.open('x')").error.hint)
    assert.matches("of os there are time", run("return os.getenv('HOME')").error.hint)
  end)

  it("ends when its time is over, and its calls are cancelled", function()
    local cancelled = false
    local result = run("call('a', 1)\ncall('b', 2)", {
      call = function(_, n)
        if n == 2 then
          local ok, raised = pcall(operations.sleep, 60)
          cancelled = not ok
          error(raised, 0)
        end
      end,
    }, { timeout = 2000 }) -- waits until the program makes its calls on a slow machine
    assert.equal("TIMEOUT wall", result.error.code .. " " .. result.error.details.kind)
    assert.equal("a ok b", ("%s %s %s"):format(result.calls[1].id, result.calls[1].outcome, result.calls[2].id))
    assert.not_equal("ok", result.calls[2].outcome)
    operations.sleep(0)
    assert.is_true(cancelled)
  end)

  it("ends at the deadline of its context", function()
    local result = run("while true do end", {}, { max_processor = 60000 }, { deadline = operations.now() + 100 })
    assert.equal("TIMEOUT", result.error.code)
    result = run("while true do end", {}, { max_processor = 60000 }, { timeout = 100 })
    assert.equal("TIMEOUT", result.error.code)
    assert.equal("TIMEOUT", run("return 1", {}, {}, { deadline = operations.now() - 1 }).error.code)
  end)

  it("ends with the task that runs it", function()
    local has_begun, was_cancelled = false, false
    local task = operations.spawn(function()
      operations.sandbox.run("call()", {
        call = function()
          has_begun = true
          was_cancelled = not pcall(operations.sleep, 60)
        end,
      })
    end)
    eventually(function()
      return has_begun
    end)
    task:cancel()
    local _, err = task:wait()
    assert.equal("ABORTED", err.code)
    assert.is_true(was_cancelled)
    assert.equal(1, run("return 1", {}, { max_programs = 1 }).value) -- its place is free
  end)

  it("spends no processor time while it waits for a call", function()
    local result = run("call() return 1", {
      call = function()
        operations.sleep(0.7) -- waits in real time: it is the clock of another process
      end,
    }, { max_processor = 500 })
    assert.equal(1, result.value)
    assert.is_true(result.processor < 500)
    assert.is_true(result.calls[1].duration >= 699)
  end)

  it("that is larger than allowed is not run", function()
    local result, err = operations.sandbox.run(("-"):rep(1001), {}, { max_code = 1000 })
    assert.is_nil(result)
    assert.equal("VALIDATION_ERROR: the program has 1001 bytes, at most 1000 are allowed", tostring(err))
  end)

  it("leaves no process, descriptor or memory behind", function()
    local function descriptors()
      local pipe = assert(io.popen("ls /proc/$PPID/fd | wc -l"))
      local count = pipe:read("*n")
      pipe:close()
      return count
    end
    local before
    for i = 1, 30 do
      run("return call()", { call = echo })
      run("error('x')")
      collectgarbage()
      before = i == 10 and descriptors() or before
    end
    operations.sleep(0.05)
    assert.is_true(descriptors() <= before + 10) -- 60 programs have 240
  end)

  it("is refused in nginx until processes are allowed there", function()
    if sandboxed.refused then
      assert.equal("ACCESS_DENIED", sandboxed.refused.code)
      assert.matches("process.allow", sandboxed.refused.message)
    end
  end)

  it("is refused options and functions that cannot be", function()
    local sandbox = operations.sandbox
    for message, call in pairs({
      ["string expected, got nil"] = { nil, {} },
      ["table expected, got nil"] = { "return 1", nil },
      ["unknown; did you mean max_calls"] = { "return 1", {}, { max_call = 1 } },
      ["'max_calls' to 'run' (a number from 1 to 2^40 expected, got 0)"] = { "return 1", {}, { max_calls = 0 } },
      ["'at_once' to 'run' (a number from 1 to 2^40 expected, got "] = { "return 1", {}, { at_once = 0 / 0 } },
      ["'print' is not a name for a function of programs"] = { "return 1", { print = echo } },
      ["'a b' is not a name"] = { "return 1", { ["a b"] = echo } },
      ["'timeout' to 'run' (a number from 1"] = { "return 1", {}, { timeout = -1 } },
      ["identity: table expected, got string"] = { "return 1", {}, {}, { identity = "ada" } },
      ["timeout: number expected, got string"] = { "return 1", {}, {}, { timeout = "1" } },
      ["deadline: number expected, got NaN"] = { "return 1", {}, {}, { deadline = 0 / 0 } },
      ["call: function expected, got table"] = { "return 1", { call = {} } },
    }) do
      local ok, raised = pcall(sandbox.run, call[1], call[2], call[3], call[4])
      assert.is_false(ok)
      assert.truthy(tostring(raised):find(message, 1, true), raised)
    end
  end)
end)

describe("map in the sandbox", function()
  it("makes calls at the same time, and keeps the order of the results", function()
    local running, most = 0, 0
    local result = run("return map({ 3, 1, 2, 5, 4 }, function(n, i) return { call(n), i } end, { at_once = 3 })", {
      call = function(n)
        running = running + 1
        most = math.max(most, running)
        operations.sleep(0.01 * n)
        running = running - 1
        return n * 10
      end,
    })
    assert.same({ { 30, 1 }, { 10, 2 }, { 20, 3 }, { 50, 4 }, { 40, 5 } }, result.value)
    assert.equal(3, most)
  end)

  it("makes no more calls at the same time than allowed", function()
    local running, most = 0, 0
    run("map({ 1, 2, 3, 4, 5, 6 }, call, { at_once = 100 })", {
      call = function()
        running = running + 1
        most = math.max(most, running)
        operations.sleep(0.02)
        running = running - 1
      end,
    }, { at_once = 2 })
    assert.equal(2, most)
  end)

  it("gives the errors of calls by their place, and the other results", function()
    assert.same({ 10, 30, "ODD", true }, value([[
      local results, errors = map({ 1, 2, 3 }, call)
      return { results[1], results[3], errors[2].code, results[2] == nil }]], {
      call = function(n)
        if n == 2 then
          return nil, operations.error("ODD", "two")
        end
        return n * 10
      end,
    }))
    assert.same({ true }, value("local results, errors = map({}, print) return { errors == nil }"))
  end)

  it("raises what its function raises", function()
    local result = run("map({ 1 }, function()\n  call()\n  local x = nil + 1\nend)", { call = echo })
    assert.equal(3, result.error.line)
  end)

  it("calls from inner coroutines, sort functions and other maps", function()
    assert.same({ 1, { 3, 2, 1 }, { { 1, 2 }, { 1, 2 } } }, value([[
      local out = {}
      map({ 1 }, function() out[1] = coroutine.wrap(function() return call(1) end)() end)
      map({ 1 }, function()
        out[2] = { 1, 2, 3 }
        table.sort(out[2], function(a, b) return call(a > b) end)
      end)
      out[3] = map({ 1, 2 }, function() return map({ 1, 2 }, call) end)
      return out]], { call = echo }))
  end)

  it("is refused arguments that cannot be", function()
    assert.matches("table expected, got number", run("map(1, print)").error.message)
    assert.matches("list expected, got a table without [1]", run("map({ a = 1 }, print)").error.message, 1, true)
    assert.matches("function expected, got nil", run("map({})").error.message)
    assert.matches("at_once", run("map({}, print, { at_once = 0 })").error.message)
  end)
end)

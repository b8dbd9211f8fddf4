local command = require("spec.support.command")
local errors = require("operations.base.error")
local output = require("operations.cli.output")
local terminal = require("spec.support.terminal")

-- What a program that uses this module writes, to standard output and standard error each, and its exit code.
local function result_of(code, redirection)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write('local output = require("operations.cli.output")\nlocal operations = require("operations")\n', code)
  file:close()
  local result = command.run(("lua %s %s"):format(path, redirection or ""))
  os.remove(path)
  return result
end

-- The same, both together.
local function run(code)
  return result_of(code, "2>&1").out
end

local function run_at_terminal(code)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write('local output = require("operations.cli.output")\nlocal operations = require("operations")\n', code)
  file:close()
  local screen = terminal.run('LD_PRELOAD="$SANITIZER" ' .. command.interpreter() .. " " .. path .. " 2>&1")
  os.remove(path)
  return screen
end

describe("the exit code of an error", function()
  local function code(name, details)
    return output.exit_code(errors.new(name, "m", details))
  end

  it("is that of its code, else that of an operation's own", function()
    for name, expected in pairs({ UNKNOWN_ERROR = 1, OPERATION_NOT_FOUND = 3, ACCESS_DENIED = 4, VALIDATION_ERROR = 5,
      TIMEOUT = 6, ABORTED = 7, EXECUTION_ERROR = 8, GONE = 9, OK = 9 }) do
      assert.equal(expected, code(name))
    end
    for _, exit in ipairs(output.exits) do -- codes of operations that have the names of our own
      local expected = errors.codes[exit[2]] and exit[1] or 9
      assert.equal(expected, code(exit[2]))
    end
    for _, err in ipairs({ "text", {}, 7, { code = 7 } }) do
      assert.equal(1, output.exit_code(err))
    end
    assert.equal(1, output.exit_code(nil))
  end)

  it("is in the page's table, in the same order", function()
    local file = assert(io.open("doc/command-line.md"))
    local numbers = {}
    for number in file:read("*a"):gmatch("\n| (%d+) |[^\n]*") do
      numbers[#numbers + 1] = tonumber(number)
    end
    file:close()
    for i, exit in ipairs(output.exits) do
      assert.equal(exit[1], numbers[i])
    end
    assert.equal(#output.exits, #numbers)
  end)

  it("is that of an HTTP status", function()
    for status, expected in pairs({ [304] = 8, [399] = 8, [400] = 10, [499] = 10, [500] = 11, [301] = 8 }) do
      assert.equal(expected, code("HTTP", { statusCode = status }))
    end
    assert.equal(8, code("EXECUTION_ERROR", { statusCode = "404" }))
  end)

  it("is that of a server without a connection", function()
    for _, kind in ipairs({ "dns", "connect", "tls" }) do
      assert.equal(13, code("TRANSPORT_LOST", { kind = kind, statusCode = 404 }))
    end
    assert.equal(13, code("TIMEOUT", { kind = "timeout", phase = "connect" }))
    assert.equal(6, code("TIMEOUT", { kind = "timeout", phase = "read" }))
    assert.equal(9, code("TRANSPORT_LOST", { kind = "reset" }))
    assert.equal(9, code("TRANSPORT_LOST", "connect"))
    assert.is_false(output.is_unreachable("x"))
    assert.is_false(output.is_unreachable({}))
  end)
end)

describe("what is said of a failure", function()
  it("is said by what gives its exit code", function()
    assert.same({ out = "9\n2\n", err = "operations: GONE: m\noperations: usage of x\n", code = 0 }, result_of([[
print(output.fail(operations.error("GONE", "m")))
print(output.usage("usage of %s", "x"))
]]))
  end)

  it("is its code and message, and its issues", function()
    assert.equal([[
operations: GONE: no such task
operations: VALIDATION_ERROR: two issues
  /a: one
  /: two
operations: VALIDATION_ERROR
  /a: one
operations: VALIDATION_ERROR
  /: one, and more
operations: text
operations: GONE: m
]], run([[
output.failure(operations.error("GONE", "no such task"))
output.failure(operations.error("VALIDATION_ERROR", "two issues", { { path = "/a", message = "one" },
  { path = "", message = "two" } }))
output.failure(operations.error("VALIDATION_ERROR", "/a: one", { { path = "/a", message = "one" } }))
output.failure(operations.error("VALIDATION_ERROR", "input: one, and more",
  { { path = "", message = "one, and more" } }))
output.failure("text")
output.failure(operations.error("GONE", "m", "details"))
]]))
  end)

  it("is the body of an HTTP answer, or the details as JSON", function()
    assert.equal([[
operations: HTTP_404: m
  nothing here
operations: HTTP_404: m
  {"a":1,"b":2}
operations: HTTP_404: m
operations: HTTP_404: m
operations: GONE: m
  {"a":1}
operations: GONE: m
operations: GONE: m
  (details are no JSON)
operations: GONE: m
  [{"path":"/a"}]
]], run([[
local function fail(code, details) output.failure(operations.error(code, "m", details)) end
fail("HTTP_404", { statusCode = 404, body = "nothing here" })
fail("HTTP_404", { statusCode = 404, body = { b = 2, a = 1 } })
fail("HTTP_404", { statusCode = 404, body = "" })
fail("HTTP_404", { statusCode = 404 })
fail("GONE", { a = 1 })
fail("GONE", {})
fail("GONE", { print })
fail("GONE", { { path = "/a" } })
]]))
  end)

  it("is the first text of a tool's answer", function()
    assert.equal([[
operations: EXECUTION_ERROR: the tool failed: so it is
operations: EXECUTION_ERROR: the tool failed
]], run([[
output.tool_failure({ 1, { type = "image", text = "x" }, { type = "text", text = 7 },
  { type = "text", text = "so it is" }, { type = "text", text = "more" } })
output.tool_failure({})
]]))
  end)

  it("has no characters that steer a terminal", function()
    assert.equal("operations: a?b?c\n  /?: red?\nab? line\tx\n{\"a\":\"\\u007f\\u0085\"}\n", run([[
output.complain("%s", "a\1b\194\133c")
output.issues({ { path = "/\27", message = "\27[31mred\7" } })
output.tell("a\27[1;2mb\127 line\tx\n")
output.record({ a = "\127\194\133" })
]]))
  end)

  it("is replaced in all texts and names of readable data, in their order", function()
    assert.equal("a? b\nb?\ttrue\n", run([[
local order = require("operations.base.property_order")
local data = { ["a\27"] = { "b\27", 7 }, b = { true } }
order.set(data, { "a\27", "b" })
data.b[2] = data
local copy = output.readable(data)
output.tell(table.concat(order.names(copy), " ") .. "\n")
output.tell(copy["a?"][1] .. "\t" .. tostring(copy.b[2] == copy and data["a\27"][1] == "b\27") .. "\n")
]]))
  end)

  it("begins no line with a foreign text", function()
    assert.equal('operations: a\n  | {"time":1}\n  /p: b\n  | operations: c\noperations: d\n  body\n  | {"time":2}\n',
      run([[
output.complain("%s", 'a\n{"time":1}\n')
output.issues({ { path = "/p", message = "b\noperations: c" } })
output.failure(setmetatable({ details = { statusCode = 500, body = 'body\n{"time":2}' } },
  { __tostring = function() return "d" end }))
]]))
  end)

  it("names the file of a problem once", function()
    assert.equal("operations: /a.lua: broken\noperations: /a.lua:1: broken\n", run([[
output.problem({ path = "/a.lua", message = "broken" })
output.problem({ path = "/a.lua", message = "/a.lua:1: broken" })
]]))
  end)
end)

describe("what is printed", function()
  local code = [[
output.text("text\27[31m\n")
output.text("as it is \1\n", true)
output.json('"json \127"' .. "\n")
output.data({ b = 1, a = { 2 } })
output.data({ b = 1 }, true)
output.styled("\27[1mbold\27[0m \27[2Jrest\n")
output.bytes("bytes\n")
output.text(tostring(output.is_terminal()) .. " " .. tostring(output.width()) .. "\n")
]]

  it("goes to files and pipes in one line of JSON, texts as they are where that is asked for", function()
    assert.equal('text\nas it is \1\n"json \127"\n{"a":[2],"b":1}\n{\n  "b": 1\n}\n\27[1mbold\27[0m rest\nbytes\n'
      .. "false nil\n", run(code))
  end)

  it("goes to a terminal indented, without what steers it", function()
    assert.equal('text\nas it is ?\n"json \\u007f"\n{\n  "a": [\n    2\n  ],\n  "b": 1\n}\n{\n  "b": 1\n}\nbold rest\n'
      .. "bytes\ntrue 80\n", run_at_terminal(code))
  end)

  it("wipes the progress that a person saw before", function()
    local progress = [[
output.progress("loading\nx")
output.text("done\n")
output.progress("again")
output.complain("failed")
]]
    assert.equal("done\noperations: failed\n", run(progress))
    assert.equal("done\noperations: failed\n", run_at_terminal(progress))
  end)

  it("wipes the progress once, whichever way it is printed", function()
    assert.equal('a 1\nb\n"c"\n[]\n\27[1md\27[0m\n{"e":1}\nsaid\n', (run_at_terminal([[
output.progress("loading a long list")
output.text("a ")
output.text("1\n")
for _, print in ipairs({ function() output.bytes("b\n") end, function() output.json('"c"\n') end,
  function() output.data(operations.array()) end, function() output.styled("\27[1md\27[0m\n") end,
  function() output.record({ e = 1 }) end, function() output.tell("said\n") end }) do
  output.progress("loading a long list")
  print()
end
]]):gsub("\nd\n", "\n\27[1md\27[0m\n")))
  end)

  it("shows a person progress in one line, until there is something else", function()
    assert.equal("part of it 2\n", run_at_terminal('output.progress("part of it\\n1")\n'
      .. 'output.progress("part of it\\n2")'))
    assert.equal("", run('output.progress("part of it")'))
  end)

  it("is data alone: what definitions and handlers print goes to standard error", function()
    assert.same({ out = '{"a":1}\n', err = "a\tnil\t7\nb\n", code = 0 }, result_of([[
output.keep_stdout()
print("a", nil, 7)
io.write("b\n")
output.data({ a = 1 })
]]))
  end)

  it("ends without a failure when its reader has ended, and says why it cannot be written", function()
    local program = [[
require("operations.system").survive_broken_pipes()
local ok, raised
repeat
  ok, raised = pcall(output.text, "x\n")
until not ok
io.stderr:write(tostring(raised), "\n")
io.stderr:write(tostring(output.fail(raised)), "\n")
]]
    assert.same({ out = "", err = "stdout is closed\n0\n", code = 0 }, result_of(program, "| true"))
    local full = "stdout: No space left on device\n"
    assert.same({ out = "", err = full .. "operations: " .. full .. "1\n", code = 0 }, result_of(program, ">/dev/full"))
  end)

  it("fails as JSON where it is not JSON", function()
    assert.error_matches(function()
      output.encode({ print })
    end, "function")
    assert.equal('{\n  "a": 1\n}', output.encode({ a = 1 }, true))
    assert.equal('{"a":1}', output.encode({ a = 1 }))
  end)
end)

describe("a long text at a terminal", function()
  local function lines(count, pager)
    return run_at_terminal(([[
local system = require("operations.system")
local size = system.terminal_size
system.terminal_size = function(descriptor) return size(descriptor), 4 end
os.getenv = function(name) return name == "PAGER" and %q or nil end
output.text(("x\n"):rep(%d))]]):format(pager, count))
  end

  it("goes to the pager, a short one does not", function()
    assert.equal("p:x\np:x\np:x\np:x\n", lines(4, "sed s/^/p:/"))
    assert.equal("x\nx\nx\n", lines(3, "sed s/^/p:/"))
  end)

  it("is printed without a pager, or where that is cat", function()
    assert.equal("x\nx\nx\nx\n", lines(4, ""))
    assert.equal("x\nx\nx\nx\n", lines(4, "cat"))
  end)

  it("may be longer than what the reader wants", function()
    assert.equal("x\nx\n", lines(100000, "head -n 2"))
  end)
end)

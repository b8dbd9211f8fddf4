local operations = require("operations")
local sandboxed = require("spec.support.sandboxed")

local kind, run = sandboxed.kind, sandboxed.run
local is_jit = sandboxed.is_jit

-- Programs of which each takes too much, and the kinds of failure with which they may end.
local programs = {
  { "never ends", "processor", "while true do end" },
  { "never ends and catches every error", "processor", "while true do pcall(function() while true do end end) end" },
  { "never ends in a coroutine", "processor", "coroutine.wrap(function() while true do end end)()" },
  { "never ends in coroutines that it makes for ever", "processor",
    "while true do coroutine.wrap(function() pcall(error) end)() end" },
  { "never ends in a metamethod", "processor",
    "local t = setmetatable({}, { __index = function() while true do end end }) return t.x" },
  { "never ends in a finalizer", "processor", is_jit and "while true do end"
    or "setmetatable({}, { __gc = function() while true do end end }) collectgarbage()" },
  { "never ends in a variable that is closed", "processor", is_jit and "while true do end"
    or "do local x <close> = setmetatable({}, { __close = function() while true do end end }) end" },
  { "never ends while its error is made a text", "processor",
    "error(setmetatable({}, { __tostring = function() while true do end end }))" },
  { "never ends in the handler of its error", "processor", "xpcall(error, function() while true do end end)" },
  { "never ends in one call of string.find", "processor", "string.find(('a'):rep(400), ('a-'):rep(30) .. 'b')" },
  { "never ends in one call of string.rep", "processor memory ok", "return #(''):rep(2^53)" },
  { "never ends in table.sort", "processor raised",
    "local t = {} for i = 1, 1e6 do t[i] = i end table.sort(t, function() return true end)" },
  { "never ends in string.gsub", "processor",
    "while true do (('x'):rep(1000)):gsub('.', function(c) return c end) end" },
  { "never ends in the code that it loads", "processor", "load('while true do end')()" },
  { "never ends in load, which asks for more text", "processor memory",
    "load(function() return 'do end ' end)" },
  { "fills its memory with tables", "memory", "local t = {} while true do t[#t + 1] = {} end" },
  { "fills its memory with texts", "memory", "local t = {} while true do t[#t + 1] = ('x'):rep(1e5) .. #t end" },
  { "fills its memory with one text", "memory", "return #('x'):rep(1e9)" },
  { "fills its memory by doubling", "memory", "local x = 'x' while true do x = x .. x end" },
  { "fills its memory with coroutines", "memory processor raised",
    "local t = {} while true do t[#t + 1] = coroutine.create(print) end" },
  { "fills its memory with keys", "memory processor", "local t = {} for i = 1, 1e9 do t[i .. ''] = i end" },
  { "fills its memory with closures", "memory", "local f while true do local g = f f = function() return g end end" },
  { "catches that there is no memory and goes on", "processor memory",
    "local t = {} while true do pcall(function() while true do t[#t + 1] = ('x'):rep(1e5) .. #t end end) end" },
  { "makes a table of 2^30 places at once", "memory raised", "local t = {} table.insert(t, 2^30, 1) "
    .. "return select('#', (table.unpack or unpack)({}, 1, 1e8))" },
  { "formats a number with a million digits", "raised", "return string.format('%1000000d', 1)" },
  { "recurses without an end", "raised memory", "local function f() return 1 + f() end return f()" },
  { "recurses through pcall", "raised memory ok",
    "local function f() return pcall(f) end return (f())" },
  { "recurses through metamethods", "raised memory",
    "local t = setmetatable({}, {}) getmetatable(t).__index = function(_, k) return t[k .. 'x'] end return t.x" },
  { "recurses through string.gsub", is_jit and "killed" or "raised memory",
    "local function f(x) return (x:gsub('.', f)) end return f('x')" },
  { "recurses through coroutines", "raised memory processor",
    "local function f() return coroutine.wrap(f)() end return f()" },
  { "recurses through the handler of errors", "raised memory ok processor",
    "local function f() error('x') end return (xpcall(f, function() f() end))" },
  { "recurses while it is compiled", "syntax memory raised", "return " .. ("("):rep(5000) .. "1" .. (")"):rep(5000) },
  { "has too many variables", "syntax", "local " .. ("x, "):rep(300) .. "x" },
  { "chains a million metatables", "raised memory processor",
    "local t = {} for _ = 1, 1e6 do t = setmetatable({}, { __index = t }) end return t.x" },
  { "is no program", "syntax", "this is no Lua" },
  { "calls an unknown name", "raised", "unknown()" },
  { "returns a function", "result", "return print" },
  { "returns a coroutine", "result", "return coroutine.create(print)" },
  { "returns a table that contains itself", "result", "local t = {} t.t = t return t" },
  { "returns NaN", "result", "return 0 / 0" },
  { "returns an infinity", "result", "return { x = math.huge }" },
  { "returns 100 MB", "result memory", "return ('x'):rep(1e7)" },
  { "returns a tree of a million levels", "result memory",
    "local t = {} for _ = 1, 1e5 do t = { t } end return t" },
  { "returns bytes that are no text", "result", "return '\\255'" },
  { "yields where nothing resumes it", "raised", "coroutine.yield(1)" },
  { "yields in the function of map", "raised", "map({ 1 }, function() coroutine.yield(1) end)" },
  { "raises nil", "raised", "error(nil)" },
  { "raises 10 MB", "raised memory", "error(('x'):rep(1e7))" },
  { "raises an error of an error", "raised", "error(setmetatable({}, { __tostring = function() error('x') end }))" },
}

describe("a program that", function()
  for _, program in ipairs(programs) do
    local title, expected, code = program[1], program[2], program[3]
    it(title .. " ends with an error that says so", function()
      local ended, result = kind(code, nil, { max_processor = expected:find("processor", 1, true) and 200 or 5000 })
      assert.truthy((" " .. expected .. " "):find(" " .. ended .. " ", 1, true),
        ended .. ": " .. tostring(result.error))
      assert.truthy(result.ok or #result.error.message < 5000)
    end)
  end

  it("prints for ever loses the rest of its output, which says so", function()
    local ended, result = kind("while true do print('more') end", nil, { max_output = 1000 })
    assert.equal("processor", ended)
    assert.matches("more\n%(the output is cut here: 1000 bytes are allowed%)\n$", result.output)
    assert.is_true(#result.output < 1100)
  end)

  it("prints 10 MB at once gets as much of it as is allowed", function()
    local result = run("print(('\195\164'):rep(5e6)) return 1", nil, { max_output = 1001, max_memory = 1e8,
      max_processor = 60000 })
    assert.equal(1, result.value)
    assert.equal(("\195\164"):rep(500) .. "\n(the output is cut here: 1001 bytes are allowed)\n", result.output)
  end)

  it("prints bytes that are no text has them replaced", function()
    assert.equal("a\239\191\189b\n", run("print('a\\255b')").output)
  end)

  it("computes is stopped at its line", function()
    local _, result = kind("local n = 0\nlocal function f()\n  while true do n = n + 1 end\nend\nf()")
    assert.equal(3, result.error.line)
    assert.matches("loop", result.error.hint)
  end)

  it("calls too often is refused further calls, and keeps the others", function()
    local result = run([[
      local done, err = 0
      for i = 1, 10 do
        local value
        value, err = call(i)
        done = done + (value or 0)
      end
      return { done, err.code, err.details.kind }]], {
      call = function()
        return 1
      end,
    }, { max_calls = 3 })
    assert.same({ 3, "EXECUTION_ERROR", "calls" }, result.value)
    assert.equal(3, #result.calls)
  end)

  it("gives a call more than allowed is refused that call", function()
    local result = run([[local value, err = call(("x"):rep(2000)) return { value == nil, err.details.kind }]],
      { call = print }, { max_value = 1000 })
    assert.same({ true, "size" }, result.value)
    assert.same({}, result.calls)
  end)

  it("gives a call a value other than JSON is refused that call", function()
    local result = run([[local value, err = call({ x = print }) return { err.code, err.message }]], { call = print })
    assert.equal("VALIDATION_ERROR", result.value[1])
    assert.matches("/1/x", result.value[2])
  end)

  it("asks for more than allowed gets an error", function()
    local result = run([[local value, err = call() return { value == nil, err.details.kind }]], {
      call = function()
        return ("x"):rep(2000)
      end,
    }, { max_value = 1000 })
    assert.same({ true, "size" }, result.value)
    assert.equal("EXECUTION_ERROR", result.calls[1].outcome)
  end)

  it("has no memory for the answers of its calls does not wait for them for ever", function()
    local ended = kind([[
      local keep = {}
      pcall(function() while true do keep[#keep + 1] = ("x"):rep(1e5) .. #keep end end)
      for i = 1, 20 do pcall(call) end]], {
      call = function()
        return ("x"):rep(1e6)
      end,
    }, { max_processor = 5000 })
    assert.truthy(ended == "memory" or ended == "raised" or ended == "ok", ended)
  end)

  it("is one of a thousand at once runs, or is told BUSY", function()
    local codes, tasks = {}, {}
    for i = 1, 1000 do
      tasks[i] = function()
        local result, err = operations.sandbox.run("return 1", {}, { max_programs = 4 })
        local code = result and result.value or err.code
        codes[code] = (codes[code] or 0) + 1
      end
    end
    operations.all(tasks)
    assert.equal(1000, codes[1] + codes.BUSY)
    assert.is_true(codes[1] >= 4)
    assert.equal(1, run("return 1").value)
  end)

  it("belongs to an identity with many programs is told BUSY, and those of another identity are not", function()
    local ada, bob, codes = { id = "ada" }, { id = "bob" }, {}
    local function hold(identity)
      return function()
        local result, err = operations.sandbox.run("return call()", {
          call = function()
            operations.sleep(0.05)
            return identity.id
          end,
        }, { max_identity_programs = 2 }, { identity = identity })
        codes[#codes + 1] = result and result.value or err.code
      end
    end
    operations.all({ hold(ada), hold(ada), hold(ada), hold(bob) })
    table.sort(codes)
    assert.same({ "BUSY", "ada", "ada", "bob" }, codes)
  end)
end)

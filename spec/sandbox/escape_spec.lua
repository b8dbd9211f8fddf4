local operations = require("operations")
local sandboxed = require("spec.support.sandboxed")

local kind, run, value = sandboxed.kind, sandboxed.run, sandboxed.value

-- Which of these expressions are not nil in a program.
local function found(expressions)
  local checks = {}
  for i, expression in ipairs(expressions) do
    checks[i] = ("if %s ~= nil then found[#found + 1] = %q end"):format(expression, expression)
  end
  return value("local found = array() " .. table.concat(checks, " ") .. " return found")
end

describe("a program that wants out of the sandbox", function()
  it("finds no files, processes or environment", function()
    assert.same({}, found({ "io", "os.execute", "os.exit", "os.getenv", "os.remove", "os.rename", "os.setlocale",
      "os.tmpname" }))
  end)

  it("finds no modules and no loaders of files", function()
    assert.same({}, found({ "require", "package", "module", "dofile", "loadfile" }))
  end)

  it("finds no debug library, which reads the registry and the locals of others", function()
    assert.same({}, found({ "debug", "getfenv", "setfenv", "newproxy", "gcinfo", "warn" }))
  end)

  it("finds no FFI and no compiler, nor the way to them by the number types of LuaJIT", function()
    assert.same({}, found({ "ffi", "jit", "_G.ffi", "_G.jit" }))
    if sandboxed.is_jit then
      assert.same("ffi", value("return getmetatable(1LL)"))
      assert.equal("raised", (kind("return (1LL).x")))
    end
  end)

  it("has no globals beside the language, the library and the given functions", function()
    local names = value([[local names = {} for name in pairs(_G) do names[#names + 1] = name end
      table.sort(names) return names]], { call = print })
    for _, name in ipairs(names) do
      local ok, raised = pcall(operations.sandbox.run, "", { [name] = print }) -- which refuses these names
      assert.equal(name == "call", ok, name)
      assert.truthy(ok or raised:find("is not a name for a function", 1, true), raised)
    end
  end)

  it("cannot make bytecode", function()
    assert.same({}, found({ "string.dump", "('x').dump", "getmetatable('').__index.dump" }))
  end)

  it("cannot load bytecode, as a text, in pieces or by the mode", function()
    local bytecode = string.dump(loadstring and loadstring("return 1") or load("return 1")) -- luacheck: ignore 113
    local code = ([[
      local bytes, out = json.decode(%q), {}
      for i, byte in ipairs(bytes) do bytes[i] = string.char(byte) end
      local text, at = table.concat(bytes), 0
      local function pieces() at = at + 1 return bytes[at] end
      for _, mode in ipairs({ "b", "bt", "t" }) do
        out[#out + 1] = load(text, "x", mode) == nil
        at = 0
        out[#out + 1] = load(pieces, "x", mode) == nil
      end
      out[#out + 1] = (loadstring or load)(text) == nil
      return out]]):format(operations.json.encode({ bytecode:byte(1, -1) }))
    assert.same({ true, true, true, true, true, true, true }, value(code))
    assert.equal("syntax", (kind(bytecode)))
  end)

  it("loads texts, with a table for their globals", function()
    assert.same({ 3, 4 }, value([[return { load("return 1 + 2")(), load("return x", "x", "t", { x = 4 })() }]]))
  end)

  it("cannot choose the collector that some releases of Lua 5.4 break in", function()
    assert.equal("raised", (kind("collectgarbage('generational')")))
    assert.equal("raised", (kind("collectgarbage('stop')")))
    assert.is_number(value("collectgarbage() return collectgarbage('count')"))
  end)

  it("cannot change what the library inside calls", function()
    local out = value([[
      string.format, string.gsub, table.concat, tostring, pcall = nil, nil, nil, nil, nil
      setmetatable, type, select, ipairs, next = nil, nil, nil, nil, nil
      getmetatable("").__index = nil
      json.encode, json.decode, coroutine.running = nil, nil, nil
      return call("a", 1)]], {
      call = function(id, n)
        return id .. n
      end,
    })
    assert.equal("a1", out)
  end)

  it("runs no code here by the metatables of its result and its errors", function()
    local code = [[
      local function trap() print("trapped") return "x" end
      local evil = setmetatable({ code = "X", message = "evil", details = { 1 } },
        { __tostring = trap, __index = trap, __len = trap, __pairs = trap, __call = trap, __gc = trap })
      %s]]
    local result = run(code:format("error(evil)"))
    assert.equal("X: evil", tostring(result.error))
    assert.equal("", result.output)
    assert.is_nil(getmetatable(run(code:format("return { evil }")).value[1]))
  end)

  it("gets no table of the host, only copies", function()
    local shared = { n = 1 }
    value("local t = call() t.n = 2 t.x = print", {
      call = function()
        return shared
      end,
    })
    assert.same({ n = 1 }, shared)
  end)

  it("does not see the text of the library that runs it", function()
    assert.same({}, found({ "child", "config", "code", "...", "_ENV and _ENV.child" }))
    local result = run("return ...")
    assert.is_nil(result.value)
  end)

  it("has no time of another place than UTC", function()
    assert.equal("1970-01-01 00:00:00", value("return os.date('%Y-%m-%d %H:%M:%S', 0)"))
  end)

  it("ends with its process, finalizers included", function()
    local result = run([[
      local trap = function() call("late") end
      keep = setmetatable({}, { __gc = trap })
      local proxy = newproxy
      return 1]], {
      call = function()
        error("called")
      end,
    })
    assert.same({}, result.calls)
  end)
end)

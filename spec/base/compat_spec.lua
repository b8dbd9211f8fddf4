local command = require("spec.support.command")
local compat = require("operations.base.compat")

describe("compat", function()
  it("packs with a count and unpacks with holes", function()
    local packed = compat.pack(1, nil, 3, nil)
    assert.equal(4, packed.n)
    assert.same({ 1, nil, 3 }, { compat.unpack(packed, 1, 3) })
  end)

  it("calls a finalizer once its value is collected", function()
    local calls = 0
    local sentinel = compat.finalizer(function()
      calls = calls + 1
    end)
    collectgarbage()
    assert.equal(0, calls, sentinel)
    sentinel = nil -- luacheck: ignore 311
    collectgarbage()
    collectgarbage()
    assert.equal(1, calls)
  end)

  describe("what a finalizer leaves for later", function()
    local function collect(fn)
      compat.finalizer(function()
        compat.after_finalizer(fn)
      end)
      collectgarbage()
      collectgarbage()
    end

    it("may loop over tables, whatever was compiled before", function()
      local sum = 0
      local function add(values)
        for _, value in pairs(values) do
          sum = sum + value
        end
      end
      local integers = {}
      for i = 1, 200 do
        integers["key" .. i] = i
      end
      for _ = 1, 20 do
        add(integers)
      end
      sum = 0
      collect(function()
        add({ a = 1.5, b = 2 })
        add({ 3 })
        add({})
      end)
      assert.equal(6.5, sum)
    end)

    it("is called once, in order, and leaves the program's hook as it was", function()
      local calls = {}
      local function hook() end
      local before, mask, count = debug.gethook()
      debug.sethook(hook, "", 1000000)
      collect(function()
        calls[1] = "first"
        compat.after_finalizer(function()
          calls[2] = "second"
        end)
      end)
      assert.equal(hook, (debug.gethook()))
      debug.sethook(before, mask, count)
      assert.same({ "first", "second" }, calls)
    end)

    it("is called on LuaJIT when no function of the library runs", function()
      local state, seen = {}, nil
      local source = debug.getinfo(compat.finalizer, "S").source:gsub("base/compat%.lua$", "half.lua")
      local change = assert((rawget(_G, "loadstring") or load)([[
        local state, compat, fn = ...
        state.half = true
        compat.after_finalizer(fn)
        state.half = false
      ]], source))
      change(state, compat, function()
        seen = state.half
      end)
      assert.equal(rawget(_G, "jit") == nil, seen)
    end)

    it("is called although C code, here the interpreter at INT, has replaced the hook", function()
      local result = command.run([[lua -e '
        local compat = require("operations.base.compat")
        local function leave(text, before)
          local sentinel = compat.finalizer(function()
            compat.after_finalizer(function() print(text) end)
            if before then io.popen("kill -INT $PPID"):close() end
          end)
        end
        leave("first", true)
        assert(not pcall(function() collectgarbage() collectgarbage() end))
        leave("second")
        collectgarbage()
        collectgarbage()
        print("end")
      ']])
      assert.same({ "first\nsecond\nend\n", 0 }, { result.out, result.code })
    end)

    it("is called when the program ends at once", function()
      local script = os.tmpname()
      local file = assert(io.open(script, "w"))
      file:write([[
        local compat = require("operations.base.compat")
        sentinel = compat.finalizer(function() compat.after_finalizer(function() print("called") end) end)
      ]])
      file:close()
      local pipe = assert(io.popen(("%s %s 2>&1"):format(arg[-1] or "lua", script)))
      local output = pipe:read("*a")
      pipe:close()
      os.remove(script)
      assert.equal("called\n", output)
    end)
  end)

  it("tells whether a function of the program runs while one of the library waits for it", function()
    local source = debug.getinfo(compat.finalizer, "S").source:gsub("base/compat%.lua$", "other.lua")
    local library = assert((rawget(_G, "loadstring") or load)("local result = (...)()\nreturn result", source))
    local function program()
      local interrupted = compat.has_interrupted_library()
      return interrupted
    end
    assert.is_true(library(program))
    assert.is_false(program())
    assert.is_false(library(compat.has_interrupted_library))
  end)

  it("closes a suspended coroutine", function()
    local co = coroutine.create(coroutine.yield)
    coroutine.resume(co)
    assert.is_true(compat.close(co))
  end)

  it("closes no other coroutine, which is no failure", function()
    local failed = coroutine.create(error)
    coroutine.resume(failed, "why")
    assert.is_true(compat.close(failed))
    assert.is_true(compat.close(coroutine.running()))
  end)
end)

local core = require("operations.core")
local raises = require("spec.support.raises")

describe("the core", function()
  it("tells the time in ms since the epoch", function()
    assert.is_true(math.abs(core.now() / 1000 - os.time()) < 2)
    assert.equal("integer", core.kind(core.now()))
  end)

  it("makes random ids, each another", function()
    local seen = {}
    for _ = 1, 1000 do
      local id = core.random_id()
      assert.matches("^%x%x%x%x%x%x%x%x%-%x%x%x%x%-4%x%x%x%-[89ab]%x%x%x%-%x%x%x%x%x%x%x%x%x%x%x%x$", id)
      assert.is_nil(seen[id])
      seen[id] = true
    end
  end)

  it("makes every digit of an id at random", function()
    local ids, digits = {}, {}
    for i = 1, 500 do
      ids[i] = core.random_id():gsub("-", ""):gsub("^(............).", "%1")
    end
    for place = 1, 31 do
      local column, values, count = {}, {}, 0
      for i, id in ipairs(ids) do
        column[i] = id:sub(place, place)
        count = count + (values[column[i]] and 0 or 1)
        values[column[i]] = true
      end
      assert.equal(place == 16 and 4 or 16, count) -- the 16th tells the variant, too
      column = table.concat(column)
      assert.is_nil(digits[column]) -- another place has always the same
      digits[column] = true
    end
  end)

  it("makes ids for finalizers that run after its own", function()
    local result = require("spec.support.command").run([[lua -e '
      local id
      kept = setmetatable({}, { __gc = function() print(#id()) end }) -- runs last: it was made first
      id = require("operations.core").random_id
    ']])
    assert.same({ "", rawget(_G, "jit") and "" or "36\n" }, { result.err, result.out }) -- LuaJIT has none of tables
  end)

  it("shares no random identifiers with a forked child", function()
    local ok, ffi = pcall(require, "ffi")
    if not ok then
      return -- only LuaJIT can fork without a library
    end
    pcall(ffi.cdef, "int fork(void);")
    pcall(ffi.cdef, "int waitpid(int, int *, int);")
    pcall(ffi.cdef, "void _exit(int);")
    local path = os.tmpname()
    core.random_id()
    local pid = ffi.C.fork()
    if pid == 0 then
      local file = io.open(path, "w")
      file:write(core.random_id())
      file:close()
      ffi.C._exit(0)
    end
    ffi.C.waitpid(pid, nil, 0)
    local own, file = core.random_id(), io.open(path)
    local its = file:read("*a")
    file:close()
    os.remove(path)
    assert.equal(36, #its)
    assert.are_not.equal(own, its)
  end)

  it("gives random bytes, as many as asked for", function()
    assert.equal(1, #core.random_bytes(1))
    assert.equal(256, #core.random_bytes(256))
    assert.are_not.equal(core.random_bytes(32), core.random_bytes(32))
    for _, n in ipairs({ 0, 257, -1 }) do
      assert.error_matches(function()
        core.random_bytes(n)
      end, "1 to 256 expected")
    end
  end)

  it("gives the digits of random bytes", function()
    assert.is_truthy(core.random_digits(16):find("^%x+$"))
    assert.same({ 2, 512 }, { #core.random_digits(1), #core.random_digits(256) })
    assert.are_not.equal(core.random_digits(16), core.random_digits(16))
    assert.has_error(function()
      core.random_digits(257)
    end)
  end)

  it("writes bytes as hexadecimal digits", function()
    assert.equal("00ff0a61", core.hexadecimal("\0\255\na"))
    assert.same({ "", ("20"):rep(5000) }, { core.hexadecimal(""), core.hexadecimal((" "):rep(5000)) })
  end)

  it("says of each byte whether it may be shown as it is", function()
    for byte = 0, 255 do
      local is_shown = byte >= 32 and byte <= 126 or byte == 9 or byte == 10
      assert.equal(is_shown, core.is_plain("a" .. string.char(byte) .. "z"), byte)
    end
    assert.is_true(core.is_plain(""))
  end)

  it("is one per Lua state, however often it is loaded", function()
    package.loaded["operations.core"] = nil
    local again = require("operations.core")
    package.loaded["operations.core"] = core
    assert.equal(core, again) -- each would leave its metatables and functions in the registry
    assert.equal("array", again.kind(setmetatable({}, again.array_mt)))
    assert.equal("array", core.kind(setmetatable({}, core.array_mt)))
    assert.is_true(core.is_error(setmetatable({}, core.error_mt)))
  end)

  it("gives no basic type a metatable", function()
    for _, value in ipairs({ false, 1, print, coroutine.create(print) }) do
      assert.is_nil(debug.getmetatable(value))
    end
    assert.is_nil(debug.getmetatable(nil))
  end)

  it("names the argument that is wrong", function()
    raises({
      ["bad argument #1 to 'add_mark' (table expected, got number)"] = function() core.add_mark(1, "array") end,
      ["bad argument #2 to 'add_mark' (invalid option 'list')"] = function() core.add_mark({}, "list") end,
      ["bad argument #1 to 'set_array_mt' (table expected, got nil)"] = function() core.set_array_mt(nil) end,
      ["bad argument #1 to 'kind' (value expected)"] = function() core.kind() end,
      ["bad argument #1 to 'set_foreign_null' (value expected)"] = function() core.set_foreign_null() end,
    })
  end)

  it("returns nothing where there is nothing to tell", function()
    local function count(...)
      return select("#", ...)
    end
    local registry = core.registry()
    local operation = registry:operation({ namespace = "a", name = "b" })
    local feed, following = core.json_lines(10)
    assert.same({ add_mark = 0, set_array_mt = 0, set_foreign_null = 0, feed = 0, finish = 0, following = 0, put = 0,
      prepare = 0, flaw = 0, set_handler = 0, make = 0 }, {
      add_mark = count(core.add_mark({}, "array")), set_array_mt = count(core.set_array_mt(core.array_mt)),
      set_foreign_null = count(core.set_foreign_null(nil)), feed = count(feed("")), finish = count(feed(nil)),
      following = count(following()), put = count(registry:put(operation)),
      prepare = count(registry:prepare("a.b", {})), flaw = count(operation:flaw("x")),
      set_handler = count(operation:set_handler(print)),
      make = count(operation:make({ namespace = "a", name = "b" })),
    })
  end)

  it("has a text for any error object, and for nothing else", function()
    local text = core.error_mt.__tostring
    for expected, err in pairs({ ["A: b"] = { code = "A", message = "b" }, ["A: (no message)"] = { code = "A" },
      ["UNKNOWN_ERROR: b"] = { code = {}, message = "b" }, ["UNKNOWN_ERROR: (no message)"] = {}, ["1: 2"] = {
        code = 1, message = 2 } }) do
      assert.equal(expected, tostring(setmetatable(err, core.error_mt)))
      assert.equal(expected, text(err, "more", "arguments"))
    end
    raises({ ["(table expected, got string)"] = function() text("x") end })
  end)

  it("knows an error object by its metatable alone", function()
    assert.same({ true, false, false, false, false }, { core.is_error(setmetatable({}, core.error_mt)),
      core.is_error(core.error_mt), core.is_error(setmetatable({}, {})), core.is_error("x"), core.is_error() })
  end)

  it("takes another library's array mark for its own", function()
    local own, other = core.array_mt, {}
    core.set_array_mt(other)
    assert.equal("array", core.kind(setmetatable({}, other)))
    assert.equal("object", core.kind(setmetatable({ a = 1 }, nil)))
    core.set_array_mt(own)
    assert.equal("array", core.kind(setmetatable({}, own)))
  end)

  it("takes another value for null", function()
    local value = core.trust()
    assert.equal("userdata", core.kind(value))
    core.set_foreign_null(value)
    assert.equal("null", core.kind(value))
    core.set_foreign_null(nil)
    assert.equal("userdata", core.kind(value))
  end)
end)

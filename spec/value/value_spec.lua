local core = require("operations.core")

describe("a Lua value read as JSON", function()
  it("has the JSON type", function()
    assert.equal("null", core.kind(core.null))
    assert.equal("boolean", core.kind(false))
    assert.equal("integer", core.kind(1))
    assert.equal("number", core.kind(1.5))
    assert.equal("string", core.kind(""))
  end)

  it("is an array when marked as one or when it has a first item", function()
    assert.equal("array", core.kind({ "a" }))
    assert.equal("array", core.kind(setmetatable({}, core.array_mt)))
    assert.equal("object", core.kind(setmetatable({ "a" }, core.object_mt)))
    assert.equal("object", core.kind({ a = 1 }))
  end)

  it("counts a float without fraction as an integer", function()
    assert.equal("integer", core.kind(1.0))
    assert.equal("number", core.kind(0 / 0))
    assert.equal("number", core.kind(math.huge))
  end)

  it("understands marks of other libraries", function()
    local foreign = {}
    core.add_mark(foreign, "array")
    assert.equal("array", core.kind(setmetatable({}, foreign)))
    assert.equal("array", core.kind(setmetatable({}, { __jsontype = "array" })))
    assert.equal("object", core.kind(setmetatable({ 1 }, { __jsontype = "object" })))
  end)

  it("is null only for its own null, and for that of another library", function()
    local address = rawget(debug, "upvalueid")(function() return core end, 1) -- a pointer of no library
    if type(address) == "userdata" then
      assert.equal("userdata", core.kind(address))
      assert.equal("userdata is not a JSON value", tostring(select(2, core.json_encode(address)).message))
    end
    core.set_foreign_null(io.stdout)
    assert.same({ "null", "userdata" }, { core.kind(io.stdout), core.kind(io.stderr) })
    assert.equal("[null]", core.json_encode({ io.stdout }))
    assert.is_nil(core.json_encode({ io.stderr }))
    core.set_foreign_null(nil)
    assert.equal("userdata", core.kind(io.stdout))
  end)

  it("is an array when its keys are 1 to n, and nothing else", function()
    local schema = require("operations.schema")
    local array = assert(schema.compile({ type = "array", minItems = 1 }))
    local many = assert(schema.compile({ type = "array", uniqueItems = true }))
    for n = 1, 12 do
      local function items()
        local list = {}
        for i = n, 1, -1 do -- in the hash part, in any order
          list[i] = i
        end
        return list
      end
      local values = { [true] = { items() }, [false] = {} }
      for _, key in ipairs({ 0, -1, n + 2, 1.5, n + 0.5, "x", true, 2 ^ 60 }) do
        local list = items()
        list[key] = 99
        table.insert(values[false], list)
      end
      if n > 2 then
        local hole = items()
        hole[n - 1] = nil
        table.insert(values[false], hole)
      end
      for expected, lists in pairs(values) do
        for _, list in ipairs(lists) do
          assert.equal(expected, core.json_encode(list) ~= nil)
          assert.equal(expected, (array:check(list)))
          assert.equal(expected, (many:check(list)))
        end
      end
    end
  end)

  it("names values that JSON cannot hold as Lua does", function()
    assert.equal("function", core.kind(print))
    assert.equal("nil", core.kind(nil))
  end)
end)

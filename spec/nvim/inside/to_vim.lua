-- Run by spec/nvim/init_spec.lua inside Neovim.
local nvim = require("operations.nvim")
local operations = require("operations")
local raises = require("spec.support.raises")

describe("operations.nvim.to_vim", function()
  local text = '{"a":null,"b":{},"c":[],"d":[{},null,[{}]],"e":{"f":{"g":false}}}'
  local decode = operations.json.decode

  it("keeps nulls, empty objects and empty arrays for vim.json", function()
    local written = vim.json.encode(nvim.to_vim(decode(text)))
    assert.same(decode(text), decode(written))
    assert.equal(operations.json.encode(decode(text), { sort_keys = true }),
      operations.json.encode(decode(written), { sort_keys = true }))
  end)

  it("keeps them for functions of Vim and for mpack", function()
    local value = nvim.to_vim(decode(text))
    assert.equal(operations.json.encode(decode(text), { sort_keys = true }),
      operations.json.encode(decode(vim.fn.json_encode(value)), { sort_keys = true }))
    local copy = vim.mpack.decode(vim.mpack.encode(value))
    assert.equal(vim.NIL, copy.a)
    assert.equal("{}", operations.json.encode(copy.b))
  end)

  it("gives the schemas of operations", function()
    local schema = operations.type.object({}, { additionalProperties = operations.type.any() })
    assert.same(decode(operations.json.encode(schema)), decode(vim.json.encode(nvim.to_vim(schema))))
    assert.matches('"properties": *{}', vim.json.encode(nvim.to_vim(schema)))
  end)

  it("writes integers that numbers would round as their digits", function()
    local value = nvim.to_vim(decode('[9007199254740993,-9007199254740993,18446744073709551615,7]'))
    assert.same({ "9007199254740993", "-9007199254740993", "18446744073709551615", 7 }, value)
  end)

  it("leaves its argument unchanged, and refuses a table that contains itself", function()
    local value = decode(text)
    nvim.to_vim(value)
    assert.equal(operations.null, value.a)
    assert.equal(operations.object_mt, getmetatable(value.b))
    value.e.f.g = value
    assert.same({ false, "operations.nvim.to_vim: a table contains itself" }, { pcall(nvim.to_vim, value) })
    local twice = {}
    assert.same({ {}, {} }, nvim.to_vim({ twice, twice }))
  end)

  it("leaves Neovim's own values as they are", function()
    local empty = vim.empty_dict()
    assert.equal('{"a":{},"n":null}', (vim.json.encode(nvim.to_vim({ a = empty, n = vim.NIL })):gsub('"n":null,"a":{}',
      '"a":{},"n":null')))
    assert.equal(1, nvim.to_vim(1))
    assert.equal("x", nvim.to_vim("x"))
  end)
end)

describe("operations.nvim.from_vim", function()
  local encode = operations.json.encode

  it("gives what functions of Neovim read as JSON of ours", function()
    local text = '{"a":null,"b":{},"c":[],"d":[{},null,[{}]],"e":{"f":{"g":false}},"n":1.5}'
    for _, decode in ipairs({ vim.json.decode, vim.fn.json_decode }) do
      assert.equal(encode(operations.json.decode(text), { sort_keys = true }),
        encode(nvim.from_vim(decode(text)), { sort_keys = true }))
    end
    local copy = nvim.from_vim({ x = vim.NIL })
    assert.equal(operations.null, copy.x)
    assert.equal(operations.object_mt, getmetatable(nvim.from_vim(vim.empty_dict())))
    assert.equal(operations.array_mt, getmetatable(nvim.from_vim({})))
  end)

  it("gives floats that Neovim wraps as numbers, and refuses a table that contains itself", function()
    assert.equal(1, nvim.from_vim({ [vim.type_idx] = vim.types.float, [vim.val_idx] = 1 }))
    local value = {}
    value.a = value
    assert.same({ false, "operations.nvim.from_vim: a table contains itself" }, { pcall(nvim.from_vim, value) })
  end)
end)

describe("operations.nvim", function()
  -- A call of a function in a line of this file.
  local function call(name, value)
    return function()
      local result = nvim[name](value)
      return result
    end
  end

  it("names what it cannot use, and the line that gives it", function()
    raises({
      ["bad argument #1 to 'setup' (table expected, got string)"] = call("setup", "x"),
      ["bad option 'x' to 'setup' (unknown)"] = call("setup", { x = 1 }),
      ["bad option 'servers' to 'setup' (string or table expected, got number)"] = call("setup", { servers = 1 }),
      ["bad option 'apis' to 'setup' (apis.a: a table with file, url or document expected)"] =
        call("setup", { apis = { a = "x" } }),
      ["bad option 'apis' to 'setup' (apis.b: a table with file, url or document expected)"] =
        call("setup", { apis = { b = { file = "x", url = "y" } } }),
      ["bad option 'apis' to 'setup' (apis.c: a table with file, url or document expected)"] =
        call("setup", { apis = { c = { document = "x" } } }),
      ["bad option 'apis' to 'setup' (apis.1: a table with file, url or document expected)"] =
        call("setup", { apis = { { file = "x" } } }),
      ["bad argument #1 to 'add_source' (string expected, got number)"] = call("add_source", 1),
      ["bad argument #1 to 'on_state' (function expected, got nil)"] = call("on_state"),
      ["bad option 'x' to 'form' (unknown)"] = call("form", { x = 1 }),
      ["bad option 'x' to 'pick' (unknown)"] = call("pick", { x = 1 }),
      ["bad option 'x' to 'float' (unknown)"] = call("float", { x = 1 }),
      ["bad argument #1 to 'text' (table expected, got string)"] = call("text", "x"),
      ["bad argument #1 to 'serve' (table expected, got string)"] = call("serve", "x"),
      ["bad option 'x' to 'serve' (unknown)"] = call("serve", { x = 1 }),
      ["bad option 'allow' to 'serve' (string expected at [2], got number)"] = call("serve", { allow = { "a", 1 } }),
      ["bad option 'confirm' to 'serve' (\"float\", \"select\" or a function expected, got \"x\")"] =
        call("serve", { confirm = "x" }),
      ["bad argument #1 to 'serve' (memory of approvals expected, got table)"] = call("serve", { approvals = {} }),
      ["bad argument #1 to 'offer' (table expected, got string)"] = call("offer", "x"),
    }, "inside/to_vim.lua:")
  end)
end)

local at_collections = require("spec.support.at_collections")
local core = require("operations.core")
local json = require("operations.base.json")
local random = require("spec.support.random")
local usage = require("spec.support.usage")

local ENDS = 256 -- as many bytes of both ends of a line are told that is too long

local function told(value, err, ...)
  if err then
    return { err = err.message, line = (...) }
  end
  return value
end

-- What `next` says after each piece, in one list.
local function read(pieces, max, ordered)
  local feed, following = core.json_lines(max, ordered)
  local list = {}
  local function drain()
    while true do
      local values = { n = 0 }
      local function collect(...)
        values = { n = select("#", ...), ... }
      end
      collect(following())
      if values.n == 0 then
        return
      elseif values.n == 5 then
        assert.is_nil(values[1] or values[2])
        list[#list + 1] = { first = values[3], last = values[4], size = values[5] }
      else
        list[#list + 1] = told(values[1], values[2], values[3])
      end
    end
  end
  for _, piece in ipairs(pieces) do
    feed(piece)
    drain()
  end
  feed()
  drain()
  return list
end

-- The same of the whole text, line by line.
local function expected(text, max)
  local list = {}
  for whole, foot in text:gmatch("([^\n]*)(\n?)") do
    if #whole > max then
      local last = whole:sub(-ENDS):gsub("\r$", "")
      list[#list + 1] = { first = whole:sub(1, ENDS), last = last, size = #whole }
    else
      local line = whole:gsub("\r$", "")
      if line:find("[^ \t\n\v\f\r]") then
        local value, err = json.decode(line)
        list[#list + 1] = told(value, err, line)
      end
    end
    if foot == "" then
      break
    end
  end
  return list
end

local function cut(text, size)
  local pieces = {}
  for at = 1, #text, size do
    pieces[#pieces + 1] = text:sub(at, at + size - 1)
  end
  return pieces
end

describe("lines of JSON", function()
  local text = '{"a":[1,2]}\n\r\n \t\n[]\r\n"x" y\n\n12345678\n123456789\n12345678\r\n"ab\\u00e4"\n{\n123456789\r\n7'

  it("leave no memory behind", function()
    local long = ("[1]"):rep(500)
    assert.is_true(usage.leak(4000, function()
      local feed = core.json_lines(10)
      feed(long)
    end) < 4096)
  end)

  it("are the same wherever the bytes are cut", function()
    for _, max in ipairs({ 1, 7, 8, 9, 10, 11, 12, 100 }) do
      local all = expected(text, max)
      assert.same(all, read({ text }, max))
      for size = 1, 12 do
        assert.same(all, read(cut(text, size), max))
      end
    end
  end)

  it("that are too long are reported by both ends and their size", function()
    for _, length in ipairs({ ENDS - 1, ENDS, ENDS + 1, 2 * ENDS - 1, 2 * ENDS, 2 * ENDS + 1, 5 * ENDS }) do
      local bytes = {}
      for i = 1, length do
        bytes[i] = string.char(48 + i % 75)
      end
      local long = table.concat(bytes)
      for _, foot in ipairs({ "", "\r", "\n", "\r\n", "\n1\n" }) do
        local all = expected(long .. foot, 100)
        assert.equal(long:sub(-9), all[1].last:sub(-9))
        for _, size in ipairs({ 99, 101, ENDS - 1, ENDS, ENDS + 1, 3 * ENDS, length, length + 1 }) do
          assert.same(all, read(cut(long .. foot, size), 100))
        end
      end
    end
  end)

  it("take no memory for omitted bytes", function()
    local feed, following = core.json_lines(10)
    local piece, before = ("x"):rep(32768), usage.resident()
    for _ = 1, 1000 do
      feed(piece)
      assert.equal(0, select("#", following()))
    end
    assert.is_true(usage.resident() - before < 8192)
    feed("\n")
    assert.equal(32768000, (select(5, following())))
  end)

  it("of any lengths are read from pieces of any lengths", function()
    for seed = 1, 60 do
      random.seed(seed)
      local lines = {}
      for i = 1, 30 do
        local length = random.pick({ 0, 1, 5, 60, 99, 100, 101, 102, 300, 5000, 9000 })
        lines[i] = random.pick({ "", " ", "[", "\r" }) .. ("7"):rep(length) .. random.pick({ "", "\r" }) .. "\n"
      end
      local whole = table.concat(lines)
      local pieces, at = {}, 1
      while at <= #whole do
        local size = random.pick({ 1, 7, 100, 101, 4096, 20000 })
        pieces[#pieces + 1] = whole:sub(at, at + size - 1)
        at = at + size
      end
      assert.same(expected(whole, 100), read(pieces, 100))
    end
  end)

  it("keep the order of properties where that is asked for", function()
    local line = '{"properties":{"z":1,"b":2,"y":3}}\n'
    local value = read({ line }, 100, true)[1]
    assert.same({ "z", "b", "y" }, core.property_order[value.properties])
    assert.is_nil(core.property_order[read({ line }, 100)[1].properties])
  end)

  it("are not read by a finalizer while one is being read", function()
    local feed, following = core.json_lines(1e6)
    local line, reading = "[" .. ('{"a":[1,{"b":"c"}]},'):rep(2000) .. "0]\n", false
    at_collections(function()
      for _, fn in ipairs(reading and { feed, following } or {}) do
        local ok, err = pcall(fn)
        assert(not ok and err:find("the lines are in use", 1, true), err)
      end
      return reading
    end, function()
      feed(line)
      reading = true
      local value = following()
      reading = false
      assert.equal(2001, #value)
    end)
  end)

  it("are at most as long as memory, and at least a byte", function()
    for _, max in ipairs({ 0, -1, 0 / 0, 2 ^ 53 + 2, 2 ^ 63, math.huge }) do
      assert.error_matches(function() core.json_lines(max) end, "argument #1 to 'json_lines' %(out of range%)")
    end
    assert.error_matches(function() core.json_lines("x") end, "argument #1 to 'json_lines' %(number expected")
    assert.same({ 1 }, read({ "1\n" }, 1))
    assert.same({ 1 }, read({ "1\n" }, 2 ^ 53))
    assert.error_matches(function() core.json_lines(8)({}) end, "string expected")
  end)
end)

local at_collections = require("spec.support.at_collections")
local core = require("operations.core")
local json = require("operations.base.json")
local lfs = require("lfs")
local raises = require("spec.support.raises")
local usage = require("spec.support.usage")

local VECTORS = "spec/vectors/json/"
local has_cjson, cjson = pcall(require, "cjson") -- it is not packaged for Lua 5.5
local it_beside_cjson = has_cjson and it or pending
local number_type = rawget(math, "type") -- nil where numbers have one type

local function read_file(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

local function vectors(pattern)
  local names = {}
  for name in lfs.dir(VECTORS) do
    if name:match(pattern) then
      names[#names + 1] = name
    end
  end
  table.sort(names)
  assert(#names > 0)
  return names
end

--- What reading gave, as text that can be compared.
local function outcome(value, err)
  if err then
    return tostring(err) .. " @" .. err.details.offset
  end
  return assert(json.encode(value, { sort_keys = true }))
end

local function decoded_in_pieces(pieces)
  local decoder = json.decoder()
  for _, piece in ipairs(pieces) do
    decoder:feed(piece)
  end
  return decoder:finish()
end

local function bytes_of(text)
  local bytes = {}
  for i = 1, #text do
    bytes[i] = text:sub(i, i)
  end
  return bytes
end

local function decodes(text, options)
  local value, err = json.decode(text, options)
  assert.is_nil(err)
  return value
end

local function encodes(value, options)
  local text, err = json.encode(value, options)
  assert.is_nil(err)
  return text
end

local function refused(value, path, options)
  local text, err = json.encode(value, options)
  assert.is_nil(text)
  assert.is_true(core.is_error(err))
  assert.equal("VALIDATION_ERROR", err.code)
  assert.equal(path, err.details.path)
  return err.message
end

describe("the JSON vector", function()
  for _, name in ipairs(vectors("^ok_.*%.json$")) do
    it(name .. " is read", function()
      local text = read_file(VECTORS .. name)
      assert.equal(read_file(VECTORS .. name:gsub("json$", "expected")), outcome(json.decode(text)))
    end)
  end

  for _, name in ipairs(vectors("^bad_.*%.json$")) do
    it(name .. " is refused at that byte", function()
      local value, err = json.decode(read_file(VECTORS .. name))
      assert.is_nil(value)
      assert.equal("VALIDATION_ERROR", err.code)
      assert.equal(tonumber(name:match("_at_(%d+)%.json$")), err.details.offset)
    end)
  end

  for _, name in ipairs(vectors("%.json$")) do
    it(name .. " says the same in pieces", function()
      local text = read_file(VECTORS .. name)
      local whole = outcome(json.decode(text))
      assert.equal(whole, outcome(decoded_in_pieces(bytes_of(text))))
      for cut = 0, #text, #text > 300 and 97 or 1 do
        assert.equal(whole, outcome(decoded_in_pieces({ text:sub(1, cut), text:sub(cut + 1) })))
      end
    end)
  end
end)

describe("decoding JSON", function()
  it("marks every array and the empty objects", function()
    local function by_bytes(text)
      return decoded_in_pieces(bytes_of(text))
    end
    for _, decode in ipairs({ decodes, by_bytes }) do
      local value = decode('{"a":[],"b":[{},{"c":{ }}]}')
      assert.equal(json.array_mt, getmetatable(value.a))
      assert.equal(json.array_mt, getmetatable(value.b))
      assert.equal(json.object_mt, getmetatable(value.b[1]))
      assert.equal(json.object_mt, getmetatable(value.b[2].c))
      assert.is_nil(getmetatable(value.b[2]))
      assert.is_nil(getmetatable(value))
      assert.equal(json.object_mt, getmetatable(decode("{}")))
    end
  end)

  it("keeps empty objects and arrays apart in schemas", function()
    local schema = require("operations.schema")
    local list, object = assert(schema.compile({ type = "array" })), assert(schema.compile({ type = "object" }))
    assert.is_false((list:check(decodes("{}"))))
    assert.is_true((object:check(decodes("{}"))))
    assert.is_false((object:check(decodes("[]"))))
    assert.is_true((list:check({})))
    assert.is_true((object:check({})))
    local either = assert(schema.compile({ oneOf = { { type = "array" }, { type = "object" } } }))
    assert.is_true((either:check(decodes("{}"))))
  end)

  it_beside_cjson("gives the null of lua-cjson", function()
    assert.equal(cjson.null, decodes("null"))
    assert.equal(json.null, decodes("[null]")[1])
  end)

  it("keeps integers exact, as digits where 64 bits do not hold them", function()
    assert.equal("18446744073709551616", decodes("18446744073709551616"))
    assert.equal("-9223372036854775809", decodes("-9223372036854775809"))
    assert.equal(("1"):rep(400), decodes(("1"):rep(400)))
    for _, text in ipairs({ "18446744073709551615", "9223372036854775807", "-9223372036854775808",
      "9007199254740993" }) do
      assert.equal(text, encodes(decodes(text)))
    end
    if number_type then
      assert.equal("integer", number_type(decodes("9223372036854775807")))
    end
  end)

  it("gives digits for integers outside +-2^53 on request", function()
    local text = '[9007199254740993,-9007199254740993,18446744073709551615,9007199254740992,-9007199254740992,1]'
    local expected = { "9007199254740993", "-9007199254740993", "18446744073709551615", 2 ^ 53, -2 ^ 53, 1 }
    assert.same(expected, decodes(text, { integers = "text" }))
    local decoder = json.decoder({ integers = "text" })
    decoder:feed(text:sub(1, 10))
    decoder:feed(text:sub(11))
    assert.same(expected, decoder:finish())
    assert.has_error(function()
      json.decode("1", { integers = "digits" })
    end, "bad argument #2 to 'decode' (integers: expected \"exact\" or \"text\")")
  end)

  it("gives integers where Lua has them and floats for fractions", function()
    if number_type then
      assert.equal("integer", number_type(decodes("1")))
      assert.equal("float", number_type(decodes("1.0")))
    end
    assert.equal(1, decodes("1"))
    assert.equal(1, decodes("1.0"))
    assert.equal(-math.huge, 1 / decodes("-0"))
  end)

  it("gives the double that is nearest to any decimal", function()
    local state = 99
    local function random(n)
      state = (state * 16807) % 2147483647
      return state % n
    end
    for _ = 1, 3000 do
      local digits = {}
      for i = 1, random(30) + 1 do
        digits[i] = random(10)
      end
      local text = ("%d.%se%d"):format(random(9) + 1, table.concat(digits), random(660) - 340)
      local expected = tonumber(text)
      if expected < math.huge then
        assert.equal(expected, decodes(text))
        assert.equal(-expected, decodes("-" .. text))
      end
    end
  end)

  it("rounds the middle between two doubles to even, and by its last digit", function()
    local middle = "1.00000000000000011102230246251565404236316680908203125"
    assert.equal(1, decodes(middle))
    assert.equal(1, decodes(middle .. ("0"):rep(1000)))
    assert.equal(1 + 2 ^ -52, decodes(middle .. ("0"):rep(1000) .. "1"))
    assert.equal(1 + 2 ^ -52, decodes("0.0" .. middle:gsub("%.", "") .. "1e2"))
  end)

  it("keeps every member and item of a large container, in pairs with their values", function()
    local object, array = {}, {}
    for i = 1, 1000 do
      object["key" .. i] = { i }
      array[i] = { n = i }
    end
    local value = decodes(encodes({ object = object, array = array }))
    assert.same(object, value.object)
    assert.same(array, value.array)
  end)

  it("keeps every member of a large object in arrays, on the stack of any thread", function()
    local object = {}
    for i = 1, 2000 do
      object["key" .. i] = i
    end
    for depth = 0, 3 do
      local value = coroutine.wrap(decodes)(("["):rep(depth) .. encodes(object) .. ("]"):rep(depth))
      for _ = 1, depth do
        value = value[1]
      end
      assert.same(object, value)
    end
  end)

  it("lets the last of equal keys win among many", function()
    local members = {}
    for i = 1, 300 do
      members[i] = ('"k%d":%d'):format(i % 7, i)
    end
    assert.same({ k0 = 294, k1 = 295, k2 = 296, k3 = 297, k4 = 298, k5 = 299, k6 = 300 },
      decodes("{" .. table.concat(members, ",") .. "}"))
  end)

  it("takes little of the stack of the thread that reads", function()
    local function kilobytes(text)
      local thread = coroutine.create(function()
        coroutine.yield(json.decode(text))
      end)
      local before = collectgarbage("count")
      coroutine.resume(thread)
      return collectgarbage("count") - before
    end
    collectgarbage()
    collectgarbage("stop")
    kilobytes('{"id":1}')
    local small = kilobytes('{"id":1,"result":{"content":[{"type":"text","text":"x"}]}}')
    collectgarbage("restart")
    assert.is_true(small < 3)
  end)

  it("goes as deep as it may, with items waiting on each level", function()
    local level = "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,"
    local text = level:rep(512) .. "0" .. ("]"):rep(512)
    assert.equal(text, encodes(decodes(text)))
    local object = ('{"a":1,"b":'):rep(2000) .. "0" .. ("}"):rep(2000)
    local value = decodes(object, { max_depth = 2000 })
    assert.equal(object, encodes(value, { max_depth = 2000, sort_keys = true }))
  end)

  it("knows at each level whether it is an array or an object", function()
    for _, depth in ipairs({ 9, 17, 511, 512, 513, 520, 521, 1100, 1999 }) do
      local heads, feet = {}, {}
      for i = 1, depth do
        local is_object = i * i % 7 < 3
        heads[i] = is_object and '{"a":[],"b":' or "[{},"
        feet[depth + 1 - i] = is_object and ',"c":0}' or ",0]"
      end
      local text = table.concat(heads) .. "0" .. table.concat(feet)
      local options = { max_depth = depth + 1, sort_keys = true }
      assert.equal(text, encodes(decodes(text, { max_depth = depth + 1 }), options))
      local decoder = json.decoder({ max_depth = depth + 1 })
      local size = math.ceil(#text / 100)
      for at = 1, #text, size do
        assert.is_true(decoder:feed(text:sub(at, at + size - 1)))
      end
      assert.equal(text, encodes(decoder:finish(), options))
    end
  end)

  it("names line, column and byte of an error", function()
    local value, err = json.decode('{\n  "é": 1,\n  "b" 2\n}')
    assert.is_nil(value)
    assert.equal("VALIDATION_ERROR", err.code)
    assert.equal("JSON, line 3, column 7 (byte 20): expected ':', got '2'", err.message)
    assert.same({ offset = 20, line = 3, column = 7 }, err.details)
  end)

  it("names the character that it did not expect, or else its byte", function()
    for text, message in pairs({
      ["[!"] = "expected a value or ']', got '!'", ["[~"] = "expected a value or ']', got '~'",
      ["[\127"] = "expected a value or ']', got byte 0x7F", ["[\1"] = "expected a value or ']', got byte 0x01",
      ["[\31"] = "expected a value or ']', got byte 0x1F", ["[é"] = "expected a value or ']', got byte 0xC3",
      ["[1:2]"] = "expected ',' or ']', got ':'", ["[:]"] = "expected a value or ']', got ':'",
      ["[/]"] = "expected a value or ']', got '/'", ["[1/2]"] = "expected ',' or ']', got '/'",
      ["[1,"] = "expected a value, got the end of the text",
      ["{"] = "expected a string or '}', got the end of the text",
      ['{"a":1,'] = "expected a string, got the end of the text", ['{"a"'] = "expected ':', got the end of the text",
      ['{"a":1'] = "expected ',' or '}', got the end of the text", ["1 2"] = "expected the end, got '2'",
    }) do
      local value, err = json.decode(text)
      assert.is_nil(value)
      assert.matches("): " .. message, err.message, 1, true)
      assert.equal(err.message, select(2, decoded_in_pieces(bytes_of(text))).message)
    end
  end)

  it("counts the column in characters", function()
    local _, err = json.decode('["é€😀" 1]')
    assert.same({ offset = 14, line = 1, column = 8 }, err.details)
  end)

  it("names the byte that ends a token too early", function()
    for text, expected in pairs({
      ["[1e]"] = { 4, "expected a digit in a number" }, ["[1ex]"] = { 4, "expected a digit in a number" },
      ["[1e+]"] = { 5, "expected a digit in a number" }, ["[1e-x"] = { 5, "expected a digit in a number" },
      ["[1.]"] = { 4, "expected a digit in a number" }, ["[-]"] = { 3, "expected a digit in a number" },
      ['"\\q'] = { 3, "unknown escape" }, ['"\\ud83d\\n'] = { 2, "high surrogate without a low one" },
      ['"\\ud83d\\u'] = { 10, "expected '\"', got the end of the text" },
      ['"\\ud83'] = { 7, "expected '\"', got the end of the text" },
    }) do
      for _, decode in ipairs({ json.decode, function() return decoded_in_pieces(bytes_of(text)) end }) do
        local value, err = decode(text)
        assert.is_nil(value)
        assert.same(expected, { err.details.offset, err.message:match("%): (.*)") })
      end
    end
  end)

  it("stops at the limits that it is given", function()
    local _, err = json.decode("[[1]]", { max_depth = 1 })
    assert.equal("JSON, line 1, column 2 (byte 2): nested deeper than 1 levels", err.message)
    _, err = json.decode("[1]", { max_size = 2 })
    assert.equal("JSON, line 1, column 3 (byte 3): longer than 2 bytes", err.message)
    assert.same({ 1 }, decodes("[1]", { max_size = 3, max_depth = 1 }))
    assert.equal(1, decodes("1", { max_depth = 0 }))
  end)

  it("tells the first thing that is wrong, in pieces too", function()
    for _, case in ipairs({
      { "[1,2]", 5, { 1, 2 } },
      { "[1,2] ", 5, "line 1, column 6 (byte 6): longer than 5 bytes" },
      { "[1,2]", 4, "line 1, column 5 (byte 5): longer than 4 bytes" },
      { "[1,2345]", 5, "line 1, column 6 (byte 6): longer than 5 bytes" },
      { '["abc"]', 4, "line 1, column 5 (byte 5): longer than 4 bytes" },
      { "[tru]]]]]", 6, "line 1, column 2 (byte 2): expected a value, got a bare word" },
      { "[1.]]]]]]", 6, "line 1, column 4 (byte 4): expected a digit in a number" },
      { '["\n"]]]]', 6, "line 1, column 3 (byte 3): control character in a string" },
      { "[1]", 0, "line 1, column 1 (byte 1): longer than 0 bytes" },
    }) do
      local text, expected = case[1], case[3]
      for cut = 0, #text do
        local decoder = json.decoder({ max_size = case[2] })
        for _, piece in ipairs({ text:sub(1, cut), "", text:sub(cut + 1) }) do
          decoder:feed(piece)
        end
        local value, err = decoder:finish()
        assert.same(expected, value or err.message:gsub("^JSON, ", ""))
      end
    end
  end)

  it("refuses members of one name where that is asked for, of objects of any size and in any pieces", function()
    local many = {}
    for i = 1, 300 do
      many[i] = ('"k%d":null'):format(i)
    end
    many = table.concat(many, ",")
    for text, offset in pairs({ ['{"a":1,"a":1}'] = 13, ['{"a":{"b":1,"\\u0062":2}}'] = 23,
      ['[{"a":null,"b":1,"a":null}]'] = 26, ["{" .. many .. ',"k1":1}'] = #many + 9 }) do
      local value, err = json.decode(text, { unique = true })
      assert.is_nil(value)
      assert.matches("two members of the object have one name", err.message, 1, true)
      assert.equal(offset, err.details.offset)
      local decoder = json.decoder({ unique = true })
      for _, byte in ipairs(bytes_of(text)) do
        decoder:feed(byte)
      end
      assert.equal(err.message, select(2, decoder:finish()).message)
      assert.is_table(json.decode(text))
    end
    assert.same({ a = { a = 1 }, b = { a = 1 } }, decodes('{"a":{"a":1},"b":{"a":1}}', { unique = true }))
    assert.is_table(decodes("{" .. many .. "}", { unique = true }))
  end)

  it("refuses a number that no double holds, or gives its text", function()
    local text = '[1e400,-1E+400,{"a":2.5e308},1e-400,1.5,18446744073709551616]'
    for _, options in ipairs({ {}, { huge = "error" } }) do
      local _, err = json.decode(text, options)
      assert.equal("JSON, line 1, column 2 (byte 2): number out of range", err.message)
    end
    local expected = { "1e400", "-1E+400", { a = "2.5e308" }, 0, 1.5, "18446744073709551616" }
    assert.same(expected, decodes(text, { huge = "text" }))
    local decoder = json.decoder({ huge = "text" })
    for byte in text:gmatch(".") do
      assert.is_true(decoder:feed(byte))
    end
    assert.same(expected, decoder:finish())
  end)

  it("keeps the order of properties where that is asked for, in one piece or many", function()
    local names, members = {}, {}
    for i = 1, 200 do
      names[i] = ("p%d"):format(i * 7919 % 1000)
      members[i] = ('"%s":{"properties":{"z":1,"y":[{"a":1,"properties":{"c":1,"b":2}}],"x":{}}}'):format(names[i])
    end
    local text = '{"other":{"z":1,"a":2},"properties":{' .. table.concat(members, ",") .. "}}"
    local order = core.property_order
    local function check(value)
      assert.same(names, order[value.properties])
      for _, name in ipairs({ names[1], names[77], names[200] }) do
        local inner = value.properties[name].properties
        assert.same({ "z", "y", "x" }, order[inner])
        assert.same({ "c", "b" }, order[inner.y[1].properties])
      end
      assert.is_nil(order[value.other] or order[value])
    end
    check(decodes(text, { property_order = true }))
    for _, size in ipairs({ 1, 7, 64, 1000 }) do
      local decoder = json.decoder({ property_order = true })
      for at = 1, #text, size do
        assert.is_true(decoder:feed(text:sub(at, at + size - 1)))
      end
      check(decoder:finish())
    end
    assert.is_nil(order[decodes(text).properties])
    assert.is_nil(order[decodes(text, { property_order = false }).properties])
  end)

  it("takes each option to its limits, and says those", function()
    for name, most in pairs({ max_depth = 2000, max_size = 2 ^ 53 }) do
      for _, value in ipairs({ 0, 1, most }) do
        assert.is_true(pcall(json.decode, "1", { [name] = value }))
        assert.is_true(pcall(json.decoder, { [name] = value }))
      end
      for _, value in ipairs({ -1, 0.5, most + 2, math.huge, 0 / 0, "1", true }) do
        for _, decode in ipairs({ function(options) json.decode("1", options) end, json.decoder }) do
          local ok, message = pcall(decode, { [name] = value })
          assert.is_false(ok)
          assert.matches(("%s: expected an integer from 0 to %d"):format(name, most), message, 1, true)
        end
      end
    end
    for _, depth in ipairs({ 0, 1, 2000 }) do
      assert.equal("1", json.encode(1, { max_depth = depth }))
    end
    for _, depth in ipairs({ -1, 0.5, 2001 }) do
      assert.error_matches(function() json.encode(1, { max_depth = depth }) end, "an integer from 0 to 2000")
    end
    for _, indent in ipairs({ 0, 1, 16 }) do
      local text = indent == 0 and "[1]" or "[\n" .. (" "):rep(indent) .. "1\n]"
      assert.equal(text, json.encode({ 1 }, { indent = indent }))
    end
    for name, value in pairs({ unique = 1, property_order = "x" }) do
      local message = ("%s: expected a boolean, got %s"):format(name, type(value))
      assert.error_matches(function() json.decode("1", { [name] = value }) end, message)
      assert.error_matches(function() json.decoder({ [name] = value }) end, message)
    end
    assert.error_matches(function() json.decode("1", { integers = 1 }) end, 'integers: expected "exact" or "text"')
    assert.equal(1, decodes("1", { integers = "exact", huge = "error", unique = false, property_order = false }))
  end)

  it("raises on arguments of the wrong type and names them", function()
    assert.error_matches(function() json.decode(12) end, "#1.*string expected, got number")
    assert.error_matches(function() json.decode() end, "#1")
    assert.error_matches(function() json.decode("1", 5) end, "#2.*table expected")
    assert.error_matches(function() json.decode("1", { huge = "number" }) end, 'huge: expected "error" or "text"')
    assert.error_matches(function() json.decode("1", { huge = true }) end, 'huge: expected "error" or "text"')
    assert.error_matches(function() json.decode("1", { max_depth = "x" }) end, "max_depth: expected an integer")
    assert.error_matches(function() json.decode("1", { max_size = -1 }) end, "max_size: expected an integer")
    assert.error_matches(function() json.decode("1", { max_depth = 1.5 }) end, "max_depth: expected an integer")
  end)
end)

describe("a JSON decoder", function()
  it("gives the value once the text is whole", function()
    local decoder = json.decoder()
    assert.is_true(decoder:feed('{"a":[1,'))
    assert.is_true(decoder:feed("2]"))
    assert.is_true(decoder:feed("}"))
    assert.same({ a = { 1, 2 } }, decoder:finish())
  end)

  it("keeps the bytes of one token at a time", function()
    for text, expected in pairs({
      ["[123456789,1,-2,3.5,1e2,7]"] = { 123456789, 1, -2, 3.5, 100, 7 },
      ["[1.5e300,2.25,1e5,0]"] = { 1.5e300, 2.25, 1e5, 0 },
      ['["abcdefgh","x","",false,true,null,12]'] = { "abcdefgh", "x", "", false, true, json.null, 12 },
      ['["\\ud83d\\udc32","\\n","ä"]'] = { "🐲", "\n", "ä" },
      ["\239\187\191" .. '"abc"'] = "abc", ["\239\187\191" .. "12"] = 12, ["\239\187\191" .. "true"] = true,
    }) do
      assert.same(expected, decodes(text))
      assert.same(expected, (decoded_in_pieces(bytes_of(text))))
    end
    for _, text in ipairs({ "[true,tru", "[12345,-", "[1e55,2e", "[1.55,2.", '["abc","a' }) do
      local _, err = json.decode(text)
      assert.equal(err.message, select(2, decoded_in_pieces(bytes_of(text))).message)
    end
  end)

  it("reports an error as soon as it comes, and again", function()
    local decoder = json.decoder()
    local ok, err = decoder:feed("[1,\n x")
    assert.is_nil(ok)
    assert.same({ offset = 6, line = 2, column = 2 }, err.details)
    assert.same({ nil, err }, { decoder:feed("]") })
    assert.same({ nil, err }, { decoder:finish() })
  end)

  it("needs no further byte to say it", function()
    for _, text in ipairs({ "x", "[1 2", "01", "-x", "1.x", "1ex", "nulx", "tru,", '"\1', '"\255', '"\195(',
      '"\226\130(', '"\\q', '"\\u00x', '"\\udc00', '"\\ud83dx', '"\\ud83d\\n', '"\\ud83d\\u0041', '{"a" 1', "{1" }) do
      local ok, err = json.decoder():feed(text)
      assert.is_nil(ok, text)
      assert.equal(err.message, select(2, json.decode(text)).message)
    end
  end)

  it("says it also after a string or a number that came in pieces", function()
    for _, pieces in ipairs({ { '["a\\', 'n" x' }, { '["a\\"', '" x' }, { '["a', '\\\\" x' }, { "[1", "2 x" },
      { "[tr", "ue x" }, { "[1.5e", "+3 x" }, { "\239\187", "\191[1 x" }, { '["\\ud83d', '\\udc32" x' },
      { '["\195', '\164" x' } }) do
      local decoder, all = json.decoder(), table.concat(pieces)
      assert.is_true(decoder:feed(pieces[1]))
      local ok, err = decoder:feed(pieces[2])
      assert.is_nil(ok, all)
      assert.equal(#all, err.details.offset, all)
    end
  end)

  it("holds no more bytes than it may", function()
    for _, text in ipairs({ "[1,2]", '"abc"', "12345" }) do
      local decoder = json.decoder({ max_size = 4 })
      assert.is_true(decoder:feed(text:sub(1, 2)))
      local ok, err = decoder:feed(text:sub(3))
      assert.is_nil(ok)
      assert.equal("JSON, line 1, column 5 (byte 5): longer than 4 bytes", err.message)
    end
  end)

  it("reads each piece on the stack of the thread that feeds it", function()
    local deep = ("["):rep(400) .. ("]"):rep(400)
    local decoder = json.decoder()
    for _, piece in ipairs({ "[" .. deep, "," .. deep, "," .. deep, "]" }) do
      assert.is_true(coroutine.wrap(decoder.feed)(decoder, piece))
    end
    assert.equal("[" .. deep .. "," .. deep .. "," .. deep .. "]", encodes(decoder:finish()))
  end)

  it("survives collections between its pieces", function()
    local text = '{"list":[' .. ('{"a":["x\\n",{}]},'):rep(200) .. "null]}"
    local decoder = json.decoder()
    for i = 1, #text, 13 do
      assert.is_true(decoder:feed(text:sub(i, i + 12)))
      collectgarbage("step", 100)
    end
    collectgarbage()
    assert.equal(text, encodes(decoder:finish()))
  end)

  it("leaves no memory behind when it is collected", function()
    for _, text in ipairs({ '["' .. ("x"):rep(2000), '["' .. ("\\n"):rep(2000) .. '",' }) do
      assert.is_true(usage.leak(4000, function()
        json.decoder():feed(text)
      end) < 4096)
    end
  end)

  it("is not used by a finalizer while it reads", function()
    local text = "[" .. ('{"a":[1,{"b":"c"}]},'):rep(2000) .. "0]"
    local decoder, reading
    at_collections(function()
      for _, name in ipairs(reading and { "feed", "finish" } or {}) do
        local ok, err = pcall(decoder[name], decoder, "x")
        assert(not ok and err:find("the decoder is in use", 1, true), err)
      end
      return reading
    end, function()
      decoder = json.decoder()
      reading = true
      local ok = decoder:feed(text)
      reading = false
      assert.is_true(ok)
      assert.equal(2001, #decoder:finish())
    end)
  end)

  it("cannot be used after its end, nor with wrong types", function()
    local decoder = json.decoder()
    assert.error_matches(function() decoder:feed(1) end, "string expected")
    decoder:feed("1")
    assert.equal(1, decoder:finish())
    assert.error_matches(function() decoder:finish() end, "has finished")
    assert.error_matches(function() decoder:feed("1") end, "has finished")
    assert.error_matches(function() decoder.feed("x", "y") end, "json_decoder")
  end)
end)

describe("decoding a line of JSON", function()
  it("gives the value on it, and where the next one begins", function()
    local text = '{"a":1}\n\n[2]'
    assert.same({ 9, { a = 1 } }, { core.json_line(text, 1) })
    assert.equal(10, (core.json_line(text, 9)))
    local following, value = core.json_line(text, 10)
    assert.same({ nil, { 2 } }, { following, value })
    assert.same({ 3, 1 }, { core.json_line("1\n", 1) })
    assert.same({ 5, 3 }, { core.json_line("123\n4", 3) })
    assert.same({ 3, 1 }, { core.json_line("1\n2", 1, "more") })
  end)

  it("reports the error of a line, and continues with the next", function()
    for text, following in pairs({ ["{\n}"] = 3, ["\n1"] = 2, ['"a\nb"'] = 4 }) do
      local found, value, err = core.json_line(text, 1)
      assert.same({ following, nil, "VALIDATION_ERROR" }, { found, value, err.code })
    end
    local found, value, err = core.json_line("1\n", 3)
    assert.same({ nil, nil, 1 }, { found, value, err.details.line })
  end)

  it("refuses anything but a place in a text", function()
    for _, place in ipairs({ 0, 3, -1, 0 / 0 }) do
      assert.error_matches(function() core.json_line("1", place) end,
        "argument #2 to 'json_line' %(not a place in the text%)")
    end
    assert.error_matches(function() core.json_line({}, 1) end, "argument #1 to 'json_line' %(string expected")
    assert.error_matches(function() core.json_line("1", {}) end, "argument #2 to 'json_line' %(number expected")
  end)
end)

describe("encoding JSON", function()
  it("keeps empty arrays, empty objects and null apart", function()
    assert.equal("[]", encodes(setmetatable({}, json.array_mt)))
    assert.equal("{}", encodes(setmetatable({}, json.object_mt)))
    assert.equal("{}", encodes({}))
    assert.equal("[null]", encodes({ json.null }))
  end)

  it("understands the marks and nulls of others", function()
    local foreign_null = io.stdout
    core.set_foreign_null(foreign_null)
    assert.equal("[null]", encodes({ foreign_null }))
    assert.equal("[]", encodes(setmetatable({}, { __jsontype = "array" })))
    assert.equal("{}", encodes(setmetatable({}, { __jsontype = "object" })))
    core.set_foreign_null(nil)
  end)

  it("prints the shortest number that reads back the same", function()
    local numbers = {
      { 0.1, "0.1" }, { 1 / 3, "0.3333333333333333" }, { 100.0, "100" }, { -1.5, "-1.5" }, { 1e15, "1000000000000000" },
      { 2 ^ 53, "9007199254740992" }, { 2 ^ 60, "1.152921504606847e18" }, { 1e300, "1e300" }, { 1e-7, "1e-7" },
      { 0.000001, "0.000001" }, { 123456.789, "123456.789" }, { 5e-324, "5e-324" }, { 2 ^ 1023 * 1.5, nil },
    }
    for _, case in ipairs(numbers) do
      local text = encodes(case[1])
      if case[2] then
        assert.equal(case[2], text)
      end
      assert.equal(case[1], decodes(text))
    end
    assert.equal("-0", encodes(-0.0))
  end)

  it("prints powers of two and their neighbours with no digit too many", function()
    local function digits(text)
      return #text:gsub("e.*", ""):gsub("[-.]", ""):gsub("^0+", ""):gsub("0+$", "")
    end
    local function fewest(value)
      for precision = 0, 16 do
        local text = ("%." .. precision .. "e"):format(value)
        if tonumber(text) == value then
          return digits(text)
        end
      end
    end
    for exponent = -1074, 1023 do
      for _, factor in ipairs({ 1 - 2 ^ -53, 1, 1 + 2 ^ -52 }) do
        local value = 2 ^ exponent * factor
        local text = encodes(value)
        assert.equal(value, tonumber(text))
        assert.is_true(digits(text) <= fewest(value), text)
      end
    end
  end)

  it("escapes the required characters and no others", function()
    assert.equal([["\"\\/\b\f\n\r\t\u0000\u001f]] .. "\127é€😀" .. '"', encodes('"\\/\b\f\n\r\t\0\31\127é€😀'))
    for n = 1, 20 do
      local plain = ("x"):rep(n)
      assert.equal('"' .. plain .. '\\n"', encodes(plain .. "\n"))
      assert.equal('"\\n' .. plain .. '"', encodes("\n" .. plain))
    end
  end)

  it("writes texts larger than its first room", function()
    local long = ("\1é"):rep(5000)
    assert.equal('"' .. ("\\u0001é"):rep(5000) .. '"', encodes(long))
    assert.equal(long, decodes(encodes({ { long } }))[1][1])
  end)

  it("writes values of each kind wherever its room ends", function()
    local values = {
      { 12345678901, "12345678901" }, { -1.7976931348623157e308, "-1.7976931348623157e308" }, { json.null, "null" },
      { true, "true" }, { false, "false" }, { "", '""' }, { "\1\1\1", '"\\u0001\\u0001\\u0001"' }, { "äöü", '"äöü"' },
      { setmetatable({}, json.array_mt), "[]" }, { { 1, { 2 } }, "[1,[2]]" }, { { k = { k = {} } }, '{"k":{"k":{}}}' },
      { { ["\n"] = 0 }, '{"\\n":0}' }, { decodes("9223372036854775807"), "9223372036854775807" },
      { decodes("18446744073709551615"), "18446744073709551615" },
      { decodes("-9223372036854775808"), "-9223372036854775808" },
    }
    for _, room in ipairs({ 512, 1024, 2048, 4096 }) do
      for length = room - 60, room + 4 do
        local pad = ("p"):rep(length)
        for _, case in ipairs(values) do
          local text = encodes({ pad, case[1] })
          if text ~= '["' .. pad .. '",' .. case[2] .. "]" then
            error(("%d: %s"):format(length, text:sub(length)))
          end
          text = encodes({ { [pad] = case[1] } })
          if text ~= '[{"' .. pad .. '":' .. case[2] .. "}]" then
            error(("%d: %s"):format(length, text:sub(length)))
          end
        end
      end
    end
    for length = 0, 1100 do
      local text = encodes({ { ("p"):rep(length) } }, { indent = 7 })
      assert.equal("[\n" .. (" "):rep(7) .. "[\n" .. (" "):rep(14) .. '"' .. ("p"):rep(length) .. '"\n' ..
        (" "):rep(7) .. "]\n]", text)
    end
  end)

  it("indents and sorts when asked", function()
    local value = { b = { 1, {} }, a = setmetatable({}, json.array_mt), ["a\0"] = 1, aa = "x" }
    assert.equal('{"a":[],"a\\u0000":1,"aa":"x","b":[1,{}]}', encodes(value, { sort_keys = true }))
    assert.equal('{\n  "b": [\n    1,\n    {}\n  ]\n}', encodes({ b = { 1, {} } }, { indent = 2 }))
  end)

  it("keeps a known order when asked, and sorts objects without one", function()
    local text = '{"z":1,"a":{"y":2,"b":[{"q":1,"c":[]}]},"m":{}}'
    local value = assert(json.decode(text, { keep_order = true }))
    assert.equal(text, encodes(value, { keep_order = true }))
    value.z, value.k, value.b, value.a.a = nil, 1, 2, 3
    assert.equal('{"a":{"y":2,"b":[{"q":1,"c":[]}],"a":3},"m":{},"b":2,"k":1}', encodes(value, { keep_order = true }))
    assert.equal('{"a":{"c":2,"d":1},"b":1}', encodes({ b = 1, a = { d = 1, c = 2 } }, { keep_order = true }))
    value = json.decode('{"a":1,"z":3,"a":2}', { keep_order = true })
    assert.equal('{"a":2,"z":3}', encodes(value, { keep_order = true }))
    assert.equal('{"a":{"properties":{"z":1,"b":2}}}',
      encodes(json.decode('{"a":{"properties":{"z":1,"b":2}}}', { property_order = true }), { keep_order = true }))
  end)

  it("keeps the order of objects of any size, whole and in pieces", function()
    local parts = {}
    for i = 1, 400 do
      parts[i] = ('"%d":{"b":%d,"a":0}'):format(i * 7919 % 401, i)
    end
    local text = "{" .. table.concat(parts, ",") .. "}"
    assert.equal(text, encodes(json.decode(text, { keep_order = true }), { keep_order = true }))
    local decoder = json.decoder({ keep_order = true })
    for byte in text:gmatch(".") do
      assert(decoder:feed(byte))
    end
    assert.equal(text, encodes(decoder:finish(), { keep_order = true }))
  end)

  it("names the place of a value that cannot be written, in whatever order", function()
    local value = json.decode('{"b":{"c":1}}', { keep_order = true })
    value.b.d = print
    local _, err = json.encode(value, { keep_order = true })
    assert.equal("/b/d: function is not a JSON value", err.message)
  end)

  it("tells objects with a known order that are nested too deep from those that contain themselves", function()
    local value = json.decode('{"a":{"a":{"a":{"a":1}}}}', { keep_order = true })
    for _, options in ipairs({ { keep_order = true, max_depth = 3 }, { sort_keys = true, max_depth = 3 } }) do
      assert.matches("nested deeper than 3 levels", select(2, json.encode(value, options)).message)
    end
    value.a.a.a = value
    assert.equal("/a/a/a: a table contains itself", select(2, json.encode(value, { keep_order = true })).message)
  end)

  it("writes a name once that an order has twice, among few and many", function()
    for count = 1, 20 do
      local parts = {}
      for i = count, 1, -1 do
        parts[#parts + 1] = ('"%d":0'):format(i)
      end
      local text = table.concat(parts, ",")
      local value = json.decode(("{%s,%s}"):format(text, text), { keep_order = true })
      value.other = 1
      assert.equal("{" .. text .. ',"other":1}', encodes(value, { keep_order = true }))
    end
  end)

  it("changes nothing and calls no metamethod", function()
    local meta = setmetatable({}, { __index = error, __len = error, __pairs = error, __tostring = error })
    assert.equal("{}", encodes(meta))
    local value = { 1, { a = {} } }
    encodes(value, { sort_keys = true })
    assert.same({ 1, { a = {} } }, value)
    assert.is_nil(getmetatable(value[2].a))
  end)

  it("names the place of a value that JSON cannot hold", function()
    assert.equal("/a/1/b~1c~0: function is not a JSON value",
      refused({ a = { 1, { ["b/c~"] = print } } }, "/a/1/b~1c~0"))
    assert.equal("/0: NaN is not a JSON number", refused({ 0 / 0 }, "/0"))
    assert.equal("/x: an infinite number is not a JSON number", refused({ x = -math.huge }, "/x"))
    assert.equal("nil is not a JSON value", refused(nil, ""))
    assert.equal("/t: thread is not a JSON value", refused({ t = coroutine.create(print) }, "/t"))
    assert.equal("/u: userdata is not a JSON value", refused({ u = io.stderr }, "/u"))
    assert.equal("/a/1: function is not a JSON value", refused({ a = { 1, print } }, "/a/1", { sort_keys = true }))
  end)

  it("refuses strings and keys that are no UTF-8", function()
    assert.equal("/s: a string is not UTF-8 at byte 3", refused({ s = "ab\255" }, "/s"))
    for _, bytes in ipairs({ "\128", "\192\175", "\237\160\128", "\244\144\128\128", "\226\130", "\195(" }) do
      refused({ "plain text, then " .. bytes }, "/0")
    end
    assert.equal("/o: a key is not UTF-8", refused({ o = { ["\255"] = 1 } }, "/o"))
  end)

  it("refuses arrays with holes or other keys, and keys that are no strings", function()
    refused({ 1, nil, 3 }, "")
    refused({ a = { 1, x = 2 } }, "/a")
    refused(setmetatable({ 1, 2, [5] = 5 }, json.array_mt), "")
    refused(setmetatable({ x = 1 }, json.array_mt), "")
    assert.equal("/a: an object has the integer key 2; keys must be strings", refused({ a = { [2] = 1 } }, "/a"))
    assert.matches("number key 1.5", refused({ a = 1, [1.5] = 1 }, "", { sort_keys = true }))
    assert.matches("boolean as key", refused({ [true] = 1 }, ""))
  end)

  it("finds the key beside the items wherever Lua keeps it", function()
    -- Written like this, all keys are in the table's hash part, in any order.
    local layouts = { "{ [1] = 1, k%d = 2 }", "{ k%d = 2, [1] = 1 }", "{ k%d = 4, [1] = 1, [2] = 2, [3] = 3 }",
      "{ [3] = 3, [2] = 2, [1] = 1, k%d = 4 }", "{ 1, 2, 3, [4] = 4, k%d = 5 }", "{ [1] = 1, [%d] = 2 }" }
    for _, layout in ipairs(layouts) do
      for i = 3, 100 do
        local source = layout:format(i)
        local mixed = assert((rawget(_G, "loadstring") or load)("return " .. source))()
        assert.is_nil(json.encode(mixed), source)
      end
    end
    assert.equal("[1,2,3]", json.encode({ [3] = 3, [2] = 2, [1] = 1 }))
  end)

  it("refuses a table that contains itself, at the place where it does", function()
    local cycle = { x = {} }
    cycle.x[1] = { y = cycle.x }
    assert.equal("/x/0/y: a table contains itself", refused(cycle, "/x/0/y"))
    refused(cycle, "/x/0/y", { sort_keys = true, indent = 1 })
    local shared = {}
    assert.equal("[{},{}]", encodes({ shared, shared }))
  end)

  it("refuses values that are nested too deep", function()
    local deep = { 1 }
    for _ = 1, 511 do
      deep = { deep }
    end
    assert.equal(("["):rep(512) .. 1 .. ("]"):rep(512), encodes(deep))
    assert.matches("nested deeper than 512 levels", refused({ deep }, ("/0"):rep(512)))
    assert.equal("/0: nested deeper than 1 levels", refused({ {} }, "/0", { max_depth = 1 }))
  end)

  it("takes the members of an object one by one, in their order", function()
    local long = ("x"):rep(3000)
    assert.equal('{"b":1,"a":[true],"c":"' .. long .. '"}',
      core.json_members("b", 1, "a", { true }, "none", nil, "c", long))
    assert.equal("{}", core.json_members())
    assert.equal("{}", core.json_members("a", nil))
    raises({
      ["#1 to 'json_members' (a name without a value)"] = function() core.json_members("a") end,
      ["#3 to 'json_members' (a name without a value)"] = function() core.json_members("a", 1, "b") end,
      ["#1 to 'json_members' (string expected, got number)"] = function() core.json_members(1, 2) end,
      ["#3 to 'json_members' (string expected, got number)"] = function() core.json_members("a", 1, 2) end,
    })
  end)

  it("names the member in the errors of members", function()
    local circle, deep = { x = { 1 } }, {}
    circle.x[2] = circle
    for _ = 1, 510 do
      deep = { deep }
    end
    local values = { { a = { 0 / 0 } }, { [{}] = 1 }, circle, circle.x, deep, { deep }, { deep, print }, "\255" }
    for i, value in ipairs(values) do
      local text, err = json.encode({ ["m/~"] = value })
      local same, same_err = core.json_members("m/~", value)
      assert.equal(text, same, i)
      assert.same(err, same_err, i)
    end
  end)

  it("raises on options of the wrong type and names them", function()
    assert.error_matches(function() json.encode() end, "#1.*value expected")
    assert.error_matches(function() json.encode(1, 2) end, "#2.*table expected")
    assert.error_matches(function() json.encode(1, { indent = true }) end, "indent: expected an integer")
    assert.error_matches(function() json.encode(1, { indent = 17 }) end, "indent: expected an integer from 0 to 16")
    assert.error_matches(function() json.encode(1, { sort_keys = 1 }) end, "sort_keys: expected a boolean, got number")
    assert.error_matches(function() json.encode(1, { sortkeys = true }) end, "sortkeys: unknown option")
    assert.error_matches(function() json.decode("1", { true }) end, "number: unknown option")
  end)
end)

--- Values at random, of all kinds; the generator is our own, so that a failure can be repeated.
local function generator(seed)
  local state = seed
  local function random(n)
    state = (state * 16807) % 2147483647
    return state % n
  end
  local function text()
    local parts = {}
    for i = 1, random(12) do
      local choice = random(9)
      parts[i] = choice == 0 and "é" or choice == 1 and "😀" or choice == 2 and '"' or choice == 3 and "\\"
        or choice == 4 and string.char(random(32)) or string.char(32 + random(95))
    end
    return table.concat(parts)
  end
  local function float()
    return (random(2 ^ 30) + random(2 ^ 30) / 2 ^ 30) * 10 ^ (random(40) - 20) * (random(2) == 0 and 1 or -1)
  end
  local value
  local function items(depth)
    local list = setmetatable({}, json.array_mt)
    for i = 1, random(5) do
      list[i] = value(depth - 1)
    end
    return list
  end
  local function members(depth)
    local object = {}
    for _ = 1, random(5) do
      object[text()] = value(depth - 1)
    end
    return object
  end
  local scalars = {
    text, float, text,
    function() return random(2 ^ 31) - 2 ^ 30 end,
    function() return random(2) == 0 end,
    function() return json.null end,
  }
  function value(depth)
    local choice = random(depth > 0 and 9 or 6)
    if choice >= 8 then return items(depth) end
    if choice >= 6 then return members(depth) end
    return scalars[choice + 1]()
  end
  return value
end

describe("any JSON value", function()
  it("is the same after encoding and decoding", function()
    local value = generator(20251)
    for _ = 1, 500 do
      local before = value(5)
      local text = encodes(before, { sort_keys = true })
      local after = decodes(text)
      assert.same(before, after)
      assert.equal(text, encodes(after, { sort_keys = true }))
      assert.equal(text, outcome(decoded_in_pieces(bytes_of(text))))
    end
  end)

  it_beside_cjson("is read by lua-cjson as we read it", function()
    local value = generator(4711)
    for _ = 1, 500 do
      local text = encodes(value(5))
      assert.same(decodes(text), cjson.decode(text))
    end
  end)

  it_beside_cjson("that lua-cjson made is written so that it reads it back", function()
    local value = generator(8899)
    for _ = 1, 500 do
      local theirs = cjson.decode(cjson.encode(value(5)))
      assert.same(theirs, cjson.decode(encodes(theirs)))
      assert.same(theirs, decodes(cjson.encode(theirs)))
    end
  end)
end)

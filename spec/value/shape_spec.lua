-- Texts that come one after the other, in an event stream or by themselves, where each may have the shape of the one
-- before, beside the same texts read one by one.
local core = require("operations.core")
local identical = require("spec.support.identical")
local json = require("operations.base.json")
local sse = require("operations.base.sse")

local unpack = rawget(_G, "unpack") or rawget(table, "unpack")
local newproxy = rawget(_G, "newproxy")

local function read(parser, text)
  assert(parser:feed("data: " .. text .. "\n\n"))
  local data, _, _, _, err = parser:next_values()
  return data, err
end

-- Gives all texts to one reader of each kind; returns how many they read as they are.
local function check(texts)
  local parser, read_next, valid = sse.parser(nil, { json = true }), core.json_texts(), 0
  for i, text in ipairs(texts) do
    local expected, expected_err = json.decode(text)
    local value, err = read(parser, text)
    local same, same_err = read_next(text)
    if expected_err then
      assert(value == text and same == nil, ("text %d is no JSON, but was read: %s"):format(i, text))
      assert.equal(expected_err.message, err.message)
      assert.same(expected_err, same_err)
    else
      assert(identical(value, expected), ("text %d was read wrongly: %s"):format(i, text))
      assert(identical(same, expected), ("text %d was read wrongly by itself: %s"):format(i, text))
      assert.is_nil(same_err)
      valid = valid + 1
    end
  end
  return valid
end

local chat = '{"id":"chatcmpl-%d","object":"chat.completion.chunk","created":%d,"done":false,"usage":null,"ok":true,'
  .. '"choices":[{"index":0,"delta":{"content":"%s"},"tags":[],"more":{}},%d]}'

describe("texts that come one after the other", function()
  it("are read alike when they have the same shape", function()
    local texts = {}
    for i = 1, 300 do
      texts[i] = chat:format(i, i * 1000003, "token" .. i, -i)
    end
    assert.equal(300, check(texts))
  end)

  it("are read alike whatever byte differs from the text before", function()
    local base = '{"a":[1,{"b":"x","c":-20}],"d":true,"e":null}'
    local texts = {}
    local others = { "", '"', "\\", "0", "-", "}", "]", ",", ":", " ", "e1", ".5", "\1", "\127", "t", "[]" }
    for at = 1, #base do
      for _, other in ipairs(others) do
        texts[#texts + 1] = base
        texts[#texts + 1] = base:sub(1, at - 1) .. other .. base:sub(at + 1)
        texts[#texts + 1] = base
        texts[#texts + 1] = base:sub(1, at - 1) .. other .. base:sub(at)
      end
    end
    assert(check(texts) > #texts / 2)
  end)

  it("are read alike with any value in the place of another", function()
    local values = {
      "0", "-0", "00", "01", "-1", "-", "999999999999999", "1000000000000000", "9007199254740993", "1" .. ("0"):rep(30),
      "1.5", "1e3", "12a", '""', '"a\\nb"', '"\\u00e9"', '"é"', '"' .. ("x"):rep(41) .. '"',
      '"' .. ("x"):rep(3000) .. '"', "true", "false", "null", "[]", "{}", "[1,2]", '{"a":1,"a":2}', " 1", "1 ", "",
    }
    local texts = {}
    for _, first in ipairs(values) do
      for _, second in ipairs(values) do
        texts[#texts + 1] = '{"v":' .. first .. ',"w":[' .. second .. "]}"
      end
      for _, second in ipairs(values) do
        texts[#texts + 1] = first
        texts[#texts + 1] = second
        texts[#texts + 1] = second
      end
    end
    assert(check(texts) > #texts / 2)
  end)

  it("are read alike when a value that was the same in all of them changes", function()
    local first = { '"id-1"', "17", '"x\\n\\u00e9"', "-3.5e1", '""', "0" }
    local others = { '"id-12"', '"id-"', '"id-1\\n"', "1", "170", "17.0", "-17", '"xy"', '""', "null", "[]", "-0", "" }
    local function text(values)
      return ('{"a":%s,"b":[%s,{"c":%s}],"d":%s,"e":%s,"f":[%s]}'):format(unpack(values))
    end
    for at = 1, #first do
      for _, other in ipairs(others) do
        local values, texts = { unpack(first) }, {}
        for turn = 1, 4 do
          for _ = 1, 12 do
            texts[#texts + 1] = text(values)
          end
          values[at] = turn % 2 == 1 and other or first[at]
        end
        check(texts)
      end
    end
  end)

  it("are read alike whatever byte differs from many texts before", function()
    local base = '{"a":[1,{"b":"x\\"y","c":-2.5}],"d":true}'
    for at = 1, #base do
      local texts = {}
      for i = 1, 10 do
        texts[i] = base
      end
      for _, other in ipairs({ "", '"', "\\", "0", "-", "}", ",", " ", ".5", "\1" }) do
        texts[#texts + 1] = base:sub(1, at - 1) .. other .. base:sub(at + 1)
        texts[#texts + 1] = base:sub(1, at - 1) .. other .. base:sub(at)
      end
      check(texts)
    end
    for len = 0, #base do
      check({ base, base, base, base, base, base, base, base:sub(1, len), base .. base:sub(1, len) })
    end
  end)

  it("are read alike with more values that stay the same than a shape can keep", function()
    local members = {}
    for i = 1, 60 do
      members[i] = ('"k%d":"v%d"'):format(i, i)
    end
    local texts = {}
    for i = 1, 20 do
      texts[i] = "{" .. table.concat(members, ",") .. ',"n":' .. i .. "}"
    end
    assert.equal(20, check(texts))
  end)

  it("are read alike when two shapes take turns", function()
    local texts = {}
    for i = 1, 200 do
      texts[i] = i % 2 == 0 and ('{"even":%d}'):format(i) or ('["odd",%d]'):format(i)
      texts[200 + i] = i % 50 == 0 and '{"type":"ping"}' or ('{"type":"delta","text":"%d"}'):format(i)
    end
    assert.equal(400, check(texts))
  end)

  it("are read alike beyond what a shape can hold", function()
    local members, items = {}, {}
    for i = 1, 80 do
      members[i] = ('"key%d":%d'):format(i, i)
    end
    for i = 1, 400 do
      items[i] = tostring(i)
    end
    local texts = {}
    for _, text in ipairs({
      ("["):rep(16) .. "1" .. ("]"):rep(16),
      ("["):rep(17) .. "1" .. ("]"):rep(17),
      ('{"a":'):rep(40) .. "1" .. ("}"):rep(40),
      "{" .. table.concat(members, ",", 1, 64) .. "}",
      "{" .. table.concat(members, ",", 1, 65) .. "}",
      "{" .. table.concat(members, ",") .. "}",
      "[" .. table.concat(items, ",", 1, 126) .. "]",
      "[" .. table.concat(items, ",", 1, 127) .. "]",
      "[" .. table.concat(items, ",") .. "]",
      '["' .. ("x"):rep(2044) .. '"]',
      '["' .. ("x"):rep(2045) .. '"]',
      '{"' .. ("k"):rep(100) .. '":1,"' .. ("k"):rep(100) .. '":2}',
    }) do
      for _ = 1, 5 do
        texts[#texts + 1] = text
      end
    end
    assert.equal(60, check(texts))
  end)

  it("give tables of their own", function()
    local parser = sse.parser(nil, { json = true })
    for _ = 1, 3 do
      local value = read(parser, '{"list":[],"n":1}')
      assert.is_nil(value.list[1])
      assert.equal(1, value.n)
      value.list[1], value.n, value.more = "mine", "changed", true
    end
  end)

  it("keep their keys when the collector runs between them", function()
    local parser = sse.parser(nil, { json = true })
    for i = 1, 50 do
      local value = read(parser, ('{"a key of this spec %d":1,"another":{"inner one":%d}}'):format(i % 2, i))
      collectgarbage()
      assert.equal(i, value.another["inner one"])
      assert.equal(1, value["a key of this spec " .. i % 2])
    end
  end)

  it("are read alike when a finalizer reads others in between", function()
    local other = sse.parser(nil, { json = true })
    local function again()
      local marker = newproxy and newproxy(true) or setmetatable({}, {})
      getmetatable(marker).__gc = function()
        assert(json.decode('{"from":"a finalizer","n":[1,2,3]}'))
        read(other, '{"from":"a finalizer"}')
      end
      if not newproxy then
        setmetatable(marker, getmetatable(marker))
      end
    end
    local texts = {}
    for i = 1, 3000 do
      texts[i] = chat:format(i, i, "t" .. i % 7, i)
    end
    local parser = sse.parser(nil, { json = true })
    for i = 1, #texts do
      if i % 10 == 0 then
        again()
      end
      assert(identical(read(parser, texts[i]), json.decode(texts[i])))
    end
  end)
end)

describe("strings that JSON texts repeat", function()
  it("are told apart by every byte and by their length", function()
    local strings = {}
    for len = 0, 45 do
      local text = ("abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHI"):sub(1, len)
      strings[#strings + 1] = text
      for at = 1, len do
        strings[#strings + 1] = text:sub(1, at - 1) .. "#" .. text:sub(at + 1)
      end
    end
    for _ = 1, 3 do
      for _, text in ipairs(strings) do
        for _ = 1, 3 do
          assert.equal(text, json.decode('"' .. text .. '"'))
        end
        assert.equal(1, json.decode('{"' .. text .. '":1}')[text])
      end
    end
  end)

  it("let the last of equal keys win, however many there are", function()
    for n = 1, 150 do
      local members = {}
      for i = 1, n do
        members[i] = ('"k%d":%d'):format(i % 7, i)
      end
      local value = json.decode("{" .. table.concat(members, ",") .. "}")
      for i = math.max(1, n - 6), n do
        assert.equal(i, value["k" .. i % 7])
      end
    end
  end)
end)

-- Texts that come one after the other in an event stream, beside the same texts read one by one.
local identical = require("spec.support.identical")
local json = require("operations.base.json")
local sse = require("operations.base.sse")

local newproxy = rawget(_G, "newproxy")

local function read(parser, text)
  assert(parser:feed("data: " .. text .. "\n\n"))
  local data, _, _, _, err = parser:next_values()
  return data, err
end

-- Gives all texts to one parser; returns how many it reads.
local function check(texts)
  local parser, valid = sse.parser(nil, { json = true }), 0
  for i, text in ipairs(texts) do
    local expected, expected_err = json.decode(text)
    local value, err = read(parser, text)
    if expected_err then
      assert(value == text, ("text %d is no JSON, but was read: %s"):format(i, text))
      assert.equal(expected_err.message, err.message)
    else
      assert(identical(value, expected), ("text %d was read wrongly: %s"):format(i, text))
      valid = valid + 1
    end
  end
  return valid
end

local chat = '{"id":"chatcmpl-%d","object":"chat.completion.chunk","created":%d,"done":false,"usage":null,"ok":true,'
  .. '"choices":[{"index":0,"delta":{"content":"%s"},"tags":[],"more":{}},%d]}'

describe("texts that come one after the other", function()
  it("have the values of the texts alone", function()
    local texts = {}
    for i = 1, 300 do
      texts[i] = chat:format(i, i * 1000003, "token" .. i, -i)
    end
    assert.equal(300, check(texts))
  end)

  it("have them with any value in the place of another", function()
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

  it("have them when a finalizer reads others in between", function()
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
  it("are distinguished by every byte and by their length", function()
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

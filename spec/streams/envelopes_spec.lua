local at_collections = require("spec.support.at_collections")
local core = require("operations.core")
local json = require("operations.base.json")
local raises = require("spec.support.raises")
local usage = require("spec.support.usage")

local META = core.http_envelope(nil, { statusCode = 200, headers = { a = "b" }, contentType = "x" }).meta

-- A reader and a function that takes what waits in its queue.
local function open(kind, options)
  options = options or {}
  local reader = core.envelope_reader(kind, META, options.max or 1000, options.json ~= false, options.done, options.id)
  local queue = reader:queue()
  return reader, function()
    local list = {}
    while queue[queue[1] + 1] do
      queue[1] = queue[1] + 1
      list[#list + 1] = queue[queue[1]]
    end
    return list
  end
end

local function data_of(envelopes)
  local data = {}
  for i, envelope in ipairs(envelopes) do
    data[i] = envelope.data
  end
  return data
end

-- The data of a stream fed in pieces, and whether it said that it is over.
local function read(kind, pieces, options)
  local reader, take = open(kind, options)
  local data, more = {}, true
  local function add()
    for _, value in ipairs(data_of(take())) do
      data[#data + 1] = value
    end
  end
  for _, piece in ipairs(pieces) do
    more = reader:feed(piece) and more
    add()
  end
  reader:finish()
  add()
  return data, not more
end

local function bytes_of(text)
  local bytes = {}
  for i = 1, #text do
    bytes[i] = text:sub(i, i)
  end
  return bytes
end

local streams = {
  events = {
    'id: 1\r\ndata: {"n":1}\n\n\n: hm\ndata: [2]\r\r\ndata: "th\ndata: ree"\n\nid: 2\n\ndata:4\n\ndata: cut',
    { { n = 1 }, { 2 }, '"th\nree"', 4 },
  },
  lines = { '{"n":1}\n\n[2]\r\n"three"\n \t\r\n\0\255 five\n6', { { n = 1 }, { 2 }, "three", "\0\255 five", 6 } },
  sequence = { '\30{\n "n": 1\n}\n\30\30[2]\n\0303\n\30no JSON\n\0305', { { n = 1 }, { 2 }, 3, "no JSON\n", 5 } },
}

describe("a reader of envelopes", function()
  for kind, stream in pairs(streams) do
    it("gives the same wherever the bytes are cut: " .. kind, function()
      local text, expected = stream[1], stream[2]
      assert.same(expected, (read(kind, bytes_of(text))))
      for at = 0, #text do
        assert.same(expected, (read(kind, { text:sub(1, at), text:sub(at + 1) })))
      end
    end)

    it("refuses an item above its ceiling, in one piece or many, after those before: " .. kind, function()
      local head = ({ events = "data: ", lines = "", sequence = "\30" })[kind]
      local foot = ({ events = "\n\n", lines = "\n", sequence = "\n\30" })[kind]
      local most = ("9"):rep(kind == "sequence" and 7 or 8) -- the line feed is the record's
      local fitting = head .. "1" .. foot .. head .. most .. foot
      for _, pieces in ipairs({ { fitting }, bytes_of(fitting) }) do
        assert.same({ 1, tonumber(most) }, (read(kind, pieces, { max = 8 })))
      end
      local long = head .. "1" .. foot .. head .. "123456789" .. foot
      for _, pieces in ipairs({ { long }, bytes_of(long) }) do
        local reader, take = open(kind, { max = 8 })
        local data, ok, err = {}, true, nil
        for _, piece in ipairs(pieces) do
          if ok then
            ok, err = reader:feed(piece)
            data[#data + 1] = data_of(take())[1]
          end
        end
        assert.is_nil(ok)
        assert.same({ "EXECUTION_ERROR", "size", 8 }, { err.code, err.details.kind, err.details.limit })
        assert.same({ 1 }, data)
      end
    end)

    it("is over at the item that ends it, which is not delivered: " .. kind, function()
      local head = ({ events = "data: ", lines = "", sequence = "\30" })[kind]
      local foot = ({ events = "\n\n", lines = "\n", sequence = "" })[kind]
      local text = head .. "1" .. foot .. head .. "[DONE]" .. foot .. head .. "2" .. foot
      for _, pieces in ipairs({ { text }, bytes_of(text) }) do
        local data, over = read(kind, pieces, { done = "[DONE]" })
        assert.same({ 1 }, data)
        assert.is_true(over)
      end
      assert.same({ 1, "[DONE]", 2 }, (read(kind, { text }, { done = "[DONE" })))
    end)

    it("cannot be fed when it has finished: " .. kind, function()
      local reader, take = open(kind)
      reader:feed("1")
      reader:finish()
      take()
      assert.equal(0, select("#", reader:finish()))
      assert.same({}, take())
      assert.error_matches(function()
        reader:feed("x")
      end, "finished")
    end)
  end

  it("keeps items that were not taken, and begins again when all were", function()
    local reader, take = open("lines")
    reader:feed("1\n2\n")
    reader:feed("3\n")
    assert.same({ 1, 2, 3 }, data_of(take()))
    reader:feed("4\n")
    assert.equal(4, reader:queue()[2].data)
    assert.same({ 4 }, data_of(take()))
    assert.same({}, take())
  end)

  it("says whether all that waits are objects", function()
    local reader, take = open("lines")
    for text, expected in pairs({
      ['{}\n{"a":1}\n'] = true, ["{}\n[]\n"] = false, ["{}\nx\n"] = false, ["1\n"] = false, ["null\n"] = false,
    }) do
      reader:feed(text)
      assert.equal(expected, reader:queue().objects)
      take()
    end
    reader:feed("[]\n")
    reader:feed("{}\n")
    assert.is_false(reader:queue().objects)
  end)

  it("hands out a record of a sequence at the line feed that ends it", function()
    local reader, take = open("sequence")
    reader:feed("\30[1,\n")
    reader:feed("2,\n")
    assert.same({}, take())
    reader:feed("3]\n")
    assert.same({ { 1, 2, 3 } }, data_of(take()))
  end)

  it("hands out a record of very many pieces at the next one, or at the end", function()
    local reader, take = open("sequence", { max = 1e6 })
    for _, foot in ipairs({ "\30", "" }) do
      reader:feed("\30[0")
      for _ = 1, 5000 do
        reader:feed(",\n1111111111111\n")
      end
      reader:feed("]\n")
      assert.same({}, take())
      if foot == "" then
        reader:finish()
      else
        reader:feed(foot)
      end
      assert.equal(5001, #take()[1].data)
    end
  end)

  it("leaves text as it is when that is asked for", function()
    assert.same({ '{"n":1}', "2" }, (read("lines", { '{"n":1}\n2' }, { json = false })))
    assert.same({ '{"n":1}', "2" }, (read("events", { 'data: {"n":1}\n\ndata: 2\n\n' }, { json = false })))
    assert.same({ "1\n" }, (read("sequence", { "\0301\n" }, { json = false })))
  end)

  it("repeats a text again and again, whatever its shape", function()
    local lines, expected = {}, {}
    for i = 1, 200 do
      lines[i] = i % 7 == 0 and "[" .. i .. "]\n" or ('{"i":%d,"t":{"s":"%s"}}\n'):format(i, ("x"):rep(i % 50))
      expected[i] = i % 7 == 0 and { i } or { i = i, t = { s = ("x"):rep(i % 50) } }
    end
    assert.same(expected, (read("lines", { table.concat(lines) })))
  end)

  it("reads texts between broken ones, wherever those break", function()
    local whole = '{"a":[1,{"b":[null,"\\u00e4"]}],"c":{}}'
    local lines, expected = {}, {}
    for length = 1, #whole - 1 do
      local broken = whole:sub(1, length)
      lines[#lines + 1] = broken .. "\n" .. whole .. "\n"
      expected[#expected + 1] = broken
      expected[#expected + 1] = json.decode(whole)
    end
    assert.same(expected, (read("lines", { table.concat(lines) })))
  end)

  it("passes over lines of blanks alone, and no others", function()
    local blanks = {}
    for byte = 0, 255 do
      local data = read("lines", { string.char(byte) .. "\n" }, { json = false })
      if #data == 0 then
        blanks[#blanks + 1] = byte
      end
      assert.same(byte == 10 and { "x", "y" } or { "x" .. string.char(byte) .. "y" },
        (read("lines", { "x" .. string.char(byte) .. "y\n" }, { json = false })))
    end
    assert.same({ 9, 10, 11, 12, 13, 32 }, blanks)
    assert.same({ "a\r", "b" }, (read("lines", { "a\r\r\n\r\r\n \t \r\nb\r" }, { json = false })))
  end)

  it("names the ceiling that an item is above", function()
    local reader = open("lines", { max = 8 })
    local ok, err = reader:feed("123456789\n")
    assert.is_nil(ok)
    assert.equal("EXECUTION_ERROR: an item of the stream is larger than max_event (8 bytes)", tostring(err))
    assert.same({ kind = "size", limit = 8 }, err.details)
  end)

  it("has neither identifiers nor times to wait where there are no events", function()
    for _, kind in ipairs({ "lines", "sequence" }) do
      local reader = open(kind)
      reader:feed("id: 1\n\nretry: 5\n\n")
      assert.equal(0, select("#", reader:last_event_id()))
      assert.equal(0, select("#", reader:retry()))
    end
  end)

  it("takes bytes at an address, as many as it is told", function()
    local reader, take = open("lines")
    assert.is_true(reader:feed(core.null, 0))
    assert.error_matches(function() reader.feed(reader, core.null, 2 ^ 31) end,
      "argument #3 to 'feed' %(out of range%)")
    assert.same({}, take())
  end)

  it("takes any ceiling of one byte and up to 2^31 - 1, and an id of that length", function()
    for _, max in ipairs({ 1, 2 ^ 31 - 1 }) do
      local reader, take = open("events", { max = max, id = "1" })
      assert.is_true(reader:feed("data: 2\n\n"))
      assert.equal("1", take()[1].meta.lastEventId)
    end
    for _, max in ipairs({ 0, 0.5, -1, 2 ^ 31 }) do
      assert.error_matches(function() open("lines", { max = max }) end,
        "argument #3 to 'envelope_reader' %(out of range%)")
    end
    assert.error_matches(function() open("events", { max = 1, id = "12" }) end,
      "argument #6 to 'envelope_reader' %(longer than max_event%)")
  end)

  it("takes arguments of the right types only", function()
    local reader = open("lines")
    raises({
      ["#1 to 'envelope_reader' (invalid option 'words')"] = function() core.envelope_reader("words", META, 10) end,
      ["#2 to 'envelope_reader' (table expected"] = function() core.envelope_reader("lines", nil, 10) end,
      ["#3 to 'envelope_reader' (number expected"] = function() core.envelope_reader("lines", META, {}) end,
      ["#5 to 'envelope_reader' (string expected"] = function() core.envelope_reader("lines", META, 9, true, {}) end,
      ["#6 to 'envelope_reader' (string expected"] = function()
        core.envelope_reader("events", META, 9, true, nil, {})
      end,
      ["#2 to 'feed' (string expected"] = function() reader.feed(reader, nil) end,
      ["#3 to 'feed' (number expected"] = function() reader.feed(reader, core.null) end,
      ["#3 to 'feed' (out of range)"] = function() reader.feed(reader, core.null, -1) end,
    })
  end)

  it("refuses to be fed by a finalizer while it is fed", function()
    local reader, take = open("lines", { max = 1e6 })
    local line, feeding = "[" .. ('{"a":[1,{"b":"c"}]},'):rep(2000) .. "0]\n", false
    at_collections(function()
      for _, name in ipairs(feeding and { "feed", "finish" } or {}) do
        local ok, err = pcall(reader[name], reader, "x")
        assert(not ok and err:find("the reader is feeding", 1, true), err)
      end
      return feeding
    end, function()
      feeding = true
      local more = reader:feed(line)
      feeding = false
      assert.is_true(more)
      assert.equal(2001, #take()[1].data)
    end)
  end)

  it("leaves no memory behind when it is collected", function()
    for kind, head in pairs({ events = "data: ", lines = "", sequence = "\030" }) do
      local text = head .. ("1"):rep(1000)
      assert.is_true(usage.leak(8000, function()
        core.envelope_reader(kind, META, 2000, true):feed(text)
      end) < 4096)
    end
  end)

  it("refuses to be used by a finalizer once it was collected", function()
    local refused
    do
      local reader = open("events")
      getmetatable(reader).__gc(reader)
      getmetatable(reader).__gc(reader)
      refused = not pcall(reader.feed, reader, "x") and not pcall(reader.finish, reader)
      for _, method in ipairs({ "feed", "finish", "queue", "last_event_id", "retry" }) do
        assert.error_matches(function() reader[method](reader, "x") end,
          "argument #1 to '%?' %(the reader was collected")
      end
    end
    assert.is_true(refused)
  end)
end)

describe("the envelope of an event", function()
  local function read_events(text)
    local reader, take = open("events")
    reader:feed(text)
    return take()
  end

  it("has name, id and retry beside what the answer says", function()
    local function meta(event, id, retry)
      return { source = "http", statusCode = 200, headers = META.headers, contentType = "x", event = event,
        lastEventId = id, retry = retry }
    end
    local list = read_events('data: 0\n\nid: 1\ndata: {"a":1}\n\nretry: 5\ndata: 2\n\nevent: e\ndata: x\n\ndata: 3\n\n')
    assert.same({
      { data = 0, meta = meta("message", "") },
      { data = { a = 1 }, meta = meta("message", "1") },
      { data = 2, meta = meta("message", "1", 5) },
      { data = "x", meta = meta("e", "1") },
      { data = 3, meta = meta("message", "1") },
    }, list)
    assert.is_true(core.is_response_envelope(list[1]))
  end)

  it("shares its meta with the one before when that says the same", function()
    local list = read_events("id: 1\ndata: 1\n\ndata: 2\n\nretry: 1\ndata: 3\n\ndata: 4\n\ndata: 5\n\n")
    assert.equal(list[1].meta, list[2].meta)
    assert.are_not.equal(list[2].meta, list[3].meta)
    assert.is_nil(list[4].meta.retry)
    assert.equal(list[4].meta, list[5].meta)
    assert.is_nil(META.event)
  end)

  it("has the name and the id of the one before that had a time to wait, where it has those too", function()
    local list = read_events("data: 1\n\nid: 1\nevent: e\nretry: 1\ndata: 2\n\nevent: e\ndata: 3\n\n")
    assert.same({ "e", "1", 1 }, { list[2].meta.event, list[2].meta.lastEventId, list[2].meta.retry })
    assert.same({ "e", "1" }, { list[3].meta.event, list[3].meta.lastEventId, list[3].meta.retry })
  end)

  it("has the time to wait that came with it, and no other, where that is nothing too", function()
    local waits = {}
    for i, envelope in ipairs(read_events(
        "data: 1\n\nretry: 0\ndata: 2\n\ndata: 3\n\nretry: 0\ndata: 4\n\nretry: 7\ndata: 5\n\ndata: 6\n\n")) do
      waits[i] = envelope.meta.retry or "none"
    end
    assert.same({ "none", 0, "none", 0, 7, "none" }, waits)
  end)

  it("has the id that was set last, with an event or without one", function()
    local ids = {}
    for i, envelope in ipairs(read_events(
        "id: 1\ndata: 1\n\nevent: e\ndata: 2\n\nid: 2\n\ndata: 3\n\nid: 2\ndata: 4\n\nid\ndata: 5\n\n")) do
      ids[i] = envelope.meta.lastEventId
    end
    assert.same({ "1", "1", "2", "2", "" }, ids)
  end)

  it("begins with the id of the connection before", function()
    local reader, take = open("events", { id = "7" })
    assert.equal("7", reader:last_event_id())
    assert.is_nil(reader:retry())
    reader:feed("retry: 3\ndata: 1\n\nid: 8\ndata: 2\n\nid: 9\n")
    local list = take()
    assert.same({ "7", "8" }, { list[1].meta.lastEventId, list[2].meta.lastEventId })
    assert.equal("8", reader:last_event_id())
    assert.equal(3, reader:retry())
    reader:feed("retry: 0\n\n")
    assert.equal(0, reader:retry())
  end)
end)

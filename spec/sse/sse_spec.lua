local at_collections = require("spec.support.at_collections")
local core = require("operations.core")
local model = require("spec.support.sse_model")
local raises = require("spec.support.raises")
local sse = require("operations.base.sse")
local usage = require("spec.support.usage")

local AREAS = {
  "byte_order_mark", "utf8", "line_ends", "comments", "fields", "data", "event_type", "ids", "retry", "end_of_stream",
}

--- A parser whose events gather in the list that is returned with it.
local function collect(options)
  local events = {}
  local parser = sse.parser(function(event)
    events[#events + 1] = event
  end, options)
  return parser, events
end

--- Feeds the pieces; returns the events that were there before the end.
local function parse(pieces, options)
  local parser, events = collect(options)
  for _, piece in ipairs(pieces) do
    assert.is_true(parser:feed(piece))
  end
  local before_end = #events
  parser:finish()
  assert.equal(before_end, #events)
  return events, parser
end

local function bytes_of(stream)
  local pieces = {}
  for i = 1, #stream do
    pieces[i] = stream:sub(i, i)
  end
  return pieces
end

--- Every way of cutting that a vector is tried with, by name.
local function cuttings(stream)
  local all = { { "whole", { stream } }, { "byte by byte", bytes_of(stream) } }
  local with_empty = { "" }
  for _, byte in ipairs(bytes_of(stream)) do
    with_empty[#with_empty + 1] = byte
    with_empty[#with_empty + 1] = ""
  end
  all[#all + 1] = { "byte by byte with empty pieces", with_empty }
  for at = 1, #stream - 1 do
    all[#all + 1] = { "cut after byte " .. at, { stream:sub(1, at), "", stream:sub(at + 1) } }
    all[#all + 1] = { "cut around byte " .. at, { stream:sub(1, at - 1), stream:sub(at, at), stream:sub(at + 1) } }
  end
  return all
end

local function expected_of(vector)
  local events = {}
  for i, event in ipairs(vector.events) do
    events[i] = {
      event = event.event or "message", data = event.data or "", id = event.id or "", retry = event.retry,
    }
  end
  return events
end

for _, area in ipairs(AREAS) do
  describe("the event-stream parser, " .. area:gsub("_", " "), function()
    for _, vector in ipairs(dofile("spec/vectors/sse/" .. area .. ".lua")) do
      it(vector.name, function()
        local expected = expected_of(vector)
        for _, cutting in ipairs(cuttings(vector.stream)) do
          local events, parser = parse(cutting[2], { last_event_id = vector.initial })
          assert.same(expected, events, cutting[1])
          assert.equal(vector.last_event_id or "", parser:last_event_id(), cutting[1])
          assert.equal(vector.retry, parser:retry(), cutting[1])
        end
      end)
    end
  end)
end

--- A generator of its own, so that both runtimes see the same streams.
local function random(seed)
  local state = seed
  return function(n)
    state = (state * 16807) % 2147483647
    return state % n + 1
  end
end

local WORDS = {
  "data", "data:", "data: ", "event:", "event: ", "id:", "id: ", "retry:", "retry: ", ":", " ", "\n", "\n", "\n", "\r",
  "\r", "\r\n", "\r\n", "\n\n", "\r\n\r\n", "\0", "7", "42", "x", "ab", "\xEF\xBB\xBF", "\xEF\xBB", "\xEF", "\xFF",
  "\xE2\x82\xAC", "\xE2\x82", "\xF0\x9F\x92", "\xF0\x9F\x98\x80", "\xC0\xAF", "\xED\xA0\x80", "\x80", "\t", "dat",
  "events", "message",
}

local function random_stream(next_random)
  local words = {}
  for i = 1, next_random(24) do
    words[i] = WORDS[next_random(#WORDS)]
  end
  return table.concat(words)
end

local function random_pieces(stream, next_random)
  local pieces, at = {}, 1
  while at <= #stream do
    local n = next_random(9) - 1
    pieces[#pieces + 1] = stream:sub(at, at + n - 1)
    at = at + n
  end
  return pieces
end

describe("the event-stream parser, compared with the text of the standard,", function()
  it("gives the same events for 500 random streams, whole and in pieces", function()
    local next_random = random(20260)
    for _ = 1, 500 do
      local stream = random_stream(next_random)
      local expected, last_event_id, retry = model.run(stream)
      for _, pieces in ipairs({ { stream }, bytes_of(stream), random_pieces(stream, next_random) }) do
        local events, parser = parse(pieces)
        assert.same(expected, events, ("%q"):format(stream))
        assert.equal(retry, parser:retry())
        assert.is_true(#last_event_id == #parser:last_event_id() and last_event_id == parser:last_event_id())
      end
    end
  end)
end)

describe("a parser with a handler", function()
  it("delivers nothing twice when the handler feeds again", function()
    local parser, seen = nil, {}
    parser = sse.parser(function(event)
      seen[#seen + 1] = event.data
      if event.data == "1" then
        parser:feed("data: 3\n\ndata: 4\n\n")
      end
    end)
    parser:feed("data: 1\n\ndata: 2\n\n")
    assert.same({ "1", "2", "3", "4" }, seen)
  end)

  it("continues with the next event after the handler raised", function()
    local seen = {}
    local parser = sse.parser(function(event)
      if event.data == "2" then
        error({ why = "no" })
      end
      seen[#seen + 1] = event.data
    end)
    local ok, err = pcall(parser.feed, parser, "data: 1\n\ndata: 2\n\ndata: 3\n\ndata: 4")
    assert.is_false(ok)
    assert.same({ why = "no" }, err)
    assert.is_true(parser:feed("\n\n"))
    assert.same({ "1", "3", "4" }, seen)
  end)

  it("lets the handler wait", function()
    local parser = sse.parser(function(event)
      coroutine.yield(event.data)
    end)
    local feed = coroutine.wrap(function()
      parser:feed("data: 1\n\ndata: 2\n\n")
      return "done"
    end)
    assert.same({ "1", "2", "done" }, { feed(), feed(), feed() })
  end)

  it("delivers each event once when several coroutines feed while handlers wait", function()
    local next_random, seen, n = random(7), {}, 0
    local parser = sse.parser(function(event)
      seen[#seen + 1] = tonumber(event.data) or "not a number"
      coroutine.yield()
    end)
    local function feeder()
      for _ = 1, 20 do
        local stream = {}
        for i = 1, next_random(4) - 1 do
          n = n + 1
          stream[i] = ("id: %d\ndata: %d\n\n"):format(next_random(2), n)
        end
        parser:feed(table.concat(stream))
      end
    end
    local feeders = { coroutine.create(feeder), coroutine.create(feeder), coroutine.create(feeder) }
    while #feeders > 0 do
      local i = next_random(#feeders)
      assert(coroutine.resume(feeders[i]))
      if coroutine.status(feeders[i]) == "dead" then
        table.remove(feeders, i)
      end
    end
    for i = 1, n do
      assert.equal(i, seen[i])
    end
    assert.equal(n, #seen)
  end)

  it("keeps the characters at the edges of each length of UTF-8, and no others", function()
    local ends = { "\194\128", "\223\191", "\224\160\128", "\224\191\191", "\225\128\128", "\236\191\191",
      "\237\128\128", "\237\159\191", "\238\128\128", "\239\191\191", "\240\144\128\128", "\240\191\191\191",
      "\241\128\128\128", "\243\191\191\191", "\244\128\128\128", "\244\143\191\191" }
    local text = table.concat(ends, "\255")
    local events = parse({ "data: " .. text .. "\n\n" })
    assert.equal(table.concat(ends, "\239\191\189"), events[1].data)
    local replaced = { ["\193\191"] = 2, ["\224\159\191"] = 3, ["\237\160\128"] = 3, ["\240\143\191\191"] = 4,
      ["\244\144\128\128"] = 4, ["\245\128"] = 2, ["\128"] = 1, ["\191"] = 1, ["\225\128"] = 1, ["\241\128\128"] = 1,
      ["\194"] = 1, ["\194\192"] = 2, ["\225\128\192"] = 2, ["\241\128\128\192"] = 2, ["\192\128"] = 2 }
    for bytes, count in pairs(replaced) do
      events = parse({ "data: x" .. bytes .. "y\n\n" })
      assert.equal("x" .. ("\239\191\189"):rep(count) .. "y", events[1].data)
    end
  end)

  it("repairs a byte wherever it is", function()
    for at = 0, 72 do
      local before, after = ("x"):rep(at), ("y"):rep(72 - at)
      local events = parse({ "data: " .. before .. "\255" .. after .. "\n\n" })
      assert.equal(before .. "\239\191\189" .. after, events[1].data)
    end
  end)

  it("gives every event a table of its own", function()
    local parser, events = collect()
    parser:feed("data: 1\n\n")
    events[1].event = "changed"
    parser:feed("data: 2\n\n")
    assert.same({ event = "message", data = "2", id = "" }, events[2])
  end)
end)

describe("a parser without a handler", function()
  it("keeps events until they are taken", function()
    local parser = sse.parser()
    parser:feed("id: 1\ndata: 1\n\ndata")
    parser:feed(": 2\n\n")
    assert.same({ event = "message", data = "1", id = "1" }, parser:next())
    parser:feed("event: e\nretry: 3\ndata: 3\n\n")
    parser:finish()
    assert.same({ event = "message", data = "2", id = "1" }, parser:next())
    assert.same({ event = "e", data = "3", id = "1", retry = 3 }, parser:next())
    assert.is_nil(parser:next())
    assert.is_nil(parser:next())
  end)

  it("gives an event as plain values", function()
    local parser = sse.parser()
    parser:feed("event: e\nretry: 3\nid: 1\ndata: a\n\ndata\n\n")
    assert.same({ "a", "e", "1", 3 }, { parser:next_values() })
    assert.same({ "", "message", "1" }, { parser:next_values() })
    assert.is_nil((parser:next_values()))
  end)

  it("keeps a million events in order", function()
    local parser, n = sse.parser(), 0
    parser:feed(("data\n\nid: 1\ndata: x\n\n"):rep(500000))
    for data in parser.next_values, parser do
      n = n + (data == (n % 2 == 0 and "" or "x") and 1 or 0)
    end
    assert.equal(1000000, n)
  end)

  it("does not keep the text of events that were taken", function()
    local parser = sse.parser()
    local function feed_and_take(text)
      parser:feed("data: " .. text:rep(500000) .. "\n\n")
      return #parser:next().data
    end
    feed_and_take("x")
    local before = usage.heap()
    for _, text in ipairs({ "a", "b", "c" }) do
      assert.equal(500000, feed_and_take(text))
    end
    assert.is_true(usage.heap() - before < 400)
  end)
end)

describe("the queue of a parser", function()
  local queue, tail, parser

  -- How many places an event takes: one for its data, five more for a note.
  local function places_of(stream)
    local before = tail
    tail = parser:feed(stream, queue, tail)
    assert.equal(queue, queue[tail + 1])
    return tail - before
  end

  before_each(function()
    queue, tail, parser = {}, 1, core.sse_parser(100)
  end)

  it("has a note only before an event that says something else", function()
    for _, case in ipairs({
      { "data: a", 6 }, { "data: a", 1 }, { "data", 1 }, { "event: e\ndata: a", 6 }, { "event: e\ndata: b", 1 },
      { "event: f\ndata: b", 6 }, { "event: ef\ndata: b", 6 }, { "event: eg\ndata: b", 6 }, { "data: b", 6 },
      { "id: 1\ndata: b", 6 }, { "id: 1\ndata: b", 1 }, { "data: b", 1 }, { "id: 2\ndata: b", 6 }, { "id\ndata: b", 6 },
      { "id\ndata: b", 1 }, { "id: 1\n\ndata: b", 6 }, { "retry: 0\ndata: b", 6 }, { "data: b", 1 },
    }) do
      assert.equal(case[2], places_of(case[1] .. "\n\n"), case[1])
    end
  end)

  it("has the id to begin with in its first note", function()
    parser = core.sse_parser(100, "7")
    assert.equal(12, places_of("data: a\n\nid: 8\ndata: a\n\n"))
    assert.same({ "message", "7", false, false, "a" }, { queue[3], queue[4], queue[5], queue[6], queue[7] })
    assert.same({ "message", "8", false, false, "a" }, { queue[9], queue[10], queue[11], queue[12], queue[13] })
  end)

  it("is filled by the first argument of feed, whatever other arguments there are", function()
    tail = parser:feed("data: a\n\n", queue, tail, {}, "more")
    assert.same({ 7, "a" }, { tail, queue[7] })
  end)

  it("is not filled by the end of the stream", function()
    tail = parser:feed("data: a\n\nid: 1\nretry: 5\ndata: b", queue, tail)
    assert.equal(0, select("#", parser:finish()))
    assert.same({ 7, "", 5 }, { tail, parser:last_event_id(), parser:retry() })
  end)

  it("is not filled by a finalizer while it is filled", function()
    local json, feeding = core.sse_parser(1e6, "", true), false
    local stream = "data: [" .. ('{"a":[1,{"b":"c"}]},'):rep(2000) .. "0]\n\n"
    at_collections(function()
      if feeding then
        local ok, err = pcall(json.feed, json, "data: x\n\n", {}, 0)
        assert(not ok and err:find("the parser is feeding", 1, true), err)
      end
      return feeding
    end, function()
      local list = {}
      feeding = true
      local last = json:feed(stream, list, 0)
      feeding = false
      assert.equal(2001, #list[last])
    end)
  end)

  it("is not filled by a parser that was collected", function()
    getmetatable(parser).__gc(parser)
    getmetatable(parser).__gc(parser)
    for _, method in ipairs({ "feed", "finish", "last_event_id", "retry" }) do
      assert.error_matches(function() parser[method](parser, "data: a\n\n", queue, tail) end,
        "argument #1 to '%?' %(the parser was collected")
    end
  end)
end)

describe("a parser that reads data as JSON", function()
  local null = core.null

  local function values_of(stream)
    local parser, values = sse.parser(nil, { json = true }), {}
    parser:feed(stream)
    for data in parser.next_values, parser do
      values[#values + 1] = data
    end
    return values
  end

  it("gives values in place of text", function()
    assert.same({ { a = { 1, 2.5, null } }, "x", false, 7, null },
      values_of('data: {"a":\ndata: [1,2.5,null]}\n\ndata: "x"\n\ndata:false\n\ndata: 7\n\ndata:null\n\n'))
  end)

  it("leaves invalid JSON as text, and says why", function()
    local parser = sse.parser(nil, { json = true })
    parser:feed("id: 1\ndata: 1\n\ndata: [DONE]\n\ndata: 2\n\ndata\n\n")
    assert.same({ event = "message", data = 1, id = "1" }, parser:next())
    local event = parser:next()
    assert.equal("[DONE]", event.data)
    assert.equal("VALIDATION_ERROR", event.error.code)
    assert.same({ event = "message", data = 2, id = "1" }, parser:next())
    local data, _, id, retry, err = parser:next_values()
    assert.same({ "", "1", nil, "VALIDATION_ERROR" }, { data, id, retry, err.code })
  end)

  it("hands values to the handler", function()
    local parser, events = collect({ json = true })
    parser:feed('event: e\ndata: {"a":1}\n\nevent: e\ndata: {"a":2}\n\nretry: 1\nevent: e\ndata: x\n\n')
    assert.same({ event = "e", data = { a = 1 }, id = "" }, events[1])
    assert.same({ event = "e", data = { a = 2 }, id = "" }, events[2])
    assert.equal("x", events[3].data)
    assert.equal(1, events[3].retry)
    assert.equal("VALIDATION_ERROR", events[3].error.code)
  end)
end)

describe("the ceiling of an event", function()
  local function too_large(stream, max_event)
    local result
    for _, cutting in ipairs(cuttings(stream)) do
      local parser, events = collect({ max_event = max_event })
      local ok, err
      for _, piece in ipairs(cutting[2]) do
        ok, err = parser:feed(piece)
        if not ok then break end
      end
      local this = { ok = ok, code = err and err.code, details = err and err.details, events = events }
      assert.same(result or this, this, cutting[1])
      result = this
    end
    return result
  end

  it("is an integer from 1 to 2^31 - 1, and no shorter than the id to begin with", function()
    for _, max in ipairs({ 1, 2147483647 }) do
      assert.is_truthy(sse.parser(nil, { max_event = max }))
    end
    for _, max in ipairs({ 0, 1.5, 2147483648, -1 }) do
      assert.has_error(function()
        sse.parser(nil, { max_event = max })
      end, "bad option 'max_event' to 'sse_parser' (an integer from 1 to 2147483647 expected)")
    end
    assert.equal("1234", sse.parser(nil, { max_event = 4, last_event_id = "1234" }):last_event_id())
    assert.has_error(function()
      sse.parser(nil, { max_event = 4, last_event_id = "12345" })
    end, "bad option 'last_event_id' to 'sse_parser' (longer than max_event)")
  end)

  it("is reported with its limit, after the events before it", function()
    local result = too_large("data: 12345678\n\ndata: 123456789\n\ndata: 1\n\n", 8)
    assert.is_nil(result.ok)
    assert.equal("EXECUTION_ERROR", result.code)
    assert.same({ kind = "size", limit = 8 }, result.details)
    assert.equal(1, #result.events)
  end)

  it("holds for data, name and id together", function()
    assert.is_true(too_large("data: 123\nevent: 45\nid: 678\n\n", 8).ok)
    assert.is_nil(too_large("data: 123\nevent: 456\nid: 678\n\n", 8).ok)
    assert.is_nil(too_large("event: 123456789\n\n", 8).ok)
    assert.is_nil(too_large("id: 123456789\n\n", 8).ok)
  end)

  it("counts the LF between two data lines", function()
    assert.is_true(too_large("data: 123\ndata: 4567\n\n", 8).ok)
    assert.is_nil(too_large("data: 1234\ndata: 5678\n\n", 8).ok)
    assert.is_nil(too_large("data: 12345678\ndata:\n\n", 8).ok)
    assert.is_nil(too_large("data: 12345678\ndata\n\n", 8).ok)
    assert.is_nil(too_large(("data\n"):rep(10) .. "\n", 8).ok)
  end)

  it("counts text as it is after repair", function()
    assert.is_true(too_large("data: 12\xC2\xC2\n\n", 8).ok)
    assert.is_nil(too_large("data: 123\xC2\xC2\n\n", 8).ok)
    assert.is_nil(too_large("id: 123\xC2\xC2\n\n", 8).ok)
  end)

  it("is the same for every event of a stream", function()
    local repaired, six = "id: 1\xC2\ndata: 1\xC2\n\n", "data: 123\xC2\n\n"
    assert.is_true(too_large("data: 12345\xC2\n\n" .. repaired .. six .. repaired .. six, 8).ok)
    assert.is_true(too_large("id: 1234567\n\nevent: 7654321\n\ndata: 12345678\n\nid: 123456\xC2", 8).ok)
  end)

  it("does not count fields that are replaced or never stored", function()
    assert.is_true(too_large("event: 1234567\nevent: 1\ndata: 1234567\n\n", 8).ok)
    assert.is_true(too_large(": 123456789\n123456789: 123456789\ndata: 1\n\n", 8).ok)
    assert.is_true(too_large("retry: 00000000000000000001\ndata: 1\n\n", 8).ok)
  end)

  it("is met before the event ends, and stays met", function()
    local parser = sse.parser(nil, { max_event = 8 })
    assert.is_nil(parser:feed("data: 123456789"))
    local ok, err = parser:feed("\n\ndata: 1\n\n")
    assert.is_nil(ok)
    assert.equal("EXECUTION_ERROR: a server-sent event is larger than max_event (8 bytes)", tostring(err))
    assert.is_nil(parser:next())
    parser:finish()
  end)

  it("is one mebibyte unless it is set", function()
    local function data_of(n)
      return "data: " .. ("x"):rep(n) .. "\n\n"
    end
    assert.is_true(sse.parser():feed(data_of(1048576)))
    local _, err = sse.parser():feed(data_of(1048577))
    assert.equal(1048576, err.details.limit)
    assert.is_true(sse.parser(nil, { max_event = 1048577 }):feed(data_of(1048577)))
  end)

  it("is not touched by comments and unknown fields of any size", function()
    local parser, events = collect({ max_event = 8 })
    for _, start in ipairs({ ":", "unknown: ", "datax", "retry: x" }) do
      parser:feed(start)
      for _ = 1, 64 do
        parser:feed(("x"):rep(65536))
      end
      assert.is_true(parser:feed("\n"))
    end
    assert.is_true(parser:feed("data: 1\n\n"))
    assert.equal("1", events[1].data)
  end)
end)

describe("misuse of the parser", function()
  local function message_of(f, ...)
    local ok, message = pcall(f, ...)
    assert.is_false(ok)
    return message
  end

  it("names the argument", function()
    local parser = sse.parser()
    assert.matches("spec/sse/sse_spec.lua:%d+: bad argument #1 to 'feed' %(string expected, got nil%)",
      message_of(function()
        parser:feed(nil)
      end))
    assert.matches("#1 to 'feed' %(string expected, got number%)", message_of(parser.feed, parser, 5))
    assert.matches("#1 to 'sse_parser' %(function expected, got string%)", message_of(sse.parser, "x"))
    assert.matches("#2 to 'sse_parser' %(table expected, got number%)", message_of(sse.parser, nil, 7))
    for option, case in pairs({
      max_event = { "7", "number expected, got string" }, json = { 1, "boolean expected, got number" },
      last_event_id = { 7, "string expected, got number" }, max_evnt = { 7, "unknown; did you mean max_event%?" },
    }) do
      assert.matches(("spec/sse/sse_spec.lua:%%d+: bad option '%s' to 'sse_parser' %%(%s%%)"):format(option, case[2]),
        message_of(function()
          local _ = sse.parser(nil, { [option] = case[1] })
        end))
    end
  end)

  it("refuses a ceiling that is no count of bytes", function()
    for _, max_event in ipairs({ 0, -1, 1.5, 0 / 0, math.huge, 2 ^ 31 }) do
      local message = message_of(sse.parser, nil, { max_event = max_event })
      assert.matches("'max_event' to 'sse_parser' %(an integer from 1 to 2147483647", message)
    end
  end)

  it("refuses an id larger than the ceiling", function()
    assert.matches("last_event_id", message_of(sse.parser, nil, { max_event = 2, last_event_id = "123" }))
  end)

  it("names the argument of the core's function", function()
    local parser = core.sse_parser(8)
    raises({
      ["#1 to 'sse_parser' (number expected"] = function() core.sse_parser() end,
      ["#1 to 'sse_parser' (out of range)"] = function() core.sse_parser(0) end,
      ["#2 to 'sse_parser' (string expected"] = function() core.sse_parser(8, {}) end,
      ["#2 to 'sse_parser' (longer than max_event)"] = function() core.sse_parser(8, "123456789") end,
      ["#2 to 'feed' (string expected"] = function() parser.feed(parser, {}, {}, 1) end,
      ["#3 to 'feed' (table expected"] = function() parser.feed(parser, "x", 1, 1) end,
      ["#4 to 'feed' (number expected"] = function() parser.feed(parser, "x", {}, {}) end,
    })
  end)

  it("refuses bytes after the end", function()
    local parser = sse.parser()
    parser:finish()
    assert.matches("finished", message_of(parser.feed, parser, "data"))
    assert.matches("finished", message_of(parser.feed, parser, ""))
    parser:finish()
  end)
end)

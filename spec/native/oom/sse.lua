-- A stream with every field, cut in the middle of things.
local sse = require("operations.base.sse")

local stream = ": hello\nevent: tick\nid: 7\nretry: 100\ndata: one\ndata: two\n\ndata: bad \255 byte\n\n"
  .. "data: " .. ("x"):rep(3000) .. "\n\ndata: unfinished"

return function()
  local events = {}
  local parser = assert(sse.parser(function(event)
    events[#events + 1] = event
  end))
  for at = 1, #stream, 97 do
    parser:feed(stream:sub(at, at + 96))
  end
  parser:finish()
  assert(#events == 3 and events[1].event == "tick" and events[1].data == "one\ntwo" and events[1].id == "7")
  assert(events[2].data == "bad \239\191\189 byte" and #events[3].data == 3000)

  parser = assert(sse.parser(nil, { json = true }))
  for i = 1, 9 do
    local data = '{"n":%d,"same":"s","list":[{"text":"t%d"},null,true]}'
    assert(parser:feed(("data: " .. data .. "\n\ndata: no JSON\n\n"):format(i, i)))
    local event = assert(parser:next())
    assert(event.data.n == i and event.data.list[1].text == "t" .. i)
    assert(parser:next().data == "no JSON" and not parser:next())
  end
end

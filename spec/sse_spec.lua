local sse = require("operations.sse")

local function collect(options)
  local events = {}
  local parser = sse.parser(function(event)
    events[#events + 1] = event
  end, options)
  return parser, events
end

describe("the event-stream parser", function()
  it("calls the handler for each complete event", function()
    local parser, events = collect()
    assert.is_true(parser:feed("event: a\nid: 7\nretry: 10\ndata: one\ndata: two\n\nda"))
    assert.is_true(parser:feed("ta: three\r\n\r\ndata: cut"))
    parser:finish()
    assert.same({
      { event = "a", data = "one\ntwo", id = "7", retry = 10 },
      { event = "message", data = "three", id = "7" },
    }, events)
  end)
end)

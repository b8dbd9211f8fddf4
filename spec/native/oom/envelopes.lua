-- Readers of each kind, cut in the middle of things.
local core = require("operations.core")

local streams = {
  events = 'event: e\nid: 7\nretry: 1\ndata: {"n":%d,"list":[{"text":"t"}]}\n\ndata: no JSON\n\n',
  lines = '{"n":%d,"list":[{"text":"t"}]}\nno JSON\n',
  sequence = '\30{"n":%d,"list":[{"text":"t"}]}\n\30no JSON\n\30',
}

return function()
  local readers = {} -- a finalizer that fails is not called again
  for kind, format in pairs(streams) do
    local reader = assert(core.envelope_reader(kind, { source = "http", statusCode = 200 }, 100, true, "[DONE]"))
    readers[#readers + 1] = reader
    local queue = reader:queue()
    for i = 1, 9 do
      local text = format:format(i)
      assert(reader:feed(text:sub(1, 9)))
      assert(reader:feed(text:sub(10)))
      local first = queue[2]
      assert(first.data.n == i and first.data.list[1].text == "t" and first.meta.statusCode == 200)
      assert(kind ~= "events" or first.meta.lastEventId == "7")
      assert(queue[3].data == "no JSON" .. (kind == "sequence" and "\n" or ""))
      queue[1] = 3
    end
    reader:finish()
    assert(queue[2] == false)
  end
  assert(#readers == 3)
end

local reply = require("operations.mcp.client.reply")

--- A reader of a stream that is over, and was these bytes.
local function reader_of(bytes)
  local reader = reply.reader(1024)
  local pieces = { bytes }
  reader:run({ read = function()
    return table.remove(pieces)
  end }, function() end)
  return reader
end

describe("the time until an MCP server's stream is opened again", function()
  it("is what the server asks for, and doubles while nothing comes", function()
    local reader = reader_of("retry: 100\ndata: x\n\n")
    assert.same({ 100, 200, 400 }, { reader:delay(1), reader:delay(2), reader:delay(3) })
    assert.equal(1000, reader_of("data: x\n\n"):delay(1))
  end)

  it("is neither none nor more than five minutes", function()
    assert.equal(50, reader_of("retry: 0\ndata: x\n\n"):delay(1))
    assert.equal(300000, reader_of("retry: 9007199254740991\ndata: x\n\n"):delay(1))
  end)
end)

--- Arguments of the wrong kind raise in the line that gives them, and say which one it is.
local process = require("operations.net.process")
local streams = require("operations.net.stream")

-- The line that is to be named is in here.
local function call(fn, ...)
  local result, err = fn(...)
  return result, err
end

local function blames(message, fn, ...)
  local ok, raised = pcall(call, fn, ...)
  assert.is_false(ok, message)
  assert.equal(message, (tostring(raised):gsub("^spec/net/misuse_spec%.lua:%d+: ", "", 1)))
  assert.matches("^spec/net/misuse_spec%.lua:%d+: ", raised)
end

local function nothing() end

describe("misuse", function()
  it("of what makes streams is told", function()
    blames("bad argument #1 to 'connect' (string expected, got number)", streams.connect, 7, 80)
    blames("bad argument #2 to 'connect' (port expected, got 65536)", streams.connect, "127.0.0.1", 65536)
    blames("bad argument #3 to 'connect' (table expected, got string)", streams.connect, "127.0.0.1", 80, "x")
    blames("bad argument #1 to 'connect_path' (string expected, got nil)", streams.connect_path)
    blames("bad argument #1 to 'listen' (string expected, got nil)", streams.listen)
    blames("bad argument #2 to 'listen' (port expected, got -1)", streams.listen, "127.0.0.1", -1, nothing)
    blames("bad argument #3 to 'listen' (function expected, got nil)", streams.listen, "127.0.0.1", 0)
    blames("bad argument #4 to 'listen' (table expected, got number)", streams.listen, "127.0.0.1", 0, nothing, 7)
    blames("bad argument #1 to 'listen_path' (string expected, got boolean)", streams.listen_path, true, nothing)
    blames("bad argument #2 to 'listen_path' (function expected, got nil)", streams.listen_path, "/x")
    blames("bad argument #3 to 'listen_path' (table expected, got number)", streams.listen_path, "/x", nothing, 7)
  end)

  it("of a stream is told", function()
    local path = os.tmpname()
    os.remove(path)
    local listener = assert(streams.listen_path(path, nothing))
    local stream = assert(streams.connect_path(path))
    finally(function()
      stream:close()
      listener:close()
    end)
    blames("bad argument #1 to 'each_chunk' (function expected, got nil)", stream.each_chunk, stream)
    blames("bad argument #1 to 'offer' (string expected, got number)", stream.offer, stream, 7)
    blames("bad argument #1 to 'write' (string expected, got nil)", stream.write, stream)
  end)

  it("of a process is told", function()
    local child = assert(process.spawn({ "cat" }))
    finally(function()
      child:abort()
    end)
    blames("bad argument #1 to 'each_chunk' (function expected, got nil)", child.each_chunk, child)
    blames("bad argument #1 to 'on_exit' (function expected, got table)", child.on_exit, child, {})
    blames("bad argument #1 to 'on_unread' (function expected, got nil)", child.on_unread, child)
    blames("bad argument #1 to 'offer' (string expected, got nil)", child.offer, child)
    blames("bad argument #1 to 'write' (string expected, got number)", child.write, child, 7)
    blames("bad argument #1 to 'stop' (table expected, got number)", child.stop, child, 7)
    blames("bad option 'nope' to 'stop' (unknown)", child.stop, child, { nope = 1 })
  end)
end)

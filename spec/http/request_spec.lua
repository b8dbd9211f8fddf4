local http_server = require("operations.http_server")
local lfs = require("lfs")
local usage = require("spec.support.usage")

local VECTORS = "spec/vectors/http_server"
local MAX_BODY = 16 * 1024 * 1024

local function parser(body)
  return http_server.parser(65536, 256, 16384, body or MAX_BODY)
end

-- One event as text; pieces of a body are joined, wherever they were cut.
local function note(record, event, first, reason)
  if event == "head" then
    local names = {}
    for name, value in pairs(first.headers) do
      names[#names + 1] = name .. "=" .. value
    end
    table.sort(names)
    record.heads = record.heads + 1
    record[#record + 1] = ("%s %s 1.%d %s %s {%s}"):format(first.method, first.target, first.minor,
      tostring(first.keep_alive), tostring(first.expects), table.concat(names, "|"))
    record.body = {}
  elseif event == "error" then
    record.status = first
    record[#record + 1] = ("%d %s"):format(first, reason)
  end
end

local function take_body(record, bytes, ended)
  table.insert(record.body, bytes)
  if ended then
    record.ends = record.ends + 1
    record[#record + 1] = "body " .. table.concat(record.body)
    record.body = nil
  end
end

-- What is read of one piece, to its end.
local function read_piece(reader, record, bytes)
  local from = 1
  repeat
    local event, next_byte, first, second = reader:read(bytes, from)
    note(record, event, first, second)
    if event == "head" then
      take_body(record, first.body, first.ended)
    elseif event == "body" then
      take_body(record, first, second)
    elseif event == "end" then
      take_body(record, "", true)
    end
    from = next_byte
  until event == "more" or event == "error" or from > #bytes
end

-- Everything that is read of pieces: `record` is the same for the same bytes, however they were cut.
local function read(pieces)
  local reader, record = parser(), { heads = 0, ends = 0 }
  for _, bytes in ipairs(pieces) do
    if not record.status then
      read_piece(reader, record, bytes)
    end
  end
  if record.body then
    record[#record + 1] = "unfinished " .. table.concat(record.body)
    record.body = nil
  end
  return record
end

local function bytes_of(text)
  local list = {}
  for i = 1, #text do
    list[i] = text:sub(i, i)
  end
  return list
end

local function load(name)
  local file = assert(io.open(VECTORS .. "/" .. name .. ".http", "rb"))
  local bytes = file:read("*a")
  file:close()
  return bytes
end

local names = {}
for file in lfs.dir(VECTORS) do
  names[#names + 1] = file:match("^(.*)%.http$")
end
table.sort(names)

local function expect(name, record)
  local kind, place = name:match("^(%w+)%-(%a+)")
  local status = tonumber(kind)
  assert.equal(status, record.status)
  if status then
    assert.equal((place == "body" or place == "next") and 1 or 0, record.heads)
    assert.equal(place == "next" and 1 or 0, record.ends)
  elseif kind == "ok" then
    assert.is_true(record.heads > 0)
    assert.equal(record.heads, record.ends)
  else
    assert.equal("more", kind)
    assert.equal(0, record.ends)
  end
end

describe("a raw request", function()
  it("comes in at least 150 forms", function()
    assert.is_true(#names >= 150)
  end)

  for _, name in ipairs(names) do
    it("is judged alike however it is cut: " .. name, function()
      local bytes = load(name)
      local whole = read({ bytes })
      expect(name, whole)
      assert.same(whole, read(bytes_of(bytes)))
      local stride = #bytes > 4096 and 997 or 1
      for at = 1, #bytes - 1, stride do
        assert.same(whole, read({ bytes:sub(1, at), bytes:sub(at + 1) }))
      end
    end)
  end
end)

describe("the reader of requests", function()
  local function head(bytes)
    local event, _, got = parser():read(bytes, 1)
    assert.equal("head", event)
    return got
  end

  it("hands out a request in one step", function()
    local got = head("POST /a%20b?c HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nX-Upper:  v w \r\n\r\nabcGET")
    assert.same({ method = "POST", target = "/a%20b?c", body = "abc", ended = true, keep_alive = true, minor = 1,
      expects = false, headers = { host = "x", ["content-length"] = "3", ["x-upper"] = "v w" } }, got)
  end)

  it("joins repeated fields by commas, and cookies by semicolons", function()
    assert.same({ host = "example.com", a = "1, 3, 4", b = "2" }, head(load("ok-field-repeated")).headers)
    assert.same({ host = "example.com", accept = "x", cookie = "a=1; b=2" },
      head(load("ok-field-cookie-repeated")).headers)
  end)

  it("joins repeated fields of any name, and no others", function()
    for length = 1, 3 do
      for first = 97, 122 do
        local name = string.char(first) .. ("y"):rep(length - 1)
        local other = ("y"):rep(length - 1) .. string.char(first) .. "z"
        local got = head(("GET / HTTP/1.1\r\nHost: x\r\n%s: 1\r\n%s: 2\r\n%s: 3\r\n\r\n"):format(name, other,
          name:upper()))
        assert.same({ host = "x", [name] = "1, 3", [other] = "2" }, got.headers)
      end
    end
  end)

  it("joins many in time that grows with their bytes", function()
    local lines = {}
    for i = 1, 255 do
      lines[i] = ("a: %s\r\n"):format(("x"):rep(200))
    end
    local got = head("GET / HTTP/1.1\r\nHost: x\r\n" .. table.concat(lines) .. "\r\n")
    assert.equal(255 * 200 + 254 * 2, #got.headers.a)
  end)

  it("makes a path of an absolute target, whose host counts", function()
    local got = head(load("ok-target-absolute-of-another-host"))
    assert.same({ "/", "other.example" }, { got.target, got.headers.host })
    got = head(load("ok-target-absolute-with-query-only"))
    assert.same({ "/?a", "example.com" }, { got.target, got.headers.host })
    got = head(load("ok-target-absolute-without-path"))
    assert.same({ "/", "example.com" }, { got.target, got.headers.host })
    got = head(load("ok-target-absolute-1.0-without-host"))
    assert.same({ "/", "example.com" }, { got.target, got.headers.host })
    for _, scheme in ipairs({ "http", "https" }) do
      got = head(("GET %s://b HTTP/1.1\r\nHost: a\r\n\r\n"):format(scheme))
      assert.same({ "/", "b" }, { got.target, got.headers.host })
    end
  end)

  it("takes nothing for the line end of a chunk's data but CR LF", function()
    for _, line_end in ipairs({ "\r\r", "\rx", "x\n", "\n\n" }) do
      local reader = parser()
      local bytes = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na" .. line_end ..
        "\n0\r\n\r\n"
      local from, last = 1
      repeat
        last = { reader:read(bytes, from) }
        from = last[2]
      until last[1] ~= "head" and last[1] ~= "body" or from > #bytes
      assert.same({ "error", 400, "a chunk is not followed by CR LF" }, { last[1], last[3], last[4] })
    end
  end)

  it("tells whether the sender keeps the connection open", function()
    assert.is_true(head(load("ok-get")).keep_alive)
    assert.is_false(head(load("ok-connection-close")).keep_alive)
    assert.is_false(head(load("ok-version-1.0-without-host")).keep_alive)
    assert.is_true(head(load("ok-version-1.0-keep-alive")).keep_alive)
    for value, keeps in pairs({ ["close , x"] = false, ["x,\tclose\t"] = false, ["x, CLOSE,"] = false, closed = true,
      ["x close"] = true }) do
      assert.equal(keeps, head(("GET / HTTP/1.1\r\nHost: a\r\nConnection: %s\r\n\r\n"):format(value)).keep_alive, value)
    end
  end)

  it("tells whether the sender waits before the body", function()
    assert.is_true(head(load("ok-length-expect-100-continue")).expects)
    assert.is_false(head(load("ok-expect-without-body")).expects)
    assert.is_false(head(load("ok-version-1.0-expect-is-ignored")).expects)
  end)

  it("takes a chunked body apart", function()
    assert.equal("hello world", head(load("ok-chunked")).body)
    assert.is_nil(head(load("ok-chunked-trailers")).headers["x-a"])
  end)

  it("hands out the received part of a body, then the error of the rest", function()
    local reader = parser()
    local bytes = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nx"
    local event, next_byte, got = reader:read(bytes, 1)
    assert.same({ "head", "abc", false }, { event, got.body, got.ended })
    for _ = 1, 2 do
      local after, _, status = reader:read(bytes, next_byte)
      assert.same({ "error", 400 }, { after, status })
    end
  end)

  it("stops behind a request and continues when it is asked again", function()
    local bytes, reader = load("ok-pipelined-bodies"), parser()
    local event, next_byte, got = reader:read(bytes, 1)
    assert.same({ "head", "abc" }, { event, got.body })
    event, next_byte, got = reader:read(bytes, next_byte)
    assert.same({ "head", "de" }, { event, got.body })
    event, next_byte, got = reader:read(bytes, next_byte)
    assert.same({ "head", "", #bytes + 1 }, { event, got.body, next_byte })
  end)

  it("refuses anything but a place in the bytes", function()
    for _, place in ipairs({ 0, 5, -1, 0 / 0 }) do
      assert.error_matches(function()
        parser():read("GET", place)
      end, "argument #2 to 'read' %(not a place in the bytes%)")
    end
    assert.equal("more", (parser():read("GET", 4)))
  end)

  it("refuses a body beyond its limit at the first byte that says so", function()
    local event, _, status = parser(4):read("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n", 1)
    assert.same({ "error", 413 }, { event, status })
    local reader = parser(4)
    assert.equal("head", (reader:read("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n", 1)))
    event, _, status = reader:read("", 1)
    assert.same({ "error", 413 }, { event, status })
  end)

  it("takes a body as long as its limit, whichever way it is framed", function()
    for length, status in pairs({ [3] = false, [4] = false, [5] = 413 }) do
      for _, framed in ipairs({ ("Content-Length: %d\r\n\r\n"), ("Transfer-Encoding: chunked\r\n\r\n%x\r\n"),
        "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n%x\r\n" }) do
        local size = framed:find("1\r\nx", 1, true) and length - 1 or length
        local reader = parser(4)
        local bytes = "POST / HTTP/1.1\r\nHost: a\r\n" .. framed:format(size)
        local got = { reader:read(bytes, 1) }
        if got[1] == "head" then
          got = { reader:read(bytes, got[2]) }
        end
        assert.same(status and { "error", status } or { "more" }, { got[1], status and got[3] or nil })
      end
    end
  end)

  it("takes as many fields as its limit, the host of an absolute target not among them", function()
    for count = 0, 3 do
      local fields = ("A: 1\r\nB: 2\r\nC: 3\r\n"):sub(1, count * 6)
      local event, _, got = http_server.parser(1000, 2, 100, 100):read(
        "GET http://host/ HTTP/1.0\r\n" .. fields .. "\r\n", 1)
      if count > 2 then
        assert.same({ "error", 431 }, { event, got })
      else
        assert.same({ "head", "GET", "/", { host = "host", a = fields:match("A: (.)"), b = fields:match("B: (.)") } },
          { event, got.method, got.target, got.headers })
      end
    end
  end)

  it("knows the fields about a message by each letter of their names and values", function()
    local function outcome(lines)
      local event, _, got = parser():read(("POST / HTTP/1.1\r\n%s\r\n"):format(lines), 1)
      if event == "error" then
        return got
      end
      local list = {}
      for name in pairs(got.headers) do
        list[#list + 1] = name
      end
      table.sort(list)
      return ("%s %s %s %s"):format(tostring(got.ended), tostring(got.keep_alive), tostring(got.expects),
        table.concat(list, " "))
    end
    -- Each field, and what the request is with it and without it.
    for _, case in ipairs({
      { "Host", "a", "true true false host", 400 },
      { "Content-Length", "1", "false true false content-length host", "true true false %s host", "Host: a\r\n" },
      { "Transfer-Encoding", "chunked", "false true false host transfer-encoding", "true true false host %s",
        "Host: a\r\n" },
      { "Connection", "close", "true false false connection host", "true true false %s host", "Host: a\r\n" },
      { "Expect", "100-continue", "false true true content-length expect host",
        "false true false content-length %s host", "Host: a\r\nContent-Length: 1\r\n" },
    }) do
      local name, value, with, without, others = case[1], case[2], case[3], case[4], case[5] or ""
      assert.equal(with, outcome(("%s: %s\r\n%s"):format(name, value, others)))
      assert.equal(with, outcome(("%s: %s\r\n%s"):format(name:upper(), value:upper(), others)))
      for at = 1, #name do
        local other = name:sub(1, at - 1) .. "~" .. name:sub(at + 1)
        local got = outcome(("%s: %s\r\n%s"):format(other, value, others))
        local expected = type(without) == "number" and without
        if not expected then
          local known, fields = got:match("^(%S+ %S+ %S+) (.*)$")
          assert.equal(without:match("^%S+ %S+ %S+"), known, other)
          assert.truthy(fields:find(other:lower(), 1, true))
        else
          assert.equal(expected, got, other)
        end
      end
    end
    for at = 1, 5 do
      local value = ("close"):sub(1, at - 1) .. "~" .. ("close"):sub(at + 1)
      assert.matches("^true true", outcome(("Host: a\r\nConnection: %s\r\n"):format(value)))
    end
    for at = 1, 7 do
      local value = ("chunked"):sub(1, at - 1) .. "~" .. ("chunked"):sub(at + 1)
      assert.equal(400, outcome(("Host: a\r\nTransfer-Encoding: %s\r\n"):format(value)))
    end
    for at = 1, 12 do
      local value = ("100-continue"):sub(1, at - 1) .. "~" .. ("100-continue"):sub(at + 1)
      assert.equal(417, outcome(("Host: a\r\nContent-Length: 1\r\nExpect: %s\r\n"):format(value)))
    end
    for value, status in pairs({ ["gzip, chunked"] = 501, ["g zip, chunked"] = 400, [", chunked"] = 400,
      ["gzip,, chunked"] = 400, ['"gzip", chunked'] = 400, ["gzip\t,\tchunked"] = 501, ["chunked, gzip"] = 400 }) do
      assert.equal(status, outcome(("Host: a\r\nTransfer-Encoding: %s\r\n"):format(value)), value)
    end
  end)

  it("takes the hosts of RFC 3986, 3.2.2, bytes in percent-encoding at any place", function()
    for _, host in ipairs({ "a", "%41", "%4a%C3", "a%41b", "a.b-c_d~", "!$&'()*+,;=", "[::1]", "[::1]:80", "a:0",
      "1.2.3.4" }) do
      assert.equal("head", (parser():read(("GET / HTTP/1.1\r\nHost: %s\r\n\r\n"):format(host), 1)), host)
    end
    for _, host in ipairs({ "%", "%4", "%4g", "%g4", "a%", "a%4", "a b", "a/b", "a@b", "[::1", "[x]", "[]", "a:x",
      "a\0b", "[" .. ("0"):rep(46) .. "]" }) do
      local event, _, status = parser():read("GET / HTTP/1.1\r\nHost: " .. host .. "\r\n\r\n", 1)
      assert.same({ "error", 400 }, { event, status }, host)
    end
  end)

  it("reads endless chunks in the memory of one", function()
    local reader = parser(2 ^ 40)
    reader:read("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 1)
    local piece = ("400\r\n" .. ("x"):rep(1024) .. "\r\n"):rep(16)
    collectgarbage()
    local before = collectgarbage("count")
    for _ = 1, 200 do
      local event, _, bytes = reader:read(piece, 1)
      assert.same({ "body", 16384 }, { event, #bytes })
    end
    collectgarbage()
    assert.is_true(collectgarbage("count") - before < 100)
  end)

  it("takes memory for a large head only until the next request", function()
    local reader = http_server.parser(2 ^ 27, 10, 100, 100)
    local function read_one(size)
      assert.equal("head", (reader:read(("GET / HTTP/1.1\r\nHost: a\r\nX: %s\r\n\r\n"):format(("x"):rep(size)), 1)))
    end
    read_one(1)
    assert.is_true(usage.growth(function()
      read_one(2 ^ 26)
      read_one(1)
    end) < 2 ^ 14)
    read_one(1)
  end)

  it("counts the trailers for themselves, each a field", function()
    local reader, text = http_server.parser(100, 2, 100, 100), nil
    local function read_with(trailers)
      text = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" .. trailers .. "\r\n"
      return reader:read(text, 1)
    end
    for _ = 1, 2 do
      local event, next_byte, got = read_with("A: 1\r\nB: 2\r\n")
      assert.same({ "head", true, #text + 1 }, { event, got.ended, next_byte })
    end
    local _, next_byte = read_with("A: 1\r\nB: 2\r\nC: 3\r\n")
    local event, _, status = reader:read(text, next_byte)
    assert.same({ "error", 431 }, { event, status })
  end)

  it("refuses misuse", function()
    assert.has_error(function() http_server.parser(0, 1, 1, 1) end)
    assert.has_error(function() parser():read("abc", 5) end)
    assert.has_error(function() parser().read({}, "abc", 1) end)
  end)
end)

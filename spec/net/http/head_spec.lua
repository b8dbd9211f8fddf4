local http = require("operations.net.http")
local operations = require("operations")
local stream = require("operations.net.stream")

-- What a request gets where a server answers with these bytes, all at once or one by one, and closes.
local function answers(text, options, size)
  local answer, err
  operations.run(function()
    local listener = assert(stream.listen("127.0.0.1", 0, function(accepted)
      local asked = ""
      accepted:each_chunk(function(bytes)
        asked = asked .. (bytes or "")
        if asked and asked:find("\r\n\r\n", 1, true) then
          asked = ""
          operations.spawn(function()
            for at = 1, #text, size or #text do
              accepted:write(text:sub(at, at + (size or #text) - 1))
            end
            accepted:finish()
          end)
        end
      end)
    end))
    local request = { url = "http://127.0.0.1:" .. listener.port .. "/", timeout = 30000 }
    for name, value in pairs(options or {}) do
      request[name] = value
    end
    answer, err = http.request(request)
    listener:close()
  end)
  return answer, err
end

local function each_way(text, options, check)
  for _, size in ipairs({ #text, 1, 7 }) do
    check(answers(text, options, size))
  end
end

local function kind_of(err)
  return err and err.details and err.details.kind
end

describe("the head of an answer", function()
  for name, case in pairs({
    ["a length"] = { "Content-Length: 2", "hi" },
    ["a length among blanks"] = { "Content-Length: \t 2 \t", "hi" },
    ["a length without blanks"] = { "content-LENGTH:2", "hi" },
    ["a length that is told again and again"] = { "Content-Length: 2, 2,\t2 ,,2", "hi" },
    ["a length in two lines"] = { "Content-Length: 2\r\nX: y\r\nContent-Length: 2", "hi" },
    ["a length of zeros and one digit"] = { "Content-Length: 000000000002", "hi" },
    ["other fields with as long a name"] = {
      "Xontent-Length: 1\r\nContent-Lengtx: x\r\nTransfer-Encodinx: chunked", "hi!",
    },
    ["other fields whose names begin so"] = { "Content-Length-X: 1\r\nContent-Lengt: 1", "hi!" },
    ["an encoding that is none"] = {
      "Content-Encodinx: gzip\r\nXontent-Encoding: gzip\r\nContent-Encoding: identity", "hi!",
    },
  }) do
    it("may have " .. name, function()
      each_way("HTTP/1.1 200 OK\r\n" .. case[1] .. "\r\n\r\n" .. case[2], nil, function(answer, err)
        assert.is_nil(err)
        assert.equal(case[2], answer.body)
      end)
    end)
  end

  for name, length in pairs({
    ["a sign"] = "+2", ["a minus"] = "-2", ["letters"] = "2x", ["hexadecimal digits"] = "0x2", ["nothing"] = "",
    ["a fraction"] = "2.0", ["two of them"] = "2 3", ["a list of two"] = "2, 3", ["a list that goes wrong"] = "2, x",
    ["twenty digits"] = "10000000000000000002",
  }) do
    it("has no length of " .. name, function()
      each_way("HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: " .. length .. "\r\n\r\nhi", nil, function(answer, err)
        assert.is_nil(answer)
        assert.equal("protocol", kind_of(err))
      end)
    end)
  end

  it("has fields that continue in the next line, and keeps blanks that other parsers take for line ends", function()
    local head = "HTTP/1.1 200 OK\r\nX-One: a\r\n b\r\n\t c \r\nX-Two:   d\re\r\nContent-Type: text/plain;\r\n" ..
      "  charset=utf-8\r\nX-three:\r\n f\r\nEmpty:\r\nContent-Length: 2\r\n\r\nhi"
    each_way(head, nil, function(answer)
      assert.equal("hi", answer.body)
      local seen = {}
      for i, name in ipairs({ "x-one", "x-two", "content-type", "x-three", "empty" }) do
        seen[i] = answer.headers[name]:gsub("%s+", " "):gsub("^ ", "")
      end
      assert.same({ "a b c", "d e", "text/plain; charset=utf-8", "f", "" }, seen)
    end)
  end)

  it("has one status that counts: of the last block", function()
    each_way("HTTP/1.1 100 Continue\r\nX: 1\r\n\r\nHTTP/1.1 103 Hints\r\nX: 2\r\nContent-Length: 9\r\n\r\n" ..
      "HTTP/1.1 404 Not there\r\nY: 3\r\n\r\nhi", nil, function(answer)
      assert.same({ 404, "3", "hi" }, { answer.status, answer.headers.y, answer.body })
      assert.is_nil(answer.headers.x)
    end)
    for _, status in ipairs({ 200, 299, 304, 400, 599, 999 }) do
      assert.equal(status, answers(("HTTP/1.1 %d x\r\nContent-Length: 0\r\n\r\n"):format(status)).status)
    end
  end)

  it("comes behind ten informational ones at the most", function()
    local last = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
    assert.equal("hi", answers(("HTTP/1.1 103 x\r\nX: y\r\n\r\n"):rep(10) .. last).body)
    local answer, err = answers(("HTTP/1.1 103 x\r\nX: y\r\n\r\n"):rep(11) .. last)
    assert.is_nil(answer)
    assert.equal("protocol", kind_of(err))
  end)

  it("is as long as max_headers, and no byte longer", function()
    local fields = { "X: y", "Content-Length: 2", "Z-Long: " .. ("z"):rep(300) }
    local head = table.concat(fields, "\r\n") .. "\r\n"
    local text = "HTTP/1.1 200 A long reason that does not count\r\n" .. head .. "\r\nhi"
    each_way(text, { max_headers = #head }, function(answer)
      assert.equal("hi", answer.body)
    end)
    each_way(text, { max_headers = #head - 1 }, function(answer, err)
      assert.is_nil(answer)
      assert.equal("size", kind_of(err))
      assert.matches(("max_headers (%d bytes)"):format(#head - 1), err.message, 1, true)
    end)
  end)

  it("shares its limit with no trailers, which have the same", function()
    local text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n%s\r\n"
    local function trailers(length)
      return text:format(("X: %s\r\n"):format(("y"):rep(length - 5)))
    end
    assert.equal("hi", answers(trailers(100), { max_headers = 102 }).body)
    local _, err = answers(trailers(150), { max_headers = 102 })
    assert.equal("size", kind_of(err))
    assert.equal("hi", answers(text:format(""), { max_headers = 28 }).body)
  end)

  it("says no body of an answer that has none", function()
    for _, status in ipairs({ 204, 304 }) do
      for _, length in ipairs({ "", "Content-Length: 0\r\n" }) do
        local text = ("HTTP/1.1 %d x\r\nContent-Encoding: gzip\r\n%s\r\n"):format(status, length)
        each_way(text, nil, function(answer)
          assert.same({ status, "" }, { answer.status, answer.body })
        end)
      end
    end
    local head = "HTTP/1.1 200 x\r\nContent-Encoding: br\r\nContent-Length: 100\r\n\r\n"
    assert.equal("", answers(head, { method = "HEAD" }).body)
    assert.equal("", answers("HTTP/1.1 200 x\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\n\r\n").body)
  end)
end)

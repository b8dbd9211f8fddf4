local http_server = require("operations.http_server")
local usage = require("spec.support.usage")

local answer = http_server.answer

-- RFC 9110, section 15, RFC 6585, and nginx's for a client that is gone.
local phrases = {
  [101] = "Switching Protocols", [200] = "OK", [201] = "Created", [202] = "Accepted", [204] = "No Content",
  [206] = "Partial Content", [301] = "Moved Permanently", [302] = "Found", [303] = "See Other",
  [304] = "Not Modified", [307] = "Temporary Redirect", [308] = "Permanent Redirect", [400] = "Bad Request",
  [401] = "Unauthorized", [403] = "Forbidden", [404] = "Not Found", [405] = "Method Not Allowed",
  [406] = "Not Acceptable", [408] = "Request Timeout", [409] = "Conflict", [410] = "Gone",
  [412] = "Precondition Failed", [413] = "Content Too Large", [414] = "URI Too Long",
  [415] = "Unsupported Media Type", [417] = "Expectation Failed", [421] = "Misdirected Request",
  [422] = "Unprocessable Content", [426] = "Upgrade Required", [428] = "Precondition Required",
  [429] = "Too Many Requests", [431] = "Request Header Fields Too Large", [499] = "Client Closed Request",
  [500] = "Internal Server Error", [501] = "Not Implemented", [502] = "Bad Gateway", [503] = "Service Unavailable",
  [504] = "Gateway Timeout", [505] = "HTTP Version Not Supported",
}

local DATE = "Mon, 23 Nov 2026 12:00:00 GMT"

describe("the bytes of an answer", function()
  it("are a head with the length of the body, and the body", function()
    assert.equal("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nDate: " .. DATE .. "\r\nContent-Length: 3\r\n\r\nabc",
      answer(200, { ["Content-Type"] = "text/plain" }, "abc", DATE))
  end)

  it("announce chunks, or nothing for a body that ends with the connection", function()
    assert.equal("HTTP/1.1 200 OK\r\nDate: x\r\nTransfer-Encoding: chunked\r\n\r\n", answer(200, nil, true, "x"))
    assert.equal("HTTP/1.1 200 OK\r\nDate: x\r\nConnection: close\r\n\r\n", answer(200, {}, nil, "x", "close"))
  end)

  it("have no body where a status or HEAD forbids one", function()
    assert.equal("HTTP/1.1 204 No Content\r\nDate: x\r\n\r\n", answer(204, nil, "abc", "x"))
    assert.equal("HTTP/1.1 304 Not Modified\r\nDate: x\r\n\r\n", answer(304, nil, "", "x"))
    assert.equal("HTTP/1.1 101 Switching Protocols\r\nDate: x\r\n\r\n", answer(101, nil, "", "x"))
    assert.equal("HTTP/1.1 200 OK\r\nDate: x\r\nContent-Length: 3\r\n\r\n", answer(200, nil, "abc", "x", nil, true))
  end)

  it("hold a field for each value of a list, and numbers", function()
    assert.equal("HTTP/1.1 200 OK\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nDate: x\r\nContent-Length: 0\r\n\r\n",
      answer(200, { ["Set-Cookie"] = { "a", "b" } }, "", "x"))
    assert.equal("HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nDate: x\r\nContent-Length: 0\r\n\r\n",
      answer(503, { ["Retry-After"] = 5 }, "", "x"))
  end)

  it("contain only its own fields about where the message ends", function()
    local headers = { ["content-length"] = "9", ["Transfer-Encoding"] = "gzip", CONNECTION = "keep-alive", Date = "y" }
    assert.equal("HTTP/1.1 299 \r\nDate: x\r\nContent-Length: 1\r\n\r\na", answer(299, headers, "a", "x"))
    assert.equal("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nDate: x\r\n\r\n",
      answer(101, { Connection = "Upgrade" }, "", "x"))
  end)

  it("cannot be split by the bytes of a name or a value", function()
    for _, value in ipairs({ "a\r\nX: y", "a\rb", "a\nb", "a\0b", "a\127", { "fine", "a\nb" }, true, {  {} } }) do
      local bytes, field = answer(200, { ["X-A"] = value }, "", "x", nil, true)
      assert.same({ nil, "X-A" }, { bytes, field })
    end
    for _, name in ipairs({ "", "a b", "a:", "a\r\nb", "a\0", "\195\169", "a,b" }) do
      local bytes, field = answer(200, { [name] = "a" }, "", "x")
      assert.same({ nil, name }, { bytes, field })
    end
    assert.same({ nil, 1 }, { answer(200, { "a" }, "", "x") })
  end)

  it("are held to the rules that a request from another server has to obey", function()
    local is_head = http_server.is_head
    assert.is_true(is_head("/a?b=%20~", { host = "localhost", ["x-a"] = "", accept = "a\tb\200" }))
    assert.is_true(is_head("*", {}))
    for _, target in ipairs({ "/a b", "/a\127", "/\195\169", "/a\0" }) do
      assert.is_false(is_head(target, {}))
    end
    for name, value in pairs({ ["a b"] = "c", [""] = "c", ["a{"] = "c", ["\195"] = "c", a = "c\1", b = true, [1] = "c",
      c = { "a" } }) do
      assert.is_false(is_head("/", { host = "localhost", [name] = value }))
    end
  end)

  it("hold every byte but control characters, wherever it is in a value", function()
    for length = 1, 17 do
      for at = 1, length do
        for _, byte in ipairs({ 0, 8, 9, 10, 31, 32, 33, 126, 127, 128, 159, 255 }) do
          local value = ("a"):rep(at - 1) .. string.char(byte) .. ("\200"):rep(length - at)
          local bytes, field = answer(204, { ["X-A"] = value }, nil, "x")
          if byte == 127 or byte < 32 and byte ~= 9 then
            assert.same({ nil, "X-A" }, { bytes, field })
          else
            assert.equal("HTTP/1.1 204 No Content\r\nX-A: " .. value .. "\r\nDate: x\r\n\r\n", bytes)
          end
        end
      end
    end
  end)

  it("hold a field whose name has letters at the ends of the alphabet, and tells others", function()
    assert.matches("\r\nAZ%-az09: 1\r\n", (answer(200, { ["AZ-az09"] = 1 }, "", "x")))
    for _, name in ipairs({ "@", "[", "{", "\127" }) do
      assert.same({ nil, name }, { answer(200, { [name] = "a" }, "", "x") })
    end
    assert.matches("\r\n`_~: a\r\n", (answer(200, { ["`_~"] = "a" }, "", "x")))
  end)

  it("begin with the status and its phrase, or none", function()
    for status = 100, 999 do
      local sized = status >= 200 and status ~= 204 and status ~= 304
      assert.equal(("HTTP/1.1 %d %s\r\nDate: x\r\n%s\r\n%s"):format(status, phrases[status] or "",
        sized and "Content-Length: 1\r\n" or "", sized and "a" or ""), answer(status, nil, "a", "x"))
    end
    for _, status in ipairs({ 99, 0, -200, 1000, 100000 }) do
      assert.error_matches(function() answer(status, nil, "", "x") end, "a status of three digits expected")
    end
  end)

  it("say the length of a body, however many digits it has", function()
    for _, length in ipairs({ 0, 1, 9, 10, 11, 99, 100, 101, 999, 1000, 65535, 65536, 1000000 }) do
      local body = ("b"):rep(length)
      assert.equal(("HTTP/1.1 200 OK\r\nDate: x\r\nContent-Length: %d\r\n\r\n%s"):format(length, body),
        answer(200, nil, body, "x"))
    end
  end)

  it("hold a field whose name is a token, wherever which byte is in it", function()
    for byte = 0, 255 do
      local char = string.char(byte)
      local is_token = char:find("^[%w!#$%%&'*+%-.^_`|~]$") ~= nil
      for _, name in ipairs({ char, "a" .. char, char .. "a", "a" .. char .. "a" }) do
        local bytes, field = answer(204, { [name] = "v" }, nil, "x")
        if is_token then
          assert.equal("HTTP/1.1 204 No Content\r\n" .. name .. ": v\r\nDate: x\r\n\r\n", bytes)
        else
          assert.same({ nil, name }, { bytes, field })
        end
      end
    end
  end)

  it("hold fields with names as long as those of its own", function()
    for _, name in ipairs({ "Dato", "Connectiom", "Content-Lengtx", "Transfer-Encodinx", "X" }) do
      assert.equal("HTTP/1.1 200 OK\r\n" .. name .. ": v\r\nDate: x\r\nContent-Length: 0\r\n\r\n",
        answer(200, { [name] = "v" }, "", "x"))
    end
    assert.equal("HTTP/1.1 200 OK\r\nContent-Length: 7\r\nDate: x\r\n\r\n",
      answer(200, { ["Content-Length"] = 7 }, nil, "x"))
    for _, name in ipairs({ "date", "Connection", "content-LENGTH", "transfer-encoding" }) do
      assert.equal("HTTP/1.1 200 OK\r\nDate: x\r\nTransfer-Encoding: chunked\r\n\r\n",
        answer(200, { [name] = "v" }, true, "x"))
    end
  end)

  it("take memory for a large body only while they are made", function()
    assert.is_true(usage.growth(function()
      assert.is_true(#answer(200, nil, ("x"):rep(2 ^ 26), "x") > 2 ^ 26)
    end) < 2 ^ 14)
  end)

  it("refuse misuse", function()
    assert.has_error(function() answer("OK", nil, "", "x") end)
    assert.has_error(function() answer(99, nil, "", "x") end)
    assert.has_error(function() answer(200, "a", "", "x") end)
    assert.has_error(function() answer(200, nil, "") end)
  end)
end)

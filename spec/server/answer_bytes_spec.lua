local answer = require("operations.http_server").answer

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

  it("hold nobody else's fields about where the message ends", function()
    local headers = { ["content-length"] = "9", ["Transfer-Encoding"] = "gzip", CONNECTION = "keep-alive", Date = "y" }
    assert.equal("HTTP/1.1 299 \r\nDate: x\r\nContent-Length: 1\r\n\r\na", answer(299, headers, "a", "x"))
    assert.equal("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nDate: x\r\n\r\n",
      answer(101, { Connection = "Upgrade" }, "", "x"))
  end)

  it("cannot be split by what a name or a value holds", function()
    for _, value in ipairs({ "a\r\nX: y", "a\rb", "a\nb", "a\0b", "a\127", { "fine", "a\nb" }, true, {  {} } }) do
      local bytes, field = answer(200, { ["X-A"] = value }, "", "x")
      assert.same({ nil, "X-A" }, { bytes, field })
    end
    for _, name in ipairs({ "", "a b", "a:", "a\r\nb", "a\0", "\195\169", "a,b" }) do
      local bytes, field = answer(200, { [name] = "a" }, "", "x")
      assert.same({ nil, name }, { bytes, field })
    end
    assert.same({ nil, 1 }, { answer(200, { "a" }, "", "x") })
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

  it("refuse misuse", function()
    assert.has_error(function() answer("OK", nil, "", "x") end)
    assert.has_error(function() answer(99, nil, "", "x") end)
    assert.has_error(function() answer(200, "a", "", "x") end)
    assert.has_error(function() answer(200, nil, "") end)
  end)
end)
